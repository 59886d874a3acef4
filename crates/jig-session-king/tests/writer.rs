//! The card's file: how it is written, when it is kept, whose it is.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]
#![allow(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use jig_session_king::card::{Card, Facts};
use jig_session_king::writer::{Before, Outcome, Owner, WriteError, Writer, to_bytes};
use jig_session_liveness::fake::Table;
use jig_session_liveness::{Machine, Processes, Record, Verdict};
use jig_session_schema::king::{EpochMs, KingState, KingStatus};
use jig_session_schema::status::{State, Status};
use tempfile::TempDir;

const ID: &str = "019fb27c-6804-7fa5-96f3-e63e610950c7";
const PID: u32 = 4242;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("king/session-status")
    }

    fn file(&self) -> PathBuf {
        self.path().join(format!("{ID}.json"))
    }

    fn card(&self) -> KingStatus {
        KingStatus::read(&fs::read(self.file()).unwrap()).unwrap().value
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Puts another writer's card there.
    fn put(&self, change: impl FnOnce(&mut KingStatus)) {
        let mut other = card(true, State::Idle, 1);
        change(&mut other);
        fs::create_dir_all(self.path()).unwrap();
        fs::write(self.file(), to_bytes(&other)).unwrap();
    }
}

fn status(state: State) -> Status {
    Status::new().session(ID.into()).pid(Some(PID)).cwd("/home/dev/app".into()).state(state)
}

fn card(visible: bool, state: State, now_ms: i64) -> KingStatus {
    Card::new(Facts { process_started_ms: 1000, visible, ..Facts::default() }).document(&status(state), now_ms)
}

fn ended(visible: bool) -> KingStatus {
    Card::new(Facts { process_started_ms: 1000, visible, ..Facts::default() }).ended(&status(State::Idle), 9000)
}

/// A table in which the process of every card is judged so.
fn table(verdict: Verdict) -> Table {
    let table = Table::new();
    [PID, 77].into_iter().for_each(|pid| table.set(pid, verdict));
    table
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn folder_and_file_are_private_and_nothing_else_is_left() {
    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    assert_eq!(writer.before(&table(Verdict::Unverified)).unwrap(), Before::Nothing);
    assert_eq!(writer.publish(&card(false, State::Idle, 2000), &table(Verdict::Unverified)).unwrap(), Outcome::Written);
    assert_eq!((mode(&folder.path()), mode(&folder.file())), (0o700, 0o600));
    assert_eq!(folder.names(), [format!("{ID}.json")]);
    let bytes = fs::read(folder.file()).unwrap();
    assert!(bytes.starts_with(b"{\n  \"formatVersion\": 1,\n") && bytes.ends_with(b"\n}"));
}

#[test]
fn only_a_change_is_written_and_the_time_alone_is_none() {
    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    assert_eq!(writer.publish(&card(false, State::Idle, 2000), &table(Verdict::Unverified)).unwrap(), Outcome::Written);
    assert_eq!(
        writer.publish(&card(false, State::Idle, 3000), &table(Verdict::Unverified)).unwrap(),
        Outcome::Unchanged
    );
    assert_eq!(folder.card().last_activity, Some(EpochMs(2000.0)));
    assert_eq!(writer.publish(&card(false, State::Busy, 4000), &table(Verdict::Unverified)).unwrap(), Outcome::Written);
    assert_eq!((folder.card().last_activity, folder.card().status), (Some(EpochMs(4000.0)), KingState::WORKING));
    fs::remove_file(folder.file()).unwrap();
    assert_eq!(
        writer.publish(&card(false, State::Busy, 5000), &table(Verdict::Unverified)).unwrap(),
        Outcome::Written,
        "a lost file comes back"
    );
}

#[test]
fn a_listed_card_stays_as_exited_and_any_other_goes() {
    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    writer.publish(&card(true, State::Idle, 2000), &table(Verdict::Unverified)).unwrap();
    assert_eq!(writer.finish(&ended(true), &table(Verdict::Unverified)).unwrap(), Outcome::Written);
    assert_eq!(folder.card().status, KingState::EXITED);

    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    writer.publish(&card(false, State::Idle, 2000), &table(Verdict::Unverified)).unwrap();
    assert_eq!(writer.finish(&ended(false), &table(Verdict::Unverified)).unwrap(), Outcome::Written);
    assert!(folder.names().is_empty());
    assert_eq!(
        writer.finish(&ended(false), &table(Verdict::Unverified)).unwrap(),
        Outcome::Unchanged,
        "there is nothing to end"
    );
}

#[test]
fn a_live_owner_is_never_fought() {
    let folder = Folder::new();
    folder.put(|other| other.pid = Some(77));
    let before = fs::read(folder.file()).unwrap();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    let theirs = Outcome::NotOurs(Owner::Process(77));
    for verdict in [Verdict::Alive, Verdict::Unverified, Verdict::Unknown] {
        let judge = table(verdict);
        assert_eq!(writer.before(&judge).unwrap(), Before::Theirs(Owner::Process(77)));
        assert_eq!(writer.publish(&card(true, State::Busy, 2000), &judge).unwrap(), theirs, "{verdict:?}");
        assert_eq!(writer.finish(&ended(true), &judge).unwrap(), theirs, "{verdict:?}");
        assert_eq!(writer.finish(&ended(false), &judge).unwrap(), theirs, "{verdict:?}");
    }
    assert_eq!(fs::read(folder.file()).unwrap(), before);
}

#[test]
fn a_dead_owners_file_and_an_ended_sessions_are_taken_over() {
    for (verdict, word) in
        [(Verdict::Gone, KingState::IDLE), (Verdict::Reused, KingState::IDLE), (Verdict::Alive, KingState::EXITED)]
    {
        let folder = Folder::new();
        folder.put(|other| {
            other.pid = Some(77);
            other.status = word.clone();
        });
        let judge = table(verdict);
        let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
        assert!(matches!(writer.before(&judge).unwrap(), Before::Dead(dead) if dead.visible));
        assert_eq!(writer.publish(&card(true, State::Busy, 2000), &judge).unwrap(), Outcome::Written);
        assert_eq!(folder.card().pid, Some(PID));
    }
}

#[test]
fn a_file_taken_meanwhile_is_left_to_its_new_owner() {
    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    writer.publish(&card(false, State::Idle, 2000), &table(Verdict::Unverified)).unwrap();
    folder.put(|other| other.pid = Some(77));
    assert_eq!(
        writer.finish(&ended(false), &table(Verdict::Unverified)).unwrap(),
        Outcome::NotOurs(Owner::Process(77))
    );
    assert_eq!(folder.card().pid, Some(77));
}

#[test]
fn pi_kings_extension_in_the_same_pi_keeps_the_file() {
    let folder = Folder::new();
    folder.put(|other| other.started_at = Some(EpochMs(1000.0735)));
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    let theirs = Outcome::NotOurs(Owner::SamePi);
    assert_eq!(writer.publish(&card(false, State::Busy, 2000), &table(Verdict::Unverified)).unwrap(), theirs);
    assert_eq!(writer.finish(&ended(false), &table(Verdict::Unverified)).unwrap(), theirs);
    assert!(folder.card().visible);

    // It was loaded after our first write.
    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    writer.publish(&card(false, State::Idle, 2000), &table(Verdict::Unverified)).unwrap();
    folder.put(|_| {});
    assert_eq!(writer.publish(&card(false, State::Busy, 3000), &table(Verdict::Unverified)).unwrap(), theirs);
    assert!(folder.card().visible);
    // The pid is another process's by now: the extension's Pi is over.
    assert_eq!(writer.publish(&card(false, State::Busy, 3000), &table(Verdict::Gone)).unwrap(), Outcome::Written);
}

#[test]
fn the_next_host_of_the_same_pi_goes_on() {
    let folder = Folder::new();
    Writer::open(&folder.path(), ID, PID)
        .unwrap()
        .publish(&card(true, State::Idle, 2000), &table(Verdict::Unverified))
        .unwrap();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    assert!(matches!(writer.before(&table(Verdict::Unverified)).unwrap(), Before::Own(own) if own.visible));
    assert_eq!(writer.publish(&card(true, State::Busy, 3000), &table(Verdict::Unverified)).unwrap(), Outcome::Written);
}

#[test]
fn a_newer_format_is_not_ours_to_replace_and_half_a_document_is_nobodys() {
    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    fs::write(folder.file(), br#"{"formatVersion":2,"id":"x"}"#).unwrap();
    assert_eq!(
        writer.publish(&card(true, State::Idle, 1), &table(Verdict::Gone)).unwrap(),
        Outcome::NotOurs(Owner::Unknown)
    );
    for bytes in ["", "{\"formatVersion\":1,"] {
        fs::write(folder.file(), bytes).unwrap();
        assert_eq!(
            writer.publish(&card(true, State::Idle, 1), &table(Verdict::Unverified)).unwrap(),
            Outcome::Written,
            "{bytes:?}"
        );
    }
}

#[test]
fn leftovers_of_crashed_writers_of_the_same_card_go() {
    let folder = Folder::new();
    let writer = Writer::open(&folder.path(), ID, PID).unwrap();
    for name in [
        format!("{ID}.json.tmp-77"),
        format!("{ID}.json.tmp-78"),
        format!("{ID}.json.tmp-x"),
        "other.json.tmp-77".into(),
    ] {
        fs::write(folder.path().join(name), "half").unwrap();
    }
    writer.sweep(&|pid| pid == 77);
    assert_eq!(folder.names(), [format!("{ID}.json.tmp-78"), format!("{ID}.json.tmp-x"), "other.json.tmp-77".into()]);
    let machine = Machine::new();
    assert!(!machine.is_missing(std::process::id()));
    let mut child = std::process::Command::new("true").spawn().unwrap();
    child.wait().unwrap();
    assert!(machine.is_missing(child.id()));
}

#[test]
fn an_id_that_pi_would_not_accept_is_no_file() {
    let folder = Folder::new();
    for id in ["../x", "", "a/b", ".hidden", "a b"] {
        assert!(matches!(Writer::open(&folder.path(), id, PID), Err(WriteError::Id(_))), "{id:?}");
    }
    assert!(!folder.path().exists());
}

#[test]
fn a_thing_that_is_no_file_is_an_error_that_names_it() {
    let folder = Folder::new();
    let mut writer = Writer::open(&folder.path(), ID, PID).unwrap();
    fs::create_dir(folder.file()).unwrap();
    let error = writer.publish(&card(true, State::Idle, 1), &table(Verdict::Unverified)).unwrap_err().to_string();
    assert!(error.contains(ID) && error.contains("not a regular file"), "{error}");
}

#[test]
fn a_cards_process_is_judged_one_sided() {
    let machine = Machine::new();
    let own = std::process::id();
    let judge = |started: f64, last: f64, pid: u32| {
        let card =
            KingStatus::new().pid(Some(pid)).started_at(Some(EpochMs(started))).last_activity(Some(EpochMs(last)));
        machine.judge(&Record::of_king(&card)).verdict.as_str()
    };
    let born = machine.process(own).unwrap().started_ms.unwrap() as f64;
    assert_eq!(judge(born + 0.073, born + 5000.0, own), "unverified");
    assert_eq!(judge(born + 44_888_000.0, born + 44_889_000.0, own), "unverified", "a session long after its process");
    assert_eq!(judge(born - 59_000.0, born - 59_000.0, own), "unverified", "within the tolerance");
    assert_eq!(judge(born - 80_000.0, born - 70_000.0, own), "reused");
    assert_eq!(judge(born - 80_000.0, born - 10_000.0, own), "unverified", "the last write is what counts");
    assert_eq!(judge(0.0, 0.0, own), "unverified", "no stamps, no proof");
}
