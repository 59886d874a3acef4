//! Crush.

use jig_session_schema::event::{ToolOutcome, TurnOutcome};

use crate::agent::{Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::Meaning;
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: Some(("XDG_CONFIG_HOME", "crush")), home: ".config/crush" };
const SETTINGS: File = File { folder: FOLDER, name: "crush.json" };

/// What Crush's documents say.
pub const AGENT: Agent = Agent {
    name: "crush",
    aliases: &[],
    title: "Crush",
    seen: Seen::Documented,
    program: Program { names: &["crush"], package: None },
    session_variable: Some("CRUSH_SESSION_ID"),
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: SETTINGS, form: McpForm::Stdio }),
    hooks: Hooks::Commands(CommandHooks {
        file: SETTINGS,
        project: Some(".crush.json"),
        beside: &[],
        form: HookForm { grouped: false, typed: false, ..forms::GROUPED },
        events: &[
            "SessionStart",
            "TurnStart",
            "PreToolUse",
            "PermissionRequest",
            "PermissionResult",
            "PostToolUse",
            "PostToolUseFailure",
            "PreCompact",
            "PostCompact",
            "Interrupt",
            "StopFailure",
            "TurnEnd",
            "SessionEnd",
        ],
        notices: &["PostToolUse"],
        guard: Some(Guard { event: "PreToolUse", matcher: Some("^(edit|multiedit|write)$") }),
        trust: None,
        turns: Turns { prompt: &["TurnStart"], end: &["TurnEnd"] },
    }),
    packaged: None,
    meanings: MEANINGS,
    notifications: &[],
    questions: &[],
    lists: &[],
    calls_create: true,
    calls_answer: false,
    payload: Some(&PAYLOAD),
    editors: &[("write", "written"), ("edit", "edited"), ("multiedit", "edited")],
    statusline: None,
    replies: Replies {
        deny: Some(forms::decision_deny),
        context: Some(|_, text| serde_json::json!({ "context": text })),
        // No event of it can hold a turn open.
        hold: None,
    },
    record: None,
    evidence: None,
    figures: None,
    screen: None,
    titles: &[],
};

const PAYLOAD: PayloadForm = PayloadForm {
    base: None,
    keys: &[
        ("session_id", Field::Session),
        ("event", Field::Event),
        ("hook_event_name", Field::Event),
        ("cwd", Field::Cwd),
        ("model", Field::Model),
        ("source", Field::Source),
        ("reason", Field::Reason),
        ("tool_name", Field::Tool),
        ("tool_call_id", Field::Call),
        ("tool_input", Field::Arguments),
    ],
};

const MEANINGS: &[(&str, Meaning)] = &[
    ("SessionStart", Meaning::Begins),
    ("TurnStart", Meaning::Prompted),
    ("PreToolUse", Meaning::Called),
    ("PermissionRequest", Meaning::Asks),
    ("PermissionResult", Meaning::Answered),
    ("PostToolUse", Meaning::CallEnded(ToolOutcome::Ok)),
    ("PostToolUseFailure", Meaning::CallEnded(ToolOutcome::Error)),
    ("PreCompact", Meaning::Compacts),
    ("PostCompact", Meaning::Compacted),
    ("Interrupt", Meaning::Settled(TurnOutcome::Aborted)),
    ("StopFailure", Meaning::Settled(TurnOutcome::Error)),
    ("TurnEnd", Meaning::Settled(TurnOutcome::Ok)),
    ("SessionEnd", Meaning::Ends),
];
