//! Recorded streams of real agents: the state at every moment, however the stream is cut.
//!
//! `NAME.raw` is every byte an agent wrote to a terminal that knows program status. `NAME.moments` has a line for each
//! report and key: milliseconds since the start, what it was, and the state and attention that follow.

use std::path::PathBuf;
use std::time::Duration;

use jig_session_publish::Now;
use jig_session_publish::reduce::{Memory, Occurrence, Order, Session};
use jig_session_run::reports::Reports;
use jig_session_run::scan::Sequence;
use jig_session_run::tap::{Tap, asks};
use jig_session_schema::status::{StateFrom, Status};
use jig_session_schema::time::Timestamp;

const BEGAN: i64 = 1_795_976_300_000;
const NAMES: [&str; 4] = ["claude-2.1.332", "claude-2.1.332-2", "codex-0.171.0", "pi-1.6.0"];

fn recorded(name: &str, ending: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded").join(format!("{name}.{ending}"));
    jig_session_atomic::read_file(&path, 1 << 20).unwrap_or_else(|error| panic!("{}: {error:?}", path.display())).bytes
}

fn at(ms: u64) -> Now {
    let wall = Timestamp::from_epoch_ms(BEGAN + i64::try_from(ms).expect("a recording is short"));
    Now { wall, mono: Duration::from_millis(ms), boot_ms: None }
}

/// The reports in a stream that comes in pieces of this size.
fn reports(stream: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let mut tap = Tap::default();
    let mut found = Vec::new();
    for bytes in stream.chunks(piece) {
        tap.listen(bytes, |sequence| {
            if let Sequence::Status(body) = sequence
                && !asks(body)
            {
                found.push(body.to_vec());
            }
        });
    }
    found
}

/// A session as its document would be.
struct Document(Session);

impl Document {
    fn new() -> Self {
        let mut status = Status::new();
        status.started_at = Some(at(0).wall);
        status.state_at = status.started_at;
        Self(Session { status, memory: Memory::default() })
    }

    fn apply(&mut self, events: Vec<jig_session_schema::event::Event>) {
        for event in events {
            let occurrence = Occurrence {
                order: Order::Arrival,
                at: event.at().expect("each event has its time"),
                from: StateFrom::PROGRAM_STATUS,
                repo: &|_| None,
            };
            self.0.apply(&event, &occurrence);
        }
    }

    fn says(&self) -> String {
        let status = &self.0.status;
        let state = serde_json::to_value(status.state).expect("a word").as_str().expect("a word").to_owned();
        match &status.attention {
            Some(attention) => format!("{state} {}", attention.reason.as_str()),
            None => state,
        }
    }
}

#[test]
fn every_moment_of_the_recorded_runs_has_its_state() {
    for name in NAMES {
        let moments = String::from_utf8(recorded(name, "moments")).expect("text");
        for piece in [1, 7, 4096, usize::MAX] {
            let mut reports_left = reports(&recorded(name, "raw"), piece).into_iter();
            let (mut machine, mut document) = (Reports::default(), Document::new());
            for line in moments.lines() {
                let mut words = line.splitn(3, ' ');
                let now = at(words.next().and_then(|ms| ms.parse().ok()).expect("a time"));
                let (what, expected) = (words.next().expect("a word"), words.next());
                document.apply(machine.tick(now));
                match what {
                    "enter" => machine.entered(now),
                    "key" => {}
                    _ => {
                        let body = reports_left.next().unwrap_or_else(|| panic!("{name}: no report for {line}"));
                        document.apply(machine.report(&body, now));
                    }
                }
                match (what, expected) {
                    ("enter" | "key", _) => {}
                    ("child", _) => assert_eq!(document.0.status.children.len(), 1, "{name}: {line}"),
                    (_, expected) => assert_eq!(Some(document.says().as_str()), expected, "{name}: {line}"),
                }
            }
            assert_eq!(reports_left.next(), None, "{name}: a report without its moment");
        }
    }
}

#[test]
fn no_text_of_a_report_reaches_an_event() {
    for name in NAMES {
        let mut machine = Reports::default();
        let mut text = String::new();
        for (n, body) in reports(&recorded(name, "raw"), 4096).iter().enumerate() {
            for event in machine.report(body, at(1000 * n as u64)) {
                text.push_str(&serde_json::to_string(&event).expect("an event can be written"));
            }
        }
        for word in ["approve", "print", "python", "API", "msg", "title", "YXBw", "sub"] {
            assert!(!text.contains(word), "{name}: {word} in {text}");
        }
    }
}
