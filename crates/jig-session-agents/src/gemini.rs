//! Gemini CLI.

use serde_json::json;

use crate::agent::{Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Program, Replies, Seen, Turns};
use crate::file::{File, Folder};
use crate::forms;
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: None, home: ".gemini" };
const SETTINGS: File = File { folder: FOLDER, name: "settings.json" };

/// What is known of Gemini CLI.
pub const AGENT: Agent = Agent {
    name: "gemini",
    aliases: &[],
    title: "Gemini CLI",
    seen: Seen::Run("0.61.0"),
    program: Program { names: &["gemini"], package: Some("gemini-cli") },
    session_variable: Some("GEMINI_SESSION_ID"),
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: SETTINGS, form: McpForm::Servers }),
    hooks: Hooks::Commands(CommandHooks {
        file: SETTINGS,
        project: Some(".gemini/settings.json"),
        beside: &[],
        // Its times are milliseconds.
        form: HookForm {
            named: true,
            timeout: Some(("timeout", 5000)),
            fixed: &[("hooksConfig.enabled", "true")],
            ..forms::GROUPED
        },
        // BeforeModel, AfterModel and BeforeToolSelection carry the whole conversation; they are not asked for.
        events: &["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent", "SessionEnd"],
        notices: &["BeforeAgent", "AfterTool", "AfterAgent"],
        guard: Some(Guard { event: "BeforeTool", matcher: Some("write_file|replace") }),
        trust: None,
        turns: Turns { prompt: &["BeforeAgent"], end: &["AfterAgent"] },
    }),
    payload: Some(&PAYLOAD),
    editors: &[("write_file", "written"), ("replace", "edited"), ("edit", "edited")],
    statusline: None,
    replies: Replies {
        deny: Some(forms::decision_deny),
        context: Some(
            |event, text| json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } }),
        ),
        // It calls a turn that is not to end a denial.
        hold: Some(forms::decision_deny),
    },
    record: None,
    screen: Some("gemini"),
};

const PAYLOAD: PayloadForm = PayloadForm {
    keys: &[
        ("session_id", Field::Session),
        ("hook_event_name", Field::Event),
        ("cwd", Field::Cwd),
        ("transcript_path", Field::Transcript),
        ("source", Field::Source),
        ("reason", Field::Reason),
        ("tool_name", Field::Tool),
        ("tool_input", Field::Arguments),
        ("notification_type", Field::Notification),
        ("stop_hook_active", Field::StopHookActive),
        ("prompt_response", Field::Response),
    ],
};
