//! What the board shows: one look at the sessions, at the bus, at the panes, at one session.

use std::collections::HashMap;
use std::path::PathBuf;

use jig_session_schema::bus_result::{MessageView, StatusResult};
use jig_session_schema::live::LiveRow;
use jig_session_schema::row::Row;
use jig_session_schema::status::{Child, Reason, Recent, Status};
use jig_session_schema::time::Timestamp;

/// Which session: its id, and the host it was read on; none for this machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    /// The host, as `--on` names it.
    pub host: Option<String>,
    /// The session's id.
    pub session: String,
}

impl Id {
    /// The id of a row.
    #[must_use]
    pub fn of(row: &Row) -> Self {
        Self { host: row.host.clone(), session: row.session.clone() }
    }
}

/// One session of a look.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its row, with verdict and reconciled state.
    pub row: Row,
    /// The root of the repository that its folder lies in, else the folder.
    pub group: String,
    /// The newest tool call.
    pub recent: Option<Recent>,
    /// Subagents that say what they do.
    pub children: Vec<Child>,
    /// When its host was last heard, if it is not heard any more: then nothing can be done with it.
    pub lost: Option<Timestamp>,
}

impl Entry {
    /// The entry of a row of which no more is known: its group is its folder.
    #[must_use]
    pub fn of(row: Row) -> Self {
        Self { group: row.cwd.clone(), row, ..Self::default() }
    }

    /// Whether somebody holds it up: a turn that is over holds nobody up.
    pub(crate) fn waits(&self) -> bool {
        self.row.attention.is_some() && !self.is_unseen()
    }

    /// Whether its last turn is over and nobody has looked at it yet.
    pub(crate) fn is_unseen(&self) -> bool {
        self.row.attention.as_ref().is_some_and(|attention| attention.reason == Reason::FINISHED)
    }
}

/// One look at the sessions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sessions {
    /// When it was looked.
    pub at: Option<Timestamp>,
    /// Every listed session, the one that needs a person first.
    pub entries: Vec<Entry>,
    /// The sessions that are pinned, first pin first.
    pub pinned: Vec<String>,
    /// The order that a person gave by hand.
    pub order: Vec<String>,
    /// What gave no session, in lines.
    pub problems: Vec<String>,
}

/// One look at the bus of the folder in which the board was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bus {
    /// When it was looked.
    pub at: Option<Timestamp>,
    /// Members, claims and who oneself is.
    pub status: StatusResult,
    /// One's own unread mail, oldest first, with its beginnings only.
    pub mail: Vec<MessageView>,
    /// Why there is nothing, when it could not be looked.
    pub trouble: Option<String>,
}

/// One look at the tmux panes.
#[derive(Clone, Debug, Default)]
pub struct Panes {
    /// When it was looked.
    pub at: Option<Timestamp>,
    /// The panes, with the ones that wait for a person first.
    pub rows: Vec<LiveRow>,
    /// The rule that decided, by pane id.
    pub rules: HashMap<String, String>,
    /// Why there is nothing, when it could not be looked.
    pub trouble: Option<String>,
}

/// One session with everything that its file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// Which.
    pub id: Id,
    /// Its file; none when it holds no status document, as pi-king's do not.
    pub status: Option<Box<Status>>,
    /// Why its verdict and state are what they are, in lines.
    pub evidence: Vec<String>,
    /// The branch that is checked out in its folder.
    pub branch: Option<String>,
}

/// What a session is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Turn a tool on or off.
    Tool(String, bool),
    /// Turn a skill on or off.
    Skill(String, bool),
    /// Reload the agent once it is idle.
    Reload,
}

impl Change {
    /// In words, for the line that says what was asked.
    #[must_use]
    pub fn words(&self) -> String {
        let word = |on: &bool| if *on { "on" } else { "off" };
        match self {
            Self::Tool(name, on) => format!("tool {name} {}", word(on)),
            Self::Skill(name, on) => format!("skill {name} {}", word(on)),
            Self::Reload => "reload".to_owned(),
        }
    }
}

/// The place that folders are shown relative to.
pub(crate) type Home = PathBuf;
