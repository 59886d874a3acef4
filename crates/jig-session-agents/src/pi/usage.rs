//! Tokens and cost of messages, and what they make of the context.

use jig_session_schema::bridge::{BridgeEvent, EventData, TokenUsage};
use jig_session_schema::event::{ContextEvent, Event, UsageEvent, UsageMode};
use jig_session_schema::shape::Patch;
use jig_session_schema::time::Timestamp;

use super::breakdown::CHARS_PER_TOKEN;
use super::{Bridge, said};

/// The first Pi whose last message says `aborted` when a run was broken off before its next request; `error` before.
const NAMES_ABORTS: [u32; 3] = [1, 5, 1];

/// One message's usage, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
    /// US dollars; `None` when a call with tokens had no price.
    cost: Option<f64>,
    /// Tokens in the context after it.
    pub(super) total: u64,
}

impl Tokens {
    /// Nothing used yet: a cost of zero is a real sum.
    pub(super) const NONE: Self =
        Self { input: 0, output: 0, cache_read: 0, cache_write: 0, cost: Some(0.0), total: 0 };

    /// Reads Pi's `usage`; `None` when no tokens were used, as in a call that failed or was broken off.
    pub(super) fn read(usage: &TokenUsage) -> Option<Self> {
        let count = Option::unwrap_or_default;
        let (input, output) = (count(usage.input), count(usage.output));
        let (cache_read, cache_write) = (count(usage.cache_read), count(usage.cache_write));
        let sum = input.saturating_add(output).saturating_add(cache_read).saturating_add(cache_write);
        if sum == 0 {
            return None;
        }
        // Pi's cost of a model without prices is zero, and that of no real call is.
        let cost = usage.cost.as_ref().and_then(|cost| cost.total).filter(|cost| *cost > 0.0);
        let total = match count(usage.total_tokens) {
            0 => sum,
            total => total,
        };
        Some(Self { input, output, cache_read, cache_write, cost, total })
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
        self.cache_read = self.cache_read.saturating_add(more.cache_read);
        self.cache_write = self.cache_write.saturating_add(more.cache_write);
        self.cost = self.cost.zip(more.cost).map(|(sum, more)| sum + more);
    }

    pub(super) fn event(&self, mode: UsageMode, at: Option<Timestamp>) -> Event {
        let cost = match (mode, self.cost) {
            (_, Some(cost)) => Patch::Set(cost),
            (UsageMode::Set, None) => Patch::Clear,
            (_, None) => Patch::Keep,
        };
        let usage = UsageEvent::new().at(at).mode(mode).input(Some(self.input)).output(Some(self.output));
        usage.cache_read(Some(self.cache_read)).cache_write(Some(self.cache_write)).cost(cost).into()
    }
}

impl Bridge {
    pub(super) fn message_ended(&mut self, line: &BridgeEvent, at: Option<Timestamp>) -> Vec<Event> {
        let Some(message) = &line.data.message else { return Vec::new() };
        let role = message.role.as_deref().unwrap_or_default();
        self.breakdown.message(role, message.custom_type.as_deref(), line.into());
        if role == "assistant" {
            let stop = said(message.stop_reason.as_ref());
            // The empty message that ends a broken-off run comes after the calls that it broke off.
            let ends = match stop.as_deref() {
                Some("aborted") => true,
                Some("error") => self.version.is_some_and(|version| version < NAMES_ABORTS),
                _ => false,
            };
            if !ends {
                self.errors.clear();
            }
            self.stop = stop;
        }
        let Some(used) = message.usage.as_ref().and_then(Tokens::read) else { return Vec::new() };
        let mut events: Vec<_> = self.used(&used, at).into_iter().collect();
        if role == "assistant" {
            self.tokens = Some(used.total);
            events.push(self.context(at));
        }
        events
    }

    pub(super) fn compacted(&mut self, data: &EventData, at: Option<Timestamp>) -> Vec<Event> {
        let used = data.compaction_entry.as_ref().and_then(|entry| Tokens::read(entry.usage.as_ref()?));
        let summary = used.map_or(0, |used| used.output.saturating_mul(CHARS_PER_TOKEN));
        self.breakdown.compacted(summary);
        self.tokens = None;
        let mut events: Vec<_> = used.iter().filter_map(|used| self.used(used, at)).collect();
        events.push(ContextEvent::new().at(at).window(self.window).into());
        events
    }

    /// Adds to what is known. Until all entries have come nothing is: a part would look like the whole.
    fn used(&mut self, used: &Tokens, at: Option<Timestamp>) -> Option<Event> {
        if let Some(reading) = &mut self.reading {
            reading.meanwhile(used);
        }
        self.counted.then(|| used.event(UsageMode::Add, at))
    }

    /// The context as it is known now, with what fills it.
    pub(super) fn context(&self, at: Option<Timestamp>) -> Event {
        let detail = self.breakdown.detail(at, self.tokens, self.window);
        let context = ContextEvent::new().at(at).tokens(self.tokens).window(self.window);
        context.detail(detail.map_or(Patch::Keep, Patch::Set)).into()
    }
}
