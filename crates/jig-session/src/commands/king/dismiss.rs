//! `jig-session king dismiss`: removes the card of a session that has ended, and no other.

use jig_session_atomic::Removal;
use jig_session_liveness::{Machine, Processes, Record};
use jig_session_schema::king::{KingState, KingStatus};
use jig_session_schema::king_documents::KingDismiss;
use jig_session_schema::limits::STATUS_BYTES;

use super::cards;
use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The session's id, or an unambiguous beginning or end of 4 or more characters
    session: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let known = cards::ids(app)?;
    let id = match known.iter().find(|id| **id == args.session) {
        Some(id) => id.clone(),
        None => cards::by_part(&args.session, known.iter().map(String::as_str))?,
    };
    let gone = || Failure::new(Code::NotFound, format!("no card of {id:?} in pi-king's folder"));
    let dir = cards::open(app)?.ok_or_else(gone)?;
    // The path comes from the folder's entry; what the file says of itself is used for nothing.
    let name = format!("{id}.json");
    let path = dir.path().join(&name);
    let refused = |why: String, hint: &str| {
        Failure::new(Code::Refused, format!("not dismissed: {why}")).hint(hint).path(path.clone())
    };
    let file = dir.read(&name, STATUS_BYTES).map_err(|problem| {
        refused(format!("{}: {problem}", path.display()), "look at the file; doctor tells what is wrong with it")
    })?;
    let card = KingStatus::read(&file.bytes)
        .map_err(|error| {
            refused(format!("{}: {error}", path.display()), "look at the file; doctor tells what is wrong with it")
        })?
        .value;
    let machine = Machine::new();
    let judged = machine.judge(&Record::of_king(&card));
    let exited = card.status == KingState::EXITED;
    if !exited && !judged.verdict.is_over() {
        let word = judged.verdict.as_str();
        return Err(refused(format!("the session's verdict is {word}"), "end the session first"));
    }
    // What a former dismissal was killed with goes first; failing that costs nothing but the leftover.
    let _ = dir.sweep(app.now().epoch_ms(), |pid| machine.is_missing(pid));
    match dir.remove_judged(&name, &file.stamp)? {
        Removal::Removed => {}
        Removal::Missing => return Err(gone()),
        Removal::Changed => {
            return Err(refused("the card was written meanwhile".into(), "look at it again with king ls --all"));
        }
    }
    if app.json {
        let removed = path.to_string_lossy().into_owned();
        app.print_json(&KingDismiss::new().removed(removed).verdict(judged.verdict).exited(exited))?;
    }
    Ok(Exit::OK)
}
