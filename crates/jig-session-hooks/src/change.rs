//! Which entries belong into which file: a pure function of an agent's table entry.

use std::path::{Path, PathBuf};

use jig_session_agents::{Agent, CommandHooks, Hooks, Mcp, McpForm};
use jig_session_schema::hooks::HooksPart;
use jig_session_settings::{ElementValue, Entry, Format};
use serde_json::{Map, Value, json};

use crate::command::{STATUSLINE, is_hook, is_server, shell_word, unwrap_statusline, wrap_statusline};

/// The name of our MCP server in every configuration.
const SERVER: &str = "jig-session";

/// A part of what can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What publishes the session.
    Session,
    /// The status line, wrapped: model, context and cost are read from its input.
    Statusline,
    /// The session bus as an MCP server.
    Mcp,
    /// Hooks that announce mail.
    Bus,
    /// A hook that denies edits of paths that another session holds.
    Guard,
}

impl Part {
    /// Every part, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Session, Self::Statusline, Self::Mcp, Self::Bus, Self::Guard];

    /// The word in the document.
    #[must_use]
    pub fn word(self) -> HooksPart {
        match self {
            Self::Session => HooksPart::SESSION,
            Self::Statusline => HooksPart::STATUSLINE,
            Self::Mcp => HooksPart::MCP,
            Self::Bus => HooksPart::BUS,
            Self::Guard => HooksPart::GUARD,
        }
    }
}

/// Where the files are and what the entries run.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The home folder.
    pub home: &'a Path,
    /// The project whose files are meant; the user's own where there is none.
    pub project: Option<&'a Path>,
    /// The program that the entries run, see [`crate::stable_program`].
    pub program: &'a str,
    /// The text of the file that an agent loads, for agents that load one.
    pub plugin: &'a dyn Fn(&Agent, &str) -> Option<String>,
}

/// What a part puts into one file.
#[derive(Clone, Debug)]
pub struct Change {
    /// The part.
    pub part: Part,
    /// The file.
    pub path: PathBuf,
    /// What belongs into it.
    pub content: Content,
}

/// What belongs into a file.
#[derive(Clone, Debug)]
pub enum Content {
    /// Entries beside others.
    Entries(Format, Vec<Entry>),
    /// A whole file of ours.
    File {
        /// Its text.
        text: String,
        /// The marker of a file of ours, of any version.
        mark: String,
    },
}

/// The parts that an agent can have.
#[must_use]
pub fn parts_of(agent: &Agent) -> Vec<Part> {
    let commands = agent.hooks.commands();
    let has = |part: &Part| match part {
        Part::Session => match &agent.hooks {
            Hooks::None => false,
            Hooks::Commands(commands) => !commands.events.is_empty(),
            Hooks::Plugin(_) => true,
        },
        Part::Statusline => agent.statusline.is_some(),
        Part::Mcp => agent.mcp.is_some(),
        Part::Bus => commands.is_some_and(|commands| !commands.notices.is_empty()),
        Part::Guard => commands.is_some_and(|commands| commands.guard.is_some()),
    };
    Part::ALL.into_iter().filter(has).collect()
}

/// The changes that a part makes; none where the agent has no such part, or the project no such file.
#[must_use]
pub fn changes(agent: &Agent, part: Part, target: &Target<'_>) -> Vec<Change> {
    if !parts_of(agent).contains(&part) {
        return Vec::new();
    }
    match (part, &agent.hooks) {
        (Part::Mcp, _) => {
            agent.mcp.iter().filter(|_| target.project.is_none()).map(|mcp| server(mcp, target)).collect()
        }
        (Part::Session, Hooks::Plugin(plugin)) => {
            let Some(text) = (target.plugin)(agent, target.program) else { return Vec::new() };
            let path = match (target.project, plugin.project) {
                (None, _) => plugin.file.path(target.variable, target.home),
                (Some(root), Some(below)) => root.join(below),
                (Some(_), None) => return Vec::new(),
            };
            let mark = plugin.mark.to_owned();
            vec![Change { part, path, content: Content::File { text, mark } }]
        }
        (_, Hooks::Commands(commands)) => {
            let Some(path) = hooks_file(commands, target) else { return Vec::new() };
            let mut all: Vec<Change> = beside(part, commands, &path);
            all.push(Change {
                part,
                path,
                content: Content::Entries(Format::Json, entries(agent, part, commands, target.program)),
            });
            all
        }
        (_, Hooks::None | Hooks::Plugin(_)) => Vec::new(),
    }
}

fn hooks_file(commands: &CommandHooks, target: &Target<'_>) -> Option<PathBuf> {
    match target.project {
        None => Some(commands.file.path(target.variable, target.home)),
        Some(root) => commands.project.map(|below| root.join(below)),
    }
}

/// Files of ours that the agent wants beside its hooks, such as a plugin's description.
fn beside(part: Part, commands: &CommandHooks, path: &Path) -> Vec<Change> {
    let folder = path.parent().unwrap_or(path);
    let file = |(name, text): &(&str, &str)| {
        let mut at = folder.to_owned();
        for step in Path::new(name) {
            if step == ".." {
                at.pop();
            } else {
                at.push(step);
            }
        }
        let content = Content::File { text: (*text).to_owned(), mark: "\"jig-session\"".to_owned() };
        Change { part, path: at, content }
    };
    commands.beside.iter().map(file).collect()
}

pub(crate) fn entries(agent: &Agent, part: Part, commands: &CommandHooks, program: &str) -> Vec<Entry> {
    let name = agent.name;
    let mut all: Vec<Entry> = match part {
        Part::Session => commands
            .events
            .iter()
            .map(|event| {
                let words =
                    if commands.form.event_word { format!(" hook {name} {event}") } else { format!(" hook {name}") };
                hook(commands, event, None, &words, program, true)
            })
            .collect(),
        Part::Bus => commands
            .notices
            .iter()
            .map(|event| hook(commands, event, None, &format!(" bus notice {name} {event}"), program, false))
            .collect(),
        Part::Guard => commands
            .guard
            .iter()
            .map(|guard| hook(commands, guard.event, guard.matcher, &format!(" bus guard {name}"), program, false))
            .collect(),
        Part::Statusline => vec![Entry::Wrapped {
            object: vec!["statusLine".to_owned()],
            alone: json!({ "type": "command", "command": format!("{}{STATUSLINE}", shell_word(program)) }),
            wrap: wrap_statusline,
            unwrap: unwrap_statusline,
            program: program.to_owned(),
        }],
        Part::Mcp => Vec::new(),
    };
    if part != Part::Statusline {
        let setting = |(key, value): &(&str, &str)| {
            let mut path: Vec<String> = key.split('.').map(str::to_owned).collect();
            let name = path.pop().unwrap_or_default();
            Entry::Setting { parents: path, name, value: serde_json::from_str(value).unwrap_or_default() }
        };
        all.splice(0..0, commands.form.fixed.iter().map(setting));
    }
    all
}

/// One hook in the agent's form.
fn hook(
    commands: &CommandHooks,
    event: &str,
    matcher: Option<&str>,
    words: &str,
    program: &str,
    publishes: bool,
) -> Entry {
    let form = &commands.form;
    let mut hook = Map::new();
    if form.named {
        hook.insert("name".into(), SERVER.into());
    }
    if form.typed {
        hook.insert("type".into(), "command".into());
    }
    if form.args {
        hook.insert("command".into(), program.into());
        hook.insert("args".into(), words.split_whitespace().collect());
    } else {
        hook.insert("command".into(), format!("{}{words}", shell_word(program)).into());
    }
    if let Some((key, time)) = form.timeout {
        hook.insert(key.into(), time.into());
    }
    // What answers the agent is waited for.
    if form.asynchronous && publishes {
        hook.insert("async".into(), true.into());
    }
    let value = if form.grouped {
        ElementValue::Grouped { matcher: matcher.map(str::to_owned), hook: Value::Object(hook) }
    } else {
        if let Some(matcher) = matcher {
            hook.insert("matcher".into(), matcher.into());
        }
        ElementValue::Plain(Value::Object(hook))
    };
    Entry::Element { list: vec!["hooks".to_owned(), event.to_owned()], value, ours: is_hook, mark: words.to_owned() }
}

fn server(mcp: &Mcp, target: &Target<'_>) -> Change {
    let program = target.program;
    let (format, parent, value) = match mcp.form {
        McpForm::Servers => (Format::Json, "mcpServers", json!({ "command": program, "args": ["mcp"] })),
        McpForm::ServersWithTools => (
            Format::Json,
            "mcpServers",
            json!({ "type": "local", "command": program, "args": ["mcp"], "tools": ["*"] }),
        ),
        McpForm::LocalList => {
            (Format::Json, "mcp", json!({ "type": "local", "command": [program, "mcp"], "enabled": true }))
        }
        McpForm::Stdio => (Format::Json, "mcp", json!({ "type": "stdio", "command": program, "args": ["mcp"] })),
        McpForm::Toml => (Format::Toml, "mcp_servers", json!({ "command": program, "args": ["mcp"] })),
    };
    let entry = Entry::Member { parents: vec![parent.to_owned()], name: SERVER.to_owned(), value, ours: is_server };
    Change {
        part: Part::Mcp,
        path: mcp.file.path(target.variable, target.home),
        content: Content::Entries(format, vec![entry]),
    }
}
