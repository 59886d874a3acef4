//! OpenAI Codex CLI.

use jig_session_schema::event::{Event, OutputEvent, ToolEvent, ToolOutcome, ToolPhase, UsageEvent, UsageMode};
use jig_session_schema::status::{OutputAction, Reason, State};
use serde_json::Value;

use crate::agent::{Agent, CommandHooks, Guard, Hooks, Mcp, McpForm, Packaged, PackagedForm, Program, Seen, Turns};
use crate::edits::PATCHES;
use crate::evidence::{About, Evidence, Figures, Finding, RecordLocation, context, last_line, time_of};
use crate::file::{File, Folder};
use crate::forms;

const FOLDER: Folder = Folder { variable: Some(("CODEX_HOME", "")), home: ".codex" };

/// What is known of Codex.
pub const AGENT: Agent = Agent {
    name: "codex",
    aliases: &[],
    title: "Codex",
    seen: Seen::Run("0.171.0"),
    program: Program { names: &["codex"], package: Some("codex") },
    session_variable: Some("CODEX_THREAD_ID"),
    shared: Some("app-server"),
    replaces_session: false,
    child_markers: &[],
    folder: Some(FOLDER),
    mcp: Some(Mcp { file: File { folder: FOLDER, name: "config.toml" }, form: McpForm::Toml }),
    hooks: Hooks::Commands(CommandHooks {
        file: File { folder: FOLDER, name: "hooks.json" },
        project: Some(".codex/hooks.json"),
        beside: &[],
        form: forms::GROUPED,
        events: &[
            "SessionStart",
            "UserPromptSubmit",
            "PreToolUse",
            "PermissionRequest",
            "PostToolUse",
            "PreCompact",
            "PostCompact",
            "SubagentStart",
            "SubagentStop",
            "Interrupt",
            "Stop",
            "SessionEnd",
        ],
        notices: &["UserPromptSubmit", "PostToolUse", "Stop"],
        guard: Some(Guard { event: "PreToolUse", matcher: Some("apply_patch|Edit|Write|Bash") }),
        trust: Some("Codex runs new hooks once you trust them: open /hooks in it"),
        turns: Turns { prompt: &["UserPromptSubmit"], end: &["Stop"] },
    }),
    packaged: Some(Packaged {
        file: File { folder: FOLDER, name: "config.toml" },
        form: PackagedForm::Enabled("plugins"),
        install: "codex plugin marketplace add jig-session/jig-session && codex plugin add jig-session@jig-session",
        remove: "codex plugin remove jig-session@jig-session",
    }),
    meanings: forms::MEANINGS,
    notifications: &[],
    questions: &["request_user_input"],
    lists: &["update_plan"],
    calls_create: true,
    calls_answer: false,
    payload: Some(&forms::SNAKE),
    editors: &[
        ("apply_patch", "edited"),
        ("Edit", "edited"),
        ("Write", "written"),
        // A patch in a command is applied by Codex itself; its shell has several names.
        ("Bash", PATCHES),
        ("exec_command", PATCHES),
        ("shell_command", PATCHES),
        ("shell", PATCHES),
    ],
    statusline: None,
    replies: forms::REPLIES,
    record: None,
    evidence: Some(Evidence { place: RecordLocation::Transcript, read: evidence }),
    figures: Some(Figures { place: RecordLocation::Transcript, read: figures }),
    screen: Some("codex"),
    titles: &[],
};

/// What the last line of the rollout about a turn says.
fn evidence(bytes: &[u8], _: &About<'_>) -> Option<Finding> {
    last_line(bytes, &["task_started", "task_complete", "turn_aborted"], |line| {
        let finding = |state, reason| Some(Finding { at: time_of(line)?, state, reason, background: None });
        match line["payload"]["type"].as_str()? {
            "task_started" => finding(State::Busy, None),
            "task_complete" if line["payload"]["error"].is_object() => finding(State::Idle, Some(Reason::ERROR)),
            "task_complete" | "turn_aborted" => finding(State::Idle, None),
            _ => None,
        }
    })
}

/// The sums of the session, the context of the last request, and the files that the last turn has changed: a patch that
/// is applied through the shell has no hook at its end. Codex reports no cost.
fn figures(bytes: &[u8]) -> Vec<Event> {
    let found = last_line(bytes, &["token_count"], |line| {
        let info = &line["payload"]["info"];
        let total = &info["total_token_usage"];
        let usage = UsageEvent::new()
            .mode(UsageMode::Set)
            .input(total["input_tokens"].as_u64())
            .output(total["output_tokens"].as_u64())
            .cache_read(total["cached_input_tokens"].as_u64())
            .cache_write(total["cache_write_input_tokens"].as_u64());
        let window = info["model_context_window"].as_u64();
        let context = context(info["last_token_usage"]["input_tokens"].as_u64(), window);
        total.is_object().then(|| [Some(usage.into()), context])
    });
    let mut events: Vec<Event> = found.into_iter().flatten().flatten().collect();
    let mut changes = Vec::new();
    last_line(bytes, &["\"FileChange\"", "\"task_started\""], |line| {
        if line["payload"]["type"] == "task_started" {
            return Some(());
        }
        let item = &line["payload"]["item"];
        if item["type"] == "FileChange" && item["status"] == "completed" {
            changes.push(changed(item));
        }
        None
    });
    events.extend(changes.into_iter().rev().flatten());
    events
}

/// The end of a call that has changed files, and the files.
fn changed(item: &Value) -> Vec<Event> {
    let id = item["id"].as_str().map(str::to_owned);
    let mut events: Vec<Event> =
        vec![ToolEvent::new().phase(ToolPhase::End).id(id).outcome(Some(ToolOutcome::Ok)).into()];
    for (path, change) in item["changes"].as_object().into_iter().flatten() {
        let action = match change["type"].as_str() {
            Some("add") => "written",
            Some("delete") => continue,
            _ => "edited",
        };
        // A moved file is where it went.
        let path = change["move_path"].as_str().unwrap_or(path);
        if let Some(action) = OutputAction::new(action) {
            events.push(OutputEvent::new().path(path.to_owned()).action(action).into());
        }
    }
    events
}
