//! The table of verdicts, row by row.

use jig_session_liveness::Verdict::{Alive, Gone, Reused, Unknown, Unverified};
use jig_session_liveness::{Evidence, Probe, ProcessState, Record, Rule, Verdict, verdict};

const BOOT: i64 = 1_700_000_000_000;

fn record() -> Record<'static> {
    Record {
        pid: Some(4711),
        start: Some("linux:100"),
        boot_id: Some("boot-a"),
        pid_namespace: Some("4026531836"),
        machine: Some("machine-a"),
        shared: false,
        written_ms: Some(BOOT + 1_000_000),
        file_ms: None,
        local: true,
    }
}

fn legacy() -> Record<'static> {
    Record { start: None, boot_id: None, pid_namespace: None, machine: None, ..record() }
}

fn evidence(probe: Probe) -> Evidence<'static> {
    Evidence {
        boot_id: Some("boot-a"),
        pid_namespace: Some("4026531836"),
        machine: Some("machine-a"),
        pid_max: Some(32_768),
        booted_ms: Some(BOOT),
        probe,
    }
}

fn exists(state: ProcessState, start: &str) -> Probe {
    Probe::Exists { state: Some(state), start: Some(start.to_owned()), own_start: None, started_ms: Some(BOOT + 1_000) }
}

fn same() -> Probe {
    exists(ProcessState::Live, "linux:100")
}

fn hidden() -> Probe {
    Probe::Exists { state: None, start: None, own_start: None, started_ms: None }
}

fn younger(ms: i64) -> Probe {
    Probe::Exists {
        state: Some(ProcessState::Live),
        start: Some("linux:100".to_owned()),
        own_start: None,
        started_ms: Some(BOOT + 1_000_000 + ms),
    }
}

/// A process that began with the machine.
fn at_boot_probe() -> Evidence<'static> {
    evidence(younger(-1_000_000))
}

type Row = (&'static str, Record<'static>, Evidence<'static>, Verdict, Option<&'static str>, Rule);

fn rows() -> Vec<Row> {
    use ProcessState::{Dead, Live, Stopped, Zombie};
    let pid = |pid| Record { pid: Some(pid), ..record() };
    let mut rows: Vec<Row> = Vec::new();

    for bad in [0, -1, i64::from(i32::MIN), 2_147_483_648, 4_294_967_295, i64::MAX, 32_769, 99_999] {
        rows.push(("bad pid", pid(bad), evidence(same()), Unknown, Some("bad pid"), Rule::BadPid));
        rows.push(("bad pid", pid(bad), evidence(Probe::Missing), Unknown, Some("bad pid"), Rule::BadPid));
    }
    let unlimited = Evidence { pid_max: None, ..evidence(same()) };
    rows.push(("no limit known", pid(99_999), unlimited, Alive, None, Rule::SameStart));
    rows.push(("the largest pid", pid(32_768), evidence(same()), Alive, None, Rule::SameStart));

    // Row 2: the boot decides; a machine's name or id does not.
    let other_id = Record { machine: Some("machine-b"), ..record() };
    rows.push(("container of this kernel", other_id, evidence(same()), Alive, None, Rule::SameStart));
    let no_boot = Record { boot_id: None, pid_namespace: None, ..record() };
    let without_boot = |probe| Evidence { boot_id: None, pid_namespace: None, ..evidence(probe) };
    rows.push(("machine on both sides", no_boot, without_boot(same()), Alive, None, Rule::SameStart));
    let start_only = Record { machine: None, ..no_boot };
    let tells_neither = Evidence { machine: None, ..without_boot(same()) };
    rows.push(("neither on both sides", start_only, tells_neither, Alive, None, Rule::SameStart));

    let old_boot = Record { boot_id: Some("boot-0"), ..record() };
    for probe in [same(), Probe::Missing, hidden(), Probe::Failed(None)] {
        rows.push(("rebooted", old_boot, evidence(probe), Gone, Some("rebooted"), Rule::Rebooted));
    }
    for foreign in [
        Record { machine: Some("machine-b"), ..old_boot },
        Record { machine: None, ..old_boot },
        Record { boot_id: None, ..record() },
        Record { boot_id: None, machine: None, ..record() },
        Record { boot_id: None, machine: Some("machine-b"), ..record() },
    ] {
        for probe in [same(), Probe::Missing] {
            rows.push(("foreign", foreign, evidence(probe), Unknown, Some("other machine"), Rule::OtherMachine));
        }
    }
    rows.push((
        "boot absent here",
        record(),
        without_boot(Probe::Missing),
        Unknown,
        Some("other machine"),
        Rule::OtherMachine,
    ));
    let elsewhere = Record { machine: Some("machine-b"), ..no_boot };
    rows.push((
        "no boots",
        elsewhere,
        without_boot(Probe::Missing),
        Unknown,
        Some("other machine"),
        Rule::OtherMachine,
    ));

    let old = Record { written_ms: Some(BOOT - 60_001), ..legacy() };
    let recent = Record { written_ms: Some(BOOT - 59_999), ..legacy() };
    let touched = Record { file_ms: Some(BOOT), ..old };
    let untouched = Record { written_ms: None, file_ms: Some(BOOT - 60_001), ..legacy() };
    rows.push(("touched since", touched, at_boot_probe(), Reused, None, Rule::TooYoung));
    rows.push(("dated by its file", untouched, evidence(same()), Gone, Some("rebooted"), Rule::BeforeBoot));
    let network = Record { local: false, ..old };
    let undated = Record { written_ms: None, ..legacy() };
    rows.push(("before the boot", old, evidence(same()), Gone, Some("rebooted"), Rule::BeforeBoot));
    rows.push(("before a boot, not here", network, evidence(same()), Unknown, Some("no identity"), Rule::BeforeBoot));
    rows.push(("within the slack", recent, at_boot_probe(), Unverified, Some("no identity"), Rule::NoIdentity));
    rows.push(("undated", undated, evidence(same()), Unverified, Some("no identity"), Rule::NoIdentity));

    let other_namespace = Record { pid_namespace: Some("4026532000"), ..record() };
    for probe in [same(), Probe::Missing] {
        let other = Some("other pid namespace");
        rows.push(("other namespace", other_namespace, evidence(probe), Unknown, other, Rule::OtherNamespace));
    }
    let unnamed = Record { pid_namespace: None, ..record() };
    rows.push(("namespace not recorded", unnamed, evidence(same()), Alive, None, Rule::SameStart));

    rows.push(("ended", record(), evidence(Probe::Missing), Gone, None, Rule::NoProcess));
    rows.push(("ended, legacy", legacy(), evidence(Probe::Missing), Gone, None, Rule::NoProcess));
    for state in [Zombie, Dead] {
        let probe = exists(state, "linux:100");
        rows.push(("zombie", record(), evidence(probe.clone()), Gone, Some("zombie"), Rule::Zombie));
        rows.push(("zombie, legacy", legacy(), evidence(probe), Gone, Some("zombie"), Rule::Zombie));
    }
    rows.push(("alive", record(), evidence(same()), Alive, None, Rule::SameStart));
    let stopped = evidence(exists(Stopped, "linux:100"));
    rows.push(("stopped", record(), stopped, Alive, Some("stopped"), Rule::SameStart));
    rows.push(("reused", record(), evidence(exists(Live, "linux:101")), Reused, None, Rule::OtherStart));
    rows.push(("reused, stopped", record(), evidence(exists(Stopped, "linux:101")), Reused, None, Rule::OtherStart));
    let shifted = Probe::Exists {
        state: Some(Live),
        start: Some("linux:5100".to_owned()),
        own_start: Some("linux:100".to_owned()),
        started_ms: None,
    };
    rows.push(("other time namespace", record(), evidence(shifted), Alive, None, Rule::SameStart));
    rows.push(("hidden", record(), evidence(hidden()), Unverified, Some("start unreadable"), Rule::StartHidden));

    rows.push(("too young", legacy(), evidence(younger(60_001)), Reused, None, Rule::TooYoung));
    for ms in [60_000, 0, -900_000] {
        let probe = evidence(younger(ms));
        rows.push(("old enough", legacy(), probe, Unverified, Some("no identity"), Rule::NoIdentity));
    }
    let partly = Record { start: None, ..record() };
    rows.push(("start not recorded", partly, evidence(same()), Unverified, Some("no identity"), Rule::NoIdentity));
    for errno in [Some(24), Some(23), Some(12), Some(5), None] {
        let failed = evidence(Probe::Failed(errno));
        rows.push(("failed", record(), failed.clone(), Unknown, Some("probe failed"), Rule::ProbeFailed));
        rows.push(("failed, legacy", legacy(), failed, Unknown, Some("probe failed"), Rule::ProbeFailed));
    }
    let no_pid = Record { pid: None, ..record() };
    rows.push(("no pid", no_pid, evidence(Probe::NotMade), Unknown, Some("no identity"), Rule::NoPid));
    let nothing = Record::default();
    rows.push(("nothing at all", nothing, evidence(Probe::NotMade), Unknown, Some("no identity"), Rule::NoPid));
    let rebooted = Record { pid: None, ..old_boot };
    rows.push(("no pid, rebooted", rebooted, evidence(Probe::NotMade), Gone, Some("rebooted"), Rule::Rebooted));

    // A process that serves several sessions: living it proves none of them, ended it ends all of them.
    let shared = Record { shared: true, ..record() };
    rows.push(("shared", shared, evidence(same()), Unverified, Some("shared process"), Rule::SameStart));
    rows.push(("shared, ended", shared, evidence(Probe::Missing), Gone, None, Rule::NoProcess));
    rows.push(("shared, reused", shared, evidence(exists(Live, "linux:101")), Reused, None, Rule::OtherStart));
    rows
}

#[test]
fn every_row_gives_its_verdict() {
    for (name, record, evidence, expected, detail, rule) in rows() {
        let judged = verdict(&record, &evidence);
        assert_eq!(
            (judged.verdict, judged.detail, judged.rule),
            (expected, detail, rule),
            "{name}: {record:?} {evidence:?}"
        );
    }
}

#[test]
fn every_rule_is_tried_and_explains_itself() {
    let mut texts = Vec::new();
    for rule in Rule::all() {
        assert!(rows().iter().any(|row| row.5 == rule), "no row for {rule}");
        assert_eq!(rule.to_string(), format!("{}: {}", rule.number(), rule.text()));
        texts.push(rule.text());
    }
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), Rule::all().count(), "two rules say the same");
}

/// What may be deleted upon: never anything without a probe that says so, unless the machine was started anew.
#[test]
fn nothing_is_over_on_missing_evidence() {
    for (name, record, evidence, ..) in rows() {
        let judged = verdict(&record, &evidence);
        if judged.verdict.is_over() && !matches!(judged.rule, Rule::Rebooted | Rule::BeforeBoot) {
            let proved = matches!(evidence.probe, Probe::Missing | Probe::Exists { state: Some(_), .. });
            assert!(proved, "{name}");
        }
        for unknown in [Probe::Failed(Some(24)), Probe::NotMade, hidden()] {
            let judged = verdict(&record, &Evidence { probe: unknown, ..evidence.clone() });
            let over = judged.verdict.is_over();
            assert!(!over || matches!(judged.rule, Rule::Rebooted | Rule::BeforeBoot), "{name}: {judged:?}");
        }
    }
}

/// Age alone never ends a session: an hour, a week or a year since the last sign changes no verdict about a process that
/// runs and is the recorded one.
#[test]
fn age_is_no_evidence() {
    for age in [0, 3_600_000, 7 * 86_400_000, 365 * 86_400_000] {
        let old = Record { written_ms: Some(BOOT - age), ..record() };
        assert_eq!(verdict(&old, &evidence(same())).verdict, Alive);
        assert_eq!(verdict(&old, &evidence(hidden())).verdict, Unverified);
        assert_eq!(verdict(&old, &evidence(Probe::Failed(None))).verdict, Unknown);
    }
}

#[test]
fn two_records_are_one_process_by_pid_start_and_nothing_that_differs() {
    let other_pid = Record { pid: Some(4712), ..record() };
    let other_start = Record { start: Some("linux:101"), ..record() };
    let no_start = Record { start: None, ..record() };
    let other_boot = Record { boot_id: Some("boot-b"), ..record() };
    let other_namespace = Record { pid_namespace: Some("1"), ..record() };
    let other_machine = Record { machine: Some("machine-b"), ..record() };
    let start_alone = Record { boot_id: None, pid_namespace: None, machine: None, ..record() };
    let later = Record { written_ms: Some(1), file_ms: Some(2), local: false, shared: true, ..record() };
    for (name, other, same) in [
        ("itself", record(), true),
        ("written at another time", later, true),
        ("says less", start_alone, true),
        ("another pid", other_pid, false),
        ("another start", other_start, false),
        ("no start", no_start, false),
        ("another boot", other_boot, false),
        ("another namespace", other_namespace, false),
        ("another machine", other_machine, false),
    ] {
        assert_eq!((record().same_process(&other), other.same_process(&record())), (same, same), "{name}");
    }
    assert!(legacy().same_process(&legacy()) && !legacy().is_proof(), "the same as far as can be known");
    let no_pid = Record { pid: None, ..record() };
    assert!(!no_pid.same_process(&no_pid) && !no_pid.is_proof());
    let no_process = Record { pid: Some(0), ..record() };
    assert!(!no_process.same_process(&no_process) && !no_process.is_proof());
}
