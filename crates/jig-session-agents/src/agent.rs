//! The table entry of an agent: everything the program needs to know about one.

use serde_json::Value;

use crate::evidence::{Evidence, Figures};
use crate::file::{File, Folder};
use crate::meaning::{Meaning, Notice};
use crate::payload::PayloadForm;

/// Everything that is known of one agent. There is no default: whoever adds an agent answers every question.
#[derive(Clone, Copy, Debug)]
pub struct Agent {
    /// Its name: on the command line, in status files and on the bus.
    pub name: &'static str,
    /// Other names by which a user may call it.
    pub aliases: &'static [&'static str],
    /// Its name for people.
    pub title: &'static str,
    /// How what stands here is known.
    pub seen: Seen,
    /// How its process is recognised.
    pub program: Program,
    /// The variable that holds its session's id in the programs it starts.
    pub session_variable: Option<&'static str>,
    /// It has one session a process and begins the next one in place, as `/clear` does: its new id ends the old one.
    pub replaces_session: bool,
    /// A word of its command line when its process serves several sessions, so that its life proves none of them and its
    /// variables are those of the first one.
    pub shared: Option<&'static str>,
    /// Variables that mark its process as another agent's child.
    pub child_markers: &'static [&'static str],
    /// Its configuration folder, as `agentDir` says it.
    pub folder: Option<Folder>,
    /// Where and how MCP servers are configured.
    pub mcp: Option<Mcp>,
    /// How a program is called at its events.
    pub hooks: Hooks,
    /// How it is seen that our plugin is installed in it, by its own plugin command; none where there is no such plugin.
    pub packaged: Option<Packaged>,
    /// What each event of its hooks means; one that is not here means nothing. Case and what joins the words of an
    /// event's name do not count.
    pub meanings: &'static [(&'static str, Meaning)],
    /// What its notifications mean; any other means nothing.
    pub notifications: &'static [(&'static str, Notice)],
    /// Tools that ask a person a question.
    pub questions: &'static [&'static str],
    /// Tools that write the whole list of what is to be done, each entry with a `status`: the share of it that is done
    /// is the turn's progress.
    pub lists: &'static [&'static str],
    /// A tool's start may create a session's file: it never comes from a subagent that has an id of its own.
    pub calls_create: bool,
    /// A tool's start follows a person's answer, so it ends the wait for it.
    pub calls_answer: bool,
    /// What a hook's payload calls its fields.
    pub payload: Option<&'static PayloadForm>,
    /// Tools that write the files named by their arguments, compared without case, and what they do: `written` or
    /// `edited`. A shell that takes a patch in its command for itself stands here with `patches`.
    pub editors: &'static [(&'static str, &'static str)],
    /// The object in the file of its hooks that holds its status line's one command, which is given the session's
    /// model, context and cost.
    pub statusline: Option<&'static str>,
    /// How a hook answers it.
    pub replies: Replies,
    /// A record that it keeps of each of its processes.
    pub record: Option<ProcessRecord>,
    /// What it writes down of a session's state by itself. None where its hooks tell all that it knows.
    pub evidence: Option<Evidence>,
    /// Where it writes down its model, tokens and cost, for what its hooks do not tell of them. It is read when a turn has
    /// ended.
    pub figures: Option<Figures>,
    /// The name under which its screens are listed; none when no screen of it is known.
    pub screen: Option<&'static str>,
    /// How its window's title begins, and what that tells of a program that reports nothing else of itself.
    pub titles: &'static [(&'static str, TitleTells)],
}

/// What the beginning of a window's title tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleTells {
    /// It works.
    Working,
    /// A person is waited for, it does not tell why.
    Asking,
    /// A prompt can be typed.
    Resting,
}

/// How what stands in an agent's file is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Seen with the program itself, of this version.
    Run(&'static str),
    /// Read in its documents only.
    Documented,
    /// Its screens only were seen.
    Screens,
}

/// How an agent's process is recognised.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Names of the executable, or of the script that an interpreter runs.
    pub names: &'static [&'static str],
    /// A folder of the script's path that names the package.
    pub package: Option<&'static str>,
}

/// Where an agent's list of MCP servers is, and its form.
#[derive(Clone, Copy, Debug)]
pub struct Mcp {
    /// The file.
    pub file: File,
    /// The form of an entry.
    pub form: McpForm,
}

/// How a configuration names an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpForm {
    /// `mcpServers: { NAME: { command, args } }`.
    Servers,
    /// The same with a `type` and the tools that are offered.
    ServersWithTools,
    /// `mcp: { NAME: { type: local, command: [..], enabled } }`.
    LocalList,
    /// `mcp: { NAME: { type: stdio, command, args } }`.
    Stdio,
    /// `[mcp_servers.NAME]` in a TOML file.
    Toml,
}

/// How a program is called at an agent's events.
#[derive(Clone, Copy, Debug)]
pub enum Hooks {
    /// Not at all.
    None,
    /// Commands in a configuration file, which get a payload on stdin.
    Commands(CommandHooks),
    /// A file of ours that the agent loads into its own process.
    Plugin(Plugin),
}

impl Hooks {
    /// The commands in a file, if that is how.
    #[must_use]
    pub fn commands(&self) -> Option<&CommandHooks> {
        match self {
            Self::Commands(commands) => Some(commands),
            Self::None | Self::Plugin(_) => None,
        }
    }

    /// Which events begin and end a turn, of those at which mail is announced.
    #[must_use]
    pub fn turns(&self) -> Option<&Turns> {
        match self {
            Self::None => None,
            Self::Commands(commands) => Some(&commands.turns),
            Self::Plugin(plugin) => Some(&plugin.turns),
        }
    }
}

/// Our plugin in an agent that installs plugins by itself. The plugin and what `hooks install` writes bring the same
/// events, so that an agent has one or the other.
#[derive(Clone, Copy, Debug)]
pub struct Packaged {
    /// The file in which the agent keeps what is installed.
    pub file: File,
    /// How the plugin stands in it.
    pub form: PackagedForm,
    /// The agent's own command that installs it.
    pub install: &'static str,
    /// The agent's own command that removes it.
    pub remove: &'static str,
}

/// How an installed plugin stands in an agent's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackagedForm {
    /// A member `jig-session@MARKETPLACE` of this object, which is `true` or says `enabled = true`.
    Enabled(&'static str),
    /// A text of this list, the name of a package, perhaps with its version.
    Listed(&'static str, &'static str),
    /// The file itself is part of the plugin.
    There,
}

impl PackagedForm {
    /// Whether the plugin is installed, by the file's content.
    #[must_use]
    pub fn is_in(self, content: &Value) -> bool {
        match self {
            Self::There => true,
            Self::Enabled(object) => content[object].as_object().is_some_and(|plugins| {
                plugins.iter().any(|(name, state)| {
                    name.split('@').next() == Some("jig-session") && (state == true || state["enabled"] == true)
                })
            }),
            Self::Listed(list, package) => {
                let is_it = |name: &str| {
                    name.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
                };
                listed(&content[list]).any(is_it)
            }
        }
    }

    /// The folders, or files in them, that the list names in place of a package, and the package that one of ours would
    /// be: paths as they stand there.
    #[must_use]
    pub fn folders(self, content: &Value) -> Vec<(&str, &'static str)> {
        let Self::Listed(list, package) = self else { return Vec::new() };
        let package = package.trim_start_matches("npm:");
        let is_path = |name: &&str| name.starts_with(['.', '/', '~']) || name.starts_with("file:");
        listed(&content[list]).filter(is_path).map(|path| (path.trim_start_matches("file://"), package)).collect()
    }
}

/// The names in a list of packages: an entry is a name, or an object or a list that begins with one.
fn listed(list: &Value) -> impl Iterator<Item = &str> {
    let names = list.as_array().into_iter().flatten();
    names
        .filter_map(|entry| entry.as_str().or_else(|| entry.get("source")?.as_str()).or_else(|| entry.get(0)?.as_str()))
}

/// Commands in a configuration file.
#[derive(Clone, Copy, Debug)]
pub struct CommandHooks {
    /// The user's file.
    pub file: File,
    /// A project's file, below the project's root.
    pub project: Option<&'static str>,
    /// Files of ours that must stand beside it, each by its path from the file's folder, with its text.
    pub beside: &'static [(&'static str, &'static str)],
    /// The form of an entry.
    pub form: HookForm,
    /// Events at which `jig-session hook` is called.
    pub events: &'static [&'static str],
    /// Events at which mail is announced.
    pub notices: &'static [&'static str],
    /// The event before a tool that writes files.
    pub guard: Option<Guard>,
    /// What a person has to do before new hooks run.
    pub trust: Option<&'static str>,
    /// Which of its events begin and end a turn.
    pub turns: Turns,
}

/// The event before a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Its name.
    pub event: &'static str,
    /// The tools that write files, as the agent's matcher takes them.
    pub matcher: Option<&'static str>,
}

/// The form of one command in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookForm {
    /// The commands of an event stand in groups, `{ matcher?, hooks: [command] }`; else they stand by themselves.
    pub grouped: bool,
    /// A command says `type: "command"`.
    pub typed: bool,
    /// A command has a `name`.
    pub named: bool,
    /// The words of the command line may stand in `args`, so that no shell is started.
    pub args: bool,
    /// A command that says `async: true` is not waited for.
    pub asynchronous: bool,
    /// The key and the value of its longest time.
    pub timeout: Option<(&'static str, u32)>,
    /// The event's name is a word of the command line, since the payload does not always tell it.
    pub event_word: bool,
    /// What the file must hold beside the hooks: a key, or two joined by a dot, and its value as JSON.
    pub fixed: &'static [(&'static str, &'static str)],
}

/// A file of ours that an agent loads.
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// Where it goes.
    pub file: File,
    /// A project's place for it, below the project's root.
    pub project: Option<&'static str>,
    /// The marker of a file of ours, of any version.
    pub mark: &'static str,
    /// What it brings along, so that no other entry is needed for it.
    pub brings: Option<&'static str>,
    /// What a person types in a running agent to have the file loaded anew. None: it is loaded at the next start only.
    pub reload: Option<&'static str>,
    /// The oldest version of the agent on which everything is tested; none where every version is taken.
    pub supported: Option<&'static str>,
    /// What came with which version: in an older one, the sentence holds.
    pub since: &'static [(&'static str, &'static str)],
    /// Which events it announces mail at.
    pub turns: Turns,
}

/// Which events begin and end a turn.
#[derive(Clone, Copy, Debug)]
pub struct Turns {
    /// A person has spoken.
    pub prompt: &'static [&'static str],
    /// The turn is about to end.
    pub end: &'static [&'static str],
}

/// What an event is to a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A person has spoken.
    Prompt,
    /// Between two tools, or at a beginning.
    Turn,
    /// The turn is about to end.
    End,
}

impl Turns {
    /// What an event is to a notice.
    #[must_use]
    pub fn moment(&self, event: &str) -> Moment {
        if self.prompt.contains(&event) {
            Moment::Prompt
        } else if self.end.contains(&event) {
            Moment::End
        } else {
            Moment::Turn
        }
    }
}

/// How a hook answers an agent, each as the document that it prints; none where the agent takes no such answer.
#[derive(Clone, Copy, Debug)]
pub struct Replies {
    /// A tool call is denied, with the reason.
    pub deny: Option<fn(&str) -> Value>,
    /// A text is added to the model's context at an event: the event, the text.
    pub context: Option<fn(&str, &str) -> Value>,
    /// A turn is held open, with the text that the model reads next.
    pub hold: Option<fn(&str) -> Value>,
}

/// A record that an agent keeps of each of its processes, in its configuration folder.
#[derive(Clone, Copy, Debug)]
pub struct ProcessRecord {
    /// The folder, below the agent's own; a record is named `<pid>.json` there.
    pub folder: &'static str,
    /// The session that a record names, if it is of the process with this start, in ticks since boot.
    pub session: fn(&Value, &str) -> Option<String>,
}
