//! The bridge as a Pi extension: the text that is installed.

use jig_session_agents::pi::AGENT;
use serde_json::{Value, json};

use crate::commands::commands;

/// The bridge as it is shipped.
const BRIDGE: &str = include_str!("../assets/index.ts");
/// The lines that are filled in at installation, up to their values, which are empty in the source.
const PROGRAM_LINE: (&str, &str) = ("const INSTALLED = ", "\"\"");
const OFFER_LINE: (&str, &str) =
    ("const OFFER: { commands: any[]; unless: string[] } = ", "{ commands: [], unless: [] }");
/// The file that an agent loads, for the program that it starts; none where that is not the bridge.
pub fn plugin(agent: &str, program: &str) -> Option<String> {
    (agent == AGENT.name).then(|| text(program))
}

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
