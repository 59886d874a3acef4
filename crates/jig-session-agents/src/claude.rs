//! Claude Code.

use serde_json::Value;

use crate::agent::{Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, ProcessRecord, Program, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;

const FOLDER: Folder = Folder { variable: Some(("CLAUDE_CONFIG_DIR", "")), home: ".claude" };

/// What is known of Claude Code.
pub const AGENT: Agent = Agent {
    name: "claude",
    aliases: &[],
    title: "Claude Code",
    seen: Seen::Run("2.1.332"),
    program: Program { names: &["claude"], package: Some("claude-code") },
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    replaces_session: true,
    // CLAUDE_CODE_CHILD_SESSION is set for every program it starts, its hooks among them: it marks no child.
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp {
        file: File { folder: Folder { variable: Some(("CLAUDE_CONFIG_DIR", "")), home: "" }, name: ".claude.json" },
        form: McpForm::Servers,
    }),
    hooks: Hooks::Commands(CommandHooks {
        file: File { folder: FOLDER, name: "settings.json" },
        project: Some(".claude/settings.json"),
        beside: &[],
        form: HookForm { args: true, asynchronous: true, ..forms::GROUPED },
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
            "CwdChanged",
            "Stop",
            "StopFailure",
            "SessionEnd",
        ],
        notices: &["UserPromptSubmit", "PostToolUse", "Stop"],
        guard: Some(Guard { event: "PreToolUse", matcher: Some("Edit|MultiEdit|Write|NotebookEdit") }),
        trust: None,
        turns: Turns { prompt: &["UserPromptSubmit"], end: &["Stop"] },
    }),
    payload: Some(&forms::SNAKE),
    editors: &[("Write", "written"), ("Edit", "edited"), ("MultiEdit", "edited"), ("NotebookEdit", "edited")],
    statusline: Some("statusLine"),
    replies: forms::REPLIES,
    record: Some(ProcessRecord { folder: "sessions", session: session_of }),
    screen: Some("claude"),
};

/// The session that a record names, if it is of the process with this start. `procStart` is a text of ticks on Linux;
/// elsewhere it is a date, which is no proof.
fn session_of(record: &Value, start: &str) -> Option<String> {
    let recorded = record.get("procStart")?;
    let recorded = recorded.as_str().map_or_else(|| recorded.to_string(), str::to_owned);
    (recorded == start).then(|| record.get("sessionId")?.as_str().map(str::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_of_another_process_names_no_session() {
        let record = json!({ "pid": 7, "sessionId": "s", "procStart": "615058" });
        assert_eq!(session_of(&record, "615058").as_deref(), Some("s"));
        assert_eq!(session_of(&record, "615059"), None);
        assert_eq!(session_of(&json!({ "sessionId": "s", "procStart": 615_058 }), "615058").as_deref(), Some("s"));
        assert_eq!(session_of(&json!({ "sessionId": "s" }), "615058"), None);
    }
}
