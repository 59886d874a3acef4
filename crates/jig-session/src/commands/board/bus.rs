//! The eye on the session bus, and what a person changes on it.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use jig_session_actor::{Actor, Options};
use jig_session_board::{Bus, Event, Tab};
use jig_session_bus::{Call, limits, tool};
use jig_session_schema::bus_result::BusResult;
use jig_session_store::{Hints, Nudge};

use super::Shared;
use crate::app::App;
use crate::commands::bus;
use crate::failure::Failure;

/// The pause between two looks while mail or claims are on the screen, and while they are not.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// How long it is believed who acts: a label, a repository or an agent above may come later.
const ACTOR: Duration = Duration::from_secs(10);
/// Two looks are at least this far apart, however many notices come.
const SPACING: Duration = Duration::from_millis(50);

/// Starts looking; what it gives has it look at once.
pub(super) fn start(shared: &Shared) -> Nudge {
    let shared = shared.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut hints = Hints::new(&[]);
        let _ = sender.send(hints.nudge());
        let mut actor: Option<(Actor, Instant)> = None;
        let mut before: Option<Bus> = None;
        loop {
            if actor.as_ref().is_none_or(|(_, since)| since.elapsed() > ACTOR) {
                actor = find(&shared.app, false).ok().map(|actor| (actor, Instant::now()));
                if let Some((actor, _)) = &actor {
                    hints.watch_only(&folders(actor));
                }
            }
            hints.renew();
            let bus = match &actor {
                Some((actor, _)) => look(actor).unwrap_or_else(|failure| trouble(&failure)),
                None => find(&shared.app, false).map_or_else(|failure| trouble(&failure), |_| Bus::default()),
            };
            if before.as_ref() != Some(&bus) {
                before = Some(bus.clone());
                if !shared.outlet.send(Event::Bus(Bus { at: Some(shared.app.now()), ..bus })) {
                    return;
                }
            }
            let watched = matches!(shared.wanted().tab, Tab::Inbox | Tab::Claims);
            hints.wait(PAUSES[usize::from(!watched)]);
            thread::sleep(SPACING);
        }
    });
    receiver.recv().unwrap_or_default()
}

fn find(app: &App, joins: bool) -> Result<Actor, Failure> {
    bus::find(app, &Options { joins, ..Options::default() })
}

/// The folders in which something of the bus changes: records, claims, one's own inbox.
fn folders(actor: &Actor) -> Vec<PathBuf> {
    let Ok(bus) = actor.bus() else { return Vec::new() };
    let parent = |path: Result<PathBuf, _>| path.ok().and_then(|path| path.parent().map(PathBuf::from));
    let records = parent(bus.record_path(&actor.me.id));
    let inbox = bus.inbox_path(&actor.me.id).ok();
    [records, inbox, Some(bus.path().join("claims"))].into_iter().flatten().collect()
}

/// One look; it joins nobody and takes nothing.
fn look(actor: &Actor) -> Result<Bus, Failure> {
    let status = match actor.perform(&Call::Status)?.result {
        BusResult::Status(status) => status,
        _ => Default::default(),
    };
    let mail = match actor.perform(&Call::Peek { limit: Some(limits::INBOX_MOST as u64) })?.result {
        BusResult::Peek(peek) => peek.messages,
        _ => Vec::new(),
    };
    Ok(Bus { at: None, status, mail, trouble: None })
}

fn trouble(failure: &Failure) -> Bus {
    Bus { trouble: Some(failure.message.clone()), ..Bus::default() }
}

/// Begins or stops listening; who is not on the bus joins that of the folder under the derived label.
pub(super) fn listen(app: &App, on: bool) -> String {
    perform(app, on, &Call::Join { label: None, wake: false, listen: on, guard: None })
}

/// Releases a claim; the bus looks once more whose it is.
pub(super) fn release(app: &App, path: String) -> String {
    perform(app, false, &Call::Release { paths: Some(vec![path]) })
}

fn perform(app: &App, joins: bool, call: &Call) -> String {
    let joins = joins && find(app, false).is_ok_and(|actor| look(&actor).is_ok_and(|bus| bus.status.me.is_none()));
    match find(app, joins).and_then(|actor| Ok(actor.perform(call)?)) {
        Ok(done) => tool::line(&done.result),
        Err(failure) => failure.message,
    }
}
