//! An agent's hook payload, read without keeping its values: a payload carries prompts, arguments and outputs, and
//! nothing of it is held but the fields that a form names.

use std::fmt;

use jig_session_schema::json;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::agent::Agent;
use crate::edits::{Argument, Arguments, Edit, action, edits, progress};

/// Visits of values that say nothing here.
macro_rules! passed_over {
    ($($visit:ident: $type:ty),*) => {
        $(fn $visit<E>(self, _: $type) -> Result<(), E> { Ok(()) })*
    };
}
pub(crate) use passed_over;

/// Maximum length of a text field: paths are the longest ones needed.
pub(crate) const LONGEST: usize = 4096;

/// Names of fields, and what they hold.
pub type Keys = &'static [(&'static str, Field)];

/// What a payload calls its fields.
#[derive(Clone, Copy, Debug)]
pub struct PayloadForm {
    /// The form that this one adds to; a key of its own counts before the same one there.
    pub base: Option<&'static PayloadForm>,
    /// A key, and what it holds. Of two keys for one field the first in the payload counts.
    pub keys: Keys,
}

/// What a payload's key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The session's id.
    Session,
    /// The event's name.
    Event,
    /// The name of the hook that brings it, which defaults to the event's name.
    Hook,
    /// The working folder.
    Cwd,
    /// The transcript's path.
    Transcript,
    /// The model's id, or an object that has it.
    Model,
    /// The model's provider.
    Provider,
    /// The model's name for people.
    ModelName,
    /// The agent's version.
    Version,
    /// How a session began.
    Source,
    /// Why a session or a turn ended.
    Reason,
    /// The tool's name.
    Tool,
    /// The agent's id of the call.
    Call,
    /// The tool's arguments: only the paths in them are read.
    Arguments,
    /// What a notification is about.
    Notification,
    /// The subagent in which it happened, or about which it is.
    Subagent,
    /// The session above this one.
    Parent,
    /// The turn continues because a stop hook requested it already.
    StopHookActive,
    /// A list of what runs in the background; only its length is read.
    Background,
    /// A tool was broken off by a person.
    Interrupted,
    /// What started a compaction.
    Trigger,
    /// How something ended: `status`, `resultType`.
    Outcome,
    /// Tokens in the context.
    ContextTokens,
    /// The model's window.
    ContextWindow,
    /// The share of the window that is used.
    ContextPercent,
    /// US dollars so far.
    Cost,
    /// Tokens sent so far.
    Input,
    /// Tokens received so far.
    Output,
    /// Tokens read from the cache so far.
    CacheRead,
    /// Tokens written to the cache so far.
    CacheWrite,
    /// An object whose keys are looked for in turn.
    Nested(Keys),
}

/// A value that is held.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// A text.
    Text(String),
    /// A number; the length of a list.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

/// What was taken from a payload.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload {
    fields: Vec<(Field, Scalar)>,
    /// The files that the call writes. Empty for a tool that edits nothing.
    pub edits: Vec<Edit>,
    /// How much of the list that the call writes is done, 0 to 100. None for a tool that writes no list, or an empty one.
    pub progress: Option<u8>,
}

impl Payload {
    /// Reads a payload of this agent; what is not there stays empty.
    ///
    /// # Errors
    /// When the bytes are no JSON object.
    pub fn read(agent: &Agent, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        Self::strict(agent, bytes).or_else(|error| match json::parse(bytes) {
            // Half an emoji, as JavaScript writes one that was cut, must not hide the rest.
            Ok(mended) => Self::strict(agent, mended.to_string().as_bytes()),
            Err(_) => Err(error),
        })
    }

    fn strict(agent: &Agent, bytes: &[u8]) -> Result<Self, serde_json::Error> {
        let mut payload = Self::default();
        let Some(form) = agent.payload else { return Ok(payload) };
        let mut raw = Vec::new();
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        let base = form.base.map_or(&[][..], |base| base.keys);
        Object { keys: form.keys, base, payload: &mut payload, arguments: &mut raw }.deserialize(&mut reader)?;
        reader.end()?;
        let Some(tool) = payload.text(Field::Tool) else { return Ok(payload) };
        if agent.lists.iter().any(|list| list.eq_ignore_ascii_case(tool)) {
            payload.progress = progress(&raw);
        } else if let Some(action) = action(agent, tool) {
            payload.edits = edits(raw, action);
        }
        Ok(payload)
    }

    /// A text of the payload that says something.
    #[must_use]
    pub fn text(&self, field: Field) -> Option<&str> {
        match self.value(field) {
            Some(Scalar::Text(text)) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A number of the payload.
    #[must_use]
    pub fn number(&self, field: Field) -> Option<f64> {
        match self.value(field) {
            Some(Scalar::Number(number)) if number.is_finite() => Some(*number),
            _ => None,
        }
    }

    /// A count of the payload: a whole number of 0 or more.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the bounds are checked before")]
    pub fn count(&self, field: Field) -> Option<u64> {
        self.number(field).filter(|number| (0.0..9e15).contains(number)).map(|number| number as u64)
    }

    /// Whether a flag is set.
    #[must_use]
    pub fn is(&self, field: Field) -> bool {
        self.value(field) == Some(&Scalar::Flag(true))
    }

    /// Whether a field was there with a value.
    #[must_use]
    pub fn has(&self, field: Field) -> bool {
        self.value(field).is_some()
    }

    /// The paths that the call writes.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.edits.iter().map(|edit| edit.path.as_str())
    }

    fn value(&self, field: Field) -> Option<&Scalar> {
        self.fields.iter().find(|(known, _)| *known == field).map(|(_, value)| value)
    }

    fn put(&mut self, field: Field, value: Scalar) {
        if !self.has(field) {
            self.fields.push((field, value));
        }
    }
}

/// Reads an object by its known keys; every other value is passed over as it is parsed.
struct Object<'p> {
    keys: Keys,
    /// Looked for where `keys` does not know a name.
    base: Keys,
    payload: &'p mut Payload,
    arguments: &'p mut Vec<Argument>,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key(self.keys, self.base))? {
            match key {
                None => map.next_value::<IgnoredAny>().map(|_| ())?,
                Some(Field::Arguments) => {
                    map.next_value_seed(Arguments::new(self.arguments))?;
                }
                Some(Field::Nested(keys)) => {
                    let (payload, arguments) = (&mut *self.payload, &mut *self.arguments);
                    let inner = Object { keys, base: &[], payload, arguments };
                    map.next_value_seed(Inner(inner))?;
                }
                Some(field) => {
                    if let Some(value) = map.next_value_seed(Value(field))? {
                        self.payload.put(field, value);
                    }
                }
            }
        }
        Ok(())
    }
}

/// An object inside the payload; whatever else stands there is passed over.
struct Inner<'p>(Object<'p>);

impl<'de> DeserializeSeed<'de> for Inner<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Inner<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.visit_map(map)
    }

    /// Where an object may tell a model, a text is its id.
    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if text.len() <= LONGEST && self.0.keys.iter().any(|(_, field)| *field == Field::Model) {
            self.0.payload.put(Field::Model, Scalar::Text(text.to_owned()));
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(())
    }

    passed_over!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64);
}

/// Which field a key is.
struct Key(Keys, Keys);

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Option<Field>;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<Field>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Option<Field>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Option<Field>, E> {
        Ok(self.0.iter().chain(self.1).find(|(name, _)| *name == key).map(|(_, field)| *field))
    }
}

/// The value of a field, as far as it may be held.
struct Value(Field);

impl<'de> DeserializeSeed<'de> for Value {
    type Value = Option<Scalar>;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Option<Scalar>, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value {
    type Value = Option<Scalar>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Flag(flag)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Number(number as f64)))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Number(number as f64)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(Some(Scalar::Number(number)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(match self.0 {
            Field::Background => None,
            _ if text.len() > LONGEST => None,
            _ => Some(Scalar::Text(text.to_owned())),
        })
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut length = 0_u32;
        while list.next_element::<IgnoredAny>()?.is_some() {
            length = length.saturating_add(1);
        }
        Ok((self.0 == Field::Background).then(|| Scalar::Number(length.into())))
    }

    /// An object that describes a model has the id under one of three names.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        const ID: Keys = &[("id", Field::Model), ("modelID", Field::Model), ("name", Field::Model)];
        let mut found = None;
        while let Some(key) = map.next_key_seed(Key(ID, &[]))? {
            let value = match key {
                Some(field) => map.next_value_seed(Value(field))?,
                None => map.next_value::<IgnoredAny>().map(|_| None)?,
            };
            found = found.or(value);
        }
        Ok(found.filter(|_| self.0 == Field::Model))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::{claude, codex, copilot, droid, gemini, opencode, qwen};

    fn read(agent: &Agent, payload: &Json) -> Payload {
        Payload::read(agent, payload.to_string().as_bytes()).unwrap_or_default()
    }

    #[test]
    fn each_agents_payload_names_its_files() {
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: b.rs\n+z\n*** End Patch";
        let table: [(&Agent, Json, &[&str]); 13] = [
            (
                &claude::AGENT,
                json!({"tool_name": "Edit", "tool_input": {"file_path": "/r/src/a.rs"}}),
                &["/r/src/a.rs"],
            ),
            (
                &claude::AGENT,
                json!({"tool_input": {"notebook_path": "/r/n.ipynb"}, "tool_name": "NotebookEdit"}),
                &["/r/n.ipynb"],
            ),
            (
                &codex::AGENT,
                json!({"tool_name": "apply_patch", "tool_input": {"command": ["apply_patch", patch]}}),
                &["src/a.rs", "b.rs"],
            ),
            (
                &codex::AGENT,
                json!({"tool_name": "apply_patch", "tool_input": {"command": patch}}),
                &["src/a.rs", "b.rs"],
            ),
            (&gemini::AGENT, json!({"tool_name": "write_file", "tool_input": {"file_path": "x"}}), &["x"]),
            (&copilot::AGENT, json!({"toolName": "edit", "toolArgs": {"path": "/r/x"}}), &["/r/x"]),
            (&copilot::AGENT, json!({"toolName": "create", "toolArgs": "{\"path\":\"/r/x\"}"}), &["/r/x"]),
            (&copilot::AGENT, json!({"tool_name": "Edit", "tool_input": patch}), &["src/a.rs", "b.rs"]),
            (&opencode::AGENT, json!({"tool": "write", "sessionID": "s", "args": {"filePath": "/r/x"}}), &["/r/x"]),
            (&droid::AGENT, json!({"tool_name": "ApplyPatch", "tool_input": {"input": patch}}), &["src/a.rs", "b.rs"]),
            (&claude::AGENT, json!({"tool_name": "Bash", "tool_input": {"command": patch}}), &[]),
            (&claude::AGENT, json!({"tool_name": "Read", "tool_input": {"file_path": "x"}}), &[]),
            (&claude::AGENT, json!({}), &[]),
        ];
        for (agent, payload, paths) in table {
            assert_eq!(read(agent, &payload).paths().collect::<Vec<_>>(), paths, "{payload}");
        }
        assert!(Payload::read(&claude::AGENT, b"[1]").is_err());
        assert!(Payload::read(&claude::AGENT, b"{} x").is_err());
    }

    #[test]
    fn of_a_list_of_things_to_do_only_the_share_that_is_done_is_read() {
        let steps = |states: &[&str]| states.iter().map(|state| json!({"content": "x", "status": state})).collect();
        let list = |states: &[&str]| -> Json { steps(states) };
        let open = ["completed", "in_progress", "pending"];
        let table: [(&Agent, &str, Json, Option<u8>); 11] = [
            (&claude::AGENT, "TodoWrite", json!({"todos": list(&open)}), Some(33)),
            (&codex::AGENT, "update_plan", json!({"explanation": "x", "plan": list(&open)}), Some(33)),
            (&gemini::AGENT, "write_todos", json!({"todos": list(&["completed", "completed"])}), Some(100)),
            (&qwen::AGENT, "todo_write", json!({"todos": list(&["pending"])}), Some(0)),
            (&opencode::AGENT, "todowrite", json!({"todos": list(&["completed", "cancelled", "pending"])}), Some(50)),
            // The arguments as the text of an object.
            (&claude::AGENT, "TodoWrite", json!(json!({"todos": list(&open)}).to_string()), Some(33)),
            (&claude::AGENT, "TodoWrite", json!({"todos": list(&["cancelled"])}), None),
            (&claude::AGENT, "TodoWrite", json!({"todos": []}), None),
            (&claude::AGENT, "TodoWrite", json!({}), None),
            (&claude::AGENT, "TodoWrite", json!({"todos": [{"status": 7}, {"status": null}]}), None),
            // Another tool's status says nothing of the turn.
            (&claude::AGENT, "Bash", json!({"todos": list(&open)}), None),
        ];
        for (agent, tool, arguments, wanted) in table {
            let payload = match agent.name {
                "opencode" => json!({"hook": "tool.execute.after", "input": {"tool": tool, "args": arguments}}),
                _ => json!({"tool_name": tool, "tool_input": arguments}),
            };
            let read = read(agent, &payload);
            assert_eq!((read.progress, read.edits), (wanted, Vec::new()), "{payload}");
        }
        let many = vec!["completed"; 1000];
        assert_eq!(
            read(&qwen::AGENT, &json!({"tool_name": "todo_write", "tool_input": {"todos": list(&many)}})).progress,
            Some(100)
        );
    }

    #[test]
    fn the_session_and_its_folder_are_found_in_both_spellings() {
        let snake = read(&claude::AGENT, &json!({"session_id": "s", "cwd": "/r", "stop_hook_active": true}));
        assert_eq!((snake.text(Field::Session), snake.text(Field::Cwd)), (Some("s"), Some("/r")));
        assert!(snake.is(Field::StopHookActive));
        let camel = read(&copilot::AGENT, &json!({"sessionId": "s"}));
        assert_eq!((camel.text(Field::Session), camel.text(Field::Cwd)), (Some("s"), None));
        assert!(!camel.is(Field::StopHookActive));
    }

    #[test]
    fn nothing_but_the_named_fields_is_held() {
        let secret = "hunter2";
        let payload = json!({
            "session_id": "s", "prompt": secret, "last_assistant_message": secret, "message": secret,
            "tool_name": "Bash", "tool_input": { "command": secret, "path": secret }, "tool_response": [secret],
            "error": secret, "background_tasks": [{ "description": secret }],
        });
        let read = read(&claude::AGENT, &payload);
        assert!(!format!("{read:?}").contains(secret), "{read:?}");
        assert_eq!(read.count(Field::Background), Some(1));
    }

    #[test]
    fn odd_values_are_passed_over() {
        for odd in [json!(null), json!(1), json!([]), json!({}), json!(true), json!({"x": [1, {"y": 2}]})] {
            for (_, field) in crate::forms::SNAKE.keys {
                let payload = json!({ "session_id": "s", "tool_input": odd, "model": odd, "cwd": odd, "prompt": odd });
                let read = read(&claude::AGENT, &payload);
                assert_eq!(read.text(Field::Session), Some("s"), "{field:?} {odd}");
            }
        }
    }
}
