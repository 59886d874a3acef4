//! What stands of ours in the configurations of agents: the document of `jig-session hooks … --json`.

use crate::shape::Tag;

record! {
    /// `hooks install|uninstall|status --json`: what stands in the configuration of each agent that was looked at.
    pub struct HooksDocument {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// The agents, in the order of the program's own table.
        needed agents: Vec<HooksAgent> = "agents",
    }
}

record! {
    /// One agent.
    pub struct HooksAgent {
        /// Its name, as `hooks install` takes it.
        required agent: String = "agent",
        /// The program that was found on PATH; null when there is none.
        seed found: Option<InstalledProgram> = "found",
        /// What can stand in its configuration, an entry a part and file.
        needed entries: Vec<HooksEntry> = "entries",
        /// What a person should know: what this version cannot do, what to do next. Sentences, for people only.
        needed notes: Vec<String> = "notes",
    }
}

record! {
    /// A program on PATH.
    pub struct InstalledProgram {
        /// Where it is.
        required path: String = "path",
        /// Its version; null when it could not be learned without waiting.
        seed version: Option<String> = "version",
    }
}

record! {
    /// One part of what can be installed.
    pub struct HooksEntry {
        /// Which part.
        required part: HooksPart = "part",
        /// What stands there, or what was done.
        required state: HooksState = "state",
        /// The file.
        needed path: String = "path",
        /// The program that the installed entry runs; null when nothing is installed.
        added program: Option<String> = "program",
        /// Why nothing could be done, for people; null when nothing is wrong.
        added problem: Option<String> = "problem",
    }
}

open_words! {
    /// A part of what `hooks install` puts into a configuration.
    pub struct HooksPart {
        /// Hooks, or an extension, that publish the session.
        SESSION = "session",
        /// The status line, wrapped.
        STATUSLINE = "statusline",
        /// The session bus as an MCP server.
        MCP = "mcp",
        /// Hooks that announce mail.
        BUS = "bus",
        /// A hook that denies edits of paths that another session holds.
        GUARD = "guard",
    }
}

open_words! {
    /// What stands in a configuration, or what was done to it.
    pub struct HooksState {
        /// Nothing of ours.
        ABSENT = "absent",
        /// As this program would install it.
        INSTALLED = "installed",
        /// Of another version, or not all of it.
        OUTDATED = "outdated",
        /// Nothing of ours in this file: the agent's own plugin brings the part.
        PLUGIN = "plugin",
        /// It was installed already: nothing was changed.
        UNCHANGED = "unchanged",
        /// It was brought up to date.
        UPDATED = "updated",
        /// It was taken out.
        REMOVED = "removed",
        /// Something that is not ours stands in its place.
        FOREIGN = "foreign",
        /// The file cannot be read or edited; `problem` says why.
        REFUSED = "refused",
    }
}
