//! Claims: a path held by one session at a time, all or nothing.

use std::collections::HashSet;
use std::ffi::OsString;

use jig_session_atomic::PrivateDir;
use jig_session_schema::bus::Claim;
use jig_session_schema::bus_result::MemberState as State;
use jig_session_schema::status::AgentName;
use jig_session_schema::time::Timestamp;

use crate::error::{Code, Error, Refusal};
use crate::join::{Join, Me};
use crate::limits;
use crate::member::Snapshot;
use crate::overlap::overlap;
use crate::path::{BadPath, ClaimPath, cleaned};
use crate::prune::is_old;
use crate::store::{self, Bus, CLAIMS, File, Read};

/// A requested path and the claim that conflicts with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The requested path, in its stored form.
    pub asked: String,
    /// The claim that stands in its way.
    pub claim: Claim,
    /// Its holder's label.
    pub label: String,
    /// Its holder's agent.
    pub agent: AgentName,
    /// What its holder counts as.
    pub state: State,
}

/// What came of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Claimed {
    /// Every requested path is held now.
    Held {
        /// Held since this call.
        claimed: Vec<String>,
        /// Held before.
        already: Vec<String>,
    },
    /// Nothing was changed: these stand in the way.
    Conflicts(Vec<Conflict>),
}

/// What came of a release.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Released {
    /// Not held any more.
    pub released: Vec<String>,
    /// Nobody here held them.
    pub not_held: Vec<String>,
    /// Others hold them, and still do.
    pub held_by_others: Vec<Claim>,
}

/// What is to be released.
pub enum Release<'a> {
    /// Everything the session holds.
    All,
    /// These: as they were typed, and as they resolve.
    Paths(&'a [(String, Result<ClaimPath, BadPath>)]),
}

impl Bus<'_> {
    /// Claims all of the paths, or none. Joins first.
    ///
    /// Everything happens under the lock, so two sessions cannot both find the way free. The look is taken again before
    /// it is released: a writer that does not know the lock is met there, or shows as an overlap in the status.
    pub fn claim(&self, me: &Me, paths: &[ClaimPath], reason: Option<&str>) -> Result<Claimed, Error> {
        if paths.len() > limits::CLAIMS_A_CALL {
            let message = format!("one call claims at most {} paths", limits::CLAIMS_A_CALL);
            return Err(Refusal::new(Code::Refused, message).hint("claim their folder").into());
        }
        if reason.is_some_and(|reason| reason.chars().count() > limits::REASON) {
            let message = format!("a reason has at most {} characters", limits::REASON);
            return Err(Refusal::new(Code::Refused, message).into());
        }
        let _lock = self.lock()?;
        let mut look = self.look_locked()?;
        self.prune(&mut look)?;
        let owned = look.member(&me.id).is_some_and(|m| m.state == State::Live && m.record.owner == me.owner);
        if !owned {
            let joined = self.join_locked(&mut look, me, &Join::default())?;
            self.note_joined(&joined);
        }
        let conflicts = self.conflicts(&look, &me.id, paths);
        if !conflicts.is_empty() {
            return Ok(Claimed::Conflicts(conflicts));
        }
        let held = |path: &str| look.claims.iter().any(|claim| claim.id == me.id && self.same_path(&claim.path, path));
        let mut new: Vec<&ClaimPath> = Vec::new();
        let mut already: Vec<String> = Vec::new();
        for path in paths {
            if new.iter().any(|seen| self.same_path(&seen.path, &path.path)) || already.contains(&path.path) {
                continue;
            }
            if held(&path.path) {
                already.push(path.path.clone());
            } else {
                new.push(path);
            }
        }
        let mine = look.claims.iter().filter(|claim| claim.id == me.id).count();
        if mine + new.len() > limits::CLAIMS_A_SESSION {
            let message = format!("one session holds at most {} paths", limits::CLAIMS_A_SESSION);
            return Err(Refusal::new(Code::Refused, message).hint("claim their folder, or release some").into());
        }
        self.make_claims(&look, me, &new, reason).map(|made| match made {
            Ok(claimed) => Claimed::Held { claimed, already },
            Err(conflicts) => Claimed::Conflicts(conflicts),
        })
    }

    /// Makes the files; takes back what it made when it cannot make all.
    fn make_claims(
        &self,
        look: &Snapshot,
        me: &Me,
        new: &[&ClaimPath],
        reason: Option<&str>,
    ) -> Result<Result<Vec<String>, Vec<Conflict>>, Error> {
        if new.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let claims = self.dir()?.sub(CLAIMS)?;
        // What a silent session left here would hold again if it came back: it has lost these paths now.
        for claim in look.claims.iter().filter(|claim| look.holder(claim).is_none()) {
            if let Some(path) = new.iter().find(|path| self.overlap(&claim.path, &path.path)) {
                if look.member(&claim.id).is_none() && self.keeps_claims(look, &claim.id) {
                    let message = format!("\"{}\" is held by session {}", claim.path, claim.id);
                    let hint = "its record cannot be read by this version of the program: see jig-session doctor";
                    return Err(Refusal::new(Code::Conflict, format!("{message}, in the way of \"{}\"", path.path))
                        .hint(hint)
                        .holder(claim.id.clone())
                        .into());
                }
                claims.remove(store::claim_file(&claim.path, self.repo.place.folds_case))?;
            }
        }
        let label = look.member(&me.id).map(|member| member.record.label.clone()).unwrap_or_default();
        let folds_case = self.repo.place.folds_case;
        let files: Vec<String> = new.iter().map(|path| store::claim_file(&path.path, folds_case)).collect();
        self.begin_batch(me, &files.iter().map(String::as_str).collect::<Vec<_>>())?;
        let mut made: Vec<(String, String)> = Vec::new();
        let mut outcome = Ok(None);
        for (path, name) in new.iter().zip(&files) {
            let mut claim = Claim::new();
            claim.path.clone_from(&path.path);
            claim.dir = path.dir;
            claim.id.clone_from(&me.id);
            claim.owner.clone_from(&me.owner);
            claim.label.clone_from(&label);
            claim.reason = reason.map(str::to_owned);
            claim.claimed_at = Some(Timestamp::from_epoch_ms(look.now.wall_ms));
            claim.root = self.repo.place.root.to_string_lossy().into_owned();
            match claims.create_new(name, &store::bytes(&claim)) {
                Ok(Some(_)) => made.push((name.clone(), path.path.clone())),
                // Somebody who does not know the lock was here since the look.
                Ok(None) => {
                    outcome = Ok(Some(path.path.clone()));
                    break;
                }
                Err(error) => {
                    outcome = Err(error);
                    break;
                }
            }
        }
        let again = self.claimed_beside(look, &claims, &made, &me.id, new);
        let held = matches!((&again, &outcome), (Ok(conflicts), Ok(None)) if conflicts.is_empty());
        // Without its end the note takes them back: from here on they hold.
        let ended = if held { self.end_batch(files.len()) } else { Ok(()) };
        if held && ended.is_ok() {
            return Ok(Ok(made.into_iter().map(|(_, path)| path).collect()));
        }
        for (name, _) in &made {
            claims.remove(name)?;
        }
        ended?;
        if !held {
            self.end_batch(files.len())?;
        }
        let conflicts = again?;
        match outcome? {
            Some(path) if conflicts.is_empty() => Err(self.obstacle(&claims, &path, look.now.wall_ms).into()),
            _ => Ok(Err(conflicts)),
        }
    }

    /// Why the file of a claim that nobody who is known holds is in the way, and what helps.
    fn obstacle(&self, claims: &PrivateDir, path: &str, wall_ms: i64) -> Refusal {
        let name = store::claim_file(path, self.repo.place.folds_case);
        let file = claims.path().join(&name);
        let file = file.display();
        let fits = |name: &str, claim: &Claim| store::claim_file(&claim.path, self.repo.place.folds_case) == name;
        let refused = |message: String, hint: String| Refusal::new(Code::Refused, message).hint(hint);
        match store::one(claims, &name, store::claim, fits) {
            Some(File { read: Read::Newer, .. }) => refused(
                format!("\"{path}\" is claimed by a session of a newer version of this program"),
                format!("install that version here too; the claim is {file}"),
            ),
            Some(File { read: Read::Foreign, .. }) => refused(
                format!("the claim of \"{path}\" is no file that this program has written"),
                format!("look at it, and remove it if it is nobody's: {file}"),
            ),
            Some(File { read: Read::Failed(problem), .. }) => {
                refused(format!("the claim of \"{path}\" cannot be read: {problem}"), format!("look at {file}"))
            }
            Some(file) if matches!(file.read, Read::Bad) && !is_old(&file, wall_ms, limits::UNPARSABLE_MS) => {
                let message = format!("the claim of \"{path}\" is not readable yet: it may still be being written");
                Refusal::new(Code::Busy, message).hint("try again in 5 s: what is no claim by then is moved away")
            }
            Some(_) => refused(
                format!("\"{path}\" is claimed by a session whose record cannot be read"),
                format!("its records are beside it; see: jig-session doctor; the claim is {file}"),
            ),
            None => Refusal::new(Code::Busy, format!("another session claimed \"{path}\" at the same moment"))
                .hint("try again"),
        }
    }

    /// The second check, before the lock is released: what a writer that does not know the lock has put in the way
    /// since the first. While nobody has made a claim beside ours there is nothing that was not judged already.
    fn claimed_beside(
        &self,
        look: &Snapshot,
        claims: &PrivateDir,
        made: &[(String, String)],
        id: &str,
        new: &[&ClaimPath],
    ) -> Result<Vec<Conflict>, Error> {
        let known: HashSet<&str> = look
            .claim_files
            .iter()
            .map(|file| file.name.as_str())
            .chain(made.iter().map(|(name, _)| &**name))
            .collect();
        let is_known = |name: &OsString| name.to_str().is_none_or(|name| known.contains(name));
        if claims.documents()?.iter().all(is_known) {
            return Ok(Vec::new());
        }
        let asked: Vec<ClaimPath> = new.iter().map(|path| (*path).clone()).collect();
        Ok(self.conflicts(&self.look_whole()?, id, &asked))
    }

    /// What stands in the way of these paths for this session.
    pub fn conflicts(&self, look: &Snapshot, id: &str, paths: &[ClaimPath]) -> Vec<Conflict> {
        let mut conflicts = Vec::new();
        let keys: Vec<String> = look.claims.iter().map(|claim| self.key(&claim.path)).collect();
        for path in paths {
            let asked = self.key(&path.path);
            let met = look.claims.iter().zip(&keys).filter(|(_, key)| overlap(key, &asked));
            for (claim, _) in met {
                if let Some(holder) = look.holder(claim).filter(|holder| holder.record.id != id) {
                    conflicts.push(Conflict {
                        asked: path.path.clone(),
                        claim: claim.clone(),
                        label: holder.record.label.clone(),
                        agent: holder.record.agent.clone(),
                        state: holder.state,
                    });
                }
            }
        }
        conflicts
    }

    /// Releases paths, or all. What another session holds, or another incarnation of this one, stays.
    pub fn release(&self, me: &Me, release: &Release<'_>) -> Result<Released, Error> {
        let _lock = self.lock()?;
        let mut look = self.look_locked()?;
        self.prune(&mut look)?;
        if look.member(&me.id).is_none_or(|member| member.state != State::Live) {
            let joined = self.join_locked(&mut look, me, &Join::default())?;
            self.note_joined(&joined);
        }
        let mut result = Released::default();
        let mut released: Vec<&Claim> = Vec::new();
        let is_mine = |claim: &Claim| claim.id == me.id && claim.owner == me.owner;
        match release {
            Release::All => released.extend(look.claims.iter().filter(|claim| is_mine(claim))),
            Release::Paths(paths) => {
                for (typed, resolved) in *paths {
                    let stored = stored_spelling(typed);
                    let find = |path: &str, mine: bool| {
                        look.claims.iter().find(|claim| is_mine(claim) == mine && self.same_path(&claim.path, path))
                    };
                    let resolved = resolved.as_ref().ok().map(|path| path.path.as_str());
                    // The stored spelling goes first: from a folder below the root it resolves to something else.
                    let own = find(&stored, true).or_else(|| find(resolved?, true));
                    let other = || find(resolved.unwrap_or(&stored), false).filter(|c| look.holder(c).is_some());
                    match own {
                        Some(claim) if released.contains(&claim) => {}
                        Some(claim) => released.push(claim),
                        None => match other() {
                            Some(claim) => result.held_by_others.push(claim.clone()),
                            None => result.not_held.push(resolved.unwrap_or(&stored).to_owned()),
                        },
                    }
                }
            }
        }
        if let Some(claims) = self.looked(CLAIMS)? {
            for claim in released {
                claims.remove(store::claim_file(&claim.path, self.repo.place.folds_case))?;
                result.released.push(claim.path.clone());
            }
        }
        Ok(result)
    }

    fn same_path(&self, a: &str, b: &str) -> bool {
        let folds = self.repo.place.folds_case;
        crate::path::key(a, folds) == crate::path::key(b, folds)
    }
}

/// What was typed, cleaned as a stored path would be, without being resolved.
fn stored_spelling(typed: &str) -> String {
    let typed = typed.trim_end_matches('/');
    let typed = typed.strip_suffix("/**").or_else(|| typed.strip_suffix("/*")).unwrap_or(typed);
    let clean = crate::text::nfc(&cleaned(typed));
    if typed.starts_with("./@") { format!("./{clean}") } else { clean }
}
