//! What is known of Pi beside its bridge.

use serde_json::json;

use crate::agent::{Agent, Hooks, Packaged, PackagedForm, Plugin, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: Some(("PI_CODING_AGENT_DIR", "")), home: ".pi/agent" };

/// What is known of Pi. Its bridge is an extension inside it, which also requests guard decisions and notices.
pub const AGENT: Agent = Agent {
    name: "pi",
    aliases: &[],
    title: "Pi",
    seen: Seen::Run("1.6.0"),
    program: Program { names: &["pi"], package: Some("pi-coding-agent") },
    session_variable: Some("PI_SESSION_ID"),
    shared: None,
    replaces_session: true,
    child_markers: &["PI_SUBAGENT_RUN_ID", "PI_SUBAGENT_CHILD_AGENT", "PI_SUBAGENT_CHILD_INDEX", "PI_CREW_WORKER"],
    folder: Some(FOLDER),
    // The bridge has the tool `session` itself.
    mcp: None,
    hooks: Hooks::Plugin(Plugin {
        file: File { folder: FOLDER, name: "extensions/jig-session/index.ts" },
        project: None,
        mark: "Symbol.for(\"jig-session.bridge\")",
        brings: Some("the bridge has the tool, the notices and the guard"),
        reload: Some("/reload"),
        supported: Some("1.3.0"),
        since: SINCE,
        // Its bridge announces mail without a hook.
        turns: Turns { prompt: &[], end: &[] },
    }),
    packaged: Some(Packaged {
        file: File { folder: FOLDER, name: "settings.json" },
        form: PackagedForm::Listed("packages", "npm:jig-session-pi"),
        install: "pi install npm:jig-session-pi",
        remove: "pi remove npm:jig-session-pi",
    }),
    meanings: &[],
    notifications: &[],
    questions: &[],
    lists: &[],
    calls_create: true,
    calls_answer: false,
    payload: Some(&PAYLOAD),
    editors: &[("write", "written"), ("edit", "edited")],
    statusline: None,
    replies: Replies { deny: Some(|reason| json!({ "block": true, "reason": reason })), context: None, hold: None },
    record: None,
    evidence: None,
    figures: None,
    screen: Some("pi"),
    titles: &[],
};

/// What came with which version of Pi: in an older one, the sentence holds.
const SINCE: &[(&str, &str)] = &[
    ("0.78.1", "the mode is guessed: a JSON run looks like a print run"),
    ("0.80.3", "a new session name is seen at the next start only"),
    ("0.80.4", "a session may look idle a moment too early"),
    ("0.84.2", "a request cannot reload it; /session-reload does"),
    ("0.84.2", "a tool switched off in the middle of a run goes at the next prompt"),
    ("0.84.4", "a session that waits for an answer does not show attention"),
    ("1.2.0", "what is told before a prompt is not told in a run that mail started"),
    ("1.3.0", "skills cannot be switched off"),
];

const PAYLOAD: PayloadForm = PayloadForm {
    base: None,
    keys: &[
        ("session_id", Field::Session),
        ("sessionId", Field::Session),
        ("cwd", Field::Cwd),
        ("tool", Field::Tool),
        ("tool_name", Field::Tool),
        ("toolName", Field::Tool),
        ("toolCallId", Field::Call),
        ("args", Field::Arguments),
        ("input", Field::Arguments),
        ("tool_input", Field::Arguments),
    ],
};
