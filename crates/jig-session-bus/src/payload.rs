//! What the bus needs of an agent's own hook payload: whose it is, where, and which files a tool is about to change.

use serde_json::Value;

/// The part of a hook's payload that `guard` and `notice` look at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The agent's session id.
    pub session: Option<String>,
    /// The agent's working directory.
    pub cwd: Option<String>,
    /// Paths the tool is about to write, as the agent wrote them. Empty for a tool that edits nothing.
    pub paths: Vec<String>,
    /// The turn goes on because a stop hook asked for it already.
    pub stop_hook_active: bool,
}

/// Tools that change the file named by one of their arguments, over all agents, compared without case.
const EDITORS: &[&str] = &[
    "edit",
    "write",
    "multiedit",
    "notebookedit",
    "create",
    "update",
    "write_file",
    "replace",
    "edit_file",
    "create_file",
    "str_replace",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "patch",
    "apply_patch",
    "strreplacefile",
    "writefile",
];

/// Arguments that hold the path of a file.
const PATH_KEYS: &[&str] =
    &["file_path", "filePath", "notebook_path", "notebookPath", "path", "absolute_path", "filename", "target_file"];

/// Arguments that hold a patch with file headers.
const PATCH_KEYS: &[&str] = &["patch", "patchText", "input", "command", "diff"];

impl Payload {
    /// Reads a payload; what is not there stays empty.
    pub fn read(document: &Value) -> Self {
        let tool = first(document, &["tool_name", "toolName", "tool"]).and_then(Value::as_str).unwrap_or_default();
        let arguments = first(document, &["tool_input", "toolArgs", "args", "arguments", "input"]);
        let string = |keys: &[&str]| first(document, keys).and_then(Value::as_str).map(str::to_owned);
        Self {
            session: string(&["session_id", "sessionId", "sessionID", "conversation_id", "thread_id"]),
            cwd: string(&["cwd", "directory"]),
            paths: arguments.map(|arguments| written(tool, arguments)).unwrap_or_default(),
            stop_hook_active: first(document, &["stop_hook_active", "stopHookActive"]) == Some(&Value::Bool(true)),
        }
    }
}

fn first<'a>(document: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| document.get(key).filter(|value| !value.is_null()))
}

/// The paths a call of `tool` is about to write. The shell is not read: what a command writes is not known.
pub fn written(tool: &str, arguments: &Value) -> Vec<String> {
    let tool = tool.to_ascii_lowercase();
    if !EDITORS.contains(&tool.as_str()) {
        return Vec::new();
    }
    // Some agents hand the arguments over as the text of an object, and a patch as bare text.
    let text = arguments.as_str();
    let parsed = text.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let arguments = parsed.as_ref().unwrap_or(arguments);
    if tool == "str_replace_based_edit_tool" && arguments.get("command").and_then(Value::as_str) == Some("view") {
        return Vec::new();
    }
    let mut paths: Vec<String> =
        PATH_KEYS.iter().filter_map(|key| arguments.get(key)?.as_str()).map(str::to_owned).collect();
    let patches = PATCH_KEYS.iter().filter_map(|key| arguments.get(key)).chain(text.is_some().then_some(arguments));
    for patch in patches {
        match patch {
            Value::String(patch) => patched(patch, &mut paths),
            Value::Array(words) => words.iter().filter_map(Value::as_str).for_each(|word| patched(word, &mut paths)),
            _ => {}
        }
    }
    paths.dedup();
    paths
}

/// The files named by the headers of a patch.
fn patched(patch: &str, paths: &mut Vec<String>) {
    const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
    for line in patch.lines() {
        if let Some(path) = HEADERS.iter().find_map(|header| line.strip_prefix(header)) {
            paths.push(path.trim().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_agents_payload_names_its_files() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch";
        let table = [
            (json!({"tool_name": "Edit", "tool_input": {"file_path": "/r/src/a.rs"}}), vec!["/r/src/a.rs"]),
            (json!({"tool_name": "NotebookEdit", "tool_input": {"notebook_path": "/r/n.ipynb"}}), vec!["/r/n.ipynb"]),
            (
                json!({"tool_name": "apply_patch", "tool_input": {"command": ["apply_patch", patch]}}),
                vec!["src/a.rs", "b.rs"],
            ),
            (json!({"tool_name": "apply_patch", "tool_input": {"command": patch}}), vec!["src/a.rs", "b.rs"]),
            (json!({"tool_name": "write_file", "tool_input": {"file_path": "x"}}), vec!["x"]),
            (json!({"toolName": "edit", "toolArgs": {"path": "/r/x"}}), vec!["/r/x"]),
            (json!({"toolName": "create", "toolArgs": "{\"path\":\"/r/x\"}"}), vec!["/r/x"]),
            (json!({"tool": "write", "sessionID": "s", "args": {"filePath": "/r/x"}}), vec!["/r/x"]),
            (json!({"tool_name": "Bash", "tool_input": {"command": "touch x"}}), vec![]),
            (json!({"tool_name": "Read", "tool_input": {"file_path": "x"}}), vec![]),
            (json!({}), vec![]),
            (json!([1]), vec![]),
        ];
        for (payload, paths) in table {
            assert_eq!(Payload::read(&payload).paths, paths, "{payload}");
        }
    }

    #[test]
    fn the_session_and_its_folder_are_found_in_both_spellings() {
        let snake = Payload::read(&json!({"session_id": "s", "cwd": "/r", "stop_hook_active": true}));
        assert_eq!(
            (snake.session.as_deref(), snake.cwd.as_deref(), snake.stop_hook_active),
            (Some("s"), Some("/r"), true)
        );
        let camel = Payload::read(&json!({"sessionId": "s"}));
        assert_eq!((camel.session.as_deref(), camel.cwd, camel.stop_hook_active), (Some("s"), None, false));
    }
}
