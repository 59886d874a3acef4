//! A document in Prometheus' text format, for a textfile collector.

use std::collections::BTreeMap;
use std::fmt::Write;

use jig_session_schema::row::{Problem, Row};
use jig_session_schema::status::Reason;
use jig_session_schema::time::Timestamp;
use jig_session_store::Condition;

/// The conditions of a live session, each of which is counted for each agent that has one.
const STATES: [&str; 4] = ["attention", "stopped", "busy", "idle"];

/// Labels by name; the order is that of their first use.
type Labels<'a> = Vec<(&'static str, &'a str)>;

/// One metric: its name, what it is, and its values.
struct Metric {
    name: &'static str,
    help: &'static str,
    /// Labels as they are written, and the value.
    values: BTreeMap<String, f64>,
}

impl Metric {
    fn new(name: &'static str, help: &'static str) -> Self {
        Self { name, help, values: BTreeMap::new() }
    }

    fn add(&mut self, labels: &Labels<'_>, value: f64) {
        *self.values.entry(written(labels)).or_default() += value;
    }

    fn most(&mut self, labels: &Labels<'_>, value: f64) {
        let slot = self.values.entry(written(labels)).or_default();
        *slot = slot.max(value);
    }
}

fn written(labels: &Labels<'_>) -> String {
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) }
}

/// The value of a label: any text, in which three characters are written by two.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The document: live sessions by state, agent and machine, who waits and how long, and what sessions say of cost and
/// tokens. `machine` names the rows of this machine.
#[must_use]
pub fn document<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    problems: &[Problem],
    machine: &str,
    now: Timestamp,
) -> String {
    let mut sessions = Metric::new("jig_session_sessions", "Live sessions by state.");
    let mut waiting = Metric::new("jig_session_waiting_sessions", "Sessions that wait for a person, by reason.");
    let mut longest = Metric::new("jig_session_longest_wait_seconds", "The longest wait for a person.");
    let mut cost = Metric::new("jig_session_cost_dollars", "What live sessions say they have cost, in US dollars.");
    let mut tokens = Metric::new("jig_session_tokens", "Tokens that live sessions say they have used, by kind.");
    let mut background = Metric::new("jig_session_background_tasks", "Background tasks and subagents that run.");
    let mut unread = Metric::new("jig_session_unreadable_files", "Files that give no session, by reason.");
    for row in rows {
        let condition = Condition::of(row);
        if condition == Condition::Gone {
            continue;
        }
        let agent = row.agent_name();
        let place: Labels<'_> = vec![("machine", row.host.as_deref().unwrap_or(machine)), ("agent", agent.as_str())];
        let with = |name: &'static str, value: &'a str| [place.clone(), vec![(name, value)]].concat();
        for state in STATES {
            sessions.add(&with("state", state), if state == condition.word() { 1.0 } else { 0.0 });
        }
        let since = row.attention.as_ref().and_then(|attention| attention.since);
        if let Condition::Attention(reason) = &condition {
            let labels = [place.clone(), vec![("reason", reason.as_str())]].concat();
            waiting.add(&labels, 1.0);
            if *reason != Reason::FINISHED {
                let seconds = since.map_or(0, |since| now.since_ms(since).max(0) / 1000);
                longest.most(&place, seconds as f64);
            }
        }
        if let Some(usage) = &row.usage {
            if let Some(dollars) = usage.cost.filter(|cost| cost.is_finite()) {
                cost.add(&place, dollars);
            }
            let kinds = [
                ("input", usage.input),
                ("output", usage.output),
                ("cache_read", usage.cache_read),
                ("cache_write", usage.cache_write),
            ];
            for (kind, count) in kinds {
                if let Some(count) = count {
                    tokens.add(&with("kind", kind), count as f64);
                }
            }
        }
        if let Some(count) = row.background {
            background.add(&place, count as f64);
        }
    }
    for problem in problems {
        let labels = vec![("machine", problem.host.as_deref().unwrap_or(machine)), ("reason", problem.reason.as_str())];
        unread.add(&labels, 1.0);
    }
    let mut looked = Metric::new("jig_session_look_timestamp_seconds", "When it was looked.");
    looked.add(&Labels::new(), now.epoch_ms() as f64 / 1000.0);
    let mut out = String::new();
    for metric in [sessions, waiting, longest, cost, tokens, background, unread, looked] {
        if metric.values.is_empty() {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(out, "# HELP {} {}\n# TYPE {0} gauge", metric.name, metric.help);
        for (labels, value) in &metric.values {
            let _ = writeln!(out, "{}{labels} {value}", metric.name);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::{ProblemReason, Verdict};
    use jig_session_schema::status::{Agent, AgentName, Attention, State, Usage};

    use super::*;

    fn row(agent: &str, state: State) -> Row {
        let agent = AgentName::new(agent).map(|name| Agent::new().name(name));
        Row::new().session("s".to_owned()).agent(agent).state(state).verdict(Verdict::Alive)
    }

    #[test]
    fn counts_waits_cost_and_tokens() {
        let now = Timestamp::from_epoch_ms(1_795_976_327_500);
        let since = Some(Timestamp::from_epoch_ms(1_795_976_317_400));
        let usage = Usage::new().input(Some(100)).output(Some(5)).cost(Some(1.5));
        let rows = [
            row("pi", State::Busy).usage(Some(usage.clone())),
            row("pi", State::Idle).usage(Some(usage)),
            row("claude", State::Busy).attention(Some(Attention::new().reason(Reason::APPROVAL).since(since))),
            row("claude", State::Busy).host(Some("far".into())),
            row("claude", State::Busy).verdict(Verdict::Gone),
        ];
        let problems = [Problem::new().reason(ProblemReason::EMPTY)];
        let text = document(&rows, &problems, "here", now);
        for line in [
            "# TYPE jig_session_sessions gauge",
            "jig_session_sessions{machine=\"here\",agent=\"pi\",state=\"busy\"} 1",
            "jig_session_sessions{machine=\"here\",agent=\"pi\",state=\"stopped\"} 0",
            "jig_session_sessions{machine=\"here\",agent=\"claude\",state=\"attention\"} 1",
            "jig_session_sessions{machine=\"here\",agent=\"claude\",state=\"busy\"} 0",
            "jig_session_sessions{machine=\"far\",agent=\"claude\",state=\"busy\"} 1",
            "jig_session_waiting_sessions{machine=\"here\",agent=\"claude\",reason=\"approval\"} 1",
            "jig_session_longest_wait_seconds{machine=\"here\",agent=\"claude\"} 10",
            "jig_session_cost_dollars{machine=\"here\",agent=\"pi\"} 3",
            "jig_session_tokens{machine=\"here\",agent=\"pi\",kind=\"input\"} 200",
            "jig_session_unreadable_files{machine=\"here\",reason=\"empty\"} 1",
            "jig_session_look_timestamp_seconds 1795976327.5",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_label_is_text_on_one_line() {
        let text = document(&[row("a\"\\\n} 9\nx", State::Busy)], &[], "m", Timestamp::from_epoch_ms(0));
        assert!(text.contains("agent=\"a\\\"\\\\\\n} 9\\nx\",state=\"busy\"} 1"), "{text}");
        assert!(text.lines().all(|line| line.starts_with("jig_session_") || line.starts_with("# ")), "{text}");
    }

    #[test]
    fn nothing_live_is_a_document_too() {
        let text = document(&[], &[], "m", Timestamp::from_epoch_ms(0));
        assert_eq!(text.lines().last(), Some("jig_session_look_timestamp_seconds 0"));
    }
}
