//! pi-king session-status v1: from a card's bytes to a session, by one table.

use jig_session_atomic::Stamp;
use jig_session_schema::king::{EpochMs, KingState, KingStatus, SubagentState};
use jig_session_schema::row::{Problem, ProblemReason, Row, Source, Verdict};
use jig_session_schema::status::{Agent, AgentName, Attention, Model, Reason, State, StateFrom};
use jig_session_schema::time::Timestamp;

use crate::entry::{Session, problem};
use crate::status::{bad_pid, unread};

/// Reads a card, or says why it is none.
pub(crate) fn session(name: &str, path: String, bytes: &[u8], stamp: Stamp, local: bool) -> Result<Session, Problem> {
    let read = match KingStatus::scan(bytes) {
        Ok(read) => read,
        Err(error) => return Err(unread(path, &error)),
    };
    let card = read.value;
    if card.id.is_empty() || card.id != name {
        return Err(problem(path, ProblemReason::MISMATCH, "its name does not fit the session inside"));
    }
    if let Some(bad) = bad_pid(card.pid, &read.problems) {
        return Err(problem(path, ProblemReason::UNPARSABLE, bad));
    }
    let visible = card.visible;
    let exited = card.status == KingState::EXITED;
    let row = row(card, path);
    Ok(Session {
        row,
        process: None,
        terminal_from: None,
        tmux_socket: None,
        publisher: None,
        visible,
        exited,
        stamp,
        local,
    })
}

/// What a status word means: an unknown one is work.
fn meaning(status: &KingState) -> (State, Option<Reason>) {
    match status.as_str() {
        "trust" => (State::Busy, Some(Reason::APPROVAL)),
        "idle" | "background" | "exited" => (State::Idle, None),
        "attention" => (State::Idle, Some(Reason::FINISHED)),
        "error" => (State::Idle, Some(Reason::ERROR)),
        _ => (State::Busy, None),
    }
}

fn row(card: KingStatus, path: String) -> Row {
    let (state, reason) = meaning(&card.status);
    let last = stamp_of(card.last_activity);
    let running = card
        .subagents
        .iter()
        .filter(|subagent| [SubagentState::QUEUED, SubagentState::RUNNING].contains(&subagent.status))
        .count();
    let mut row = Row::new();
    row.session = card.id;
    row.agent = Some(Agent::new().name(AgentName::PI));
    row.name = card.name;
    row.cwd = card.cwd;
    row.state = state;
    row.attention = reason.map(|reason| {
        let mut attention = Attention::new();
        attention.reason = reason;
        attention.since = last;
        attention
    });
    row.background = Some(running as u64);
    row.state_from = Some(StateFrom::PI_KING);
    row.state_at = last;
    row.model = card.model.map(|id| {
        let mut model = Model::new();
        model.name = Some(id.clone());
        model.id = id;
        model
    });
    row.context.percent = card.context_pct.filter(|percent| percent.is_finite());
    row.pid = card.pid;
    row.started_at = stamp_of(card.started_at);
    row.updated_at = last;
    row.source = Source::PiKing;
    row.path = path;
    row.verdict = Verdict::Unknown;
    row
}

/// A stamp of 0 or less says nothing.
fn stamp_of(ms: Option<EpochMs>) -> Option<Timestamp> {
    ms.filter(|ms| ms.0.is_finite() && ms.0 > 0.0).map(EpochMs::timestamp)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const STAMP: Stamp = Stamp { inode: 1, size: 1, modified_ns: 1 };

    fn read(document: &Value) -> Result<Session, Problem> {
        session("k-1", "/k/k-1.json".into(), document.to_string().as_bytes(), STAMP, true)
    }

    fn card(status: &str) -> Value {
        json!({
            "formatVersion": 1, "id": "k-1", "name": "billing", "cwd": "/home/dev/app", "project": "app", "model": "m-2",
            "pid": 4242, "startedAt": 1_795_974_219_108.073_5, "lastActivity": 1_795_974_300_000_i64, "status": status,
            "activity": "x", "title": "x", "sessionFile": "/t.jsonl",
            "subagents": [
                { "id": "a", "description": "d", "status": "queued", "startedAt": 1 },
                { "id": "b", "description": "d", "status": "running", "startedAt": 1 },
                { "id": "c", "description": "d", "status": "failed", "startedAt": 1, "completedAt": 2 }
            ],
            "visible": true, "contextPct": 12.5, "isFork": false
        })
    }

    #[test]
    fn every_status_has_its_state_and_reason() {
        for (status, state, reason) in [
            ("working", State::Busy, None),
            ("trust", State::Busy, Some(Reason::APPROVAL)),
            ("idle", State::Idle, None),
            ("background", State::Idle, None),
            ("attention", State::Idle, Some(Reason::FINISHED)),
            ("error", State::Idle, Some(Reason::ERROR)),
            ("exited", State::Idle, None),
            ("something new", State::Busy, None),
        ] {
            let session = read(&card(status)).expect("a session");
            assert_eq!(session.row.state, state, "{status}");
            assert_eq!(session.row.attention.as_ref().map(|attention| attention.reason.clone()), reason, "{status}");
            assert_eq!(session.exited, status == "exited");
        }
    }

    #[test]
    fn the_fields_are_mapped() {
        let session = read(&card("attention")).expect("a session");
        let row = &session.row;
        assert_eq!(
            (row.session.as_str(), row.name.as_deref(), row.cwd.as_str()),
            ("k-1", Some("billing"), "/home/dev/app")
        );
        assert_eq!(row.agent_name(), AgentName::PI);
        let model = row.model.as_ref().expect("a model");
        assert_eq!((&model.provider, model.id.as_str(), model.name.as_deref()), (&None, "m-2", Some("m-2")));
        assert_eq!((row.context.percent, row.context.tokens), (Some(12.5), None));
        assert_eq!((row.background, &row.usage, &row.terminal, &row.tmux_pane), (Some(2), &None, &None, &None));
        assert_eq!(row.started_at.map(Timestamp::epoch_ms), Some(1_795_974_219_108), "a fraction is cut off");
        let last = Timestamp::from_epoch_ms(1_795_974_300_000);
        assert_eq!((row.state_at, row.updated_at), (Some(last), Some(last)));
        assert_eq!(row.attention.as_ref().and_then(|attention| attention.since), Some(last));
        assert_eq!((row.state_from.clone(), row.source), (Some(StateFrom::PI_KING), Source::PiKing));
        assert_eq!(session.record().written_ms, Some(1_795_974_300_000));
        assert!(session.record().is_legacy());
    }

    #[test]
    fn absent_is_unknown_and_only_true_is_visible() {
        let session = read(&json!({ "formatVersion": 1, "id": "k-1" })).expect("a session");
        assert!(!session.visible);
        assert_eq!((session.row.pid, session.row.started_at, session.row.updated_at), (None, None, None));
        assert_eq!(session.row.background, Some(0));
        let mut document = card("idle");
        document["visible"] = "yes".into();
        assert!(!read(&document).expect("a session").visible);
    }

    #[test]
    fn what_is_no_card_is_named() {
        let reason = |document: &Value| read(document).expect_err("no session").reason;
        for version in [json!(2), json!(0)] {
            let mut document = card("idle");
            document["formatVersion"] = version;
            assert_eq!(reason(&document), ProblemReason::UNSUPPORTED);
        }
        for (field, value) in [("formatVersion", json!("1")), ("formatVersion", Value::Null), ("id", json!(7))] {
            let mut document = card("idle");
            document[field] = value;
            assert!([ProblemReason::UNSUPPORTED, ProblemReason::UNPARSABLE].contains(&reason(&document)), "{field}");
        }
        let mut other = card("idle");
        other["id"] = "k-2".into();
        assert_eq!(reason(&other), ProblemReason::MISMATCH);
        for document in [json!(5), json!("hi"), json!(null), json!([])] {
            assert_eq!(reason(&document), ProblemReason::UNPARSABLE);
        }
    }
}
