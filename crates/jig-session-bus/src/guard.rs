//! The words of the guard, which denies edits of what another live session holds ([`crate::Buses::edit_conflict`]).

use crate::claims::Conflict;

/// Why an edit is denied, as the model reads it.
pub fn reason(conflict: &Conflict) -> String {
    let since = conflict.claim.claimed_at.map(|at| format!(" since {at}")).unwrap_or_default();
    let (path, label, id) = (&conflict.claim.path, &conflict.label, &conflict.claim.id);
    format!("{path} is held by {label} (session {id}){since}. Ask with: jig-session bus send {label} …")
}
