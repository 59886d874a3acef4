//! The tool `session` as Pi knows it, and the question before an edit.

use jig_session_bus::guard::{Edit, Target, reason};
use jig_session_bus::{Call, Code, Done, tool};
use jig_session_schema::bridge::{GuardQuestion, ToolCall};
use jig_session_schema::bus_result::BusResult;
use jig_session_view::bus::listing;
use serde_json::{Map, Value, json};

use super::Bus;
use crate::Error;
use crate::link::{Link, Pending};

impl Bus {
    /// Tools to register, as Pi takes them.
    pub(crate) fn tools(&self) -> Vec<Value> {
        vec![json!({
            "name": tool::NAME,
            "label": "Session bus",
            "description": tool::DESCRIPTION,
            "promptGuidelines": [tool::INSTRUCTIONS],
            "parameters": tool::parameters(),
            "exposure": "direct",
            "executionMode": "sequential",
            "annotations": { "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false },
        })]
    }

    /// Whether the bridge is to ask before an editing tool runs. A session may turn the guard on at any time, and the
    /// question costs less than a millisecond.
    pub(crate) fn guards(&self) -> bool {
        true
    }

    /// Why an editing tool may not run; `None` when it may.
    pub(crate) fn guard(&mut self, question: &GuardQuestion) -> Option<String> {
        let me = self.me.as_ref()?;
        let files = [Target { path: question.path.clone(), removed: false }];
        let edit =
            Edit { session: &me.id, cwd: &self.cwd, home: None, files: &files, always: self.guard, has_time: &|| true };
        self.buses().edit_conflict(&edit).ok()?.as_ref().map(reason)
    }

    /// The model calls our tool.
    pub(crate) fn tool(&mut self, call: &ToolCall, link: &mut Link) -> Result<(), Error> {
        let id = call.id.as_str();
        if call.name != tool::NAME {
            return link.error(id, format!("there is no tool {}", call.name));
        }
        let empty = Map::new();
        let call = match tool::call(call.params.as_object().unwrap_or(&empty)) {
            Ok(call) => call,
            Err(wrong) => return link.error(id, wrong),
        };
        let Some(me) = self.me.clone() else { return link.error(id, "the session has not begun".into()) };
        let done = match self.perform(&me, &call) {
            Ok(done) => done,
            Err(error) => return link.error(id, error.to_string()),
        };
        self.after(&call, &done, link)?;
        let short = tool::line(&done.result);
        let text = listing(&done.result, self.now());
        let text = if text.is_empty() { short.clone() } else { format!("{short}\n{text}") };
        let Done { result, code, taken, .. } = done;
        let answer = json!({
            "content": [{ "type": "text", "text": text }],
            "details": { "line": short, "result": result },
            "isError": code.is_some_and(|code| code != Code::Conflict),
        });
        // Mail is removed from the inbox once the answer that contains it was written; if nobody reads it, it stays.
        if link.delivered(id, answer)?
            && let Some(taken) = taken
        {
            taken.confirm()?;
        }
        Ok(())
    }

    /// Follows an action: whether the session is on the bus now, and its new name in Pi.
    pub(super) fn after(&mut self, call: &Call, done: &Done, link: &mut Link) -> Result<(), Error> {
        if done.code.is_none() && !matches!(call, Call::Status | Call::Peek { .. } | Call::Check { .. }) {
            self.joined = !matches!(call, Call::Leave);
        }
        if let (Call::Join { label: Some(_), .. }, BusResult::Join(result)) = (call, &done.result)
            && result.ok
            && let Some(label) = &result.label
        {
            // The label peers address is also the name the user sees.
            link.call("pi.setSessionName", vec![json!(label)], Pending::Nothing)?;
        }
        Ok(())
    }
}
