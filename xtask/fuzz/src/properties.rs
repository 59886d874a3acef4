//! What must hold of every input, parser by parser.

use std::time::Duration;

use jig_session_agents as agents;
use jig_session_git::Repository;
use jig_session_king::layout::Layout;
use jig_session_king::metrics::Archive;
use jig_session_panes::{classify, text, tmux};
use jig_session_publish::Now;
use jig_session_publish::around::Config;
use jig_session_run::reports::Reports;
use jig_session_run::scan::Sequence;
use jig_session_run::tap::Tap;
use jig_session_schema::belongs;
use jig_session_schema::bridge::ToHost;
use jig_session_schema::bus::{BusFolder, Claim, Message, Record};
use jig_session_schema::event::Event;
use jig_session_schema::invisible::is_invisible;
use jig_session_schema::king::KingStatus;
use jig_session_schema::names;
use jig_session_schema::read::{Read, ReadError};
use jig_session_schema::request::Request;
use jig_session_schema::status::Status;
use jig_session_schema::time::Timestamp;
use jig_session_view::sanitise::{clean, clean_lines, escape_json};
use jig_session_view::table::{fit, wrap};

/// A target's name and what is done with an input.
pub(crate) type Target = (&'static str, fn(&[u8]));

/// Every target. `planted` holds a fault on purpose: a fuzzer that does not find it finds nothing.
pub(crate) const TARGETS: &[Target] = &[
    ("status", status),
    ("card", |data| again(data, KingStatus::read, KingStatus::scan)),
    ("request", request),
    ("event", |data| reads(data, Event::read)),
    ("bridge", |data| reads(data, ToHost::read)),
    ("hook", hook),
    ("bus", bus),
    ("tmux-rows", |data| drop(tmux::parse(data))),
    ("screen", screen),
    ("layout", layout),
    ("archive", archive),
    ("program-status", program_status),
    ("config", |data| drop(Config::of(data, Some(std::path::Path::new("/home/dev"))))),
    ("names", name),
    ("git", git),
    ("sanitise", sanitise),
    ("planted", planted),
];

/// A reader that takes a document gives one that its writer writes and that it takes again, unchanged.
fn reads<T: serde::Serialize + PartialEq + std::fmt::Debug>(
    data: &[u8],
    read: fn(&[u8]) -> Result<Read<T>, ReadError>,
) {
    let Ok(first) = read(data) else { return };
    let Ok(text) = serde_json::to_vec(&first.value) else { return };
    // What was read may be written longer than a reader takes: escapes grow.
    if text.len() > jig_session_schema::limits::DOCUMENT_BYTES {
        return;
    }
    let second = read(&text).unwrap_or_else(|error| panic!("{} is refused: {error:?}", String::from_utf8_lossy(&text)));
    assert!(second.value == first.value, "{:?}\n{:?}", first.value, second.value);
    assert!(second.problems.is_empty(), "{:?}", second.problems);
}

/// The quick reader takes what the full one takes.
fn again<T, Q>(
    data: &[u8],
    read: fn(&[u8]) -> Result<Read<T>, ReadError>,
    quick: fn(&[u8]) -> Result<Read<Q>, ReadError>,
) {
    assert_eq!(read(data).is_ok(), quick(data).is_ok());
}

fn status(data: &[u8]) {
    reads(data, Status::read);
    again(data, Status::read, Status::scan);
    if Status::read(data).is_ok() {
        // The lenient reader mends what JavaScript writes; whatever the strict one takes, it takes too.
        assert!(jig_session_schema::json::parse_object(data).is_ok());
        assert!(belongs::in_sessions("a.json", data));
    } else if let Ok(serde_json::Value::Object(_)) = serde_json::from_slice(data) {
        assert!(!matches!(Status::read(data), Err(ReadError::Empty)));
    }
}

fn request(data: &[u8]) {
    if let Ok(request) = Request::accept(data) {
        assert!(Request::read(data).is_ok_and(|read| read.problems.is_empty()));
        assert!(!request.id.is_empty());
    }
    let _ = belongs::in_requests("a.json", data);
}

/// The first byte chooses the agent by its place in [`agents::ALL`], the second the event by its place among the agent's
/// meanings, and the rest is the payload. Both go round, so that no input is without a meaning; a new agent in the middle
/// of the list makes other agents' payloads of the seeds, which is as good.
fn hook(data: &[u8]) {
    let [agent, event, rest @ ..] = data else { return };
    let agent = agents::ALL[usize::from(*agent) % agents::ALL.len()];
    if agent.meanings.is_empty() {
        return;
    }
    let (event, _) = &agent.meanings[usize::from(*event) % agent.meanings.len()];
    if let Ok(payload) = agents::Payload::read(agent, rest) {
        drop(agents::hear(agent, event, &payload, None));
    }
}

fn bus(data: &[u8]) {
    reads(data, Record::read);
    reads(data, Message::read);
    reads(data, Claim::read);
    reads(data, BusFolder::read);
}

fn screen(data: &[u8]) {
    let shown = String::from_utf8_lossy(data);
    let seen = text::screen(&shown);
    assert!(seen.len() <= text::SCREEN_BYTES && !seen.chars().any(|c| c != '\n' && is_invisible(c)));
    let command = ["bash", "claude", "codex", "pi", "node"][data.first().map_or(0, |byte| usize::from(*byte) % 5)];
    let pane = classify::PaneObservation { command, text: &shown, ..classify::PaneObservation::default() };
    let _ = classify::classify(&pane);
}

fn layout(data: &[u8]) {
    if let Ok(layout) = Layout::parse(data) {
        let bytes = layout.to_bytes();
        let again = Layout::parse(&bytes).expect("what was written is read");
        assert_eq!(again.to_bytes(), bytes);
    }
}

fn archive(data: &[u8]) {
    if let Some(archive) = Archive::parse(data) {
        let bytes = archive.to_bytes();
        assert_eq!(Archive::parse(&bytes).expect("what was written is read").to_bytes(), bytes);
    }
}

fn program_status(data: &[u8]) {
    let now = Now { wall: Timestamp::from_epoch_ms(1_800_000_000_000), mono: Duration::from_secs(1), boot_ms: None };
    let mut reports = Reports::default();
    let (mut whole, mut split) = (Vec::new(), Vec::new());
    let mut tap = Tap::default();
    tap.filter(data, &mut whole, |sequence| {
        if let Sequence::Status(body) = sequence {
            drop(reports.report(body, now));
        }
    });
    tap.finish(&mut whole);
    // However the bytes come, the same ones pass.
    let mut tap = Tap::default();
    for piece in data.chunks(3) {
        tap.filter(piece, &mut split, |_| ());
    }
    tap.finish(&mut split);
    assert_eq!(whole, split);
}

fn name(data: &[u8]) {
    let id = String::from_utf8_lossy(data);
    let _ = names::file_name(&id);
    let _ = belongs::in_bus(&id);
    let Some(name) = names::document_name(&id) else { return };
    assert!(name.len() <= 255 - ".json".len() && !name.contains('/') && !name.starts_with('.'));
    assert!(names::name_fits(&name, &id), "{name}");
    assert_eq!(names::file_name(&format!("{name}.json")), names::FileName::Document(&name));
}

/// A repository whose files hold anything: `.git`, and in the folder it names `HEAD` and `commondir`, parted by a zero.
fn git(data: &[u8]) {
    static FOLDER: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("jig-session-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("real/objects")).expect("a folder of our own");
        std::fs::create_dir_all(folder.join("real/refs")).expect("a folder of our own");
        folder
    });
    let mut parts = data.splitn(3, |byte| *byte == 0);
    for file in ["real/HEAD", ".git", "real/commondir"] {
        std::fs::write(folder.join(file), parts.next().unwrap_or_default()).expect("a file of our own");
    }
    if let Ok(Some(found)) = Repository::discover(folder.join("sub/file")) {
        assert!(!found.name().contains('/'), "{:?}", found.name());
        assert!(found.branch().is_none_or(|branch| !branch.is_empty() && !branch.contains('\n')));
    }
}

/// Nothing that steers a terminal passes, and JSON says the same.
fn sanitise(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let shown = clean(&text);
    assert!(!shown.chars().any(|c| is_invisible(c) || c.is_control()), "{shown:?}");
    assert!(!clean_lines(&text).chars().any(|c| c != '\n' && is_invisible(c)));
    for width in [1, 7, 80] {
        assert!(!fit(&shown, width).chars().any(is_invisible));
        assert!(wrap(&shown, width).iter().all(|line| !line.chars().any(is_invisible)));
    }
    let document = serde_json::json!({ "key": text }).to_string();
    let back: serde_json::Value = serde_json::from_str(&escape_json(&document)).expect("still one document");
    assert_eq!(back["key"], text.as_ref());
}

/// Four bytes that only a fuzzer that looks at what its input reaches puts together within a minute.
fn planted(data: &[u8]) {
    if data.first() == Some(&b'{')
        && data.get(1) == Some(&b'!')
        && data.get(2) == Some(&0x9b)
        && data.get(3) == Some(&b'7')
    {
        panic!("the planted fault was found");
    }
}
