//! The bus's entries in an agent's own configuration: its MCP server, the notices, the guard. Each is asked for by
//! itself, and nothing else in the file is touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jig_session_agents::{ALL, Agent, CommandHooks, File, McpForm};
use jig_session_atomic::read_file;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) mcp: bool,
    pub(super) bus: bool,
    pub(super) guard: bool,
}

impl Asked {
    pub(super) fn anything(self) -> bool {
        self.mcp || self.bus || self.guard
    }

    /// Each part by its name.
    fn parts(self) -> impl Iterator<Item = Part> {
        let all = [(self.mcp, Part::Mcp), (self.bus, Part::Bus), (self.guard, Part::Guard)];
        all.into_iter().filter(|(asked, _)| *asked).map(|(_, part)| part)
    }
}

/// One kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Mcp,
    Bus,
    Guard,
}

impl Part {
    fn word(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Bus => "bus",
            Self::Guard => "guard",
        }
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    Install,
    Uninstall,
    Status,
    Print,
}

/// Where a file of an agent lies for this user.
fn path_of(file: &File, app: &App) -> PathBuf {
    file.path(|name| app.var(name), &app.places().home)
}

/// The file of hooks and its events, where entries can be put into it here.
fn commands(agent: &Agent) -> Option<&CommandHooks> {
    agent.hooks.commands().filter(|commands| commands.form.grouped && commands.beside.is_empty())
}

/// The name of our MCP server in every configuration.
const SERVER: &str = "jig-session";

/// The lines around our block in a TOML file.
const BEGIN: &str = "# jig-session: begin (removed by: jig-session hooks uninstall codex --mcp)\n";
const END: &str = "# jig-session: end\n";

/// Runs one deed for an agent and prints what came of it.
pub(super) fn run(deed: Deed, name: &str, asked: Asked, app: &App) -> Outcome {
    if name == "pi" {
        return Err(Failure::new(Code::Unsupported, "pi needs no entries of its own for the bus")
            .hint("the bridge has the tool, the notices and the guard: jig-session hooks install pi"));
    }
    let has_entries = |agent: &&Agent| agent.mcp.is_some() || commands(agent).is_some();
    let Some(agent) = jig_session_agents::named(name).filter(has_entries) else {
        let known: Vec<&str> = ALL.into_iter().filter(has_entries).map(|agent| agent.name).collect();
        return Err(Failure::new(Code::Unsupported, format!("no bus entries are known for \"{name}\""))
            .hint(format!("known are {}; any MCP client can run: jig-session mcp", known.join(", "))));
    };
    let program = std::env::current_exe().ok().map_or_else(|| SERVER.to_owned(), |path| path.display().to_string());
    let rows = each(deed, agent, asked, &program, app)?;
    if deed == Deed::Print {
        return Ok(Exit::OK);
    }
    if app.json {
        app.print_json(&json!({ "schema": 1, "agent": name, "entries": rows }))?;
    } else {
        for row in &rows {
            let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            app.print(&format!("{name} {}: {} {}\n", word("part"), word("state"), word("path")))?;
        }
        let trust = commands(agent).and_then(|commands| commands.trust);
        if let Some(trust) = trust.filter(|_| deed == Deed::Install && (asked.bus || asked.guard)) {
            app.note(trust);
        }
    }
    Ok(Exit::OK)
}

/// Does each part that is asked for; gives a row a part.
fn each(deed: Deed, agent: &Agent, asked: Asked, program: &str, app: &App) -> Result<Vec<Value>, Failure> {
    asked
        .parts()
        .map(|part| {
            let (path, state) = act(deed, agent, part, program, app)?;
            Ok(json!({ "part": part.word(), "state": state, "path": path.to_string_lossy() }))
        })
        .collect()
}

fn act(deed: Deed, agent: &Agent, part: Part, program: &str, app: &App) -> Result<(PathBuf, &'static str), Failure> {
    let unsupported = |what: &str, hint: &'static str| {
        Failure::new(Code::Unsupported, format!("{what} of {} cannot be installed here", agent.name)).hint(hint)
    };
    let servers = || agent.mcp.ok_or_else(|| unsupported("MCP servers", "any MCP client can run: jig-session mcp"));
    let hooks = || commands(agent).ok_or_else(|| unsupported("hooks", "its MCP server can: --mcp"));
    let file = match part {
        Part::Mcp => servers()?.file,
        Part::Bus | Part::Guard => hooks()?.file,
    };
    let path = path_of(&file, app);
    if part == Part::Mcp && servers()?.form == McpForm::Toml {
        return toml(deed, &path, program, app).map(|state| (path, state));
    }
    let before = read(&path)?;
    let mut after = before.clone();
    let changed = |document: &mut Map<String, Value>, install: bool| match part {
        Part::Mcp => agent.mcp.into_iter().for_each(|mcp| server(document, mcp.form, program, install)),
        Part::Bus => {
            for event in commands(agent).into_iter().flat_map(|commands| commands.notices) {
                let entry = format!(" bus notice {} {event}", agent.name);
                hook(document, event, None, &entry, install.then(|| shell_word(program)));
            }
        }
        Part::Guard => {
            if let Some(guard) = commands(agent).and_then(|commands| commands.guard) {
                let entry = format!(" bus guard {}", agent.name);
                hook(document, guard.event, guard.matcher, &entry, install.then(|| shell_word(program)));
            }
        }
    };
    match deed {
        Deed::Print => {
            let mut document = Map::new();
            changed(&mut document, true);
            app.print(&pretty(&document))?;
            Ok((path, "printed"))
        }
        Deed::Status => {
            let mut without = before.clone();
            changed(&mut without, false);
            changed(&mut after, true);
            let state = if without == before {
                "absent"
            } else if after == before {
                "installed"
            } else {
                "outdated"
            };
            Ok((path, state))
        }
        Deed::Install | Deed::Uninstall => {
            let install = deed == Deed::Install;
            changed(&mut after, install);
            if after == before {
                return Ok((path, if install { "unchanged" } else { "absent" }));
            }
            write(&path, &pretty(&after))?;
            Ok((path, if install { "installed" } else { "removed" }))
        }
    }
}

/// Puts our server into a configuration, or takes it out.
fn server(document: &mut Map<String, Value>, form: McpForm, program: &str, install: bool) {
    let (key, entry) = match form {
        McpForm::LocalList => ("mcp", json!({ "type": "local", "command": [program, "mcp"], "enabled": true })),
        McpForm::Stdio => ("mcp", json!({ "type": "stdio", "command": program, "args": ["mcp"] })),
        McpForm::ServersWithTools => {
            ("mcpServers", json!({ "type": "local", "command": program, "args": ["mcp"], "tools": ["*"] }))
        }
        McpForm::Servers | McpForm::Toml => ("mcpServers", json!({ "command": program, "args": ["mcp"] })),
    };
    if install {
        let servers = document.entry(key).or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut() {
            servers.insert(SERVER.to_owned(), entry);
        }
    } else if let Some(servers) = document.get_mut(key).and_then(Value::as_object_mut) {
        servers.remove(SERVER);
        if servers.is_empty() {
            document.remove(key);
        }
    }
}

/// Sets the one command of ours at an event, a program and then `entry`, or takes it out. Commands of others stay where
/// they are.
fn hook(document: &mut Map<String, Value>, event: &str, matcher: Option<&str>, entry: &str, program: Option<String>) {
    let command = program.map(|program| program + entry);
    let is_ours = |hook: &Value| hook.get("command").and_then(Value::as_str).is_some_and(|text| text.ends_with(entry));
    let hooks = match &command {
        Some(_) => document.entry("hooks").or_insert_with(|| json!({})).as_object_mut(),
        None => document.get_mut("hooks").and_then(Value::as_object_mut),
    };
    let Some(hooks) = hooks else { return };
    let mut groups = hooks.get(event).and_then(Value::as_array).cloned().unwrap_or_default();
    let had = !groups.is_empty();
    if let Some(command) = &command {
        let same = |group: &Value| {
            group.get("matcher").and_then(Value::as_str) == matcher
                && group["hooks"].as_array().is_some_and(|hooks| hooks.iter().any(|h| h["command"] == command.as_str()))
        };
        if groups.iter().any(same) {
            return;
        }
    }
    for group in &mut groups {
        if let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) {
            hooks.retain(|hook| !is_ours(hook));
        }
    }
    groups.retain(|group| group.get("hooks").and_then(Value::as_array).is_none_or(|hooks| !hooks.is_empty()));
    if let Some(command) = command {
        let mut group = Map::new();
        if let Some(matcher) = matcher {
            group.insert("matcher".into(), matcher.into());
        }
        group.insert("hooks".into(), json!([{ "type": "command", "command": command, "timeout": 10 }]));
        groups.push(Value::Object(group));
    }
    if groups.is_empty() {
        if had {
            hooks.remove(event);
        }
    } else {
        hooks.insert(event.to_owned(), Value::Array(groups));
    }
    if hooks.is_empty() {
        document.remove("hooks");
    }
}

/// Our block in a TOML file: appended, replaced, removed. Everything outside of it is kept byte for byte.
fn toml(deed: Deed, path: &Path, program: &str, app: &App) -> Result<&'static str, Failure> {
    // A TOML basic string and a JSON string agree for a path.
    let block = format!("{BEGIN}[mcp_servers.{SERVER}]\ncommand = {}\nargs = [\"mcp\"]\n{END}", Value::from(program));
    if deed == Deed::Print {
        app.print(&block)?;
        return Ok("printed");
    }
    let before = text(path)?.unwrap_or_default();
    let found = before.find(BEGIN).and_then(|from| Some((from, from + before[from..].find(END)? + END.len())));
    if found.is_none() && before.contains(&format!("[mcp_servers.{SERVER}]")) {
        return Err(Failure::new(Code::Refused, "this server is configured there already, and not by this program")
            .path(path)
            .hint(format!("remove the table [mcp_servers.{SERVER}], then install again")));
    }
    let held = found.map(|(from, to)| &before[from..to]);
    let (state, after) = match (deed, found) {
        (Deed::Status, None) => return Ok("absent"),
        (Deed::Status, Some(_)) => return Ok(if held == Some(&block) { "installed" } else { "outdated" }),
        (Deed::Uninstall, None) => return Ok("absent"),
        (Deed::Uninstall, Some((from, to))) => (
            "removed",
            format!(
                "{}{}",
                before[..from].strip_suffix("\n\n").map_or(before[..from].to_owned(), |kept| format!("{kept}\n")),
                &before[to..]
            ),
        ),
        (_, Some(_)) if held == Some(&block) => return Ok("unchanged"),
        (_, Some((from, to))) => ("installed", format!("{}{block}{}", &before[..from], &before[to..])),
        (_, None) if before.is_empty() => ("installed", block),
        (_, None) => ("installed", format!("{}\n\n{block}", before.strip_suffix('\n').unwrap_or(&before))),
    };
    write(path, &after)?;
    Ok(state)
}

fn pretty(document: &Map<String, Value>) -> String {
    // A map of texts and values always serialises.
    serde_json::to_string_pretty(document).unwrap_or_default() + "\n"
}

/// A program's path as a shell takes it.
fn shell_word(program: &str) -> String {
    let plain = program.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c));
    if plain { program.to_owned() } else { format!("'{}'", program.replace('\'', "'\\''")) }
}

fn text(path: &Path) -> Result<Option<String>, Failure> {
    let bytes = match read_file(path, SETTINGS_BYTES) {
        Ok(read) => read.bytes,
        Err(problem) if problem.is_missing() => return Ok(None),
        Err(problem) => return Err(Failure::cannot_read(path, &problem)),
    };
    String::from_utf8(bytes).map(Some).map_err(|_| {
        Failure::new(Code::Refused, format!("{} is not UTF-8", path.display()))
            .path(path)
            .hint("put the entry in by hand; this prints it: jig-session hooks print AGENT --mcp")
    })
}

/// An agent's settings are far below this.
const SETTINGS_BYTES: usize = 16 << 20;

fn read(path: &Path) -> Result<Map<String, Value>, Failure> {
    let Some(text) = text(path)?.filter(|text| !text.trim().is_empty()) else { return Ok(Map::new()) };
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(Code::Refused, format!("{} is no plain JSON object: {error}", path.display()))
            .path(path)
            .hint("put the entry in by hand; this prints it: jig-session hooks print AGENT --mcp")
    })
}

/// Replaces the file in one step, with the mode it has. A link stays a link: its target is replaced.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(|error| failed("make the folder", folder, &error))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.tmp-{}", std::process::id()));
    let mode = fs::metadata(path).map(|about| about.permissions());
    let written = fs::write(&temporary, text)
        .and_then(|()| mode.map_or(Ok(()), |mode| fs::set_permissions(&temporary, mode)))
        .and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed("write", path, &error)
    })
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::Io, format!("cannot {verb} {}: {error}", path.display())).path(path).errno(error.raw_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/usr/bin/jig-session";
    const EVERYTHING: Asked = Asked { mcp: true, bus: true, guard: true };

    fn app(home: &tempfile::TempDir) -> App {
        App { env: vec![("HOME".into(), home.path().into())], json: false, color: false }
    }

    fn document(home: &tempfile::TempDir, path: &str) -> Value {
        serde_json::from_str(&fs::read_to_string(home.path().join(path)).unwrap()).unwrap()
    }

    #[test]
    fn entries_are_put_in_once_and_taken_out_without_a_trace() {
        for agent in ALL.into_iter().filter(|agent| commands(agent).is_some()) {
            let home = tempfile::tempdir().unwrap();
            let app = app(&home);
            let hooks = path_of(&commands(agent).unwrap().file, &app);
            let others = json!({
                "theme": "dark",
                "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "notify-send done" }] }] },
            });
            fs::create_dir_all(hooks.parent().unwrap()).unwrap();
            fs::write(&hooks, pretty(others.as_object().unwrap())).unwrap();
            each(Deed::Install, agent, EVERYTHING, PROGRAM, &app).unwrap();
            let once = fs::read_to_string(&hooks).unwrap();
            assert!(once.contains(&format!("bus guard {}", agent.name)), "{once}");
            assert_eq!(once.matches(" bus notice ").count(), commands(agent).unwrap().notices.len(), "{once}");
            assert!(once.contains("notify-send done") && once.contains("dark"));
            each(Deed::Install, agent, EVERYTHING, PROGRAM, &app).unwrap();
            assert_eq!(fs::read_to_string(&hooks).unwrap(), once, "once more changes nothing");
            assert_eq!(act(Deed::Status, agent, Part::Guard, PROGRAM, &app).unwrap().1, "installed");
            assert_eq!(act(Deed::Status, agent, Part::Guard, "/elsewhere/jig-session", &app).unwrap().1, "outdated");
            each(Deed::Uninstall, agent, EVERYTHING, PROGRAM, &app).unwrap();
            let left: Value = serde_json::from_str(&fs::read_to_string(&hooks).unwrap()).unwrap();
            assert_eq!(left, others, "{}", agent.name);
            assert_eq!(act(Deed::Status, agent, Part::Bus, PROGRAM, &app).unwrap().1, "absent");
        }
    }

    #[test]
    fn each_agent_gets_its_servers_form() {
        let home = tempfile::tempdir().unwrap();
        let app = app(&home);
        let only = Asked { mcp: true, bus: false, guard: false };
        for agent in ALL.into_iter().filter(|agent| agent.mcp.is_some()) {
            each(Deed::Install, agent, only, PROGRAM, &app).unwrap();
        }
        assert_eq!(document(&home, ".claude.json")["mcpServers"]["jig-session"]["command"], PROGRAM);
        assert_eq!(document(&home, ".gemini/settings.json")["mcpServers"]["jig-session"]["args"], json!(["mcp"]));
        assert_eq!(document(&home, ".copilot/mcp-config.json")["mcpServers"]["jig-session"]["tools"], json!(["*"]));
        let opencode = document(&home, ".config/opencode/opencode.json");
        assert_eq!(opencode["mcp"]["jig-session"]["command"], json!([PROGRAM, "mcp"]));
    }

    #[test]
    fn a_toml_file_is_kept_but_for_our_block() {
        let home = tempfile::tempdir().unwrap();
        let app = app(&home);
        let path = home.path().join("config.toml");
        let others = "model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n";
        fs::write(&path, others).unwrap();
        assert_eq!(toml(Deed::Install, &path, "/bin/jig-session", &app).unwrap(), "installed");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(others) && text.contains("[mcp_servers.jig-session]\ncommand = \"/bin/jig-session\""));
        assert_eq!(toml(Deed::Install, &path, "/bin/jig-session", &app).unwrap(), "unchanged");
        assert_eq!(toml(Deed::Install, &path, "/usr/bin/jig-session", &app).unwrap(), "installed");
        assert_eq!(toml(Deed::Uninstall, &path, "", &app).unwrap(), "removed");
        assert_eq!(fs::read_to_string(&path).unwrap(), others);
        fs::write(&path, "[mcp_servers.jig-session]\ncommand = \"mine\"\n").unwrap();
        assert!(toml(Deed::Install, &path, "/bin/jig-session", &app).is_err(), "a table of the user's own");
    }

    #[test]
    fn what_cannot_be_kept_is_not_touched() {
        let home = tempfile::tempdir().unwrap();
        let app = app(&home);
        let path = home.path().join(".claude/settings.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let commented = "{\n  // a comment\n  \"theme\": \"dark\"\n}\n";
        fs::write(&path, commented).unwrap();
        assert!(
            each(Deed::Install, &jig_session_agents::claude::AGENT, Asked { mcp: false, ..EVERYTHING }, PROGRAM, &app)
                .is_err()
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), commented);
    }

    #[test]
    fn a_path_with_blanks_is_one_word_of_the_shell() {
        assert_eq!(shell_word("/usr/bin/jig-session"), "/usr/bin/jig-session");
        assert_eq!(shell_word("/a b/it's"), "'/a b/it'\\''s'");
    }
}
