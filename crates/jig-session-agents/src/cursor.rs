//! Cursor's agent.

use jig_session_schema::event::{ToolOutcome, TurnOutcome};
use serde_json::json;

use crate::agent::{Agent, CommandHooks, HookForm, Hooks, Mcp, McpForm, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::Meaning;
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: None, home: ".cursor" };

/// What Cursor's documents say. It has no event for a permission: a person who is waited for is not seen.
pub const AGENT: Agent = Agent {
    name: "cursor",
    aliases: &["cursor-agent"],
    title: "Cursor",
    seen: Seen::Documented,
    program: Program { names: &["cursor-agent"], package: Some("cursor-agent") },
    session_variable: None,
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: File { folder: FOLDER, name: "mcp.json" }, form: McpForm::Servers }),
    hooks: Hooks::Commands(CommandHooks {
        file: File { folder: FOLDER, name: "hooks.json" },
        project: Some(".cursor/hooks.json"),
        beside: &[],
        form: HookForm { grouped: false, typed: false, timeout: None, fixed: &[("version", "1")], ..forms::GROUPED },
        // One event that a version does not know makes it ignore the whole file, so only these.
        events: &["sessionStart", "beforeSubmitPrompt", "preToolUse", "postToolUse", "stop", "sessionEnd"],
        notices: &["postToolUse", "stop"],
        guard: Some(crate::agent::Guard { event: "preToolUse", matcher: None }),
        trust: None,
        turns: Turns { prompt: &["beforeSubmitPrompt"], end: &["stop"] },
    }),
    packaged: None,
    meanings: MEANINGS,
    notifications: &[],
    questions: &[],
    lists: &[],
    calls_create: true,
    calls_answer: false,
    payload: Some(&PAYLOAD),
    editors: &[
        ("Write", "written"),
        ("Edit", "edited"),
        ("StrReplace", "edited"),
        ("edit_file", "edited"),
        ("search_replace", "edited"),
        ("Delete", "removed"),
        ("delete_file", "removed"),
    ],
    statusline: None,
    replies: Replies {
        deny: Some(|reason| json!({ "permission": "deny", "agent_message": reason, "user_message": reason })),
        context: Some(|_, text| json!({ "additional_context": text })),
        hold: Some(|text| json!({ "followup_message": text })),
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
        ("conversation_id", Field::Session),
        ("session_id", Field::Session),
        ("hook_event_name", Field::Event),
        ("cwd", Field::Cwd),
        ("transcript_path", Field::Transcript),
        ("model", Field::Model),
        ("cursor_version", Field::Version),
        ("tool_name", Field::Tool),
        ("tool_use_id", Field::Call),
        ("tool_input", Field::Arguments),
        ("status", Field::Outcome),
        ("reason", Field::Reason),
    ],
};

const MEANINGS: &[(&str, Meaning)] = &[
    ("sessionStart", Meaning::Begins),
    ("beforeSubmitPrompt", Meaning::Prompted),
    ("preToolUse", Meaning::Called),
    ("postToolUse", Meaning::CallEnded(ToolOutcome::Ok)),
    ("stop", Meaning::Settled(TurnOutcome::Ok)),
    ("sessionEnd", Meaning::Ends),
];
