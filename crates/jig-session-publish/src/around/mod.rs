//! A session's surroundings: the ticket it works on, that ticket's files, and the stage of its workflow.
//!
//! Read again every ten seconds and whenever the session names another ticket. Everything here is read only.

mod config;
mod tickets;
mod workflow;

use std::path::{Path, PathBuf};

use jig_session_schema::status::{Ticket, Workflow};
use jig_session_schema::time::Timestamp;

pub use config::Config;

/// Where a session's ticket comes from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Named {
    /// No event has said anything: the environment or the branch may name it.
    #[default]
    Unsaid,
    /// An event said that there is none.
    None,
    /// An event named it.
    Ticket(Ticket),
}

/// What was found around a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// The active ticket, with its title and link as far as they are known.
    pub ticket: Option<Ticket>,
    /// The workflow it stands in.
    pub workflow: Option<Workflow>,
    /// The ticket's user-facing files and when each was changed, newest first.
    pub files: Vec<(PathBuf, Timestamp)>,
}

/// Sources of the active ticket, in order of precedence.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// What events said.
    pub named: &'a Named,
    /// `$JIG_TICKET`.
    pub variable: Option<&'a str>,
    /// The branch of the session's repository.
    pub branch: Option<&'a str>,
}

/// Looks around.
#[must_use]
pub fn look(config: &Config, sources: Sources<'_>) -> Seen {
    let ticket = active(config, sources);
    let folder =
        ticket.as_ref().zip(config.tickets.as_deref()).and_then(|(ticket, dir)| tickets::folder(dir, &ticket.key));
    let key = ticket.as_ref().map(|ticket| ticket.key.as_str());
    let workflow = workflow::read(&workflow_files(config, folder.as_deref(), key));
    let files = folder.as_deref().map(tickets::files).unwrap_or_default();
    let ticket = ticket.map(|ticket| described(ticket, config, folder.as_deref()));
    Seen { ticket, workflow, files: files.into_iter().map(|file| (file.path, file.at)).collect() }
}

fn active(config: &Config, sources: Sources<'_>) -> Option<Ticket> {
    match sources.named {
        Named::Ticket(ticket) => return Some(ticket.clone()),
        Named::None => return None,
        Named::Unsaid => {}
    }
    let variable = sources.variable.map(str::trim).filter(|key| !key.is_empty()).map(str::to_owned);
    let key = variable.or_else(|| tickets::of_branch(config.tickets.as_deref()?, sources.branch?))?;
    Some(Ticket::new().key(key))
}

/// A ticket with what its folder and the configuration add to what the event said.
fn described(mut ticket: Ticket, config: &Config, folder: Option<&Path>) -> Ticket {
    let found = folder.map(tickets::described).unwrap_or_default();
    ticket.title = ticket.title.or(found.title);
    ticket.url = ticket.url.or(found.url).or_else(|| config.link(&ticket.key));
    ticket
}

/// Where a workflow may stand, the first that exists counts: the ticket's folder, then each workflow folder, there
/// first in a folder of the ticket's own.
fn workflow_files(config: &Config, folder: Option<&Path>, key: Option<&str>) -> Vec<PathBuf> {
    let mut files: Vec<_> = folder.map(|folder| folder.join("workflow.json")).into_iter().collect();
    for dir in &config.workflows {
        if let Some(own) = key.and_then(|key| tickets::folder(dir, key)) {
            files.push(own.join("workflow.json"));
        }
        files.push(dir.join("workflow.json"));
    }
    files
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sources<'a>(named: &'a Named, variable: Option<&'a str>, branch: Option<&'a str>) -> Sources<'a> {
        Sources { named, variable, branch }
    }

    fn world() -> (tempfile::TempDir, Config) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for folder in ["tickets/ABC-1", "tickets/ABC-2", "flows/ABC-2"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        fs::write(root.join("tickets/ABC-1/ticket.json"), r#"{"title":"Log in"}"#).unwrap();
        fs::write(root.join("tickets/ABC-1/workflow.json"), r#"{"name":"own","stages":["a"],"current":"a"}"#).unwrap();
        fs::write(root.join("tickets/ABC-1/plan.md"), "x").unwrap();
        fs::write(root.join("flows/ABC-2/workflow.json"), r#"{"name":"second","stages":[],"current":null}"#).unwrap();
        fs::write(root.join("flows/workflow.json"), r#"{"name":"shared","stages":[],"current":null}"#).unwrap();
        let config = Config {
            tickets: Some(root.join("tickets")),
            workflows: vec![root.join("flows")],
            jira: Some("jira.example.org".into()),
        };
        (dir, config)
    }

    fn key(seen: &Seen) -> Option<&str> {
        seen.ticket.as_ref().map(|ticket| ticket.key.as_str())
    }

    #[test]
    fn an_event_outranks_the_variable_and_the_variable_the_branch() {
        let (_dir, config) = world();
        let event = Named::Ticket(Ticket::new().key("X-9".to_owned()));
        for (named, variable, branch, right) in [
            (&event, Some("ABC-1"), Some("fix/abc-2"), Some("X-9")),
            (&Named::Unsaid, Some("ABC-1"), Some("fix/abc-2"), Some("ABC-1")),
            (&Named::Unsaid, Some(" "), Some("fix/abc-2"), Some("ABC-2")),
            (&Named::Unsaid, None, Some("main"), None),
            (&Named::None, Some("ABC-1"), Some("fix/abc-2"), None),
        ] {
            assert_eq!(key(&look(&config, sources(named, variable, branch))), right);
        }
    }

    #[test]
    fn the_title_is_the_folders_and_the_link_the_sites() {
        let (_dir, config) = world();
        let ticket = look(&config, sources(&Named::Unsaid, Some("ABC-1"), None)).ticket.unwrap();
        assert_eq!(ticket.title.as_deref(), Some("Log in"));
        assert_eq!(ticket.url.as_deref(), Some("https://jira.example.org/browse/ABC-1"));
    }

    #[test]
    fn what_the_event_says_about_its_ticket_is_kept() {
        let (_dir, config) = world();
        let named = Named::Ticket(Ticket::new().key("ABC-1".to_owned()).title(Some("Mine".to_owned())));
        let ticket = look(&config, sources(&named, None, None)).ticket.unwrap();
        assert_eq!(ticket.title.as_deref(), Some("Mine"));
    }

    #[test]
    fn the_workflow_stands_in_the_tickets_folder_or_else_in_a_workflow_folder() {
        let (_dir, config) = world();
        for (ticket, right) in [("ABC-1", "own"), ("ABC-2", "second"), ("ABC-3", "shared")] {
            let workflow = look(&config, sources(&Named::Unsaid, Some(ticket), None)).workflow.unwrap();
            assert_eq!(workflow.name.as_deref(), Some(right), "{ticket}");
        }
    }

    #[test]
    fn without_configuration_a_named_ticket_is_still_shown() {
        let seen = look(&Config::default(), sources(&Named::Unsaid, Some("ABC-1"), Some("x")));
        assert_eq!((key(&seen), &seen.workflow, seen.files.len()), (Some("ABC-1"), &None, 0));
    }
}
