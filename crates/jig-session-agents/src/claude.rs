//! Claude Code.

use jig_session_schema::event::Event;
use jig_session_schema::status::{Reason, State};
use jig_session_schema::time::Timestamp;
use serde_json::Value;

use crate::agent::{
    Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Packaged, PackagedForm, ProcessRecord, Program, Seen,
    Turns,
};
use crate::evidence::{About, Evidence, Figures, Finding, RecordLocation, context, last_line};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::Notice;
use crate::payload::{Field, PayloadForm};

const FOLDER: Folder = Folder { variable: Some(("CLAUDE_CONFIG_DIR", "")), home: ".claude" };

/// What is known of Claude Code.
pub const AGENT: Agent = Agent {
    name: "claude",
    aliases: &[],
    title: "Claude Code",
    seen: Seen::Run("2.1.332"),
    program: Program { names: &["claude"], package: Some("claude-code") },
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    shared: None,
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
        guard: Some(Guard {
            event: "PreToolUse",
            matcher: Some(
                "Edit|MultiEdit|Write|NotebookEdit|mcp__.*(write|create|append|edit|replace|insert|patch|delete|remove|move|rename).*",
            ),
        }),
        trust: None,
        turns: Turns { prompt: &["UserPromptSubmit"], end: &["Stop"] },
    }),
    packaged: Some(Packaged {
        file: File { folder: FOLDER, name: "settings.json" },
        form: PackagedForm::Enabled("enabledPlugins"),
        install: "claude plugin install jig-session --marketplace jig-session/jig-session",
        remove: "claude plugin uninstall jig-session@jig-session",
    }),
    meanings: forms::MEANINGS,
    notifications: &[
        ("permission_prompt", Notice::Waits(Reason::APPROVAL)),
        ("worker_permission_prompt", Notice::Waits(Reason::APPROVAL)),
        ("elicitation_dialog", Notice::Waits(Reason::QUESTION)),
        ("elicitation_url_dialog", Notice::Waits(Reason::QUESTION)),
        ("agent_needs_input", Notice::Waits(Reason::QUESTION)),
    ],
    questions: &["AskUserQuestion"],
    lists: &["TodoWrite"],
    calls_create: true,
    calls_answer: false,
    payload: Some(&PAYLOAD),
    editors: &[("Write", "written"), ("Edit", "edited"), ("MultiEdit", "edited"), ("NotebookEdit", "edited")],
    statusline: Some("statusLine"),
    replies: forms::REPLIES,
    record: Some(ProcessRecord { folder: "sessions", session: session_of }),
    evidence: Some(Evidence { place: RecordLocation::ProcessRecord, read: evidence }),
    figures: Some(Figures { place: RecordLocation::Transcript, read: figures }),
    screen: Some("claude"),
    titles: &[],
};

/// The fields of its hooks, and those of its status line.
const PAYLOAD: PayloadForm = PayloadForm {
    base: Some(&forms::SNAKE),
    keys: &[
        ("model", Field::Nested(&[("id", Field::Model), ("display_name", Field::ModelName)])),
        ("version", Field::Version),
        ("cost", Field::Nested(&[("total_cost_usd", Field::Cost)])),
        (
            "context_window",
            Field::Nested(&[
                ("total_input_tokens", Field::ContextTokens),
                ("context_window_size", Field::ContextWindow),
                ("used_percentage", Field::ContextPercent),
            ]),
        ),
    ],
};

/// The session that a record names, if it is of the process with this start. `procStart` is a text of ticks on Linux;
/// elsewhere it is a date, which is no proof.
fn session_of(record: &Value, start: &str) -> Option<String> {
    let recorded = record.get("procStart")?;
    let recorded = recorded.as_str().map_or_else(|| recorded.to_string(), str::to_owned);
    (recorded == start).then(|| record.get("sessionId")?.as_str().map(str::to_owned)).flatten()
}

/// What a process's own record says. The record of another process, or of another session in this one, says nothing.
fn evidence(bytes: &[u8], about: &About<'_>) -> Option<Finding> {
    let record: Value = serde_json::from_slice(bytes).ok()?;
    if session_of(&record, about.start?)? != about.session {
        return None;
    }
    let at = Timestamp::from_epoch_ms(record.get("statusUpdatedAt")?.as_i64()?);
    let finding = Finding { at, state: State::Busy, reason: None, background: None };
    Some(match record.get("status")?.as_str()? {
        "busy" => finding,
        "idle" => Finding { state: State::Idle, ..finding },
        // The turn is over and a shell of it still runs.
        "shell" => Finding { state: State::Idle, background: Some(1), ..finding },
        "waiting" => {
            let reason = match record.get("waitingFor").and_then(Value::as_str) {
                Some("permission prompt" | "worker request" | "sandbox request") => Reason::APPROVAL,
                Some("input needed" | "dialog open") => Reason::QUESTION,
                _ => Reason::UNKNOWN,
            };
            Finding { reason: Some(reason), ..finding }
        }
        _ => return None,
    })
}

/// The context as the last answer had it. The status line has it too, with the window; runs without a terminal have no
/// status line.
fn figures(bytes: &[u8]) -> Vec<Event> {
    let context = last_line(bytes, &["\"usage\""], |line| {
        // A subagent's context is not the session's.
        let usage = &line["message"]["usage"];
        if line["type"] != "assistant" || line["isSidechain"] == true || !usage.is_object() {
            return None;
        }
        let parts = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];
        let tokens = parts.iter().filter_map(|part| usage[*part].as_u64()).fold(0, u64::saturating_add);
        // What it answers by itself, an error say, has sent nothing.
        context(Some(tokens).filter(|tokens| *tokens > 0), None)
    });
    context.into_iter().collect()
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
