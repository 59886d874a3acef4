//! One row of `live --json`: a tmux pane, observed. The document is the bare list of rows.

use crate::status::AgentName;

use crate::shape::Tag;

record! {
    /// A tmux pane as it was observed; an observation, not an authority to act. Its texts are untrusted.
    pub struct LiveRow {
        /// `session:windowIndex.paneIndex`.
        required target: String = "target",
        /// The tmux session's name.
        needed session: String = "session",
        /// The window's index, as text.
        needed window_index: String = "windowIndex",
        /// The pane's index, as text.
        needed pane_index: String = "paneIndex",
        /// The pane's id, such as `%101`.
        required pane_id: String = "paneId",
        /// The pane's foreground command.
        needed command: String = "command",
        /// The pane's folder.
        seed cwd: Option<String> = "cwd",
        /// The project's folder.
        seed project_path: Option<String> = "projectPath",
        /// The project's name, lower case.
        needed project_slug: String = "projectSlug",
        /// The machine's name.
        needed machine: String = "machine",
        /// The pane's title; untrusted.
        needed title: String = "title",
        /// What the pane does.
        required status: PaneStatus = "status",
        /// Why it is taken to do so.
        needed status_reason: String = "statusReason",
        /// Whether tmux says that it is dead.
        needed pane_dead: bool = "paneDead",
        /// Whether it is its window's active pane.
        needed pane_active: bool = "paneActive",
        /// Its last line that is not blank; untrusted.
        seed last_visible_line: Option<String> = "lastVisibleLine",
        /// Whether it belongs to an open session.
        needed is_open_session: bool = "isOpenSession",
        /// What determined the status.
        needed status_source: StatusSource = "statusSource",
        /// The agent in it, or null.
        seed agent: Option<AgentName> = "agent",
        /// The process id of its first process.
        seed pane_pid: Option<u32> = "panePid",
        /// The exit status of a dead pane.
        seed pane_dead_status: Option<i32> = "paneDeadStatus",
    }
}

closed_words! {
    /// What a pane does.
    pub enum PaneStatus {
        /// It is at a shell's or an agent's prompt.
        Idle = "idle",
        /// It works, or runs a foreground program that is no shell.
        Active = "active",
        /// It waits for a person.
        NeedsAttention = "needs_attention",
        /// tmux reports it as dead.
        Dead = "dead",
    }
}

closed_words! {
    /// What determined a pane's status.
    pub enum StatusSource {
        /// The text on its screen.
        Screen = "screen",
        /// tmux itself.
        Tmux = "tmux",
        /// The status file of the session in it.
        StatusFile = "status-file",
        /// The name of its command.
        Command = "command",
    }
}

record! {
    /// `live explain --json`: what one captured screen is taken for.
    pub struct LiveExplain {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// What the pane does.
        required status: PaneStatus = "status",
        /// Why, for people.
        needed reason: String = "reason",
        /// The agent, or null when none was recognised.
        seed agent: Option<String> = "agent",
        /// The rule that decided, for bug reports.
        needed rule: String = "rule",
        /// What determined it.
        needed source: StatusSource = "source",
        /// Whether the agent's composer is drawn and can be typed into.
        needed composer: bool = "composer",
        /// The last line that is not blank; null without one.
        seed last_visible_line: Option<String> = "lastVisibleLine",
        /// The pane's width in columns, as it was given.
        seed width: Option<u64> = "width",
        /// The pane's height in rows, as it was given.
        seed height: Option<u64> = "height",
    }
}

record! {
    /// `live alias --json`: the link that was made.
    pub struct LiveAlias {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The link.
        required link: String = "link",
        /// What it leads to.
        required target: String = "target",
        /// False: it was there already.
        required made: bool = "made",
    }
}
