//! The session's entries, as the bridge sends them once after `hello`: sums, files and what fills the context.

use jig_session_schema::bridge::{Entries, Entry};
use jig_session_schema::event::{Event, OutputEvent, UsageMode};
use jig_session_schema::request::{SWITCHES_ENTRY, Switches};
use jig_session_schema::time::Timestamp;

use super::calls::output_of;
use super::usage::Tokens;
use super::{Bridge, said};

/// What is gathered while the entries come in, page by page.
#[derive(Debug)]
pub(super) struct Reading {
    sum: Tokens,
    entries: u64,
}

impl Reading {
    fn new() -> Self {
        Self { sum: Tokens::NONE, entries: 0 }
    }

    /// Used by a live message after the entries were taken: it is in none of them.
    pub(super) fn meanwhile(&mut self, used: &Tokens) {
        self.sum.add(used);
    }
}

impl Bridge {
    pub(super) fn entries(&mut self, line: &Entries) -> Vec<Event> {
        let mut reading = self.reading.take().unwrap_or_else(|| {
            // What a message brought before is in these entries too.
            self.breakdown.restart();
            Reading::new()
        });
        reading.entries += line.entries.len() as u64;
        let mut events = Vec::new();
        for entry in &line.entries {
            // A bridge that says how many entries there are brings the last switches with the first of them: an earlier
            // set among the entries must not pass for the last one meanwhile.
            if line.total.is_none() && entry.kind == "custom" && entry.custom_type.as_deref() == Some(SWITCHES_ENTRY) {
                self.switches = Some(entry.data.0.clone());
            }
            events.extend(self.entry(entry, &mut reading));
        }
        if line.switches.0 != Switches::new() {
            self.switches = Some(line.switches.0.clone());
        }
        if line.more {
            self.reading = Some(reading);
            return events;
        }
        self.missing = line.total.map(|total| (reading.entries, total)).filter(|(come, total)| come != total);
        if self.missing.is_none() {
            self.counted = true;
            events.push(reading.sum.event(UsageMode::Set, None));
        }
        events.push(self.context(None));
        events
    }

    fn entry(&mut self, entry: &Entry, reading: &mut Reading) -> Option<Event> {
        let used = entry.usage.as_ref().and_then(Tokens::read);
        if let Some(used) = &used {
            reading.sum.add(used);
        }
        let at = entry.at.as_deref().and_then(Timestamp::parse);
        let role = entry.role.as_deref().unwrap_or_default();
        if entry.in_context != Some(false) {
            self.fills(entry, role, used.as_ref());
        }
        if role != "toolResult" || entry.is_error == Some(true) {
            return None;
        }
        let action = entry.tool.as_deref().and_then(output_of)?;
        Some(OutputEvent::new().at(at).path(said(entry.path.as_ref())?).action(action).into())
    }

    /// What an entry of the context adds to it.
    fn fills(&mut self, entry: &Entry, role: &str, used: Option<&Tokens>) {
        let kind_of_custom = entry.custom_type.as_deref();
        match entry.kind.as_str() {
            "message" => {
                self.breakdown.message(role, kind_of_custom, entry.into());
                if role == "assistant"
                    && let Some(used) = used
                {
                    self.tokens = Some(used.total);
                }
            }
            "custom_message" => self.breakdown.message("custom", kind_of_custom, entry.into()),
            "compaction" => {
                let chars = entry.chars.as_ref().and_then(|chars| chars.text).unwrap_or_default();
                // With entries listed one by one, earlier ones that are still here are still in the context.
                if entry.in_context == Some(true) {
                    self.breakdown.summarised(chars);
                } else {
                    self.breakdown.compacted(chars);
                }
                self.breakdown.system(entry.into());
                self.tokens = None;
            }
            "branch_summary" => self.breakdown.message("other", None, entry.into()),
            _ => {}
        }
    }
}
