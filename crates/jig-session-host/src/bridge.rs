//! The bridge as a Pi extension: the text that is installed, and what a version of Pi cannot do with it.

use jig_session_agents::pi::AGENT;
use jig_session_hooks::version_numbers;
use serde_json::{Value, json};

use crate::commands::commands;

/// The bridge as it is shipped.
const BRIDGE: &str = include_str!("../assets/index.ts");
/// The lines that are filled in at installation, up to their values, which are empty in the source.
const PROGRAM_LINE: (&str, &str) = ("const INSTALLED = ", "\"\"");
const OFFER_LINE: (&str, &str) =
    ("const OFFER: { commands: any[]; unless: string[] } = ", "{ commands: [], unless: [] }");
/// The bridge's text for a program.
pub fn text(program: &str) -> String {
    // A JSON value is a TypeScript value.
    let fill = |text: String, (line, empty): (&str, &str), value: String| {
        text.replacen(&format!("{line}{empty};"), &format!("{line}{value};"), 1)
    };
    let text = fill(BRIDGE.to_owned(), PROGRAM_LINE, json!(program).to_string());
    fill(text, OFFER_LINE, offer().to_string())
}

/// What the bridge needs to know of the program before it runs. A Pi that another one's tool started has the parent's
/// `PI_SESSION_ID`, as has every terminal that was opened from there.
fn offer() -> Value {
    let unless: Vec<&str> = AGENT.session_variable.into_iter().chain(jig_session_agents::child_markers()).collect();
    json!({ "commands": commands(), "unless": unless })
}

/// The oldest version the whole test suite passes on.
const SUPPORTED: &str = "1.3.0";

/// What came with which version: without it, the sentence holds.
const SINCE: &[(&str, &str)] = &[
    ("0.78.1", "the mode is guessed: a JSON run looks like a print run"),
    ("0.80.3", "a new session name is seen at the next start only"),
    ("0.80.4", "a session may look idle a moment too early"),
    ("0.84.2", "a request cannot reload it; /session-reload does"),
    ("0.84.2", "a tool switched off in the middle of a run goes at the next prompt"),
    ("0.84.4", "a session that waits for an answer does not show attention"),
    ("1.2.0", "what is told before a prompt is not told in a run that mail started"),
    (SUPPORTED, "skills cannot be switched off"),
];

/// What a version cannot do, as sentences; the last one says which versions are supported.
pub fn limits(version: &str) -> Vec<String> {
    let Some(version) = version_numbers(version) else { return Vec::new() };
    let older = |than: &str| version_numbers(than).is_some_and(|than| version < than);
    let mut limits: Vec<_> = SINCE
        .iter()
        .filter(|(since, _)| older(since))
        .map(|(since, limit)| format!("{limit} (from Pi {since} on it is better)"))
        .collect();
    if older(SUPPORTED) {
        limits.push(format!("Pi before {SUPPORTED} is not supported: it publishes, the rest may not work"));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What tells a file of ours from another's: the table of agents says it.
    fn mark() -> &'static str {
        match jig_session_agents::pi::AGENT.hooks {
            jig_session_agents::Hooks::Plugin(plugin) => plugin.mark,
            _ => panic!("Pi loads a file"),
        }
    }

    #[test]
    fn an_old_version_lacks_things_and_a_new_one_nothing() {
        for (version, count) in [("0.73.1", 9), ("0.84.2", 4), ("1.2.0", 2), ("1.3.0", 0), ("1.6.0", 0), ("next", 0)] {
            assert_eq!(limits(version).len(), count, "{version}: {:?}", limits(version));
        }
        assert!(limits("1.0.3").last().is_some_and(|limit| limit.contains("not supported")));
    }

    #[test]
    fn a_program_path_survives_as_a_string_of_the_bridge() {
        for program in ["/usr/bin/jig-session", "/with \"quotes\" and \\ and \u{e4}/jig-session"] {
            let text = super::text(program);
            // Only these two lines are filled in.
            let lines: Vec<_> = text.lines().zip(BRIDGE.lines()).filter(|(ours, source)| ours != source).collect();
            assert_eq!((text.lines().count(), lines.len()), (BRIDGE.lines().count(), 2));
            assert!(lines[0].0.starts_with(&format!("{}{};", PROGRAM_LINE.0, json!(program))));
            assert_eq!(lines[1].0, format!("{}{};", OFFER_LINE.0, offer()));
        }
        assert!(BRIDGE.contains(mark()));
    }
}
