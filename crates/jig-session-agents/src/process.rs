//! Which agent a process is.

use std::path::Path;

use crate::{ALL, Agent};

/// Programs that run an agent's script; `MainThread` is Node's name for itself.
const INTERPRETERS: [&str; 6] = ["node", "bun", "deno", "python", "python3", "MainThread"];

/// The agent that a process is, by its short name, by the word that started it, or by the script that its interpreter
/// runs.
#[must_use]
pub fn of_process(name: &str, command: &[String]) -> Option<&'static Agent> {
    let started = command.first().map(|word| file_name(word));
    if let Some(agent) = with_program(name).or_else(|| with_program(started?)) {
        return Some(agent);
    }
    let interprets = |name: &str| INTERPRETERS.contains(&name) || name.starts_with("python3.");
    if !interprets(name) && !started.is_some_and(interprets) {
        return None;
    }
    let script = command.iter().skip(1).find(|word| !word.starts_with('-'))?;
    let stem = file_name(script);
    let stem = stem.split_once('.').map_or(stem, |(stem, _)| stem);
    with_program(stem).or_else(|| {
        let folders: Vec<&str> = script.split(['/', '\\']).collect();
        let holds = |agent: &&Agent| agent.program.package.is_some_and(|package| folders.contains(&package));
        ALL.into_iter().find(holds)
    })
}

fn with_program(name: &str) -> Option<&'static Agent> {
    ALL.into_iter().find(|agent| agent.program.names.contains(&name))
}

fn file_name(word: &str) -> &str {
    Path::new(word).file_name().and_then(|name| name.to_str()).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_recognised_by_name_script_or_package() {
        let table: [(&str, &[&str], Option<&str>); 13] = [
            ("pi", &["pi"], Some("pi")),
            ("node", &["node", "/usr/bin/pi", "-p"], Some("pi")),
            ("MainThread", &["node", "--no-warnings", "/x/gemini.js"], Some("gemini")),
            ("node", &["/usr/bin/node", "/x/@google/gemini-cli/dist/index.js"], Some("gemini")),
            ("node", &["node", "/x/@qwen-code/qwen-code/cli.js"], Some("qwen")),
            ("claude", &["/home/u/.local/bin/claude"], Some("claude")),
            ("2.1.197", &["claude", "--resume"], Some("claude")),
            ("python3.12", &["python3.12", "/venv/bin/kimi"], Some("kimi")),
            ("codex", &["/v/bin/codex"], Some("codex")),
            ("agy", &["agy"], Some("antigravity")),
            ("bash", &["bash", "-c", "claude"], None),
            ("node", &["node", "server.js"], None),
            ("vim", &["vim", "pi"], None),
        ];
        for (name, command, agent) in table {
            let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(of_process(name, &command).map(|agent| agent.name), agent, "{name} {command:?}");
        }
    }
}
