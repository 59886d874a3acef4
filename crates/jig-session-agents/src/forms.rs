//! Forms that several agents share, most of them Claude Code's.

use jig_session_schema::event::{ToolOutcome, TurnOutcome};
use serde_json::{Value, json};

use crate::agent::{HookForm, Replies};
use crate::meaning::Meaning;
use crate::payload::{Field, PayloadForm};

/// Groups of typed commands, in seconds.
pub(crate) const GROUPED: HookForm = HookForm {
    grouped: true,
    typed: true,
    named: false,
    args: false,
    asynchronous: false,
    timeout: Some(("timeout", 10)),
    event_word: false,
    fixed: &[],
};

/// A payload whose fields are written with underscores.
pub(crate) const SNAKE: PayloadForm = PayloadForm {
    base: None,
    keys: &[
        ("session_id", Field::Session),
        ("hook_event_name", Field::Event),
        ("cwd", Field::Cwd),
        ("transcript_path", Field::Transcript),
        ("model", Field::Model),
        ("source", Field::Source),
        ("reason", Field::Reason),
        ("tool_name", Field::Tool),
        ("tool_use_id", Field::Call),
        ("tool_input", Field::Arguments),
        ("notification_type", Field::Notification),
        ("agent_id", Field::Subagent),
        ("stop_hook_active", Field::StopHookActive),
        ("background_tasks", Field::Background),
        ("is_interrupt", Field::Interrupted),
        ("trigger", Field::Trigger),
    ],
};

/// What Claude Code's events mean.
pub(crate) const MEANINGS: &[(&str, Meaning)] = &[
    ("SessionStart", Meaning::Begins),
    ("UserPromptSubmit", Meaning::Prompted),
    ("PreToolUse", Meaning::Called),
    ("PermissionRequest", Meaning::Asks),
    ("PostToolUse", Meaning::CallEnded(ToolOutcome::Ok)),
    ("PostToolUseFailure", Meaning::CallEnded(ToolOutcome::Error)),
    ("PermissionDenied", Meaning::CallEnded(ToolOutcome::Denied)),
    ("Notification", Meaning::Notified),
    ("SubagentStart", Meaning::SubagentBegins),
    ("SubagentStop", Meaning::SubagentEnds),
    ("PreCompact", Meaning::Compacts),
    ("PostCompact", Meaning::Compacted),
    ("CwdChanged", Meaning::Described),
    ("Stop", Meaning::Settled(TurnOutcome::Ok)),
    ("StopFailure", Meaning::Settled(TurnOutcome::Error)),
    // Codex reports every interrupted turn.
    ("Interrupt", Meaning::Settled(TurnOutcome::Aborted)),
    ("SessionEnd", Meaning::Ends),
    ("statusline", Meaning::Figures),
];

/// The answers of Claude Code.
pub(crate) const REPLIES: Replies = Replies { deny: Some(deny), context: Some(context), hold: Some(hold) };

/// No answer is taken.
pub(crate) const SILENT: Replies = Replies { deny: None, context: None, hold: None };

pub(crate) fn deny(reason: &str) -> Value {
    json!({ "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": reason,
    } })
}

pub(crate) fn context(event: &str, text: &str) -> Value {
    json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
}

pub(crate) fn hold(text: &str) -> Value {
    json!({ "decision": "block", "reason": text })
}

/// A denial as `decision: deny`, which Gemini also calls a turn that is not to end.
pub(crate) fn decision_deny(reason: &str) -> Value {
    json!({ "decision": "deny", "reason": reason })
}
