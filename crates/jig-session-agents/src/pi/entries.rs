//! The session's entries, as the bridge sends them once after `hello`: sums, files and what fills the context.

use jig_session_schema::event::{Event, OutputEvent, UsageMode};
use jig_session_schema::time::Timestamp;
use serde_json::Value;

use super::calls::output_of;
use super::usage::Tokens;
use super::{Bridge, text};

/// The entry in which the switches are kept.
const SWITCHES: &str = "jig-session.switches";

/// What is gathered while the entries come in, page by page.
#[derive(Debug)]
pub(super) struct Reading {
    sum: Tokens,
}

impl Reading {
    fn new() -> Self {
        Self { sum: Tokens::NONE }
    }

    /// Used by a live message after the entries were taken: it is in none of them.
    pub(super) fn meanwhile(&mut self, used: &Tokens) {
        self.sum.add(used);
    }
}

impl Bridge {
    pub(super) fn entries(&mut self, line: &Value) -> Vec<Event> {
        let mut reading = self.reading.take().unwrap_or_else(Reading::new);
        let mut events = Vec::new();
        for entry in line["entries"].as_array().into_iter().flatten() {
            events.extend(self.entry(entry, &mut reading));
        }
        if line["more"] == true {
            self.reading = Some(reading);
            return events;
        }
        events.push(reading.sum.event(UsageMode::Set, None));
        events.push(self.context(None));
        events
    }

    fn entry(&mut self, entry: &Value, reading: &mut Reading) -> Option<Event> {
        let used = Tokens::read(&entry["usage"]);
        if let Some(used) = &used {
            reading.sum.add(used);
        }
        let at = entry["at"].as_str().and_then(Timestamp::parse);
        let kind = entry["type"].as_str().unwrap_or_default();
        let role = entry["role"].as_str().unwrap_or_default();
        if kind == "custom" && entry["customType"] == SWITCHES {
            self.switches = Some(entry["data"].clone());
        }
        if entry["inContext"] != false {
            self.fills(entry, kind, role, used.as_ref());
        }
        if role != "toolResult" || entry["isError"] == true {
            return None;
        }
        let action = entry["tool"].as_str().and_then(output_of)?;
        Some(OutputEvent::new().at(at).path(text(&entry["path"])?).action(action).into())
    }

    /// What an entry of the context adds to it.
    fn fills(&mut self, entry: &Value, kind: &str, role: &str, used: Option<&Tokens>) {
        let kind_of_custom = entry["customType"].as_str();
        match kind {
            "message" => {
                self.breakdown.message(role, kind_of_custom, entry);
                if role == "assistant"
                    && let Some(used) = used
                {
                    self.tokens = Some(used.total);
                }
            }
            "custom_message" => self.breakdown.message("custom", kind_of_custom, entry),
            "compaction" => {
                let chars = entry["chars"]["text"].as_u64().unwrap_or_default();
                // Told apart entry by entry, what came before it and is still here is still in the context.
                if entry["inContext"] == true {
                    self.breakdown.summarised(chars);
                } else {
                    self.breakdown.compacted(chars);
                }
                self.breakdown.system(entry);
                self.tokens = None;
            }
            "branch_summary" => self.breakdown.message("other", None, entry),
            _ => {}
        }
    }
}
