//! Recorded hook calls of real agents, replayed with the agents' own records in their order in time. What a reader is
//! shown must be what was true at each recorded moment; what nothing tells is named here, with what is shown instead.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::HashMap;

use jig_session_agents::{About, Agent, RecordLocation, TAIL, hear, named, reconciled, session};
use jig_session_publish::reduce::{Memory, Occurrence, Order, Session};
use jig_session_schema::event::Event;
use jig_session_schema::status::{State, StateFrom, Status};
use jig_session_schema::time::Timestamp;
use jig_session_testing::privacy::{private, values};
use serde_json::{Value, json};

/// One recorded run of an agent.
struct Recording {
    agent: &'static str,
    trace: &'static str,
    record: &'static str,
    truth: &'static str,
    /// Moments that nothing tells: their number, and what is shown. `none`: nothing is published.
    untold: &'static [(u64, &'static str)],
    /// Ends that no hook tells: the file is left, and its process is gone.
    left: &'static [u64],
}

macro_rules! recording {
    ($agent:literal, record, $untold:expr, $left:expr) => {
        recording!(
            $agent,
            include_str!(concat!("fixtures/hooks/", $agent, "/record-", $agent, "-1.jsonl")),
            $untold,
            $left
        )
    };
    ($agent:literal, $record:expr, $untold:expr, $left:expr) => {
        Recording {
            agent: $agent,
            trace: include_str!(concat!("fixtures/hooks/", $agent, "/trace-", $agent, "-1.jsonl")),
            record: $record,
            truth: include_str!(concat!("fixtures/hooks/", $agent, "/trace-", $agent, "-1.truth.json")),
            untold: $untold,
            left: $left,
        }
    };
}

const RECORDINGS: [Recording; 6] = [
    recording!("claude", record, &[], &[44]),
    // It begins a session with the first prompt, and an approval is told when the tool has ended.
    recording!("codex", record, &[(0, "none"), (5, "approval"), (27, "none")], &[26, 30, 34, 36]),
    // An approval likewise; a command that the user types is told when it has ended.
    recording!("gemini", record, &[(5, "approval"), (23, "idle")], &[37]),
    // It begins a session with the first prompt, and nothing tells that a retry was broken off.
    recording!("copilot", record, &[(0, "none"), (18, "busy"), (29, "none")], &[33]),
    // A subagent runs on beside the prompt, and a command that the user types is not told.
    recording!("qwen", record, &[(21, "idle"), (24, "idle")], &[43, 44]),
    // It makes a session with the first prompt.
    recording!("opencode", "", &[(0, "none")], &[32, 36, 40, 41, 42]),
];

/// A line of a trace.
struct Call {
    at: i64,
    event: String,
    payload: Vec<u8>,
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn calls(agent: &str, trace: &str, dialect: &str) -> Vec<Call> {
    lines(trace)
        .filter_map(|line| {
            let at = line["t"].as_i64().unwrap();
            let Some(argv) = line["argv"].as_array().filter(|_| agent != "opencode") else {
                let event = line["event"]["type"].as_str().or(line["hook"].as_str()).unwrap_or_default().to_owned();
                return Some(Call { at, event, payload: line.to_string().into_bytes() });
            };
            // Codex's notify has its payload among its arguments; its hooks tell the same.
            let word = argv[0].as_str().filter(|_| line["stdin"].is_object())?;
            let event = word.strip_prefix("P:").unwrap_or(word);
            // Copilot calls both dialects' hooks where both are installed.
            let taken = agent != "copilot" || (word != event) == (dialect == "settings");
            let event = event.to_owned();
            taken.then(|| Call { at, event, payload: line["stdin"].to_string().into_bytes() })
        })
        .collect()
}

/// What is published at one moment.
#[derive(Default)]
struct Published {
    sessions: HashMap<String, Status>,
}

impl Published {
    fn take(&mut self, agent: &Agent, call: &Call) {
        let payload = jig_session_agents::Payload::read(agent, &call.payload).unwrap();
        let Some(begins) = session(&payload) else { return };
        let id = begins.session.clone();
        let kept = self.sessions.get(&id);
        let heard = hear(agent, &call.event, &payload, kept);
        let at = Timestamp::from_epoch_ms(call.at);
        let status = match kept {
            Some(status) => status.clone(),
            None if heard.creates => {
                let mut status = Status::new();
                status.session.clone_from(&id);
                (status.started_at, status.state_at) = (Some(at), Some(at));
                status
            }
            None => return,
        };
        let clock = Some(u64::try_from(call.at).unwrap());
        let order = Order::BootClock(clock);
        let from = StateFrom::hook(&call.event).unwrap();
        let occurrence = Occurrence { at, order, from, repo: &|_| None };
        // Each call is a process of its own: it remembers nothing but the document.
        let mut session = Session { status, memory: Memory::default() };
        session.apply(&Event::Session(begins), &occurrence);
        for event in &heard.events {
            if matches!(event, Event::End(_)) {
                self.sessions.remove(&id);
                return;
            }
            session.apply(event, &occurrence);
        }
        self.sessions.insert(id, session.status);
    }
}

/// What the agent's own record held at a moment, as a reader would find it.
fn evidence(agent: &Agent, status: &Status, records: &[Value], pid: u64, at: i64) -> Option<Status> {
    let evidence = agent.evidence.as_ref()?;
    let seen = records.iter().filter(|record| record["seen"].as_i64().unwrap() <= at);
    let of = |name: &str| {
        let name = name.to_owned();
        seen.clone().filter(move |record| record["file"].as_str().is_some_and(|file| name.ends_with(file)))
    };
    let (bytes, start) = match evidence.place {
        RecordLocation::ProcessRecord => {
            let record = of(&format!("/home/dev/.claude/sessions/{pid}.json")).next_back()?["now"].clone();
            let start = record["procStart"].as_str().map(str::to_owned);
            (record.to_string().into_bytes(), start)
        }
        RecordLocation::Transcript => (joined(of(status.transcript.as_deref()?)), None),
        RecordLocation::Below(path) => (joined(of(&format!("/home/dev/.copilot/{}", path(&status.session)))), None),
    };
    let tail = &bytes[bytes.len().saturating_sub(usize::try_from(TAIL).unwrap())..];
    let finding = (evidence.read)(tail, &About { session: &status.session, start: start.as_deref() })?;
    reconciled(status, &finding, &evidence.place.state_from())
}

fn joined<'a>(records: impl Iterator<Item = &'a Value>) -> Vec<u8> {
    records.flat_map(|record| format!("{}\n", record["line"]).into_bytes()).collect()
}

/// The word of the truth files for what is shown.
fn word(status: Option<&Status>) -> &str {
    let Some(status) = status else { return "none" };
    match (&status.attention, status.state) {
        (Some(attention), _) => attention.reason.as_str(),
        (None, State::Busy) => "busy",
        (None, _) => "idle",
    }
}

fn replay(recording: &Recording, dialect: &str) -> Vec<String> {
    let agent = named(recording.agent).unwrap();
    let records: Vec<Value> = lines(recording.record).collect();
    let calls = calls(recording.agent, recording.trace, dialect);
    let truth: Value = serde_json::from_str(recording.truth).unwrap();
    let mut wrong = Vec::new();
    let mut published = Published::default();
    let mut next = 0;
    let mut last = String::new();
    for moment in truth["moments"].as_array().unwrap() {
        let at = moment["t"].as_i64().unwrap();
        while next < calls.len() && calls[next].at <= at {
            published.take(agent, &calls[next]);
            next += 1;
        }
        // A line of a subagent's own session tells of the one above it.
        let id =
            moment["session"].as_str().filter(|id| published.sessions.contains_key(*id) || moment["state"] == "gone");
        let id = id.unwrap_or(&last).to_owned();
        let status = published.sessions.get(&id);
        let corrected =
            status.and_then(|status| evidence(agent, status, &records, moment["pid"].as_u64().unwrap_or_default(), at));
        let status = corrected.as_ref().or(status);
        let shown = word(status);
        let number = moment["n"].as_u64().unwrap();
        let right: Vec<&str> = [&moment["state"]]
            .into_iter()
            .chain(moment["also"].as_array().unwrap())
            .filter_map(Value::as_str)
            .collect();
        let left = recording.left.contains(&number);
        let is_right = right.contains(&shown) || right.contains(&"gone") && (shown == "none") != left;
        let untold = recording.untold.iter().find(|(known, _)| *known == number);
        let expected = match untold {
            Some((_, instead)) => shown == *instead && !is_right,
            None => is_right,
        };
        if !expected {
            let from = status.and_then(|status| status.state_from.clone());
            wrong.push(format!("{dialect} {number} {}: {right:?}, shown {shown} from {from:?}", moment["what"]));
        }
        last = id;
    }
    wrong
}

#[test]
fn what_is_shown_is_true_at_every_recorded_moment() {
    let mut wrong = Vec::new();
    for recording in &RECORDINGS {
        let dialects: &[&str] = if recording.agent == "copilot" { &["settings", "hooks"] } else { &[""] };
        for dialect in dialects {
            wrong.extend(replay(recording, dialect).into_iter().map(|line| format!("{} {line}", recording.agent)));
        }
    }
    assert!(wrong.is_empty(), "{} moments\n{}", wrong.len(), wrong.join("\n"));
}

/// Traces of older versions, without a truth beside them: what is left at their end.
const OLDER: [(&str, &str, &[&str]); 13] = [
    ("claude", include_str!("fixtures/hooks/claude/older-claude.jsonl"), &[]),
    ("claude", include_str!("fixtures/hooks/claude/older-claude-sub.jsonl"), &[]),
    ("claude", include_str!("fixtures/hooks/claude/older-claude-tui.jsonl"), &[]),
    ("claude", include_str!("fixtures/hooks/claude/older-claude-tui3.jsonl"), &[]),
    ("codex", include_str!("fixtures/hooks/codex/older-codex.jsonl"), &[]),
    ("codex", include_str!("fixtures/hooks/codex/older-codex-patch.jsonl"), &[]),
    ("codex", include_str!("fixtures/hooks/codex/older-codex-tui.jsonl"), &[]),
    ("gemini", include_str!("fixtures/hooks/gemini/older-gemini.jsonl"), &[]),
    ("copilot", include_str!("fixtures/hooks/copilot/older-copilot.jsonl"), &[]),
    ("copilot", include_str!("fixtures/hooks/copilot/older-copilot-create.jsonl"), &[]),
    ("copilot", include_str!("fixtures/hooks/copilot/older-copilot-tui.jsonl"), &[]),
    ("opencode", include_str!("fixtures/hooks/opencode/older-opencode.jsonl"), &["idle"]),
    ("opencode", include_str!("fixtures/hooks/opencode/older-opencode-tui.jsonl"), &["idle"]),
];

#[test]
fn traces_of_older_versions_end_as_their_sessions_did() {
    let mut wrong = Vec::new();
    for (number, (name, trace, left)) in OLDER.iter().enumerate() {
        let agent = named(name).unwrap();
        for dialect in ["settings", "hooks"] {
            let mut published = Published::default();
            for call in calls(name, trace, dialect) {
                published.take(agent, &call);
            }
            let mut words: Vec<&str> = published.sessions.values().map(|status| word(Some(status))).collect();
            words.sort_unstable();
            if words != *left {
                wrong.push(format!("{name} {number} {dialect}: {words:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_that_was_said_or_done_is_published() {
    let recent = RECORDINGS.iter().map(|recording| (recording.agent, recording.trace));
    let older = OLDER.iter().map(|(agent, trace, _)| (*agent, *trace));
    for (name, trace) in recent.chain(older) {
        let agent = named(name).unwrap();
        for dialect in ["settings", "hooks"] {
            let mut published = Published::default();
            for call in calls(name, trace, dialect) {
                published.take(agent, &call);
                let payload: Value = serde_json::from_slice(&call.payload).unwrap();
                let mut texts = Vec::new();
                private(&payload, "", &mut texts);
                for status in published.sessions.values() {
                    let document = Value::Object(status.to_document());
                    let mut shown = Vec::new();
                    values(&document, &mut shown);
                    // What is public under one key may stand under another: the working folder is one that a
                    // permission is for, a subagent's tools and model are named in its answer, and its id, which may hold its kind, lists it.
                    let public = |text: &str| {
                        text == status.cwd
                            || text == status.session
                            || status.model.as_ref().is_some_and(|model| model.id == text)
                            || status.outputs.iter().any(|output| output.path.ends_with(text))
                            || status.recent.iter().any(|call| call.tool.as_str() == text)
                            || status.children.iter().any(|child| child.id.as_str().contains(text))
                    };
                    let mut said = texts.iter().filter(|text| !public(text));
                    let found = said.find(|text| shown.iter().any(|shown| shown.contains(**text)));
                    assert_eq!(found, None, "{name} {}: {document}", call.event);
                }
            }
        }
    }
}

/// What each agent's own record says of its figures once all of it is written.
#[test]
fn the_figures_are_those_of_the_agents_own_record() {
    let table = [
        ("codex", json!({ "tokens": 2421, "window": 258_400 }), json!(null)),
        ("gemini", json!({ "tokens": 2421, "window": null }), json!("gemini-2.5-pro")),
        ("copilot", json!({ "tokens": 2421, "window": 922_000 }), json!("gpt-5.4")),
    ];
    for (name, context, model) in table {
        let recording = RECORDINGS.iter().find(|recording| recording.agent == name).unwrap();
        let figures = named(name).unwrap().figures.unwrap();
        let bytes = joined(lines(recording.record).collect::<Vec<_>>().iter());
        let tail = &bytes[bytes.len().saturating_sub(usize::try_from(TAIL).unwrap())..];
        let mut session = Session::default();
        let occurrence = Occurrence {
            at: Timestamp::from_epoch_ms(0),
            order: Order::Arrival,
            from: StateFrom::EVENT,
            repo: &|_| None,
        };
        for event in (figures.read)(tail) {
            session.apply(&event, &occurrence);
        }
        let document = Value::Object(session.status.to_document());
        assert_eq!(document["context"]["tokens"], context["tokens"], "{name}");
        assert_eq!(document["context"]["window"], context["window"], "{name}");
        assert_eq!(document["model"]["id"], model, "{name}");
        assert_eq!(document["usage"]["input"].is_number(), name == "codex", "{name}");
    }
}
