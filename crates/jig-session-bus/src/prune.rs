//! Pruning: what the dead and the silent leave behind goes, under the lock, judged from the disk.

use jig_session_atomic::{Moved, PrivateDir};
use jig_session_schema::bus_result::MemberState as State;
use jig_session_schema::names;

use crate::clock::older;
use crate::error::Error;
use crate::holder::is_successor;
use crate::inboxes::{Inboxes, is_temporary};
use crate::limits;
use crate::mail_name;
use crate::member::Snapshot;
use crate::store::{self, Bus, CLAIMS, File, INBOX, QUARANTINE, Read, SESSIONS};
use crate::told;

impl Bus<'_> {
    /// Prunes if a look has shown something to prune and the lock is free at once; false when it did not. What goes is
    /// judged again under the lock.
    pub(crate) fn prune_if_untidy(&self, look: &Snapshot, inboxes: &Inboxes) -> Result<bool, Error> {
        Ok(self.is_untidy(look, inboxes)? && self.prune_if_free()?)
    }

    /// Whether a prune would find anything to do, as far as a look without the lock can tell.
    fn is_untidy(&self, look: &Snapshot, inboxes: &Inboxes) -> Result<bool, Error> {
        if inboxes.untidy || look.leftovers > 0 || self.is_prunable(look) {
            return Ok(true);
        }
        let Some(dir) = self.dir_looked() else { return Ok(false) };
        let names = dir.list()?;
        if names.iter().any(|name| is_temporary(name) || name.to_str().is_some_and(is_successor)) {
            return Ok(true);
        }
        if !names.iter().any(|name| name == QUARANTINE) {
            return Ok(false);
        }
        let Some(quarantine) = self.looked(QUARANTINE)? else { return Ok(false) };
        for name in quarantine.list()? {
            let stamp = quarantine.stamp(&name)?;
            if stamp.is_some_and(|stamp| older(look.now.wall_ms, stamp.modified_ms(), limits::TTL_MAIL_MS)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether [`Bus::prune`] would remove a record or a claim of this look, or move one out of the way.
    fn is_prunable(&self, look: &Snapshot) -> bool {
        let bad = |files: &[File<()>], age_ms| {
            files.iter().any(|file| matches!(file.read, Read::Bad) && is_old(file, look.now.wall_ms, age_ms))
        };
        look.claims.iter().any(|claim| !self.keeps_claims(look, &claim.id))
            || look.members.iter().any(is_spent)
            || bad(&look.claim_files, limits::UNPARSABLE_MS)
            || bad(&look.sessions, limits::TTL_TIMER_MS)
    }

    /// Prunes if the lock is free at once; false when it is not. A failure to prune is nobody's failure to read.
    pub fn prune_if_free(&self) -> Result<bool, Error> {
        let Some(lock) = self.try_lock()? else { return Ok(false) };
        lock.sweep(self.dir()?)?;
        self.settle_batch()?;
        let mut look = self.look()?;
        self.prune(&mut look)?;
        self.prune_mail(&look)?;
        Ok(true)
    }

    /// Removes what does not hold any more, from the disk and from the look. The caller holds the lock.
    ///
    /// A gone member's claims go at once; its record stays until its beat ages out, so that others see what died. A
    /// stale member's claims and record go. Without evidence about its process, its files stay for a day.
    pub(crate) fn prune(&self, look: &mut Snapshot) -> Result<(), Error> {
        if let Some(claims) = self.looked(CLAIMS)? {
            let keep: Vec<bool> = look.claims.iter().map(|claim| self.keeps_claims(look, &claim.id)).collect();
            for (claim, _) in look.claims.iter().zip(&keep).filter(|(_, keep)| !**keep) {
                claims.remove(store::claim_file(&claim.path, self.repo.place.folds_case))?;
            }
            let mut keep = keep.into_iter();
            look.claims.retain(|_| keep.next().unwrap_or(true));
            self.quarantine_bad(claims, &look.claim_files, look.now.wall_ms, limits::UNPARSABLE_MS)?;
        }
        if let Some(sessions) = self.looked(SESSIONS)? {
            for member in look.members.iter().filter(|member| is_spent(member)) {
                sessions.remove(store::record_file(&member.record.id)?)?;
                self.drop_inbox(&member.record.id)?;
            }
            look.members.retain(|member| !is_spent(member));
            self.quarantine_bad(sessions, &look.sessions, look.now.wall_ms, limits::TTL_TIMER_MS)?;
        }
        Ok(())
    }

    /// A claim lives as long as the record that was read from disk with it, and that one is live.
    pub(crate) fn keeps_claims(&self, look: &Snapshot, id: &str) -> bool {
        match look.member(id) {
            Some(member) => match member.state {
                State::Live => true,
                State::Gone => false,
                _ => !is_spent(member),
            },
            // A record that cannot be read now may be its owner's.
            None => look.sessions.iter().any(|file| {
                matches!(file.read, Read::Failed(_) | Read::Foreign | Read::Newer)
                    && names::bus_name(id).is_some_and(|stem| file.name.strip_suffix(".json") == Some(&stem))
            }),
        }
    }

    /// Expired mail, abandoned consumers' mail, temporaries, old quarantine. The caller holds the lock.
    pub(crate) fn prune_mail(&self, look: &Snapshot) -> Result<(), Error> {
        let gone = |pid: u32| crate::world::runs(self.world, pid, "").is_some_and(|runs| !runs);
        let wall = look.now.wall_ms;
        if let Some(inboxes) = self.looked(INBOX)? {
            for name in store::texts(inboxes.list()?) {
                let Some(inbox) = inboxes.sub_existing(&name)? else { continue };
                self.give_back(&inbox, &store::texts(inbox.list()?).collect::<Vec<_>>())?;
                inbox.sweep(wall, gone)?;
                let files: Vec<String> = store::texts(inbox.list()?).collect();
                for file in files.iter().filter(|file| self.is_expired(&inbox, file, look)) {
                    inbox.remove(file)?;
                }
                if told::is_removal_old(&inbox, wall) {
                    inbox.remove(told::REMOVED)?;
                }
                if !look.has_record_file(&name) {
                    drop_if_empty(inboxes, &inbox, &name)?;
                }
            }
        }
        self.dir()?.sweep(wall, gone)?;
        for folder in [SESSIONS, CLAIMS] {
            if let Some(folder) = self.looked(folder)? {
                folder.sweep(wall, gone)?;
            }
        }
        let Some(quarantine) = self.looked(QUARANTINE)? else { return Ok(()) };
        for name in store::texts(quarantine.list()?) {
            let stamp = quarantine.stamp(&name)?;
            if stamp.is_some_and(|stamp| older(wall, stamp.modified_ms(), limits::TTL_MAIL_MS)) {
                drop_held(quarantine, &name);
            }
        }
        Ok(())
    }

    /// Whether a message is older than a day, by the monotonic clock if it was sent in this boot.
    fn is_expired(&self, inbox: &PrivateDir, file: &str, look: &Snapshot) -> bool {
        let Some(ms) = mail_name::ms(file).and_then(|ms| i64::try_from(ms).ok()) else { return false };
        if !older(look.now.wall_ms, ms, limits::TTL_MAIL_MS) {
            return false;
        }
        match store::one(inbox, file, store::message, store::message_fits).map(|file| file.read) {
            Some(Read::Good(message)) => {
                let (mono, boot) = (message.sent_mono, message.boot_id.as_deref());
                look.now.since(message.sent_at.map_or(0, |at| at.epoch_ms()), mono, boot) > limits::TTL_MAIL_MS
            }
            _ => false,
        }
    }

    /// Moves files that are no documents out of the way, once they are old enough for any writer to have finished.
    pub(crate) fn quarantine_bad<T>(
        &self,
        folder: &PrivateDir,
        files: &[File<T>],
        wall_ms: i64,
        age_ms: u64,
    ) -> Result<usize, Error> {
        let mut moved = 0;
        for file in files.iter().filter(|file| matches!(file.read, Read::Bad)) {
            if is_old(file, wall_ms, age_ms) && self.quarantine(folder, &file.name)? {
                moved += 1;
            }
        }
        Ok(moved)
    }

    /// Moves one file to the quarantine, which keeps the newest hundred.
    pub(crate) fn quarantine(&self, folder: &PrivateDir, name: &str) -> Result<bool, Error> {
        let quarantine = self.dir()?.sub(QUARANTINE)?;
        let mut held: Vec<(i64, String)> = store::texts(quarantine.list()?)
            .filter_map(|name| Some((quarantine.stamp(&name).ok()??.modified_ms(), name)))
            .collect();
        held.sort();
        for (_, name) in held.iter().take((held.len() + 1).saturating_sub(limits::QUARANTINE)) {
            drop_held(&quarantine, name);
        }
        let stem = name.trim_start_matches('.').trim_end_matches(".json");
        let mut new = name.trim_start_matches('.').to_owned();
        for _ in 0..3 {
            match folder.move_new(name, &quarantine, &new)? {
                Moved::Done => return Ok(true),
                Moved::Missing => return Ok(false),
                Moved::Exists => new = format!("{stem}~{:08x}.json", self.world.random()),
            }
        }
        Ok(false)
    }

    /// Removes an inbox that holds no mail.
    pub(crate) fn drop_inbox(&self, id: &str) -> Result<(), Error> {
        let Some(inboxes) = self.looked(INBOX)? else { return Ok(()) };
        let name = store::file_stem(id)?;
        match inboxes.sub_existing(&name)? {
            Some(inbox) => drop_if_empty(inboxes, &inbox, &name),
            None => Ok(()),
        }
    }
}

/// Whether the record is to go: its beat has aged out, and there is evidence or a day has passed.
fn is_spent(member: &crate::member::Member) -> bool {
    if member.unproven { member.age_ms > limits::TTL_MAIL_MS } else { member.is_aged() }
}

/// Removes an inbox without mail, with the marks of its owner. A message that comes at that moment keeps the folder.
fn drop_if_empty(inboxes: &PrivateDir, inbox: &PrivateDir, name: &str) -> Result<(), Error> {
    let files: Vec<String> = store::texts(inbox.list()?).collect();
    if files.iter().any(|file| !told::is_mark(file)) {
        return Ok(());
    }
    for file in &files {
        inbox.remove(file)?;
    }
    match inboxes.remove_sub(name) {
        Err(error) if crate::inbox::is_not_empty(&error) => Ok(()),
        other => Ok(other.map(|_| ())?),
    }
}

/// Removes what lies in the quarantine, whatever it is. A folder that holds something is left to a person.
fn drop_held(quarantine: &PrivateDir, name: &str) {
    if quarantine.remove(name).is_err() {
        let _ = quarantine.remove_sub(name);
    }
}

/// Whether a file is so old that no writer is still at it; one that shows no time is.
pub(crate) fn is_old<T>(file: &File<T>, wall_ms: i64, age_ms: u64) -> bool {
    file.stamp.is_none_or(|stamp| older(wall_ms, stamp.modified_ms(), age_ms))
}
