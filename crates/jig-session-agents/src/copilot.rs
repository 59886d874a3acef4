//! GitHub Copilot CLI.

use serde_json::json;

use crate::agent::{Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: Some(("COPILOT_HOME", "")), home: ".copilot" };

/// What is known of Copilot CLI. It has two dialects of hooks; both are read, the one in `settings.json` is installed.
pub const AGENT: Agent = Agent {
    name: "copilot",
    aliases: &[],
    title: "Copilot CLI",
    seen: Seen::Run("1.0.102"),
    program: Program { names: &["copilot"], package: Some("copilot") },
    session_variable: None,
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: File { folder: FOLDER, name: "mcp-config.json" }, form: McpForm::ServersWithTools }),
    hooks: Hooks::Commands(CommandHooks {
        file: File { folder: FOLDER, name: "settings.json" },
        project: Some(".github/copilot/settings.json"),
        beside: &[],
        // PermissionRequest and SubagentStart come without the event's name.
        form: HookForm { event_word: true, ..forms::GROUPED },
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "Notification",
            "PostToolUse",
            "ErrorOccurred",
            "SubagentStart",
            "SubagentStop",
            "PreCompact",
            "Stop",
            "SessionEnd",
        ],
        notices: &["UserPromptSubmit", "PostToolUse", "Stop"],
        guard: Some(Guard { event: "PreToolUse", matcher: Some("Edit|Write|Create") }),
        trust: None,
        turns: Turns { prompt: &["UserPromptSubmit", "userPromptSubmitted"], end: &["Stop", "agentStop"] },
    }),
    payload: Some(&PAYLOAD),
    editors: &[
        ("create", "written"),
        ("write", "written"),
        ("edit", "edited"),
        ("str_replace", "edited"),
        ("str_replace_editor", "edited"),
        ("apply_patch", "edited"),
        ("multiedit", "edited"),
    ],
    statusline: None,
    replies: Replies {
        deny: Some(forms::deny),
        context: Some(|_, text| json!({ "additionalContext": text })),
        hold: Some(forms::hold),
    },
    record: None,
    screen: Some("copilot"),
};

const PAYLOAD: PayloadForm = PayloadForm {
    keys: &[
        ("session_id", Field::Session),
        ("sessionId", Field::Session),
        ("hook_event_name", Field::Event),
        ("hookName", Field::Event),
        ("cwd", Field::Cwd),
        ("transcript_path", Field::Transcript),
        ("transcriptPath", Field::Transcript),
        ("source", Field::Source),
        ("reason", Field::Reason),
        ("tool_name", Field::Tool),
        ("toolName", Field::Tool),
        ("tool_input", Field::Arguments),
        ("toolArgs", Field::Arguments),
        ("notification_type", Field::Notification),
        ("parent_agent_id", Field::Parent),
        ("parentAgentId", Field::Parent),
        ("agent_id", Field::Subagent),
        ("agentId", Field::Subagent),
        ("stop_hook_active", Field::StopHookActive),
        ("stopReason", Field::Reason),
        ("stop_reason", Field::Reason),
        ("tool_result", Field::Nested(RESULT)),
        ("toolResult", Field::Nested(RESULT)),
    ],
};

const RESULT: &[(&str, Field)] = &[("result_type", Field::Outcome), ("resultType", Field::Outcome)];
