//! What happens with one pane: the first condition that matches decides.

use jig_session_schema::bulk::{Action, EntryDecision, Queue};
use jig_session_schema::live::PaneStatus;

/// Everything a decision rests on.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// The action.
    pub action: Action,
    /// The pane's status.
    pub status: PaneStatus,
    /// The statuses that `--status` names.
    pub statuses: Option<&'a [PaneStatus]>,
    /// What speaks against burdening the machine.
    pub reasons: &'a [String],
    /// `--dry-run`.
    pub dry_run: bool,
    /// Whether anything may be run at all.
    pub execution_enabled: bool,
    /// `--yes`.
    pub yes: bool,
    /// Not `--no-queue`.
    pub queue: bool,
}

/// Decides on one pane: the decision, the reason, the queue.
pub fn decide(given: &Given<'_>) -> (EntryDecision, String, Queue) {
    let Given { action, status, .. } = *given;
    let none = |decision, reason: String| (decision, reason, Queue::None);
    if action.is_read_only() {
        let mut reason = "read-only bulk check".to_owned();
        if !given.reasons.is_empty() {
            reason.push_str("; guard warnings: ");
            reason.push_str(&given.reasons.join("; "));
        }
        return none(EntryDecision::Planned, reason);
    }
    if !given.reasons.is_empty() {
        return none(EntryDecision::Refused, given.reasons.join("; "));
    }
    if action == Action::Ensure && status != PaneStatus::Dead {
        return none(EntryDecision::Skipped, "pane already exists".into());
    }
    if action == Action::Start && status != PaneStatus::Dead {
        return none(EntryDecision::Skipped, "pane is already started".into());
    }
    let ends = matches!(action, Action::Stop | Action::Restart);
    let in_use = matches!(status, PaneStatus::Active | PaneStatus::NeedsAttention);
    let named = given.statuses.is_some_and(|statuses| statuses.contains(&status));
    if ends && in_use && !named {
        let reason = format!("refusing {action} for {status} pane without explicit --status {status}");
        return none(EntryDecision::Refused, reason);
    }
    if given.dry_run {
        return none(EntryDecision::Planned, "dry run".into());
    }
    if !given.execution_enabled {
        let reason = "mutating execution backend is not enabled; use --dry-run for planning";
        return none(EntryDecision::Refused, reason.into());
    }
    if !given.yes {
        return none(EntryDecision::Refused, "mutating bulk operation requires --yes".into());
    }
    if given.queue {
        return (EntryDecision::Queued, "queued behind local concurrency guard".into(), Queue::Local);
    }
    none(EntryDecision::Planned, "ready to run".into())
}
