//! GitHub Copilot CLI.

use jig_session_schema::event::{Event, ToolOutcome, TurnOutcome};
use jig_session_schema::status::{Reason, State};
use serde_json::json;

use crate::agent::{
    Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Packaged, PackagedForm, Program, Replies, Seen, Turns,
};
use crate::evidence::{About, Evidence, Figures, Finding, RecordLocation, context, last_line, model, time_of};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::{Meaning, Notice};
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
    shared: None,
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
    packaged: Some(Packaged {
        file: File { folder: FOLDER, name: "settings.json" },
        form: PackagedForm::Enabled("enabledPlugins"),
        install: "copilot plugin marketplace add jig-session/jig-session && copilot plugin install jig-session@jig-session",
        remove: "copilot plugin uninstall jig-session",
    }),
    meanings: MEANINGS,
    notifications: &[
        ("permission_prompt", Notice::Waits(Reason::APPROVAL)),
        ("elicitation_dialog", Notice::Waits(Reason::QUESTION)),
    ],
    questions: &["ask_user"],
    lists: &[],
    calls_create: false,
    calls_answer: false,
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
    evidence: Some(Evidence {
        place: RecordLocation::Below(|session| format!("session-state/{session}/events.jsonl")),
        read: evidence,
    }),
    figures: Some(Figures {
        place: RecordLocation::Below(|session| format!("session-state/{session}/events.jsonl")),
        read: figures,
    }),
    screen: Some("copilot"),
    titles: &[],
};

const PAYLOAD: PayloadForm = PayloadForm {
    base: None,
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

const MEANINGS: &[(&str, Meaning)] = &[
    ("SessionStart", Meaning::Begins),
    ("UserPromptSubmit", Meaning::Prompted),
    ("UserPromptSubmitted", Meaning::Prompted),
    ("PreToolUse", Meaning::Called),
    // It comes for calls that are allowed too: only the notification means that a person has to decide.
    ("PermissionRequest", Meaning::Nothing),
    ("PostToolUse", Meaning::CallEnded(ToolOutcome::Ok)),
    ("Notification", Meaning::Notified),
    // The turn continues with another model request.
    ("ErrorOccurred", Meaning::Nothing),
    ("SubagentStart", Meaning::SubagentBegins),
    ("SubagentStop", Meaning::SubagentEnds),
    ("PreCompact", Meaning::Compacts),
    ("Stop", Meaning::Settled(TurnOutcome::Ok)),
    ("agentStop", Meaning::Settled(TurnOutcome::Ok)),
    ("SessionEnd", Meaning::Ends),
];

/// What the last event about the session's own turn says; a subagent's have its id, but for what a person is asked.
fn evidence(bytes: &[u8], _: &About<'_>) -> Option<Finding> {
    const WORDS: [&str; 10] = [
        "\"abort\"",
        "permission.",
        "session.error",
        "human_response.recorded",
        "tool.user_requested",
        "isUserRequested",
        "session.compaction_",
        "user.message",
        "assistant.turn_start",
        "session.shutdown",
    ];
    // An automatic compaction ends inside a turn, a manual one ends with it.
    let mut compacted = None;
    last_line(bytes, &WORDS, |line| {
        let at = time_of(line)?;
        let finding = |state, reason| Some(Finding { at, state, reason, background: None });
        match line["type"].as_str()? {
            "permission.requested" => finding(State::Busy, Some(Reason::APPROVAL)),
            // A dialog that was left with Esc ends the turn; the words about that come before or after it.
            "permission.completed" if line["data"]["result"]["kind"] == "cancelled" => finding(State::Idle, None),
            "permission.completed" | "human_response.recorded" => finding(State::Busy, None),
            _ if line["agentId"].is_string() => None,
            "abort" => finding(State::Idle, None),
            "session.error" => finding(State::Idle, Some(Reason::ERROR)),
            "tool.execution_complete" if line["data"]["isUserRequested"] == true => finding(State::Idle, None),
            "session.compaction_complete" => {
                compacted = Some(at);
                None
            }
            "session.compaction_start" => match (line["data"]["trigger"].as_str(), compacted.take()) {
                (Some("manual"), Some(at)) => Some(Finding { at, state: State::Idle, reason: None, background: None }),
                (_, Some(_)) => None,
                (_, None) => finding(State::Busy, None),
            },
            "tool.user_requested" | "user.message" | "assistant.turn_start" => finding(State::Busy, None),
            _ => None,
        }
    })
}

/// The model and the context of the last request. The sums of a session are reported at its end only.
fn figures(bytes: &[u8]) -> Vec<Event> {
    let found = last_line(bytes, &["session.usage_record"], |line| {
        let usage = &line["data"]["usage"];
        let tokens = usage["inputTokens"].as_u64().filter(|_| !line["agentId"].is_string())?;
        Some([model(&usage["model"]), context(Some(tokens), usage["maxPromptTokens"].as_u64())])
    });
    found.into_iter().flatten().flatten().collect()
}
