//! OpenCode.

use serde_json::json;

use crate::agent::{Agent, Hooks, Mcp, McpForm, Plugin, Program, Replies, Seen};
use crate::file::{File, Folder};
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
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: File { folder: FOLDER, name: "opencode.json" }, form: McpForm::LocalList }),
    hooks: Hooks::Plugin(Plugin {
        file: File { folder: FOLDER, name: "plugins/jig-session.js" },
        project: Some(".opencode/plugins/jig-session.js"),
        mark: "jig-session.opencode",
    }),
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
        context: None,
        hold: None,
    },
    record: None,
    screen: Some("opencode"),
};

const PAYLOAD: PayloadForm = PayloadForm {
    keys: &[
        ("sessionID", Field::Session),
        ("directory", Field::Cwd),
        ("cwd", Field::Cwd),
        ("tool", Field::Tool),
        ("callID", Field::Call),
        ("args", Field::Arguments),
    ],
};
