//! Which agent a program is.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use jig_session_agents::{ALL, of_process};
use jig_session_schema::status::AgentName;

/// The agent that calls itself so in its reports: by its name, another name of it, its program's or its package's.
fn of_app(app: &str) -> Option<AgentName> {
    let agent = ALL.into_iter().find(|agent| {
        let of_program = agent.program.names.contains(&app) || agent.program.package == Some(app);
        agent.name == app || agent.aliases.contains(&app) || of_program
    })?;
    AgentName::new(agent.name)
}

/// The last part of a program's path, without the ending of a script.
#[must_use]
pub fn of_program(program: &OsStr) -> String {
    let path = Path::new(program);
    let stem = match path.extension().and_then(OsStr::to_str) {
        Some("js" | "mjs" | "cjs" | "py" | "sh" | "exe") => path.file_stem(),
        _ => path.file_name(),
    };
    stem.unwrap_or(program).to_string_lossy().into_owned()
}

/// The agent's name: the explicit one, else the known program's, else the reported one, else the program's file name.
#[must_use]
pub fn agent(asked: Option<&AgentName>, program: &OsStr, arguments: &[OsString], app: Option<&str>) -> AgentName {
    let name = of_program(program);
    let words = std::iter::once(program).chain(arguments.iter().map(OsString::as_os_str));
    let command: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let known = || of_process(&name, &command).and_then(|agent| AgentName::new(agent.name));
    let told = || app.and_then(|app| of_app(app).or_else(|| AgentName::new(app)));
    let shown = || AgentName::new(name.chars().take(64).collect::<String>());
    asked.cloned().or_else(known).or_else(told).or_else(shown).unwrap_or(AgentName::PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_named_by_who_asked_the_program_or_itself() {
        let named = |asked: Option<&str>, command: &[&str], app: Option<&str>| {
            let asked = asked.and_then(AgentName::new);
            let arguments: Vec<OsString> = command[1..].iter().map(OsString::from).collect();
            agent(asked.as_ref(), OsStr::new(command[0]), &arguments, app).as_str().to_owned()
        };
        assert_eq!(named(Some("mine"), &["claude"], Some("codex")), "mine");
        assert_eq!(named(None, &["/opt/bin/claude"], None), "claude");
        assert_eq!(named(None, &["node", "/x/gemini.js"], None), "gemini");
        assert_eq!(named(None, &["npx", "something"], Some("claude-code")), "claude");
        assert_eq!(named(None, &["npx"], Some("terraform")), "terraform");
        assert_eq!(named(None, &["/bin/cat"], None), "cat");
    }
}
