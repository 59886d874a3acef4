//! What a request leads to: a pure function of the request, what the session offers and what it remembers.

use jig_session_schema::limits::{ANSWER_NAME_CHARS, REQUEST_AGE};
use jig_session_schema::request::{NotARequest, Request};

/// File times come from a clock that ticks more coarsely than the one `startedAt` is read from; a request
/// that a requester wrote because it saw the session's first file must not look older than the session.
const GRAIN_MS: i64 = 20;

/// One tool or skill a session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// It is offered to the model now.
    pub on: bool,
    /// It cannot be turned on by a request.
    pub hidden: bool,
}

/// What a request is judged by: the session's last `capabilities` event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Every tool of the session.
    pub tools: Vec<Offer>,
    /// Every skill of the session.
    pub skills: Vec<Offer>,
    /// The accepted kinds: `tools`, `skills`, `reload`. Empty: none.
    pub accepts: Vec<String>,
}

impl Capabilities {
    fn accepts(&self, what: &str) -> bool {
        self.accepts.iter().any(|word| word == what)
    }
}

/// What the session remembers of the requests it has answered.
pub trait Memory {
    /// The id was answered before; that answer stands and nothing runs.
    fn answered(&self, id: &str) -> bool;
}

impl<F: Fn(&str) -> bool> Memory for F {
    fn answered(&self, id: &str) -> bool {
        self(id)
    }
}

/// The circumstances of one request, all as epoch milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// When the request's file was written.
    pub written: i64,
    /// The time now.
    pub now: i64,
    /// When the session began.
    pub started: i64,
    /// The file was taken by a process that is gone: it may have been applied in part.
    pub interrupted: bool,
}

/// What is to be done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The id was answered before: give that answer again, run nothing.
    Repeat {
        /// The request's id.
        id: String,
    },
    /// Answer at once, run nothing.
    Answer {
        /// The request's id, as far as it could be read.
        id: String,
        /// Something requested was done, or the request was empty.
        ok: bool,
        /// The answer's message.
        message: String,
    },
    /// Run the plan, then answer with [`Plan::done`] or [`Plan::failed`].
    Run(Plan),
}

/// What a request makes the session do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The request's id.
    pub id: String,
    /// Tools to switch: only names that exist and may change.
    pub tools: Vec<(String, bool)>,
    /// Skills to switch: only names that exist.
    pub skills: Vec<(String, bool)>,
    /// Reload once idle.
    pub reload: bool,
    /// What of the request is not done, as parts of the message.
    notes: Vec<String>,
}

impl Plan {
    /// The agent has something to switch now; without it only a reload is due.
    #[must_use]
    pub fn switches(&self) -> bool {
        !self.tools.is_empty() || !self.skills.is_empty()
    }

    /// The answer's `ok` and message after the switches were applied.
    #[must_use]
    pub fn done(&self) -> (bool, String) {
        let reload = self.reload.then(|| "reload when idle".to_owned());
        let done = switched("tools", &self.tools).into_iter().chain(switched("skills", &self.skills)).chain(reload);
        (true, join(done.chain(self.notes.iter().cloned())))
    }

    /// The answer's `ok` and message after the agent refused the switches. No reload follows.
    #[must_use]
    pub fn failed(&self, why: &str) -> (bool, String) {
        (false, join(self.notes.iter().cloned().chain([format!("failed: {why}")])))
    }
}

/// Decides what is to be done with a request.
#[must_use]
pub fn judge(
    request: Result<Request, NotARequest>,
    timing: &Timing,
    offers: &Capabilities,
    memory: &impl Memory,
) -> Judgement {
    let refuse = |id: String, message: &str| Judgement::Answer { id, ok: false, message: message.into() };
    let id = match &request {
        Ok(asked) => asked.id.clone(),
        Err(not) => not.id.clone(),
    };
    if !id.is_empty() && memory.answered(&id) {
        return Judgement::Repeat { id };
    }
    if timing.interrupted {
        return refuse(id, "interrupted: it may have been applied in part");
    }
    let asked = match request {
        Ok(asked) => asked,
        Err(not) => return refuse(not.id, &not.message),
    };
    let age = u128::try_from(timing.now - timing.written).unwrap_or_default();
    if timing.written + GRAIN_MS < timing.started || age > REQUEST_AGE.as_millis() {
        return refuse(id, "stale");
    }
    if offers.accepts.is_empty() {
        return refuse(id, "this session takes no requests");
    }
    weigh(asked, offers)
}

/// Splits a request into what is done and what is ignored or refused.
fn weigh(asked: Request, offers: &Capabilities) -> Judgement {
    let (nothing_asked, reload) = (asked.is_empty(), asked.wants_reload());
    let mut plan = Plan { id: asked.id, reload: reload && offers.accepts("reload"), ..Plan::default() };
    let none: &[Offer] = &[];
    let tools = if offers.accepts("tools") { &offers.tools } else { none };
    let skills = if offers.accepts("skills") { &offers.skills } else { none };
    let mut refused = Vec::new();
    for (name, on) in asked.tools.0 {
        match tools.iter().find(|offer| offer.name == name) {
            None => plan.notes.push(format!("ignored: no tool {}", cut(&name))),
            Some(offer) if offer.hidden && on => refused.push(format!("refused: tool {} is hidden", cut(&name))),
            Some(_) => plan.tools.push((name, on)),
        }
    }
    for (name, on) in asked.skills.0 {
        if skills.iter().any(|offer| offer.name == name) {
            plan.skills.push((name, on));
        } else {
            plan.notes.push(format!("ignored: no skill {}", cut(&name)));
        }
    }
    plan.notes.append(&mut refused);
    if reload && !plan.reload {
        plan.notes.push("refused: this session takes no reload".into());
    }
    if plan.switches() || plan.reload {
        return Judgement::Run(plan);
    }
    if nothing_asked {
        return Judgement::Answer { id: plan.id, ok: true, message: "nothing to do".into() };
    }
    Judgement::Answer { id: plan.id, ok: false, message: join(plan.notes.into_iter()) }
}

fn switched(kind: &str, switches: &[(String, bool)]) -> Option<String> {
    let names: Vec<String> =
        switches.iter().map(|(name, on)| format!("{} {}", cut(name), if *on { "on" } else { "off" })).collect();
    (!names.is_empty()).then(|| format!("{kind}: {}", names.join(", ")))
}

fn join(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("; ")
}

fn cut(name: &str) -> String {
    name.chars().take(ANSWER_NAME_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000;

    fn offers() -> Capabilities {
        let offer = |name: &str, hidden| Offer { name: name.into(), on: true, hidden };
        Capabilities {
            tools: vec![offer("bash", false), offer("read", false), offer("secret", true)],
            skills: vec![offer("pdf-tools", false)],
            accepts: ["tools", "skills", "reload"].map(String::from).to_vec(),
        }
    }

    fn fresh() -> Timing {
        Timing { written: NOW - 100, now: NOW, started: NOW - 10_000, interrupted: false }
    }

    fn decide(text: &str, timing: &Timing, offers: &Capabilities) -> Judgement {
        judge(Request::accept(text.as_bytes()), timing, offers, &|id: &str| id == "old")
    }

    fn ask(fields: &str) -> Judgement {
        decide(&format!(r#"{{"schema":1,"id":"a",{fields}}}"#), &fresh(), &offers())
    }

    /// The answer after everything that can run has run well.
    fn answer(judgement: Judgement) -> (bool, String) {
        match judgement {
            Judgement::Answer { ok, message, .. } => (ok, message),
            Judgement::Run(plan) => plan.done(),
            Judgement::Repeat { id } => (false, format!("repeat {id}")),
        }
    }

    #[test]
    fn the_parts_of_the_message_stand_in_the_contracts_order() {
        let judgement = ask(
            r#""tools":{"nosuch":true,"secret":true,"read":true,"bash":false},"skills":{"x":false,"pdf-tools":false},"reload":true"#,
        );
        let Judgement::Run(plan) = &judgement else { panic!("{judgement:?}") };
        assert_eq!(plan.tools, [("read".to_owned(), true), ("bash".to_owned(), false)]);
        assert_eq!(
            answer(judgement),
            (
                true,
                "tools: read on, bash off; skills: pdf-tools off; reload when idle; ignored: no tool nosuch; \
                 ignored: no skill x; refused: tool secret is hidden"
                    .to_owned()
            )
        );
    }

    #[test]
    fn ok_is_false_when_nothing_that_was_asked_for_was_done() {
        for (fields, ok, message) in [
            (r#""later":1"#, true, "nothing to do"),
            (r#""tools":{},"reload":false"#, true, "nothing to do"),
            (r#""tools":{"nosuch":true}"#, false, "ignored: no tool nosuch"),
            (r#""tools":{"secret":true}"#, false, "refused: tool secret is hidden"),
            (r#""tools":{"secret":false}"#, true, "tools: secret off"),
            (r#""reload":true"#, true, "reload when idle"),
        ] {
            assert_eq!(answer(ask(fields)), (ok, message.to_owned()), "{fields}");
        }
    }

    #[test]
    fn a_name_is_cut_at_64_characters() {
        let name = "ä".repeat(70);
        let (_, message) = answer(ask(&format!(r#""tools":{{"{name}":true}}"#)));
        assert_eq!(message, format!("ignored: no tool {}", "ä".repeat(64)));
    }

    #[test]
    fn an_agent_that_refuses_is_quoted_and_does_not_reload() {
        let Judgement::Run(plan) = ask(r#""tools":{"bash":false,"x":true},"reload":true"#) else { panic!() };
        assert_eq!(plan.failed("no such session"), (false, "ignored: no tool x; failed: no such session".to_owned()));
    }

    #[test]
    fn an_old_file_is_stale_and_runs_nothing() {
        let reload = r#"{"schema":1,"id":"a","reload":true}"#;
        for (written, started, stale) in [
            (NOW - 60_000, NOW - 100_000, false),
            (NOW - 60_001, NOW - 100_000, true),
            (NOW - 100, NOW - 100, false),
            (NOW - 120, NOW - 100, false),
            (NOW - 121, NOW - 100, true),
        ] {
            let timing = Timing { written, started, ..fresh() };
            let expected = if stale { (false, "stale".to_owned()) } else { (true, "reload when idle".to_owned()) };
            assert_eq!(answer(decide(reload, &timing, &offers())), expected, "{written}");
        }
    }

    #[test]
    fn an_interrupted_request_does_not_run_again() {
        let timing = Timing { interrupted: true, ..fresh() };
        let judgement = decide(r#"{"schema":1,"id":"a","reload":true}"#, &timing, &offers());
        assert_eq!(answer(judgement), (false, "interrupted: it may have been applied in part".to_owned()));
    }

    #[test]
    fn an_answered_id_is_repeated_whatever_else_is_wrong_with_it() {
        for interrupted in [false, true] {
            let timing = Timing { interrupted, written: 0, ..fresh() };
            for text in [r#"{"schema":1,"id":"old","reload":true}"#, r#"{"schema":9,"id":"old"}"#] {
                assert_eq!(decide(text, &timing, &offers()), Judgement::Repeat { id: "old".into() });
            }
        }
    }

    #[test]
    fn a_session_answers_what_it_does_not_take() {
        let mut offers = offers();
        offers.accepts = vec!["tools".into()];
        let text = r#"{"schema":1,"id":"a","skills":{"pdf-tools":false},"reload":true}"#;
        assert_eq!(
            answer(decide(text, &fresh(), &offers)),
            (false, "ignored: no skill pdf-tools; refused: this session takes no reload".to_owned())
        );
        offers.accepts.clear();
        assert_eq!(answer(decide(text, &fresh(), &offers)), (false, "this session takes no requests".to_owned()));
    }
}
