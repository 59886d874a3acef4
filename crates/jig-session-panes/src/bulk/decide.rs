//! What happens with one pane: the first condition that matches decides.

use jig_session_schema::bulk::{Action, EntryDecision, Queue};
use jig_session_schema::live::PaneStatus;

/// Everything a decision depends on.
#[derive(Clone, Copy, Debug)]
pub struct DecisionInput<'a> {
    /// The action.
    pub action: Action,
    /// The pane's status.
    pub status: PaneStatus,
    /// The statuses that `--status` names.
    pub statuses: Option<&'a [PaneStatus]>,
    /// The guard's reasons against adding load to this machine.
    pub reasons: &'a [String],
    /// `--dry-run`.
    pub dry_run: bool,
    /// `--yes`.
    pub yes: bool,
    /// Not `--no-queue`.
    pub queue: bool,
}

/// Decides on one pane: the decision, the reason, the queue.
pub fn decide(input: &DecisionInput<'_>) -> (EntryDecision, String, Queue) {
    let DecisionInput { action, status, .. } = *input;
    let none = |decision, reason: String| (decision, reason, Queue::None);
    if action.is_read_only() {
        let mut reason = "read-only bulk check".to_owned();
        if !input.reasons.is_empty() {
            reason.push_str("; guard warnings: ");
            reason.push_str(&input.reasons.join("; "));
        }
        return none(EntryDecision::Planned, reason);
    }
    if !input.reasons.is_empty() {
        return none(EntryDecision::Refused, input.reasons.join("; "));
    }
    if action == Action::Ensure && status != PaneStatus::Dead {
        return none(EntryDecision::Skipped, "pane already exists".into());
    }
    if action == Action::Start && status != PaneStatus::Dead {
        return none(EntryDecision::Skipped, "pane is already started".into());
    }
    let ends = matches!(action, Action::Stop | Action::Restart);
    let in_use = matches!(status, PaneStatus::Active | PaneStatus::NeedsAttention);
    let named = input.statuses.is_some_and(|statuses| statuses.contains(&status));
    if ends && in_use && !named {
        let reason = format!("refusing {action} for {status} pane without explicit --status {status}");
        return none(EntryDecision::Refused, reason);
    }
    if input.dry_run {
        return none(EntryDecision::Planned, "dry run".into());
    }
    if !input.yes {
        return none(EntryDecision::Refused, "mutating bulk operation requires --yes".into());
    }
    if input.queue {
        return (EntryDecision::Queued, "queued behind local concurrency guard".into(), Queue::Local);
    }
    none(EntryDecision::Planned, "ready to run".into())
}
