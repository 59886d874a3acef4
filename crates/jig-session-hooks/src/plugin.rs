//! The files of ours that agents load into their own process.

/// OpenCode's, for both of its plugin APIs.
const OPENCODE: &str = include_str!("../assets/opencode.js");

/// The line that is filled in at installation, up to its value, which is empty in the source.
const PROGRAM_LINE: &str = "const INSTALLED = ";

/// The text of the file that an agent loads, for the program it starts; none where it loads none of this crate's.
#[must_use]
pub fn plugin(agent: &str, program: &str) -> Option<String> {
    // A JSON text is a JavaScript one.
    let value = serde_json::Value::from(program);
    (agent == jig_session_agents::opencode::AGENT.name)
        .then(|| OPENCODE.replacen(&format!("{PROGRAM_LINE}\"\";"), &format!("{PROGRAM_LINE}{value};"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_program_is_filled_in() {
        for program in ["/usr/bin/jig-session", "/with \"quotes\" and \\/jig-session"] {
            let text = plugin("opencode", program).unwrap();
            let changed: Vec<_> = text.lines().zip(OPENCODE.lines()).filter(|(ours, source)| ours != source).collect();
            assert_eq!((text.lines().count(), changed.len()), (OPENCODE.lines().count(), 1));
            let jig_session_agents::Hooks::Plugin(about) = jig_session_agents::opencode::AGENT.hooks else { panic!() };
            assert!(text.contains(about.mark));
        }
        assert_eq!(plugin("pi", "x"), None);
    }
}
