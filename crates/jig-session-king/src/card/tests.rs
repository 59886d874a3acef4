use super::{Card, Facts, Now, SubagentPhase, cut};
use jig_session_schema::king::{KingState, KingStatus};
use jig_session_schema::status::{Attention, Context, Model, Reason, State, Status};

const T0: i64 = 1_795_974_300_000;

fn status() -> Status {
    let mut model = Model::new();
    model.id = "m-2".into();
    let mut context = Context::new();
    context.percent = Some(12.5);
    Status::new()
        .session("s-1".into())
        .pid(Some(4242))
        .cwd("/home/dev/app".into())
        .model(Some(model))
        .context(context)
        .transcript(Some("/home/dev/.pi/agent/sessions/s-1.jsonl".into()))
}

fn busy() -> Status {
    status().state(State::Busy)
}

fn failed() -> Status {
    let mut attention = Attention::new();
    attention.reason = Reason::ERROR;
    status().attention(Some(attention))
}

fn card() -> Card {
    Card::new(Facts { process_started_ms: T0, ..Facts::default() })
}

fn idle_now(ms: i64) -> Now {
    Now { ms, working: false }
}

fn shown(document: &KingStatus) -> (&str, &str) {
    (document.status.as_str(), document.activity.as_deref().unwrap_or_default())
}

#[test]
fn the_text_is_laid_out_as_pi_kings() {
    let mut card = Card::new(Facts {
        process_started_ms: T0,
        visible: true,
        fork: false,
        fingerprint: Some("2f3e29980346b92c".into()),
    });
    card.prompt("  fix the\nparser  ");
    card.started();
    card.subagent(SubagentPhase::Started, "a1", Some("Explore"), Some("look"), Now { ms: T0 + 5, working: true });
    let document = card.document(&busy().name(Some("api".into())), T0 + 9);
    let text = String::from_utf8(crate::writer::to_bytes(&document)).unwrap();
    assert_eq!(
        text,
        r#"{
  "formatVersion": 1,
  "id": "s-1",
  "name": "api",
  "cwd": "/home/dev/app",
  "project": "app",
  "model": "m-2",
  "pid": 4242,
  "startedAt": 1795974300000,
  "lastActivity": 1795974300009,
  "status": "working",
  "activity": "fix the\nparser",
  "title": "◐ api",
  "sessionFile": "/home/dev/.pi/agent/sessions/s-1.jsonl",
  "subagents": [
    {
      "id": "a1",
      "agentType": "Explore",
      "description": "look",
      "status": "running",
      "startedAt": 1795974300005
    }
  ],
  "visible": true,
  "contextPct": 13,
  "startupFingerprint": "2f3e29980346b92c",
  "isFork": false
}"#
    );
}

#[test]
fn what_is_unknown_is_left_out_and_never_null() {
    let bare = Status::new().session("s-1".into()).pid(Some(1)).cwd("/".into());
    let text = serde_json::to_string(&card().document(&bare, T0)).unwrap();
    assert!(!text.contains("null"), "{text}");
    for key in ["name", "model", "sessionFile", "contextPct", "startupFingerprint"] {
        assert!(!text.contains(&format!("\"{key}\"")), "{key}: {text}");
    }
    assert!(text.contains("\"project\":\"/\"") && text.contains("\"title\":\"● /\""), "{text}");
}

#[test]
fn a_turn_from_its_prompt_to_its_end() {
    let mut card = card();
    assert_eq!(shown(&card.document(&status(), T0)), ("idle", "Session started."));
    card.prompt("do it");
    assert_eq!(shown(&card.document(&status(), T0)), ("idle", "Session started."), "a prompt alone is no turn");
    card.started();
    assert_eq!(shown(&card.document(&busy(), T0)), ("working", "do it"));
    card.settled(true);
    assert_eq!(shown(&card.document(&status(), T0)), ("idle", "Done: do it"));
    assert_eq!(shown(&card.ended(&status(), T0)), ("exited", "Session ended."));
}

#[test]
fn without_a_prompt() {
    let mut card = card();
    card.started();
    assert_eq!(shown(&card.document(&busy(), T0)), ("working", "Working."));
    card.settled(true);
    assert_eq!(shown(&card.document(&status(), T0)), ("idle", "Waiting for input."));
    assert_eq!(shown(&card.ended(&status(), T0)), ("exited", "Session ended."));
}

#[test]
fn attention_is_a_result_that_nobody_saw() {
    let mut card = card();
    card.prompt("do it");
    card.started();
    card.settled(false);
    assert_eq!(shown(&card.document(&status(), T0)), ("attention", "Done: do it"));
    card.looked_at();
    assert_eq!(shown(&card.document(&status(), T0)), ("idle", "Done: do it"));
    card.settled(false);
    card.started();
    assert_eq!(card.document(&busy(), T0).status, KingState::WORKING);
}

#[test]
fn an_error_stays_with_its_reason_until_the_next_turn() {
    let mut card = card();
    card.prompt("do it");
    card.started();
    card.failed(" Provider error: HTTP 503 ");
    assert_eq!(card.document(&busy(), T0).status, KingState::WORKING, "it may be tried again");
    card.settled(false);
    assert_eq!(shown(&card.document(&failed(), T0)), ("error", "Provider error: HTTP 503"));
    card.started();
    card.settled(true);
    assert_eq!(shown(&card.document(&failed(), T0)), ("error", "The last turn failed."));
}

#[test]
fn subagents_keep_a_settled_session_in_the_background() {
    let mut card = card();
    card.prompt("do it");
    card.subagent(SubagentPhase::Created, "a1", Some("Explore"), None, Now { ms: T0, working: true });
    card.started();
    card.settled(false);
    let document = card.document(&status(), T0);
    assert_eq!(document.status, KingState::BACKGROUND, "and not attention: it goes on");
    assert_eq!(document.subagents[0].description, "background agent");
    card.subagent(SubagentPhase::Completed, "a1", None, None, Now { ms: T0 + 10, working: true });
    assert_eq!(card.document(&busy(), T0).status, KingState::WORKING);
    assert_eq!(
        card.document(&status(), T0).status,
        KingState::IDLE,
        "it ended while the agent worked: no result waits"
    );
    card.subagent(SubagentPhase::Started, "a2", None, Some("t"), idle_now(T0 + 20));
    assert_eq!(card.document(&status(), T0).status, KingState::BACKGROUND);
    card.subagent(SubagentPhase::Failed, "a2", None, None, idle_now(T0 + 30));
    assert_eq!(card.document(&status(), T0).status, KingState::ATTENTION);
}

#[test]
fn an_ended_subagent_stays_for_five_minutes() {
    let mut card = card();
    card.subagent(SubagentPhase::Started, "a1", None, None, idle_now(T0));
    card.subagent(SubagentPhase::Completed, "a1", None, None, idle_now(T0 + 1000));
    let count = |ms: i64| card.document(&status(), ms).subagents.len();
    assert_eq!((count(T0 + 1000 + 300_000), count(T0 + 1001 + 300_000)), (1, 0));
}

#[test]
fn a_reload_goes_on_from_the_card() {
    let mut before =
        Card::new(Facts { process_started_ms: T0, visible: true, fork: true, fingerprint: Some("aaaa".into()) });
    before.prompt("do it");
    before.started();
    before.settled(false);
    before.subagent(SubagentPhase::Started, "a1", None, None, idle_now(T0));
    let left = before.document(&status(), T0);
    // The birth of the process, counted again, came out otherwise.
    let mut after =
        Card::new(Facts { process_started_ms: T0 + 1, fingerprint: Some("bbbb".into()), ..Facts::default() });
    after.resume(&left);
    let document = after.document(&status(), T0 + 1);
    assert_eq!(document, {
        let mut same = left.clone();
        same.last_activity = document.last_activity;
        same
    });
    // A card that a former end had stamped does not say so any longer.
    let mut again = card();
    again.resume(&before.ended(&status(), T0));
    assert_eq!(shown(&again.document(&status(), T0)), ("background", "Session started."));
}

#[test]
fn of_a_dead_process_only_the_users_wish_is_taken_over() {
    let mut dead = Card::new(Facts { visible: true, fingerprint: Some("aaaa".into()), ..Facts::default() });
    dead.prompt("old");
    dead.started();
    let mut new = card();
    new.inherit(&dead.document(&busy(), T0));
    let document = new.document(&status(), T0);
    assert!(document.visible);
    assert_eq!((document.startup_fingerprint.as_deref(), shown(&document)), (None, ("idle", "Session started.")));
}

#[test]
fn prose_is_cut_as_javascript_counts_and_no_pair_is_torn() {
    assert_eq!(cut(&"x".repeat(140), 140), "x".repeat(140));
    assert_eq!(cut(&"x".repeat(141), 140), format!("{}…", "x".repeat(139)));
    assert_eq!(cut(&"😀".repeat(71), 140), format!("{}…", "😀".repeat(69)));
    assert_eq!(cut(&format!("x{}", "😀".repeat(70)), 140), format!("x{}…", "😀".repeat(69)));
}

#[test]
fn the_events_of_subagents() {
    assert_eq!(SubagentPhase::of_event("subagents:failed"), Some(SubagentPhase::Failed));
    assert_eq!(SubagentPhase::of_event("subagents:steered"), None);
    assert_eq!(SubagentPhase::of_event("created"), None);
}
