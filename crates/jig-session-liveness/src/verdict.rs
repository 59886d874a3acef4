//! The verdict: a pure function of a record and the evidence.

use std::fmt;

use jig_session_schema::row::Verdict;

use crate::evidence::{Evidence, Probe, Record};
use crate::identity::ProcessState;

/// How much younger than the last sign of its writer a process must be before a record without identity is taken for
/// another process's. No process id comes back sooner on the systems that this is used on; Windows reuses them at once,
/// and its clock is exact.
const TOLERANCE_MS: i64 = if cfg!(windows) { 2_000 } else { 60_000 };

/// The row of the table that decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The rows' texts are their documentation, and stand below in one place.
pub enum Rule {
    BadPid,
    Rebooted,
    OtherMachine,
    BeforeBoot,
    OtherNamespace,
    NoProcess,
    Zombie,
    SameStart,
    OtherStart,
    StartHidden,
    TooYoung,
    NoIdentity,
    ProbeFailed,
    NoPid,
}

impl Rule {
    /// Every row, with its number and what it says.
    const TABLE: [(Self, &'static str, &'static str); 14] = [
        (Self::BadPid, "1", "the recorded process id is none that a process can have here"),
        (Self::Rebooted, "3a", "this machine has been started anew since"),
        (
            Self::OtherMachine,
            "3b",
            "the record was written on another machine, or in another run of one that is not named",
        ),
        (Self::BeforeBoot, "3c", "the record has no identity and is older than this run of the machine"),
        (Self::OtherNamespace, "4", "the process id belongs to another pid namespace"),
        (Self::NoProcess, "5", "no process has that id"),
        (Self::Zombie, "6", "the process has ended and waits for its parent"),
        (Self::SameStart, "7", "a process has that id, and its start is the recorded one"),
        (Self::OtherStart, "8", "a process has that id, and its start is another one"),
        (Self::StartHidden, "9", "a process has that id, and its start cannot be read"),
        (Self::TooYoung, "10", "a process has that id, and it began after the last sign of the record's writer"),
        (Self::NoIdentity, "11", "a process has that id, and the record has no start to compare"),
        (Self::ProbeFailed, "12", "the process could not be looked at"),
        (Self::NoPid, "13", "the record has no process id"),
    ];

    fn row(self) -> (&'static str, &'static str) {
        for (rule, number, text) in Self::TABLE {
            if rule == self {
                return (number, text);
            }
        }
        ("", "")
    }

    /// The row's number.
    pub fn number(self) -> &'static str {
        self.row().0
    }

    /// What the row says, as a lower-case fragment.
    pub fn text(self) -> &'static str {
        self.row().1
    }

    /// All rows, in their order.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.iter().map(|row| row.0)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, text) = self.row();
        write!(f, "{number}: {text}")
    }
}

/// A verdict and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Whether the process runs.
    pub verdict: Verdict,
    /// The contract's word for the case; `None` for the plain ones.
    pub detail: Option<&'static str>,
    /// The row that decided.
    pub rule: Rule,
}

const fn judgement(verdict: Verdict, detail: Option<&'static str>, rule: Rule) -> Judgement {
    Judgement { verdict, detail, rule }
}

/// Judges a record. Rows are tried in their order and the first that matches decides.
pub fn verdict(record: &Record<'_>, evidence: &Evidence<'_>) -> Judgement {
    foreign_or_old(record, evidence).unwrap_or_else(|| shared(record, here(record, evidence)))
}

/// Rows 1 to 4: the process id means nothing here, or the process cannot have outlived a restart.
fn foreign_or_old(record: &Record<'_>, evidence: &Evidence<'_>) -> Option<Judgement> {
    if record.pid.is_some() && !pid_is_possible(record, evidence) {
        return Some(judgement(Verdict::Unknown, Some("bad pid"), Rule::BadPid));
    }
    if record.is_legacy() {
        // A minute of slack: the clock may have been set since the machine was started.
        let newest = record.written_ms.max(record.file_ms);
        let before = newest.zip(evidence.booted_ms).is_some_and(|(at, boot)| at < boot - 60_000);
        return match (before, record.local) {
            (false, _) => None,
            (true, true) => Some(judgement(Verdict::Gone, Some("rebooted"), Rule::BeforeBoot)),
            (true, false) => Some(judgement(Verdict::Unknown, Some("no identity"), Rule::BeforeBoot)),
        };
    }
    let same_boot = match (record.boot_id, evidence.boot_id) {
        (Some(recorded), Some(ours)) => recorded == ours,
        (None, None) => record.machine == evidence.machine,
        _ => false,
    };
    if !same_boot {
        let rebooted = record.boot_id.is_some() && evidence.boot_id.is_some();
        let ours = record.machine.is_some() && record.machine == evidence.machine;
        return Some(if rebooted && ours {
            judgement(Verdict::Gone, Some("rebooted"), Rule::Rebooted)
        } else {
            judgement(Verdict::Unknown, Some("other machine"), Rule::OtherMachine)
        });
    }
    if record.pid_namespace.is_some() && record.pid_namespace != evidence.pid_namespace {
        return Some(judgement(Verdict::Unknown, Some("other pid namespace"), Rule::OtherNamespace));
    }
    None
}

fn pid_is_possible(record: &Record<'_>, evidence: &Evidence<'_>) -> bool {
    record.valid_pid().is_some_and(|pid| evidence.pid_max.is_none_or(|max| pid <= max))
}

/// Rows 5 to 13: same machine, same run of it, same namespace.
fn here(record: &Record<'_>, evidence: &Evidence<'_>) -> Judgement {
    if record.pid.is_none() {
        return judgement(Verdict::Unknown, Some("no identity"), Rule::NoPid);
    }
    let (state, start, own_start, started_ms) = match &evidence.probe {
        Probe::Missing => return judgement(Verdict::Gone, None, Rule::NoProcess),
        Probe::Failed(_) | Probe::NotMade => {
            return judgement(Verdict::Unknown, Some("probe failed"), Rule::ProbeFailed);
        }
        Probe::Exists { state, start, own_start, started_ms } => (state, start, own_start, started_ms),
    };
    if matches!(state, Some(ProcessState::Zombie | ProcessState::Dead)) {
        return judgement(Verdict::Gone, Some("zombie"), Rule::Zombie);
    }
    let Some(start) = start.as_deref() else {
        return judgement(Verdict::Unverified, Some("start unreadable"), Rule::StartHidden);
    };
    let Some(recorded) = record.start else {
        let younger = record.written_ms.zip(*started_ms).is_some_and(|(at, began)| began > at + TOLERANCE_MS);
        return if younger {
            judgement(Verdict::Reused, None, Rule::TooYoung)
        } else {
            judgement(Verdict::Unverified, Some("no identity"), Rule::NoIdentity)
        };
    };
    if recorded != start && Some(recorded) != own_start.as_deref() {
        return judgement(Verdict::Reused, None, Rule::OtherStart);
    }
    let stopped = *state == Some(ProcessState::Stopped);
    judgement(Verdict::Alive, stopped.then_some("stopped"), Rule::SameStart)
}

/// A process that serves several sessions proves none of them by living; by ending it ends them all.
fn shared(record: &Record<'_>, judged: Judgement) -> Judgement {
    if record.shared && judged.verdict.is_alive() {
        return judgement(Verdict::Unverified, Some("shared process"), judged.rule);
    }
    judged
}
