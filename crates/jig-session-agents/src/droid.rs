//! Factory's Droid.

use jig_session_schema::status::Reason;

use crate::agent::{Agent, CommandHooks, Guard, Hooks, Mcp, McpForm, Program, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::Notice;

const FOLDER: Folder = Folder { variable: None, home: ".factory" };

/// What Droid's documents say: Claude Code's hooks.
pub const AGENT: Agent = Agent {
    name: "droid",
    aliases: &[],
    title: "Droid",
    seen: Seen::Documented,
    program: Program { names: &["droid"], package: Some("droid") },
    session_variable: None,
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: File { folder: FOLDER, name: "mcp.json" }, form: McpForm::Servers }),
    hooks: Hooks::Commands(CommandHooks {
        file: File { folder: FOLDER, name: "hooks.json" },
        project: Some(".factory/hooks.json"),
        beside: &[],
        form: forms::GROUPED,
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "Notification",
            "SubagentStop",
            "PreCompact",
            "Stop",
            "SessionEnd",
        ],
        notices: &["UserPromptSubmit", "PostToolUse", "Stop"],
        guard: Some(Guard { event: "PreToolUse", matcher: Some("Create|Edit|Write|MultiEdit|ApplyPatch") }),
        trust: None,
        turns: Turns { prompt: &["UserPromptSubmit"], end: &["Stop"] },
    }),
    packaged: None,
    meanings: forms::MEANINGS,
    notifications: &[
        ("permission_prompt", Notice::Waits(Reason::APPROVAL)),
        ("elicitation_dialog", Notice::Waits(Reason::QUESTION)),
    ],
    questions: &[],
    lists: &["TodoWrite"],
    calls_create: true,
    calls_answer: false,
    payload: Some(&forms::SNAKE),
    editors: &[
        ("Create", "written"),
        ("Write", "written"),
        ("Edit", "edited"),
        ("MultiEdit", "edited"),
        ("ApplyPatch", "edited"),
    ],
    statusline: None,
    replies: forms::REPLIES,
    record: None,
    evidence: None,
    figures: None,
    screen: None,
    titles: &[],
};
