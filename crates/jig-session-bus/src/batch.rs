//! A note of the claims that one call is making: they hold together or not at all, also when its process is killed
//! between two of them.
//!
//! It is written under the lock before the first claim and removed after the last one has been looked at. Whoever finds
//! it under the lock knows that its writer is dead, and takes back what it had made. Whoever finds it without the lock
//! passes over the claims it names: they do not hold yet, and maybe never will.

use jig_session_atomic::{PrivateDir, Reason};
use jig_session_schema::bus_marks::ClaimBatch;
use jig_session_schema::limits::BUS_FILE_BYTES;

use crate::error::Error;
use crate::join::Me;
use crate::member::Snapshot;
use crate::store::{self, Bus, CLAIMS, Read};

const NOTE: &str = "claiming.json";

impl Bus<'_> {
    /// Notes what is about to be made. One claim alone is made whole or not at all by itself. The caller holds the lock.
    pub(crate) fn begin_batch(&self, me: &Me, files: &[&str]) -> Result<(), Error> {
        if files.len() > 1 {
            let files = files.iter().map(|file| (*file).to_owned()).collect();
            let note = ClaimBatch::new().id(me.id.clone()).owner(me.owner.clone()).files(files);
            self.dir()?.write(NOTE, &store::bytes(&note))?;
        }
        Ok(())
    }

    /// All are made, or all are taken back: from now on what is there holds. The caller holds the lock.
    pub(crate) fn end_batch(&self, files: usize) -> Result<(), Error> {
        if files > 1 {
            self.dir()?.remove(NOTE)?;
        }
        Ok(())
    }

    /// Takes back what a killed process was making. The caller holds the lock.
    pub(crate) fn settle_batch(&self) -> Result<(), Error> {
        let dir = self.dir()?;
        let read = match dir.read(NOTE, BUS_FILE_BYTES) {
            Err(problem) if problem.reason == Reason::Missing => return Ok(()),
            Err(problem) if problem.reason == Reason::Unreadable => {
                return Err(Error::Entry { path: dir.path().join(NOTE), problem });
            }
            read => read.ok(),
        };
        // A note that says nothing is what a power cut leaves, and no process has outlived that.
        if let Some(batch) = read.and_then(|read| whole(&read.bytes))
            && let Some(claims) = self.looked(CLAIMS)?
        {
            for file in &batch.files {
                take_back(claims, file, &batch)?;
            }
        }
        dir.remove(NOTE)?;
        Ok(())
    }

    /// Passes over the claims that are being made, or were when their process was killed.
    pub(crate) fn pass_over_batch(&self, look: &mut Snapshot) -> Result<(), Error> {
        let Some(dir) = self.dir_looked() else { return Ok(()) };
        let read = match dir.read(NOTE, BUS_FILE_BYTES) {
            Ok(read) => read,
            Err(problem) if problem.reason == Reason::Unreadable => {
                return Err(Error::Entry { path: dir.path().join(NOTE), problem });
            }
            Err(_) => return Ok(()),
        };
        look.leftovers += 1;
        let Some(batch) = whole(&read.bytes) else { return Ok(()) };
        let folds_case = self.repo.place.folds_case;
        look.claims.retain(|claim| {
            let named = batch.files.contains(&store::claim_file(&claim.path, folds_case));
            !(named && claim.id == batch.id && claim.owner == batch.owner)
        });
        Ok(())
    }
}

/// A note that says everything: one of which a part cannot be read names no claims.
fn whole(bytes: &[u8]) -> Option<ClaimBatch> {
    let read = ClaimBatch::read(bytes).ok()?;
    read.problems.is_empty().then_some(read.value)
}

fn take_back(claims: &PrivateDir, file: &str, batch: &ClaimBatch) -> Result<(), Error> {
    match store::one(claims, file, store::claim, |_, _| true).map(|file| file.read) {
        // Another's claim of that name was there before, or came after.
        Some(Read::Good(claim)) if claim.id == batch.id && claim.owner == batch.owner => {
            claims.remove(file)?;
            Ok(())
        }
        Some(Read::Failed(problem)) => Err(Error::Entry { path: claims.path().join(file), problem }),
        _ => Ok(()),
    }
}
