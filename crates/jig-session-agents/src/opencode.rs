//! OpenCode.

use jig_session_schema::event::{ToolOutcome, TurnOutcome};
use serde_json::json;

use crate::agent::{Agent, Hooks, Mcp, McpForm, Packaged, PackagedForm, Plugin, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::meaning::Meaning;
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: Some(("XDG_CONFIG_HOME", "opencode")), home: ".config/opencode" };

/// What is known of OpenCode. It calls no command at an event: a plugin inside it does.
pub const AGENT: Agent = Agent {
    name: "opencode",
    aliases: &[],
    title: "OpenCode",
    seen: Seen::Run("1.18.33"),
    program: Program { names: &["opencode"], package: Some("opencode-ai") },
    session_variable: None,
    shared: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: File { folder: FOLDER, name: "opencode.json" }, form: McpForm::LocalList }),
    hooks: Hooks::Plugin(Plugin {
        file: File { folder: FOLDER, name: "plugins/jig-session.js" },
        project: Some(".opencode/plugins/jig-session.js"),
        mark: "jig-session.opencode",
        brings: None,
        reload: None,
        supported: None,
        since: &[],
        turns: Turns { prompt: &["chat.message"], end: &[] },
    }),
    packaged: Some(Packaged {
        file: File { folder: FOLDER, name: "opencode.json" },
        form: PackagedForm::Listed("plugin", "jig-session-opencode"),
        install: "\"plugin\": [\"jig-session-opencode\"] in opencode.json",
        remove: "take jig-session-opencode out of opencode.json",
    }),
    meanings: MEANINGS,
    notifications: &[],
    questions: &["question"],
    lists: &["todowrite"],
    calls_create: false,
    calls_answer: false,
    payload: Some(&PAYLOAD),
    editors: &[
        ("write", "written"),
        ("edit", "edited"),
        ("multiedit", "edited"),
        ("patch", "edited"),
        ("apply_patch", "edited"),
    ],
    statusline: None,
    replies: Replies {
        // The plugin throws the reason.
        deny: Some(|reason| json!({ "block": true, "reason": reason })),
        // The plugin adds it to the prompt.
        context: Some(|_, text| json!({ "text": text })),
        hold: None,
    },
    record: None,
    evidence: None,
    figures: None,
    screen: Some("opencode"),
    titles: &[],
};

/// A line of the plugin: `{ hook, event: { type, properties } }` for an event, `{ hook, input, output }` for a tool.
const PAYLOAD: PayloadForm = PayloadForm {
    base: None,
    keys: &[
        ("hook", Field::Hook),
        ("event", Field::Nested(EVENT)),
        ("input", Field::Nested(TOOL)),
        // The payload of a guard call.
        ("sessionID", Field::Session),
        ("directory", Field::Cwd),
        ("cwd", Field::Cwd),
        ("tool", Field::Tool),
        ("callID", Field::Call),
        ("args", Field::Arguments),
        ("output", Field::Nested(&[("args", Field::Arguments)])),
    ],
};

const EVENT: &[(&str, Field)] =
    &[("type", Field::Event), ("properties", Field::Nested(PROPERTIES)), ("data", Field::Nested(PROPERTIES))];

const TOOL: &[(&str, Field)] =
    &[("sessionID", Field::Session), ("tool", Field::Tool), ("callID", Field::Call), ("args", Field::Arguments)];

const PROPERTIES: &[(&str, Field)] = &[
    ("sessionID", Field::Session),
    ("status", Field::Nested(&[("type", Field::Outcome)])),
    ("error", Field::Nested(&[("name", Field::Outcome)])),
    ("tool", Field::Nested(&[("callID", Field::Call)])),
    ("callID", Field::Call),
    ("info", Field::Nested(INFO)),
    // What the last answer's request held, and the model's limit.
    ("context", Field::Nested(&[("tokens", Field::ContextTokens), ("window", Field::ContextWindow)])),
];

const INFO: &[(&str, Field)] = &[
    ("id", Field::Session),
    ("parentID", Field::Parent),
    ("directory", Field::Cwd),
    ("version", Field::Version),
    // Its title is made of the prompt by a model: no name that a user gave.
    ("model", Field::Nested(&[("id", Field::Model), ("providerID", Field::Provider)])),
    ("cost", Field::Cost),
    (
        "tokens",
        Field::Nested(&[
            ("input", Field::Input),
            ("output", Field::Output),
            ("cache", Field::Nested(&[("read", Field::CacheRead), ("write", Field::CacheWrite)])),
        ]),
    ),
];

const MEANINGS: &[(&str, Meaning)] = &[
    ("session.created", Meaning::Described),
    ("session.updated", Meaning::Described),
    ("session.deleted", Meaning::Ends),
    ("message.updated", Meaning::Figures),
    ("session.status", Meaning::State),
    ("session.idle", Meaning::Idle),
    ("session.error", Meaning::Settled(TurnOutcome::Error)),
    ("permission.asked", Meaning::Asks),
    ("permission.updated", Meaning::Asks),
    ("permission.replied", Meaning::Answered),
    ("question.asked", Meaning::Questions),
    ("question.replied", Meaning::Answered),
    ("question.rejected", Meaning::Answered),
    // The plugin's own words for what a subagent's session does.
    ("subagent.started", Meaning::SubagentBegins),
    ("subagent.ended", Meaning::SubagentEnds),
    ("tool.execute.before", Meaning::Called),
    ("tool.execute.after", Meaning::CallEnded(ToolOutcome::Ok)),
    // The second version's words.
    ("session.execution.started", Meaning::Prompted),
    ("session.execution.succeeded", Meaning::Settled(TurnOutcome::Ok)),
    ("session.execution.failed", Meaning::Settled(TurnOutcome::Error)),
    ("session.execution.interrupted", Meaning::Settled(TurnOutcome::Aborted)),
    ("form.created", Meaning::Questions),
    ("form.replied", Meaning::Answered),
    ("form.cancelled", Meaning::Answered),
];
