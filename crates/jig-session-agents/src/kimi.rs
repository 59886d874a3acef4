//! Kimi Code.

use crate::agent::{Agent, Hooks, Program, Seen};
use crate::forms;

/// What is known of Kimi Code: its process.
pub const AGENT: Agent = Agent {
    name: "kimi",
    aliases: &[],
    title: "Kimi Code",
    seen: Seen::Documented,
    program: Program { names: &["kimi", "kimi-cli"], package: Some("kimi-cli") },
    session_variable: Some("KIMI_SESSION_ID"),
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
    screen: None,
    titles: &[],
};
