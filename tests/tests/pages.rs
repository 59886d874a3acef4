//! The contract's pages name every field of their types, and their examples are valid.

use std::fs;
use std::path::Path;

use jig_session_schema::event::Event;
use jig_session_schema::request::{Order, Request};
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
