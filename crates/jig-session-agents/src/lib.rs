//! What is known of each coding agent, one file an agent, and pure functions over it.
//!
//! The crate reads no file and starts no program: what an agent said is handed in. To add an agent, write a file like
//! its neighbours and name it in [`ALL`]; every field of [`Agent`] asks for an answer, and "none" is one.

mod agent;
mod edits;
mod evidence;
mod file;
mod forms;
mod meaning;
mod payload;
mod process;

pub mod aider;
pub mod antigravity;
pub mod claude;
pub mod codewith;
pub mod codex;
pub mod copilot;
pub mod crush;
pub mod cursor;
pub mod droid;
pub mod gemini;
pub mod goose;
pub mod kimi;
pub mod opencode;
pub mod pi;
pub mod qwen;

pub use agent::{
    Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Moment, Packaged, PackagedForm, Plugin, ProcessRecord,
    Program, Replies, Seen, TitleTells, Turns,
};
pub use edits::{Edit, written};
pub use evidence::{About, Evidence, Figures, Finding, RecordLocation, TAIL, reconciled};
pub use file::{File, Folder};
pub use meaning::{Heard, Meaning, Notice, hear, meaning, session};
pub use payload::{Field, Keys, Payload, PayloadForm, Scalar};
pub use process::of_process;

/// Every agent that is known, each in its own file.
pub const ALL: [&Agent; 15] = [
    &pi::AGENT,
    &claude::AGENT,
    &codex::AGENT,
    &opencode::AGENT,
    &gemini::AGENT,
    &copilot::AGENT,
    &qwen::AGENT,
    &crush::AGENT,
    &cursor::AGENT,
    &droid::AGENT,
    &goose::AGENT,
    &antigravity::AGENT,
    &kimi::AGENT,
    &aider::AGENT,
    &codewith::AGENT,
];

/// The agent of a name, or of one of its other names.
#[must_use]
pub fn named(name: &str) -> Option<&'static Agent> {
    ALL.into_iter().find(|agent| agent.name == name || agent.aliases.contains(&name))
}

/// Variables that mark a process as another agent's child, whichever agent sets them.
pub fn child_markers() -> impl Iterator<Item = &'static str> {
    ALL.into_iter().flat_map(|agent| agent.child_markers).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_means_one_agent() {
        let mut names = HashSet::new();
        for agent in ALL {
            for name in agent.aliases.iter().chain([&agent.name]) {
                assert!(names.insert(*name), "{name} twice");
                assert_eq!(named(name).map(|found| found.name), Some(agent.name));
            }
            assert!(agent.name.len() <= 128 && agent.name.chars().all(|c| c.is_ascii_lowercase()), "{}", agent.name);
        }
        let mut programs = HashSet::new();
        for name in ALL.into_iter().flat_map(|agent| agent.program.names) {
            assert!(programs.insert(*name), "{name} is two agents' program");
        }
        assert!(named("nobody").is_none());
    }

    #[test]
    fn whoever_calls_a_command_says_what_it_hands_over() {
        for agent in ALL {
            let called = !matches!(agent.hooks, Hooks::None);
            assert_eq!(agent.payload.is_some(), called, "{}: a payload and the hooks that bring it", agent.name);
            assert_eq!(agent.editors.is_empty(), !called, "{}: its editing tools", agent.name);
            let Some(commands) = agent.hooks.commands() else { continue };
            for event in commands.events {
                assert_ne!(meaning(agent, event), Meaning::Nothing, "{}: {event} is installed for nothing", agent.name);
            }
            assert!(agent.folder.is_some(), "{}: the folder of its configuration", agent.name);
            for event in commands.turns.end.iter().filter(|event| commands.notices.contains(event)) {
                assert!(agent.replies.hold.is_some(), "{}: how {event} is held", agent.name);
            }
            for event in commands.notices.iter().filter(|event| !commands.turns.end.contains(event)) {
                assert!(agent.replies.context.is_some(), "{}: how {event} takes a text", agent.name);
            }
            assert_eq!(commands.guard.is_some(), agent.replies.deny.is_some(), "{}: guard and denial", agent.name);
            assert!(!commands.turns.prompt.is_empty() && !commands.turns.end.is_empty(), "{}: turns", agent.name);
        }
    }

    #[test]
    fn each_agent_is_answered_in_its_own_form() {
        let deny = |name: &str| named(name).and_then(|agent| agent.replies.deny).map(|deny| deny("m"));
        let context =
            |name: &str| named(name).and_then(|agent| agent.replies.context).map(|add| add("PostToolUse", "t"));
        let hold = |name: &str| named(name).and_then(|agent| agent.replies.hold).map(|hold| hold("t"));
        let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let claude = json(
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"m"}}"#,
        );
        for name in ["claude", "codex", "droid", "copilot", "qwen"] {
            assert_eq!(deny(name), claude, "{name}");
        }
        assert_eq!(deny("gemini"), json(r#"{"decision":"deny","reason":"m"}"#));
        assert_eq!(deny("pi"), json(r#"{"block":true,"reason":"m"}"#));
        assert_eq!(
            context("claude"),
            json(r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"t"}}"#)
        );
        assert_eq!(context("copilot"), json(r#"{"additionalContext":"t"}"#));
        assert_eq!(hold("claude"), json(r#"{"decision":"block","reason":"t"}"#));
        assert_eq!(hold("gemini"), json(r#"{"decision":"deny","reason":"t"}"#));
        assert_eq!((deny("aider"), context("crush").is_some(), hold("crush")), (None, true, None));
    }

    #[test]
    fn events_are_prompts_ends_or_neither() {
        let moment = |name: &str, event: &str| {
            named(name).and_then(|agent| agent.hooks.commands()).map(|commands| commands.turns.moment(event))
        };
        assert_eq!(moment("claude", "UserPromptSubmit"), Some(Moment::Prompt));
        assert_eq!(moment("claude", "Stop"), Some(Moment::End));
        assert_eq!(moment("gemini", "AfterAgent"), Some(Moment::End));
        assert_eq!(moment("copilot", "agentStop"), Some(Moment::End));
        assert_eq!(moment("claude", "PostToolUse"), Some(Moment::Turn));
    }
}
