//! Bulk plans against the contract's tables: every decision, every jitter vector, the argv of each action.

use jig_session_panes::bulk::{DecisionInput, Limits, Load, Options, Plan, decide, delay, preview};
use jig_session_panes::observe::Filter;
use jig_session_panes::pane::Pane;
use jig_session_panes::project::ProjectRule;
use jig_session_panes::tmux::{PaneFacts, Server, Socket};
use jig_session_schema::bulk::{Action, EntryDecision, Queue};
use jig_session_schema::live::PaneStatus;
use jig_session_schema::time::Timestamp;

const TABLE: &str = include_str!("fixtures/decisions.txt");

fn named(prefix: &str) -> Vec<&'static str> {
    TABLE.lines().filter_map(|line| line.strip_prefix(prefix)?.split_once(' ')).map(|(_, text)| text).collect()
}

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    TABLE.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|words| Action::parse(words[0]).is_some())
}

#[test]
fn every_row_of_the_decision_table() {
    let reasons = named("reason ");
    let over = ["1m load per core 25 exceeds max 1.5".to_owned()];
    let mut count = 0;
    for words in rows() {
        let action = Action::parse(words[0]).expect("an action");
        let status = PaneStatus::parse(words[1]).expect("a status");
        let bit = |at: usize| words[2].as_bytes()[at] == b'1';
        let statuses = [status];
        let (decision, reason, queue) = decide(&DecisionInput {
            action,
            status,
            statuses: bit(0).then_some(&statuses[..]),
            reasons: if bit(1) { &[] } else { &over },
            dry_run: bit(2),
            yes: bit(3),
            queue: bit(4),
        });
        assert_eq!(decision.as_str(), words[3], "{words:?}");
        assert_eq!(queue.as_str(), words[4], "{words:?}");
        assert_eq!(reason, reasons[words[5].parse::<usize>().expect("a number")], "{words:?}");
        count += 1;
    }
    assert_eq!(count, 896);
}

#[test]
fn every_jitter_vector() {
    let mut count = 0;
    for line in include_str!("fixtures/jitter.txt").lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<_> = line.split('|').collect();
        let numbers: Vec<u64> = parts[0].split(' ').map(|word| word.parse().expect("a number")).collect();
        let expected: Vec<u64> = parts[2].split(' ').map(|word| word.parse().expect("a number")).collect();
        let found: Vec<u64> = parts[1]
            .split(' ')
            .enumerate()
            .map(|(index, target)| delay(target, index, numbers[0], numbers[1]))
            .collect();
        assert_eq!(found, expected, "concurrency and jitter {numbers:?}");
        count += found.len();
    }
    assert_eq!(count, 45);
}

fn pane(session: &str, id: &str, command: &str, path: &str, text: &str) -> Pane {
    let facts = PaneFacts {
        session: session.into(),
        window_index: "0".into(),
        pane_index: "0".into(),
        pane_id: id.into(),
        command: command.into(),
        path: path.into(),
        start_path: "/home/dev/home/dev/open-a".into(),
        dead: command.is_empty(),
        pid: 7,
        ..PaneFacts::default()
    };
    let project = ProjectRule::default().project(session, path);
    Pane::new(facts, project, text.into(), None)
}

fn options(action: Action) -> Options {
    Options {
        action,
        dry_run: false,
        yes: true,
        queue: true,
        concurrency: 2,
        jitter_ms: 0,
        limits: Limits::default(),
        filter: Filter::default(),
    }
}

fn plan(options: &Options, panes: Vec<Pane>) -> Plan {
    let load = Load { load1: 0.5, cpus: 2 };
    Plan::new(options, &Server::default(), "devbox", panes, load, Timestamp::from_epoch_ms(0))
}

fn argv(action: Action, pane: Pane) -> Option<Vec<String>> {
    plan(&options(action), vec![pane]).envelope.entries.remove(0).argv
}

#[test]
fn argv_of_a_live_pane_is_the_tables() {
    let argvs = named("argv ");
    for words in rows() {
        let action = Action::parse(words[0]).expect("an action");
        let expected: serde_json::Value =
            serde_json::from_str(argvs[words[6].parse::<usize>().expect("a number")]).expect("JSON");
        let found = argv(action, pane("open-a", "%1", "bash", "/home/dev/home/dev/open-a", "$"));
        assert_eq!(serde_json::json!(found), expected, "{words:?}");
    }
}

#[test]
fn a_dead_pane_is_started_where_it_was_opened() {
    let dead = || pane("open-a", "%1", "", "", "Pane is dead");
    let start = ["tmux", "respawn-pane", "-t", "%1", "-c", "/home/dev/home/dev/open-a"];
    assert_eq!(argv(Action::Start, dead()).as_deref(), Some(&start.map(String::from)[..]));
    assert_eq!(argv(Action::Ensure, dead()), argv(Action::Start, dead()));
    let restart = ["tmux", "respawn-pane", "-k", "-t", "%1", "-c", "/home/dev/home/dev/open-a"];
    assert_eq!(argv(Action::Restart, dead()).as_deref(), Some(&restart.map(String::from)[..]));
}

#[test]
fn a_restart_keeps_the_folder_the_pane_works_in() {
    let found = argv(Action::Restart, pane("w", "%1", "bash", "/home/dev/open-x/packages/api", "$")).expect("an argv");
    assert_eq!(found.last().map(String::as_str), Some("/home/dev/open-x/packages/api"));
}

#[test]
fn the_server_that_was_asked_is_in_the_argv() {
    let server = Server { socket: Socket::Name("other".into()), ..Server::default() };
    let panes = vec![pane("s", "%1", "bash", "/srv", "$")];
    let plan = Plan::new(&options(Action::Stop), &server, "m", panes, Load::default(), Timestamp::from_epoch_ms(0));
    let entry = &plan.envelope.entries[0];
    assert_eq!(entry.argv.as_deref(), Some(&["tmux", "-L", "other", "kill-pane", "-t", "%1"].map(String::from)[..]));
    assert_eq!(entry.command_preview.as_deref(), Some(r#""tmux" "-L" "other" "kill-pane" "-t" "%1""#));
}

#[test]
fn only_confirmed_entries_become_steps() {
    let panes = || vec![pane("b", "%2", "bash", "/srv", "$"), pane("a", "%1", "cargo", "/srv", "Building")];
    let stop = plan(&options(Action::Stop), panes());
    let entries: Vec<_> = stop.envelope.entries.iter().map(|e| (e.target.as_str(), e.decision, e.queue)).collect();
    assert_eq!(
        entries,
        [("a:0.0", EntryDecision::Refused, Queue::None), ("b:0.0", EntryDecision::Queued, Queue::Local)]
    );
    assert_eq!(stop.steps().iter().map(|step| step.index).collect::<Vec<_>>(), [1]);
    assert!(!stop.well(), "something was refused");
    for options in [
        Options { dry_run: true, ..options(Action::Stop) },
        Options { yes: false, ..options(Action::Stop) },
        options(Action::Status),
        options(Action::Capture),
    ] {
        assert!(plan(&options, panes()).steps().is_empty(), "{options:?}");
    }
    let direct = Options { queue: false, jitter_ms: 500, ..options(Action::Stop) };
    assert_eq!(plan(&direct, panes()).steps()[0].delay_ms, 0, "without a queue there is no delay");
}

#[test]
fn the_envelope_has_the_contracts_keys_in_order() {
    let mut capture = plan(&options(Action::Capture), vec![pane("s", "%1", "bash", "/srv", "one\n\u{202e}two\n$ ")]);
    capture.settle(Vec::new());
    let text = serde_json::to_string(&capture.envelope).expect("it serialises");
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let keys = |value: &serde_json::Value| {
        let map = value.as_object().expect("an object").clone();
        map.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        keys(&document),
        "schemaVersion observedAt action dryRun yes queue executionEnabled concurrency jitterMs filters guard summary entries"
    );
    assert_eq!(keys(&document["summary"]), "totalPanes selected planned queued skipped refused done failed");
    assert_eq!(
        keys(&document["entries"][0]),
        "target machine projectSlug projectPath isOpenSession status action decision reason scheduledDelayMs queue argv \
         commandPreview lastVisibleLine paneId capturedText checks result"
    );
    assert_eq!(document["schemaVersion"], "sessions.bulk.v1");
    assert_eq!(document["entries"][0]["capturedText"], "one\ntwo\n$");
    assert_eq!(preview(&["a b".into(), "\"".into()]), r#""a b" "\"""#);
}
