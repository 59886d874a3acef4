//! Google Antigravity CLI.

use jig_session_schema::event::{ToolOutcome, TurnOutcome};

use crate::agent::{Agent, CommandHooks, Guard, Hooks, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::Meaning;
use crate::payload::{Field, PayloadForm};

/// What Antigravity's documents say: hooks are those of an installed plugin, each under a name of its own.
pub const AGENT: Agent = Agent {
    name: "antigravity",
    aliases: &["agy"],
    title: "Antigravity CLI",
    seen: Seen::Documented,
    program: Program { names: &["agy", "antigravity"], package: None },
    session_variable: None,
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(Folder { variable: None, home: ".gemini" }),
    mcp: None,
    hooks: Hooks::Commands(CommandHooks {
        file: File { folder: PLUGIN, name: "hooks.json" },
        project: None,
        beside: &[("plugin.json", MANIFEST)],
        form: forms::GROUPED,
        events: &["SessionStart", "PreInvocation", "PreToolUse", "PostToolUse", "Stop"],
        notices: &[],
        guard: Some(Guard {
            event: "PreToolUse",
            matcher: Some("write_to_file|replace_file_content|multi_replace_file_content"),
        }),
        trust: None,
        turns: Turns { prompt: &["PreInvocation"], end: &["Stop"] },
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
        ("write_to_file", "written"),
        ("replace_file_content", "edited"),
        ("multi_replace_file_content", "edited"),
    ],
    statusline: None,
    replies: Replies { deny: Some(forms::decision_deny), context: None, hold: None },
    record: None,
    evidence: None,
    figures: None,
    screen: Some("agy"),
    titles: &[],
};

const PLUGIN: Folder = Folder { variable: None, home: ".gemini/config/plugins/jig-session" };

const MANIFEST: &str = "{\n  \"name\": \"jig-session\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Publishes what the session does\"\n}\n";

const PAYLOAD: PayloadForm = PayloadForm {
    base: None,
    keys: &[
        ("conversationId", Field::Session),
        ("session_id", Field::Session),
        ("hook_event_name", Field::Event),
        ("hookEventName", Field::Event),
        ("transcriptPath", Field::Transcript),
        ("cwd", Field::Cwd),
        ("toolCall", Field::Nested(&[("name", Field::Tool), ("args", Field::Arguments), ("id", Field::Call)])),
        ("terminationReason", Field::Reason),
    ],
};

const MEANINGS: &[(&str, Meaning)] = &[
    ("SessionStart", Meaning::Begins),
    ("PreInvocation", Meaning::Prompted),
    ("PreToolUse", Meaning::Called),
    ("PostToolUse", Meaning::CallEnded(ToolOutcome::Ok)),
    ("Stop", Meaning::Settled(TurnOutcome::Ok)),
];
