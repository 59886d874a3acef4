//! Gemini CLI.

use jig_session_schema::event::{Event, ToolOutcome, TurnOutcome};
use jig_session_schema::status::{Reason, State};
use serde_json::json;

use crate::agent::{
    Agent, CommandHooks, Guard, HookForm, Hooks, Mcp, McpForm, Packaged, PackagedForm, Program, Replies, Seen,
    TitleTells, Turns,
};
use crate::evidence::{About, Evidence, Figures, Finding, RecordLocation, context, last_line, model, time_of};
use crate::file::{File, Folder};
use crate::forms;
use crate::meaning::{Meaning, Notice};
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
    shared: None,
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
        // BeforeModel, AfterModel and BeforeToolSelection carry the whole conversation; they are not subscribed to.
        events: &["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent", "SessionEnd"],
        notices: &["BeforeAgent", "AfterTool", "AfterAgent"],
        guard: Some(Guard { event: "BeforeTool", matcher: Some("write_file|replace") }),
        trust: None,
        turns: Turns { prompt: &["BeforeAgent"], end: &["AfterAgent"] },
    }),
    packaged: Some(Packaged {
        file: File { folder: FOLDER, name: "extensions/jig-session/gemini-extension.json" },
        form: PackagedForm::There,
        install: "gemini extensions install PATH/plugins/gemini",
        remove: "gemini extensions uninstall jig-session",
    }),
    meanings: MEANINGS,
    notifications: &[("ToolPermission", Notice::Asks)],
    questions: &["ask_user"],
    lists: &["write_todos"],
    calls_create: true,
    calls_answer: false,
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
    evidence: Some(Evidence { place: RecordLocation::Transcript, read: evidence }),
    figures: Some(Figures { place: RecordLocation::Transcript, read: figures }),
    screen: Some("gemini"),
    titles: &[("✦", TitleTells::Working), ("✋", TitleTells::Asking), ("◇", TitleTells::Resting)],
};

const PAYLOAD: PayloadForm = PayloadForm {
    base: None,
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
        ("trigger", Field::Trigger),
        // A permission names its kind instead of the tool; the kind of a question is its tool's name.
        ("details", Field::Nested(&[("type", Field::Tool)])),
    ],
};

const MEANINGS: &[(&str, Meaning)] = &[
    ("SessionStart", Meaning::Begins),
    ("BeforeAgent", Meaning::Prompted),
    ("BeforeTool", Meaning::Called),
    ("AfterTool", Meaning::CallEnded(ToolOutcome::Ok)),
    ("Notification", Meaning::Notified),
    // It comes at every turn with the trigger `auto`, which is no compaction.
    ("PreCompress", Meaning::Compacts),
    ("AfterAgent", Meaning::Settled(TurnOutcome::Ok)),
    ("SessionEnd", Meaning::Ends),
];

/// What only the chat file shows and no hook reports: an interrupted request, a failed one, the end of a compaction.
fn evidence(bytes: &[u8], _: &About<'_>) -> Option<Finding> {
    last_line(bytes, &["\"info\"", "\"error\""], |line| {
        let reason = match (line["type"].as_str()?, line["content"].as_str()) {
            ("error", _) => Some(Reason::ERROR),
            ("info", Some("Request cancelled." | "")) => None,
            _ => return None,
        };
        Some(Finding { at: time_of(line)?, state: State::Idle, reason, background: None })
    })
}

/// The model of the last answer and the context it had. Gemini reports no window and no cost.
fn figures(bytes: &[u8]) -> Vec<Event> {
    let found = last_line(bytes, &["\"gemini\""], |line| {
        let tokens = line["tokens"]["input"].as_u64().filter(|_| line["type"] == "gemini")?;
        Some([model(&line["model"]), context(Some(tokens), None)])
    });
    found.into_iter().flatten().flatten().collect()
}
