//! Members and what they hold: one look at the bus, judged.

use std::collections::HashMap;

use jig_session_liveness::{Record as Proof, Verdict};
use jig_session_schema::bus::{Beat, Claim, Record};
use jig_session_schema::bus_result::MemberState as State;
use jig_session_schema::status::Process;

use crate::clock::Moment;
use crate::error::Error;
use crate::store::{self, Bus, CLAIMS, File, SESSIONS};
use crate::world::{World, verdict};
use crate::{limits, path};

/// A record and what its owner counts as now.
#[derive(Debug)]
pub struct Member {
    /// The record, as read.
    pub record: Record,
    /// The judgement.
    pub state: State,
    /// There is no evidence about its process.
    pub unproven: bool,
    /// Milliseconds since its last beat.
    pub age_ms: u64,
}

impl Member {
    /// Judges a record.
    pub fn judge(record: Record, now: &Moment, world: &dyn World) -> Self {
        let verdict = verdict(world, record.pid, record.process.as_ref());
        Self::with_verdict(record, now, verdict)
    }

    fn with_verdict(record: Record, now: &Moment, verdict: Verdict) -> Self {
        let boot = record.process.as_ref().and_then(|process| process.boot_id.as_deref());
        let beat_ms = record.beat_at.map_or(0, |at| at.epoch_ms());
        let age_ms = now.since(beat_ms, record.beat_mono, boot);
        let state = match verdict.is_over() {
            true => State::Gone,
            _ if age_ms > ttl_ms(&record) => State::Stale,
            _ => State::Live,
        };
        Self { state, unproven: verdict == Verdict::Unknown, age_ms, record }
    }

    /// Whether its last beat is older than its TTL.
    pub fn is_aged(&self) -> bool {
        self.age_ms > ttl_ms(&self.record)
    }
}

/// Judges the records of one look: each process is looked up once, however many records name it.
pub(crate) struct Lives<'w> {
    world: &'w dyn World,
    asked: HashMap<u32, Vec<(Process, Verdict)>>,
}

impl<'w> Lives<'w> {
    pub(crate) fn new(world: &'w dyn World) -> Self {
        Self { world, asked: HashMap::new() }
    }

    pub(crate) fn judge(&mut self, record: Record, now: &Moment) -> Member {
        let verdict = match (record.pid, &record.process) {
            (Some(pid), Some(process)) => {
                let asked = self.asked.entry(pid).or_default();
                match asked.iter().find(|(known, _)| known == process) {
                    Some((_, verdict)) => *verdict,
                    None => {
                        let verdict = verdict(self.world, Some(pid), Some(process));
                        asked.push((process.clone(), verdict));
                        verdict
                    }
                }
            }
            (pid, process) => verdict(self.world, pid, process.as_ref()),
        };
        Member::with_verdict(record, now, verdict)
    }
}

/// Milliseconds after which a member without a beat is stale.
fn ttl_ms(record: &Record) -> u64 {
    match record.beat {
        Beat::Timer => limits::TTL_TIMER_MS,
        _ => limits::TTL_CALLS_MS,
    }
}

/// Whether two records are, by proof, of one process that runs for one session at a time.
pub(crate) fn same_process(a: &Record, b: &Record) -> bool {
    let (a, b) = (Proof::of(a.pid, a.process.as_ref()), Proof::of(b.pid, b.process.as_ref()));
    a.is_proof() && a.same_process(&b) && !a.shared && !b.shared
}

/// One look at the members and claims of a bus.
pub struct Snapshot {
    /// When.
    pub now: Moment,
    /// Every member with a readable record, in the order of their names.
    pub members: Vec<Member>,
    /// Every readable claim, whoever holds it.
    pub claims: Vec<Claim>,
    /// Files that are no documents, or of a newer schema.
    pub unreadable: usize,
    pub(crate) sessions: Vec<File<()>>,
    pub(crate) claim_files: Vec<File<()>>,
    /// Temporaries that lie between the records and claims.
    pub(crate) leftovers: usize,
}

impl Snapshot {
    /// Whether there is a record's file of this name on disk, readable or not.
    pub(crate) fn has_record_file(&self, stem: &str) -> bool {
        self.sessions.iter().any(|file| file.name.strip_suffix(".json") == Some(stem))
    }

    /// The member with this id.
    pub fn member(&self, id: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.record.id == id)
    }

    /// The look, if every file could be read: nobody may decide as if what cannot be read were not there.
    pub(crate) fn whole(self, path: &std::path::Path) -> Result<Self, Error> {
        let folders = [(CLAIMS, &self.claim_files), (SESSIONS, &self.sessions)];
        for (folder, file) in
            folders.into_iter().flat_map(|(folder, files)| files.iter().map(move |file| (folder, file)))
        {
            if let store::Read::Failed(problem) = file.read {
                return Err(Error::Entry { path: path.join(folder).join(&file.name), problem });
            }
        }
        Ok(self)
    }

    /// The live member that holds a claim; `None` when the claim does not hold.
    pub fn holder(&self, claim: &Claim) -> Option<&Member> {
        self.member(&claim.id).filter(|member| member.state == State::Live)
    }
}

impl Bus<'_> {
    /// As [`Bus::look`], and an error when a file could not be read: for those who decide by what is not there.
    pub fn look_whole(&self) -> Result<Snapshot, Error> {
        self.look()?.whole(self.path())
    }

    /// As [`Bus::look_whole`], after what a killed process was making has been taken back. The caller holds the lock.
    pub(crate) fn look_locked(&self) -> Result<Snapshot, Error> {
        self.settle_batch()?;
        self.look_whole()
    }

    /// The members alone, without their claims; an error when a record could not be read.
    pub fn members_whole(&self) -> Result<Vec<Member>, Error> {
        let (records, _) = store::scan(self.looked(SESSIONS)?, store::record, store::record_fits)?;
        let now = self.world.now();
        let mut lives = Lives::new(self.world);
        let mut members = Vec::new();
        for file in records {
            match file.read {
                store::Read::Good(record) => members.push(lives.judge(record, &now)),
                store::Read::Failed(problem) => {
                    return Err(Error::Entry { path: self.path().join(SESSIONS).join(&file.name), problem });
                }
                _ => {}
            }
        }
        Ok(members)
    }

    /// Reads the members and their claims. Takes no lock and writes nothing.
    pub fn look(&self) -> Result<Snapshot, Error> {
        // Claims first: a claim that is seen was made by a record that was there before it.
        let claims = self.looked(CLAIMS)?;
        let folds_case = self.repo.place.folds_case;
        let fits = |name: &str, claim: &Claim| store::claim_file(&claim.path, folds_case) == name;
        let (claims, beside_claims) = store::scan(claims, store::claim, fits)?;
        let sessions = self.looked(SESSIONS)?;
        let (records, beside_records) = store::scan(sessions, store::record, store::record_fits)?;
        let now = self.world.now();
        let mut look = Snapshot {
            now,
            members: Vec::new(),
            claims: Vec::new(),
            unreadable: 0,
            sessions: Vec::new(),
            claim_files: Vec::new(),
            leftovers: beside_claims + beside_records,
        };
        let mut lives = Lives::new(self.world);
        for file in records {
            let (file, record) = split(file);
            look.unreadable += usize::from(record.is_none());
            look.members.extend(record.map(|record| lives.judge(record, &look.now)));
            look.sessions.push(file);
        }
        for file in claims {
            let (file, claim) = split(file);
            look.unreadable += usize::from(claim.is_none());
            look.claims.extend(claim);
            look.claim_files.push(file);
        }
        self.pass_over_batch(&mut look)?;
        Ok(look)
    }

    /// Whether anybody may hold anything: false spares the look.
    pub fn has_claims(&self) -> Result<bool, Error> {
        match self.looked(CLAIMS)? {
            Some(claims) => Ok(!claims.documents()?.is_empty()),
            None => Ok(false),
        }
    }

    /// The spelling that a stored path is compared by.
    pub(crate) fn key(&self, path: &str) -> String {
        path::key(path, self.repo.place.folds_case)
    }

    /// Whether two stored paths collide, on a file system that may fold case.
    pub(crate) fn overlap(&self, a: &str, b: &str) -> bool {
        let folds = self.repo.place.folds_case;
        crate::overlap::overlap(&path::key(a, folds), &path::key(b, folds))
    }
}

fn split<T>(file: File<T>) -> (File<()>, Option<T>) {
    let File { name, stamp, read } = file;
    let (read, value) = match read {
        store::Read::Good(value) => (store::Read::Good(()), Some(value)),
        store::Read::Newer => (store::Read::Newer, None),
        store::Read::Bad => (store::Read::Bad, None),
        store::Read::Foreign => (store::Read::Foreign, None),
        store::Read::Failed(problem) => (store::Read::Failed(problem), None),
    };
    (File { name, stamp, read }, value)
}
