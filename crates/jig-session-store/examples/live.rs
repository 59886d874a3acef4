//! A reader in Rust: the sessions that live, the one that waits for a person first. Whether a session lives is proved
//! by the identity of its process, never by the age of its file.

use std::io::Write;

use jig_session_liveness::{Machine, Probes};
use jig_session_schema::places::{Environment, Places};
use jig_session_store::{Store, by_urgency, is_live, joined};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    #[allow(clippy::disallowed_methods, reason = "the one place of this program that reads the environment")]
    let places = Places::of(&Environment::new(std::env::vars_os()));
    let machine = Machine::new();
    let look = Store::new(&places.sessions, &places.king).look(&Probes::new(&machine))?;
    // A reader that goes away, or a full disk, is an error and no panic.
    let mut out = std::io::stdout().lock();
    for problem in &look.problems {
        writeln!(out, "? {:?}: {:?}", problem.path, problem.message)?;
    }
    let sessions = joined(look.sessions);
    for place in by_urgency(sessions.iter().map(|session| &session.row)) {
        let row = &sessions[place].row;
        if !is_live(row) {
            continue;
        }
        let waits_for = row.attention.as_ref().map(|attention| attention.reason.as_str());
        // Texts of a file are other people's: they are printed escaped, so that none can steer the terminal.
        writeln!(out, "{} {:?} {:?}", waits_for.unwrap_or(row.state.as_str()), row.session, row.cwd)?;
    }
    Ok(())
}
