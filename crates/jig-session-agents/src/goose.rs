//! Goose.

use serde_json::json;

use crate::agent::{Agent, CommandHooks, Guard, Hooks, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::payload::{Field, PayloadForm};

/// What Goose's documents say: hooks are those of a plugin.
pub const AGENT: Agent = Agent {
    name: "goose",
    aliases: &[],
    title: "Goose",
    seen: Seen::Documented,
    program: Program { names: &["goose"], package: None },
    session_variable: None,
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(Folder { variable: Some(("XDG_CONFIG_HOME", "goose")), home: ".config/goose" }),
    // Its servers stand in a YAML file, which no editor of ours knows.
    mcp: None,
    hooks: Hooks::Commands(CommandHooks {
        file: File { folder: PLUGIN, name: "hooks/hooks.json" },
        project: Some(".agents/plugins/jig-session/hooks/hooks.json"),
        beside: &[("../plugin.json", MANIFEST)],
        form: forms::GROUPED,
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PostToolUse",
            "PostToolUseFailure",
            "Stop",
            "SessionEnd",
        ],
        // Only a denial and a held stop are read.
        notices: &["Stop"],
        guard: Some(Guard { event: "PreToolUse", matcher: Some("^developer__(write|edit|text_editor)$") }),
        trust: None,
        turns: Turns { prompt: &["UserPromptSubmit"], end: &["Stop"] },
    }),
    packaged: None,
    meanings: forms::MEANINGS,
    notifications: &[],
    questions: &[],
    lists: &[],
    calls_create: true,
    calls_answer: false,
    payload: Some(&PAYLOAD),
    editors: &[
        ("developer__write", "written"),
        ("developer__edit", "edited"),
        ("developer__text_editor", "edited"),
        ("write", "written"),
        ("edit", "edited"),
        ("text_editor", "edited"),
    ],
    statusline: None,
    replies: Replies {
        deny: Some(|reason| json!({ "decision": "block", "reason": reason })),
        context: None,
        hold: Some(forms::hold),
    },
    record: None,
    evidence: None,
    figures: None,
    screen: None,
    titles: &[],
};

const PLUGIN: Folder = Folder { variable: None, home: ".agents/plugins/jig-session" };

const MANIFEST: &str = "{\n  \"name\": \"jig-session\",\n  \"version\": \"1.0.0\",\n  \"description\": \"Publishes what the session does\"\n}\n";

const PAYLOAD: PayloadForm = PayloadForm {
    base: None,
    keys: &[
        ("session_id", Field::Session),
        ("event", Field::Event),
        ("hook_event_name", Field::Event),
        ("working_dir", Field::Cwd),
        ("cwd", Field::Cwd),
        ("tool_name", Field::Tool),
        ("tool_call_id", Field::Call),
        ("tool_input", Field::Arguments),
    ],
};
