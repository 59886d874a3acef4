//! The guard: may a session's editing tool write these files, or does another live session hold one of them?

use crate::claims::Conflict;
use crate::error::Error;
use crate::path;
use crate::store::Bus;

/// An editing tool's call, before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    /// The session whose tool it is.
    pub session: &'a str,
    /// The files it is about to write, as its agent spelled them.
    pub files: &'a [String],
    /// The session is guarded whatever its record says (`JIG_BUS_GUARD=1`).
    pub always: bool,
}

impl Bus<'_> {
    /// The claim of another live session that the edit would write into. `None` allows the edit: so does every doubt,
    /// such as a session that is no member or a file outside the repository.
    pub fn edit_conflict(&self, edit: &Edit<'_>) -> Result<Option<Conflict>, Error> {
        if edit.files.is_empty() || !self.has_claims()? {
            return Ok(None);
        }
        let Some(member) = self.member(edit.session)? else { return Ok(None) };
        if !edit.always && member.record.guard != Some(true) {
            return Ok(None);
        }
        let paths: Vec<_> = edit.files.iter().filter_map(|file| path::locate(file, &self.repo().place)).collect();
        if paths.is_empty() {
            return Ok(None);
        }
        Ok(self.conflicts(&self.look()?, edit.session, &paths).into_iter().next())
    }
}

/// Why the edit is denied, as the model reads it.
pub fn reason(conflict: &Conflict) -> String {
    let since = conflict.claim.claimed_at.map(|at| format!(" since {at}")).unwrap_or_default();
    let (path, label, id) = (&conflict.claim.path, &conflict.label, &conflict.claim.id);
    format!("{path} is held by {label} (session {id}){since}. Ask with: jig-session bus send {label} …")
}
