//! The contract's pages name every field of their types, and their examples are valid.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::fs;
use std::path::Path;

use jig_session_schema::bridge::{
    BusData, CallArguments, Entry, EventData, EventMessage, FromHost, ToHost, TokenCost, TokenUsage,
};
use jig_session_schema::documents;
use jig_session_schema::error::{ErrorBody, ErrorCode};
use jig_session_schema::event::Event;
use jig_session_schema::request::{Order, Request};
use jig_session_schema::row::{Problem, Row};
use jig_session_schema::shape::FieldInfo;
use jig_session_schema::status::{
    Agent, Answer, Attention, Context, ContextDetail, Model, Output, Process, Recent, Status, Ticket, Tools, Usage,
    Workflow,
};

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/contract").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every code span's words, so that `{ provider, id }` names both fields.
fn named(page: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (index, span) in page.split('`').enumerate() {
        if index % 2 == 1 {
            out.extend(span.split(|c: char| !c.is_ascii_alphanumeric()).map(str::to_owned));
        }
    }
    out
}

fn missing(page: &str, fields: &[FieldInfo]) -> Vec<&'static str> {
    let named = named(page);
    fields.iter().map(|field| field.name).filter(|name| !named.iter().any(|word| word == name)).collect()
}

#[test]
fn the_status_page_names_every_field() {
    let page = page("status-v1.md");
    for fields in [
        Status::FIELDS,
        Agent::FIELDS,
        Process::FIELDS,
        Attention::FIELDS,
        Model::FIELDS,
        Context::FIELDS,
        Usage::FIELDS,
        Tools::FIELDS,
        Ticket::FIELDS,
        Workflow::FIELDS,
        Output::FIELDS,
        Recent::FIELDS,
        ContextDetail::FIELDS,
        Answer::FIELDS,
    ] {
        assert_eq!(missing(&page, fields), Vec::<&str>::new());
    }
}

#[test]
fn the_request_page_names_every_field() {
    let page = page("request-v1.md");
    assert_eq!(missing(&page, Request::FIELDS), Vec::<&str>::new());
    assert_eq!(missing(&page, Answer::FIELDS), Vec::<&str>::new());
}

#[test]
fn the_event_page_names_every_line_and_field() {
    let page = page("event-v1.md");
    for (word, _, fields) in Event::LINES {
        let from = page.find(&format!("### `{word}`\n")).unwrap_or_else(|| panic!("no section {word}"));
        let section = &page[from..];
        let section = section[4..].split("\n### ").next().expect("a section").split("\n## ").next().expect("a section");
        let common: Vec<FieldInfo> =
            fields.iter().filter(|field| !matches!(field.name, "event" | "at")).copied().collect();
        assert_eq!(missing(section, &common), Vec::<&str>::new(), "{word}");
    }
    for (_, _, fields) in Order::LINES {
        assert_eq!(missing(&page, fields), Vec::<&str>::new());
    }
}

#[test]
fn the_event_page_s_example_is_valid() {
    let page = page("event-v1.md");
    let block = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    assert!(block.lines().count() >= 6);
    for line in block.lines() {
        let read = Event::read(line.as_bytes()).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!((read.problems.len(), matches!(read.value, Event::Other(_))), (0, false), "{line}");
    }
}

/// The part of a page under a heading of the fourth level.
fn section<'a>(page: &'a str, word: &str) -> &'a str {
    let from = page.find(&format!("#### `{word}`\n")).unwrap_or_else(|| panic!("no section {word}"));
    let rest = &page[from + 5..];
    rest.split("\n#").next().unwrap_or(rest)
}

#[test]
fn the_bridge_page_names_every_line_and_field() {
    let page = page("bridge-v1.md");
    let (to, from) = page.split_once("## Fields of the lines from the host").expect("both directions");
    for (half, lines, tag) in [(to, ToHost::LINES, "t"), (from, FromHost::LINES, "op")] {
        for (word, _, fields) in lines {
            let own: Vec<FieldInfo> = fields.iter().filter(|field| field.name != tag).copied().collect();
            assert_eq!(missing(section(half, word), &own), Vec::<&str>::new(), "{word}");
        }
    }
    for fields in [
        Entry::FIELDS,
        EventData::FIELDS,
        EventMessage::FIELDS,
        BusData::FIELDS,
        CallArguments::FIELDS,
        TokenUsage::FIELDS,
        TokenCost::FIELDS,
    ] {
        assert_eq!(missing(to, fields), Vec::<&str>::new());
    }
}

#[test]
fn the_documents_page_names_every_field() {
    let page = page("documents-v1.md");
    for fields in [
        Row::FIELDS,
        Problem::FIELDS,
        ErrorBody::FIELDS,
        documents::Ls::FIELDS,
        documents::Show::FIELDS,
        documents::Wait::FIELDS,
        documents::ContextDocument::FIELDS,
        documents::Explain::FIELDS,
        documents::Identity::FIELDS,
        documents::ObservedIdentity::FIELDS,
        documents::StateProof::FIELDS,
        documents::StateEvidence::FIELDS,
        documents::Paths::FIELDS,
        documents::PathEntry::FIELDS,
        documents::Prune::FIELDS,
        documents::Validate::FIELDS,
        documents::Doctor::FIELDS,
        documents::Pruned::FIELDS,
        documents::RetainedFile::FIELDS,
        documents::ValidatedFile::FIELDS,
        documents::Finding::FIELDS,
        documents::Check::FIELDS,
        documents::Statusline::FIELDS,
        documents::StatuslineWait::FIELDS,
        documents::Seen::FIELDS,
    ] {
        assert_eq!(missing(&page, fields), Vec::<&str>::new());
    }
    for (word, _, fields) in documents::WatchLine::LINES {
        let common = ["schema", "at", "change"];
        let own: Vec<FieldInfo> = fields.iter().filter(|field| !common.contains(&field.name)).copied().collect();
        assert_eq!(missing(section(&page, word), &own), Vec::<&str>::new(), "{word}");
    }
    for code in ErrorCode::KNOWN {
        assert!(page.contains(&format!("`{code}`")), "{code}");
    }
}
