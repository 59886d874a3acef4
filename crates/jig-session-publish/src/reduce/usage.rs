//! Tokens, cost and context.

use jig_session_schema::event::{ContextEvent, UsageEvent, UsageMode};
use jig_session_schema::limits::COUNT_MAX;
use jig_session_schema::shape::Patch;
use jig_session_schema::status::{Status, Usage};
use jig_session_schema::time::Timestamp;

/// Adds to the sums, or replaces those the event carries.
///
/// A call without a price shows in the document itself: its sums are known and its cost is not. So a cost that is
/// null beside sums stays null until a `set` names one.
pub(super) fn apply(usage: &mut Usage, event: &UsageEvent) {
    let given = [event.input, event.output, event.cache_read, event.cache_write];
    match event.mode {
        UsageMode::Add => {
            if given.iter().all(|tokens| tokens.unwrap_or_default() == 0) {
                return;
            }
            let fresh = sums(usage).iter().all(|sum| sum.is_none());
            let cost = event.cost.set().copied();
            usage.cost = if fresh { cost } else { usage.cost.zip(cost).map(|(sum, more)| sum + more) };
            for (sum, more) in sums(usage).into_iter().zip(given) {
                let more = more.unwrap_or_default();
                *sum = Some(sum.unwrap_or_default().saturating_add(more).min(COUNT_MAX));
            }
        }
        UsageMode::Set => {
            for (sum, given) in sums(usage).into_iter().zip(given) {
                if given.is_some() {
                    *sum = given;
                }
            }
            event.cost.clone().apply(&mut usage.cost);
        }
        _ => {}
    }
}

fn sums(usage: &mut Usage) -> [&mut Option<u64>; 4] {
    [&mut usage.input, &mut usage.output, &mut usage.cache_read, &mut usage.cache_write]
}

/// Takes the agent's own last real numbers; the share is computed when it is left out.
pub(super) fn context(status: &mut Status, event: &ContextEvent, at: Timestamp) {
    let context = &mut status.context;
    context.tokens = event.tokens;
    context.window = event.window;
    let given = event.percent.filter(|percent| percent.is_finite()).map(|percent| tenths(percent * 10.0));
    context.percent = given.or_else(|| percent(event.tokens?, event.window?));
    event.detail.clone().apply(&mut status.context_detail);
    if let (Patch::Set(_), Some(detail)) = (&event.detail, &mut status.context_detail) {
        detail.at = detail.at.or(Some(at));
    }
}

/// Per cent with one decimal, at most 100.
#[allow(clippy::cast_precision_loss, reason = "a share with one decimal needs no more than 53 bits")]
fn percent(tokens: u64, window: u64) -> Option<f64> {
    if window == 0 {
        return None;
    }
    Some(tenths(tokens as f64 / window as f64 * 1000.0))
}

fn tenths(tenths: f64) -> f64 {
    tenths.round().clamp(0.0, 1000.0) / 10.0
}
