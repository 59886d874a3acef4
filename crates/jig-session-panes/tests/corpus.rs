//! The classifier over every screen that was captured or reported: at least 95 % right in each corpus, and
//! never idle where an agent works or waits.

use jig_session_panes::classify::{Cursor, PaneObservation, classify};
use jig_session_schema::live::PaneStatus;
use serde_json::Value;

struct Score {
    cases: usize,
    right: usize,
    lines: Vec<String>,
    unsafe_idle: Vec<String>,
}

fn text<'a>(case: &'a Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} is missing in {case}"))
}

fn cursor(case: &Value) -> Option<Cursor> {
    let number = |at: usize| case["cursor"][at].as_u64().map(|number| number as usize);
    Some(Cursor { column: number(0)?, row: number(1)? })
}

fn run(corpus: &str) -> Score {
    let mut score = Score { cases: 0, right: 0, lines: Vec::new(), unsafe_idle: Vec::new() };
    for line in corpus.lines().filter(|line| !line.is_empty()) {
        let case: Value = serde_json::from_str(line).expect("a case is one JSON object a line");
        let pane = PaneObservation {
            command: text(&case, "command"),
            title: text(&case, "title"),
            dead: case["dead"] == Value::Bool(true),
            alternate: case["alternate"] == Value::Bool(true),
            cursor: cursor(&case),
            shell_children: case["shellChildren"].as_u64().map(|children| children as usize),
            processes: None,
            text: text(&case, "text"),
        };
        let found = classify(&pane);
        let expected = text(&case, "expected");
        let tolerated =
            case["alsoOk"].as_array().is_some_and(|words| words.iter().any(|word| word == found.status.as_str()));
        score.cases += 1;
        if found.status.as_str() == expected || tolerated {
            score.right += 1;
        } else {
            let line = format!(
                "{}: {} instead of {expected} by {:?} of {:?}",
                text(&case, "id"),
                found.status.as_str(),
                found.rule,
                found.agent
            );
            if found.status == PaneStatus::Idle {
                score.unsafe_idle.push(line.clone());
            }
            score.lines.push(line);
        }
    }
    score
}

fn check(name: &str, corpus: &str, at_least: usize) {
    let score = run(corpus);
    assert!(score.cases >= at_least, "{name} holds {} cases", score.cases);
    assert!(score.unsafe_idle.is_empty(), "{name}: unsafe idle\n{}", score.unsafe_idle.join("\n"));
    assert!(
        score.right * 100 >= score.cases * 95,
        "{name}: {} of {}\n{}",
        score.right,
        score.cases,
        score.lines.join("\n")
    );
    // The rate above is the contract; that nothing is wrong today is what keeps the rules honest.
    assert!(score.lines.is_empty(), "{name}: {} of {}\n{}", score.right, score.cases, score.lines.join("\n"));
}

#[test]
fn reported_screens() {
    check("reported", include_str!("fixtures/reported.jsonl"), 78);
}

#[test]
fn first_captured_screens() {
    check("captured-1", include_str!("fixtures/captured-1.jsonl"), 29);
}

#[test]
fn second_captured_screens() {
    check("captured-2", include_str!("fixtures/captured-2.jsonl"), 160);
}

#[test]
fn third_captured_screens() {
    check("captured-3", include_str!("fixtures/captured-3.jsonl"), 60);
}

#[test]
fn fourth_captured_screens() {
    check("captured-4", include_str!("fixtures/captured-4.jsonl"), 340);
}

#[test]
fn fifth_captured_screens() {
    check("captured-5", include_str!("fixtures/captured-5.jsonl"), 495);
}
