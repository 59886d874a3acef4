//! Qwen Code.

use crate::agent::{Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Program, Seen, TitleTells, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::Notice;
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: Some(("QWEN_HOME", "")), home: ".qwen" };
const SETTINGS: File = File { folder: FOLDER, name: "settings.json" };

/// It works as long as a circle turns.
const TITLES: &[(&str, TitleTells)] = &[
    ("◐", TitleTells::Working),
    ("◓", TitleTells::Working),
    ("◑", TitleTells::Working),
    ("◒", TitleTells::Working),
    ("✳", TitleTells::Asking),
    ("Qwen - ", TitleTells::Resting),
];

/// What is known of Qwen Code: Claude Code's hooks with Gemini's tools.
pub const AGENT: Agent = Agent {
    name: "qwen",
    aliases: &[],
    title: "Qwen Code",
    seen: Seen::Run("0.24.4"),
    program: Program { names: &["qwen"], package: Some("qwen-code") },
    session_variable: None,
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: SETTINGS, form: McpForm::Servers }),
    hooks: Hooks::Commands(CommandHooks {
        file: SETTINGS,
        project: Some(".qwen/settings.json"),
        beside: &[],
        // Its times are milliseconds.
        form: HookForm { timeout: Some(("timeout", 10_000)), ..forms::GROUPED },
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "PostToolUseFailure",
            "Notification",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "PostCompact",
            "Stop",
            "StopFailure",
            "SessionEnd",
        ],
        notices: &["UserPromptSubmit", "PostToolUse", "Stop"],
        guard: Some(Guard { event: "PreToolUse", matcher: Some("write_file|edit|replace|notebook_edit") }),
        trust: None,
        turns: Turns { prompt: &["UserPromptSubmit"], end: &["Stop"] },
    }),
    packaged: None,
    meanings: forms::MEANINGS,
    notifications: &[("permission_prompt", Notice::Asks), ("idle_prompt", Notice::Idle)],
    questions: &["ask_user_question"],
    lists: &["todo_write"],
    calls_create: true,
    calls_answer: true,
    payload: Some(&PAYLOAD),
    editors: &[
        ("write_file", "written"),
        ("edit", "edited"),
        ("replace", "edited"),
        ("notebook_edit", "edited"),
        ("WriteFile", "written"),
    ],
    statusline: None,
    replies: forms::REPLIES,
    record: None,
    evidence: None,
    figures: None,
    screen: Some("qwen"),
    titles: TITLES,
};

/// Claude Code's fields, and what a turn's end says of the context.
const PAYLOAD: PayloadForm = PayloadForm {
    base: Some(&forms::SNAKE),
    keys: &[("input_tokens", Field::ContextTokens), ("context_limit", Field::ContextWindow)],
};
