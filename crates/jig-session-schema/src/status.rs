//! Status v1: the one small file in which a live session says what it is doing.

pub use crate::context_detail::{Basis, ContextDetail, ContextFile, ContextPart, ContextSkill, ContextTool, PartName};
use crate::read::{Extent, Read, ReadError, Reading};
use crate::shape::Tag;
use crate::time::Timestamp;
use crate::words::Name;

record! {
    /// What one live session of a coding agent is doing: `sessions/<name>.json` in the state folder, schema 1.
    pub struct Status checked by Status::check {
        /// The version of this format: 1. A field may be added without a new number.
        version schema: Tag = "schema" is 1 @listed,
        /// The session's id, as its agent gives it.
        required session: String = "session" @listed,
        /// The agent's process id; a reader proves by `process` that it still runs. Never the publisher's.
        needed pid: Option<u32> = "pid" @listed,
        /// The agent's working folder, an absolute path.
        needed cwd: String = "cwd" @listed,
        /// The terminal the agent runs in, as its host names it (`t7`, `%3`).
        seed terminal: Option<String> = "terminal" @listed,
        /// The variable that named the terminal: `HC_TERMINAL_ID`, `WEZTERM_PANE`, `KITTY_WINDOW_ID` or `TMUX_PANE`.
        seed terminal_from: Option<String> = "terminalFrom" @listed,
        /// The agent's configuration folder, or an empty text.
        needed agent_dir: String = "agentDir",
        /// The model the session uses now.
        seed model: Option<Model> = "model" @listed,
        /// The thinking level, such as `medium`.
        seed thinking: Option<String> = "thinking",
        /// `busy` while the agent works, else `idle`; it stays `busy` while a person is waited for inside a turn.
        needed state: State = "state" @listed,
        /// How full the context is.
        needed context: Context = "context" @listed,
        /// Tokens and cost of the whole session.
        needed usage: Usage = "usage" @listed,
        /// Tools declared to the model, and tools registered.
        needed tools: Tools = "tools",
        /// The ticket that is worked on.
        seed ticket: Option<Ticket> = "ticket",
        /// Where the ticket's workflow stands.
        seed workflow: Option<Workflow> = "workflow",
        /// Files created or changed, newest first, one entry a path: at most 50 without a repository and 50 with one.
        needed outputs: Vec<Output> = "outputs",
        /// The last 15 tool calls, newest first.
        needed recent: Vec<Recent> = "recent",
        /// What fills the context, part by part.
        seed context_detail: Option<ContextDetail> = "contextDetail",
        /// The answer to the last request.
        seed last_request: Option<Answer> = "lastRequest",
        /// When this process began this session; a reload keeps it, a resume sets it anew.
        needed started_at: Option<Timestamp> = "startedAt" @listed,
        /// When this file was last written. Its age says nothing about life: it is written on change only.
        needed updated_at: Option<Timestamp> = "updatedAt" @listed,
        /// Which agent this is; a document without it is of `pi`.
        added agent: Option<Agent> = "agent" @listed,
        /// The session's name as its user set it.
        added name: Option<String> = "name" @listed,
        /// The identity of `pid`, compared for equality only.
        added process: Option<Process> = "process" @listed,
        /// A person is waited for; left out when nobody is.
        added attention: Option<Attention> = "attention" @listed,
        /// What set `state` or `attention` last.
        added state_from: Option<StateFrom> = "stateFrom" @listed,
        /// When `state` or `attention` last changed.
        added state_at: Option<Timestamp> = "stateAt" @listed,
        /// The boot clock at `stateAt`, in milliseconds; only by hooks, which run side by side and are put in order by it.
        added state_clock_ms: Option<u64> = "stateClockMs",
        /// The boot clock at `startedAt`, in milliseconds: of two live processes with one id the later one has the plain name.
        added started_clock_ms: Option<u64> = "startedClockMs",
        /// Background tasks and subagents still running, a count. It is never a `state`.
        added background: Option<u64> = "background" @listed,
        /// `$TMUX_PANE`. A pane's number alone names nothing, since servers share numbers.
        added tmux_pane: Option<String> = "tmuxPane" @listed,
        /// The path of the tmux server's socket, from `$TMUX`.
        added tmux_socket: Option<String> = "tmuxSocket" @listed,
        /// The session's transcript, an absolute path.
        added transcript: Option<String> = "transcript",
        /// What a request may ask of this session. Empty: nothing. Left out: not known.
        added accepts: Option<Vec<Accept>> = "accepts",
        /// The last 32 answers, newest first; a repeated id gets its answer from here and does not run again.
        added recent_requests: Vec<Answer> = "recentRequests",
        /// The long-lived process that keeps this file up to date. When it is gone or stopped while the agent lives, the
        /// rest of the file is as of `updatedAt`. Left out: nothing may be concluded.
        added publisher: Option<Publisher> = "publisher" @listed,
        /// Subagents that say what they do, at most 16; the others are only counted in `background`.
        added children: Vec<Child> = "children",
        /// How far the turn is, as the agent says, 0 to 100.
        added progress: Option<u8> = "progress",
    }
}

impl Status {
    /// Reads what a listing shows of a status file, and passes over the rest: the fields that [`Row`](crate::row::Row)
    /// has, and those that tell whether the session lives and where it is. The others are as if they were not there. A
    /// number out of range in a field that is passed over is not noticed.
    ///
    /// # Errors
    /// As [`Status::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        crate::strict::scan(bytes, Extent::Listed)
    }

    fn check(&self, cx: &mut Reading) {
        cx.absolute("cwd", &self.cwd);
        cx.absolute("transcript", self.transcript.as_deref().unwrap_or("/"));
        cx.absolute("tmuxSocket", self.tmux_socket.as_deref().unwrap_or("/"));
    }

    /// The agent's name: a document without one is of `pi`.
    #[must_use]
    pub fn agent_name(&self) -> AgentName {
        self.agent.as_ref().map_or(AgentName::PI, |agent| agent.name.clone())
    }
}

record! {
    /// An agent program.
    pub struct Agent {
        /// Its name.
        required name: AgentName = "name",
        /// Its version, as it tells it.
        added version: Option<String> = "version",
    }
}

open_words! {
    /// An agent's name; any other is kept and shown.
    pub struct AgentName {
        /// Pi.
        PI = "pi",
        /// Claude Code.
        CLAUDE = "claude",
        /// OpenAI Codex CLI.
        CODEX = "codex",
        /// Gemini CLI.
        GEMINI = "gemini",
        /// OpenCode.
        OPENCODE = "opencode",
        /// GitHub Copilot CLI.
        COPILOT = "copilot",
        /// Cursor agent.
        CURSOR = "cursor",
        /// Droid.
        DROID = "droid",
    }
}

record! {
    /// The identity of a process: texts that are compared for equality only, never reckoned with.
    pub struct Process {
        /// The start of the process: `linux:` and field 22 of its stat, elsewhere `<os>:<value>`.
        added start: Option<String> = "start",
        /// The id of the machine's current boot.
        added boot_id: Option<String> = "bootId",
        /// The inode number of the process's pid namespace.
        added pid_namespace: Option<String> = "pidNamespace",
        /// The first 16 hex digits of SHA-256 of `jig-session` and the machine's id.
        added machine: Option<String> = "machine",
        /// True: the process serves several sessions, so that its life proves none of them.
        added shared: Option<bool> = "shared",
    }
}

impl Process {
    /// Whether the process serves several sessions.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared == Some(true)
    }
}

record! {
    /// The identity of the process that keeps a status file up to date, compared for equality only.
    pub struct Publisher {
        /// Its process id.
        required pid: u32 = "pid",
        /// Its start, as in `process`.
        required start: String = "start",
        /// The id of the machine's current boot.
        added boot_id: Option<String> = "bootId",
        /// The inode number of its pid namespace.
        added pid_namespace: Option<String> = "pidNamespace",
    }
}

record! {
    /// A subagent of a session.
    pub struct Child {
        /// Its id within the session.
        required id: Name = "id",
        /// What it does.
        required state: ChildState = "state",
        /// Why a person is waited for, while it is `blocked`.
        added kind: Option<Reason> = "kind",
    }
}

open_words! {
    /// What a subagent does.
    pub struct ChildState {
        /// Nothing yet.
        IDLE = "idle",
        /// It works.
        WORKING = "working",
        /// It waits for a person.
        BLOCKED = "blocked",
        /// It has ended well.
        DONE = "done",
        /// It has ended in an error.
        ERROR = "error",
    }
}

record! {
    /// A person is waited for.
    pub struct Attention {
        /// For what.
        required reason: Reason = "reason",
        /// Since when.
        needed since: Option<Timestamp> = "since",
    }
}

open_words! {
    /// Why a person is waited for.
    pub struct Reason {
        /// A tool call wants to be allowed.
        APPROVAL = "approval",
        /// The agent asked something.
        QUESTION = "question",
        /// The folder wants to be trusted.
        TRUST = "trust",
        /// The last turn ended in an error.
        ERROR = "error",
        /// The turn ended while nobody watched.
        FINISHED = "finished",
        /// The agent wants a login, a key or a payment.
        AUTH = "auth",
        /// Something, but not known what.
        UNKNOWN = "unknown",
    }
}

open_words! {
    /// What set a state: an event, a hook (`hook:<event>`), the agent's record or transcript.
    pub struct StateFrom {
        /// An event of the agent's own.
        EVENT = "event",
        /// The agent's own record of the session.
        RECORD = "record",
        /// The session's transcript.
        TRANSCRIPT = "transcript",
        /// What the program reports in its own terminal (OSC 7501), seen by `jig-session run`.
        PROGRAM_STATUS = "program-status",
        /// What it shows in its terminal's window, a title or a progress sequence, seen by `jig-session run`.
        WINDOW = "window",
        /// Nothing tells: that the program runs is all that is known.
        PROCESS = "process",
        /// A pi-king file; only readers say so.
        PI_KING = "pi-king",
    }
}

impl StateFrom {
    /// `hook:<event>`.
    #[must_use]
    pub fn hook(event: &str) -> Option<Self> {
        Self::new(format!("hook:{event}"))
    }

    /// The event's name, if a hook set the state.
    #[must_use]
    pub fn hook_event(&self) -> Option<&str> {
        self.as_str().strip_prefix("hook:")
    }
}

closed_words! {
    /// Whether the agent works.
    pub enum State {
        /// It waits for a prompt.
        Idle = "idle",
        /// It works on a turn.
        Busy = "busy",
    }
}

open_words! {
    /// What a request may ask.
    pub struct Accept {
        /// Turn tools on and off.
        TOOLS = "tools",
        /// Turn skills on and off.
        SKILLS = "skills",
        /// Reload the agent when it is idle.
        RELOAD = "reload",
    }
}

record! {
    /// A model.
    pub struct Model {
        /// Its provider; null when the agent does not tell.
        seed provider: Option<String> = "provider",
        /// Its id.
        required id: String = "id",
        /// Its name for people; null when the agent does not tell.
        seed name: Option<String> = "name",
    }
}

record! {
    /// How full the context is, from the agent's own last real usage.
    pub struct Context {
        /// Tokens in it; null when unknown, as after a compaction.
        seed tokens: Option<u64> = "tokens",
        /// The model's window, in tokens.
        seed window: Option<u64> = "window",
        /// `tokens` of `window`, 0 to 100 with one decimal.
        seed percent: Option<f64> = "percent",
    }
}

record! {
    /// Sums over the session, compactions included.
    pub struct Usage {
        /// Tokens sent.
        seed input: Option<u64> = "input",
        /// Tokens received.
        seed output: Option<u64> = "output",
        /// Tokens read from the provider's cache.
        seed cache_read: Option<u64> = "cacheRead",
        /// Tokens written to the provider's cache.
        seed cache_write: Option<u64> = "cacheWrite",
        /// US dollars; null when a call had no price.
        seed cost: Option<f64> = "cost",
    }
}

record! {
    /// Counts of tools.
    pub struct Tools {
        /// Tools declared to the model.
        seed active: Option<u64> = "active",
        /// Tools registered.
        seed total: Option<u64> = "total",
    }
}

record! {
    /// A ticket.
    pub struct Ticket {
        /// Its key, such as `APP-12`.
        required key: String = "key",
        /// Its title.
        added title: Option<String> = "title",
        /// Its page.
        added url: Option<String> = "url",
    }
}

record! {
    /// Where a ticket's workflow stands.
    pub struct Workflow {
        /// The workflow's name.
        seed name: Option<String> = "name",
        /// Its stages, in order.
        needed stages: Vec<String> = "stages",
        /// The stage it is in.
        seed current: Option<String> = "current",
        /// Since when it is in that stage, as the workflow's file says it.
        added since: Option<String> = "since",
        /// Pull requests, as the workflow's file names them.
        needed prs: Vec<serde_json::Value> = "prs",
        /// Why the workflow's file could not be read.
        added problem: Option<String> = "problem",
    }
}

record! {
    /// A file that was created or changed.
    pub struct Output checked by Output::check {
        /// Its absolute path.
        required path: String = "path",
        /// What was done to it.
        required action: OutputAction = "action",
        /// When.
        needed at: Option<Timestamp> = "at",
        /// The root of its repository's worktree, or null.
        seed repo: Option<String> = "repo",
    }
}

impl Output {
    fn check(&self, cx: &mut Reading) {
        cx.absolute("path", &self.path);
    }
}

open_words! {
    /// What was done to a file.
    pub struct OutputAction {
        /// The whole file was written, new or not.
        WRITTEN = "written",
        /// It was changed in place.
        EDITED = "edited",
        /// It is one of the ticket's files.
        TICKET = "ticket",
    }
}

record! {
    /// One tool call. No argument of it is ever written.
    pub struct Recent {
        /// When it started.
        needed at: Option<Timestamp> = "at",
        /// The tool's name; for a tool of an MCP server, the server's.
        required tool: Name = "tool",
        /// The action's name; for a tool of an MCP server, the tool's.
        added action: Option<Name> = "action",
        /// What the rules decided.
        added decision: Option<Decision> = "decision",
        /// What the person chose when asked.
        added answer: Option<AnswerWord> = "answer",
        /// How it ended.
        required outcome: Outcome = "outcome",
        /// The agent's id of the call; it joins the call's end to its start.
        added id: Option<String> = "id",
    }
}

closed_words! {
    /// How a tool call ended.
    pub enum Outcome {
        /// It has not ended.
        Running = "running",
        /// Well.
        Ok = "ok",
        /// In an error.
        Error = "error",
        /// It was not allowed.
        Denied = "denied",
        /// It was broken off.
        Aborted = "aborted",
    }
}

closed_words! {
    /// What the rules decided on a call.
    pub enum Decision {
        /// It may run.
        Allow = "allow",
        /// It may not.
        Deny = "deny",
        /// A person is asked.
        Ask = "ask",
    }
}

open_words! {
    /// What a person answered when asked about a call.
    pub struct AnswerWord {
        /// This once.
        ALLOW = "allow",
        /// No.
        DENY = "deny",
        /// From now on.
        ALWAYS = "always",
    }
}

record! {
    /// The answer to a request.
    pub struct Answer {
        /// The request's id; an empty text when it could not be read.
        required id: String = "id",
        /// False when nothing that was requested was done.
        required ok: bool = "ok",
        /// What was done, ignored and refused, for people.
        needed message: String = "message",
        /// When it was answered.
        needed at: Option<Timestamp> = "at",
        /// The reload that was requested.
        added reload: Option<Reload> = "reload",
    }
}

closed_words! {
    /// How far a reload is.
    pub enum Reload {
        /// Asked for, not run yet.
        Due = "due",
        /// Run.
        Done = "done",
    }
}
