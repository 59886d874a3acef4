//! The texts of a recorded payload, and of a document: what of the one may stand in the other.

use serde_json::Value;

/// Keys whose texts may be published: names, ids, paths and words that agents made up.
const PUBLIC: [&str; 40] = [
    "session_id",
    "sessionId",
    "sessionID",
    "id",
    "callID",
    "messageID",
    "parentID",
    "cwd",
    "directory",
    "worktree",
    "transcript_path",
    "transcriptPath",
    "model",
    "modelID",
    "providerID",
    "display_name",
    "version",
    "hook_event_name",
    "type",
    "tool_name",
    "toolName",
    "tool",
    "tool_use_id",
    "tool_call_id",
    "turn_id",
    "source",
    "reason",
    "trigger",
    "file_path",
    "filePath",
    "path",
    "current_dir",
    "project_dir",
    "level",
    "name",
    "status",
    "notification_type",
    "agent",
    "mode",
    "file",
];

/// Every text of a payload that nobody but the agent may read.
pub fn private<'a>(value: &'a Value, key: &str, texts: &mut Vec<&'a str>) {
    match value {
        // Shorter ones are found in anything.
        Value::String(text) if text.len() >= 8 && !PUBLIC.contains(&key) => texts.push(text),
        Value::Array(list) => list.iter().for_each(|value| private(value, key, texts)),
        Value::Object(fields) => fields.iter().for_each(|(key, value)| private(value, key, texts)),
        _ => {}
    }
}

/// Every text of a document, but for its keys.
pub fn values<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(list) => list.iter().for_each(|value| values(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| values(value, texts)),
        _ => {}
    }
}
