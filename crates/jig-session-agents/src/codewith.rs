//! Codewith.

use crate::agent::{Agent, Hooks, Program, Seen};
use crate::forms;

/// What is known of Codewith: its process, and its screens.
pub const AGENT: Agent = Agent {
    name: "codewith",
    aliases: &[],
    title: "Codewith",
    seen: Seen::Screens,
    program: Program { names: &["codewith"], package: Some("codewith") },
    session_variable: None,
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: None,
    mcp: None,
    hooks: Hooks::None,
    packaged: None,
    meanings: &[],
    notifications: &[],
    questions: &[],
    lists: &[],
    calls_create: true,
    calls_answer: false,
    payload: None,
    editors: &[],
    statusline: None,
    replies: forms::SILENT,
    record: None,
    evidence: None,
    figures: None,
    screen: Some("codewith"),
    titles: &[],
};
