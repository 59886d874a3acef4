//! The product's writer, fed with N changes of a document of about 4 KiB, each written: a second passes between two.

use std::time::Duration;

use jig_session_liveness::Machine;
use jig_session_publish::around::Config;
use jig_session_publish::{Mode, Now, Publisher, Setup};
use jig_session_schema::event::{Event, OutputEvent, SessionEvent, UsageEvent, UsageMode};
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::{AgentName, OutputAction};
use jig_session_schema::time::Timestamp;

fn main() {
    let folder = std::env::args().nth(1).expect("a folder");
    let times: u64 = std::env::args().nth(2).and_then(|times| times.parse().ok()).expect("how often");
    let environment = Environment::of([("HOME", folder.as_str()), ("JIG_STATE_DIR", folder.as_str())]);
    let mut publisher = Publisher::new(Setup {
        agent: AgentName::PI,
        places: Places::of(&environment),
        environment,
        config: Config::default(),
        cwd: folder.clone().into(),
        processes: Box::new(Machine::new()),
        pid: std::process::id(),
        mode: Mode::Lasting,
    });
    let now = |second: u64| Now {
        wall: Timestamp::from_epoch_ms(1_796_000_000_000 + 1000 * second as i64),
        mono: Duration::from_secs(second),
        boot_ms: None,
    };
    let session = SessionEvent::new().session("s".into()).pid(Some(std::process::id())).cwd(Some(folder));
    publisher.feed(&Event::Session(session), now(0)).expect("a session can begin");
    // Files of a turn's length make the document as large as those of real sessions.
    for file in 0..28 {
        let output = OutputEvent::new()
            .path(format!("/home/dev/project/src/module/file-{file}.rs"))
            .action(OutputAction::WRITTEN);
        publisher.feed(&Event::Output(output), now(1)).expect("the session has begun");
    }
    for time in 0..times {
        let usage = UsageEvent::new().mode(UsageMode::Set).input(Some(time));
        publisher.feed(&Event::Usage(usage), now(2 + time)).expect("the session has begun");
        publisher.flush(now(2 + time));
    }
    println!("{}", publisher.path().map_or(0, |path| std::fs::metadata(path).map_or(0, |file| file.len())));
    std::mem::forget(publisher);
}
