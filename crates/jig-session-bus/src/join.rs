//! Joining and leaving.

use jig_session_schema::bus::{Beat, IdFrom, LabelFrom, Listen, ListenMode, Record};
use jig_session_schema::bus_result::MemberState as State;
use jig_session_schema::status::{AgentName, Process};
use jig_session_schema::time::Timestamp;

use crate::error::{Code, Error, Refusal};
use crate::member::{Member, Snapshot, same_process};
use crate::store::{self, Bus, CLAIMS, SESSIONS};
use crate::who::IdSource;
use crate::{label, limits, owner};

/// Who acts on the bus: one session of one agent process.
#[derive(Clone, Debug)]
pub struct Me {
    /// The session's id.
    pub id: String,
    /// The agent's name on the bus.
    pub agent: AgentName,
    /// The model, for people.
    pub model: Option<String>,
    /// The agent's process, never a command of ours.
    pub pid: Option<u32>,
    /// Its identity.
    pub process: Option<Process>,
    /// The session's name, as its user set it; the label is derived from it.
    pub name: Option<String>,
    /// How the id became known.
    pub source: IdSource,
    /// A process of ours beats every ten seconds; without one, every call beats.
    pub timer: bool,
    /// Which incarnation this is.
    pub owner: String,
}

impl Me {
    /// The owner of this id and process. Without a process, `random` distinguishes two incarnations.
    pub fn owner_of(id: &str, pid: Option<u32>, process: Option<&Process>, random: u32) -> String {
        owner::of(id, pid, process.and_then(|process| process.start.as_deref()), random)
    }
}

/// How a member is notified of mail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listening {
    /// At its next turn.
    Next,
    /// By raising one turn.
    Wake,
    /// Not at all.
    Off,
}

/// The options of a join.
#[derive(Clone, Debug, Default)]
pub struct Join<'a> {
    /// The label that is wanted; derived when left out.
    pub label: Option<&'a str>,
    /// `None` for a join that an action brings about: a member keeps its mode, a new one listens.
    pub listening: Option<Listening>,
    /// Whether edits of paths that others hold are denied; `None` keeps what is.
    pub guard: Option<bool>,
}

/// What came of a join.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The record as it is on disk now.
    pub record: Record,
    /// The session was not on the bus before.
    pub joined: bool,
}

/// A session that a join has taken off the bus: its id, its label, and the paths it held.
pub(crate) struct Replaced {
    pub(crate) id: String,
    pub(crate) label: String,
    pub(crate) released: Vec<String>,
}

impl Bus<'_> {
    /// Puts the session on the bus, or changes how it is on it.
    pub fn join(&self, me: &Me, join: &Join<'_>) -> Result<Joined, Error> {
        let _lock = self.lock()?;
        let mut look = self.look_locked()?;
        self.prune(&mut look)?;
        self.join_locked(&mut look, me, join)
    }

    /// Joins if the session is not on the bus; a member that beats by its calls beats.
    pub fn ensure_joined(&self, me: &Me) -> Result<Record, Error> {
        if let Some(record) = self.record(&me.id)? {
            let member = Member::judge(record, &self.world.now(), self.world);
            if member.state == State::Live {
                if member.record.owner == me.owner {
                    self.beat_if_due(me, &member);
                }
                return Ok(member.record);
            }
        }
        let joined = self.join(me, &Join::default())?;
        self.note_joined(&joined);
        Ok(joined.record)
    }

    /// Notes that an action has put its session on this bus.
    pub(crate) fn note_joined(&self, joined: &Joined) {
        if joined.joined {
            let root = self.repo.place.root.display();
            self.note(format!("joined the bus of {root} as \"{}\" just now", joined.record.label));
        }
    }

    /// As [`Bus::join`]. The caller holds the lock and has pruned.
    pub(crate) fn join_locked(&self, look: &mut Snapshot, me: &Me, join: &Join<'_>) -> Result<Joined, Error> {
        let now = look.now.clone();
        let at = Timestamp::from_epoch_ms(now.wall_ms);
        // Checked before anything is changed: a refusal leaves every byte as it was.
        let former = look.member(&me.id).filter(|member| member.state == State::Live).map(|m| m.record.clone());
        let (label, label_from) = self.label(look, me, join.label, former.as_ref())?;
        let replaced = self.leave_former_ids(look, me)?;
        let mut record = former.clone().unwrap_or_default();
        record.id.clone_from(&me.id);
        record.label = label;
        record.label_from = label_from;
        record.id_from = Some(match me.source {
            IdSource::Given => IdFrom::GIVEN,
            IdSource::Agent { .. } => IdFrom::AGENT,
            IdSource::Own => IdFrom::OWN,
        });
        record.agent.clone_from(&me.agent);
        record.model = me.model.clone().or(record.model);
        record.pid = me.pid;
        record.process.clone_from(&me.process);
        record.owner.clone_from(&me.owner);
        record.cwd = self.repo.place.cwd.to_string_lossy().into_owned();
        record.root = self.repo.place.root.to_string_lossy().into_owned();
        record.branch.clone_from(&self.repo.branch);
        let mode = match join.listening {
            Some(Listening::Off) => None,
            Some(Listening::Next) => Some(ListenMode::Next),
            Some(Listening::Wake) => Some(ListenMode::Wake),
            None if former.is_some() => record.listen.as_ref().map(|listen| listen.mode),
            None => Some(ListenMode::Next),
        };
        if record.listen.as_ref().map(|listen| listen.mode) != mode {
            record.listen = mode.map(|mode| Listen::new().mode(mode).since(Some(at)));
        }
        if let Some(guard) = join.guard {
            record.guard = guard.then_some(true);
        }
        if former.is_none() {
            record.joined_at = Some(at);
        }
        stamp(&mut record, me, &now);
        let taken_over = former.as_ref().is_some_and(|former| former.owner != me.owner);
        // First the claims: when one cannot be written the record is still the former one, and the next join does the rest.
        if taken_over {
            self.take_over_claims(look, me)?;
        }
        self.write_record(&record)?;
        // The session is on the bus; what is only a hint does not take it off again.
        if let Err(error) = self.note_place() {
            self.note(format!("where this repository lies is not noted: {error}"));
        }
        look.members.retain(|member| member.record.id != me.id);
        look.members.push(Member::judge(record.clone(), &now, self.world));
        for replaced in &replaced {
            let Replaced { id, label, released } = replaced;
            self.note(format!(
                "\"{label}\" (session {id}), which this agent had before, left the bus{}",
                list(released)
            ));
            self.note_removal(replaced, &record, at);
        }
        Ok(Joined { record, joined: former.is_none() })
    }

    /// The label: an explicit one, else the current one, else one derived from a name.
    fn label(
        &self,
        look: &Snapshot,
        me: &Me,
        given: Option<&str>,
        former: Option<&Record>,
    ) -> Result<(String, LabelFrom), Error> {
        let others = || look.members.iter().filter(|m| m.state == State::Live && m.record.id != me.id);
        // A former id leaves with this join; its label is free.
        let others = || others().filter(|m| !replaces(me, &m.record));
        let holder = |label: &str| others().find(|m| label::alike(&m.record.label, label) || m.record.id == label);
        if let Some(given) = given {
            let label = label::given(given).map_err(|bad| Refusal::new(Code::Refused, bad.to_string()))?;
            if let Some(holder) = holder(&label) {
                let id = &holder.record.id;
                let what = match &holder.record {
                    record if record.id == label => "is the id of".to_owned(),
                    record if label::same(&record.label, &label) => "is held by".to_owned(),
                    record => format!("looks like \"{}\" of", record.label),
                };
                return Err(Refusal::new(Code::LabelHeld, format!("the label \"{label}\" {what} session {id}"))
                    .hint("join with another label")
                    .holder(id.clone())
                    .into());
            }
            return Ok((label, LabelFrom::GIVEN));
        }
        if let Some(former) = former.filter(|former| holder(&former.label).is_none()) {
            return Ok((former.label.clone(), former.label_from.clone()));
        }
        let named = me.name.as_deref().and_then(label::derived).map(|label| (label, LabelFrom::SESSION_NAME));
        let folder = self.repo.place.cwd.file_name().and_then(|name| label::derived(&name.to_string_lossy()));
        let (base, from) =
            named.or(folder.map(|label| (label, LabelFrom::CWD))).unwrap_or(("session".to_owned(), LabelFrom::CWD));
        let free = label::with_suffixes(&base, &me.id).find(|label| holder(label).is_none());
        Ok((free.unwrap_or_else(|| me.id.clone()), from))
    }

    /// An agent that begins another session in place (as `/clear` does) has left the former one.
    fn leave_former_ids(&self, look: &mut Snapshot, me: &Me) -> Result<Vec<Replaced>, Error> {
        let former = look.members.iter().filter(|member| replaces(me, &member.record));
        let former: Vec<Record> = former.map(|member| member.record.clone()).collect();
        let mut left = Vec::new();
        for Record { id, label, owner, .. } in former {
            let released = self.leave_locked(look, &id, &owner)?;
            left.push(Replaced { id, label, released });
        }
        Ok(left)
    }

    fn take_over_claims(&self, look: &mut Snapshot, me: &Me) -> Result<(), Error> {
        let claims = self.dir()?.sub(CLAIMS)?;
        for claim in look.claims.iter_mut().filter(|claim| claim.id == me.id && claim.owner != me.owner) {
            claim.owner.clone_from(&me.owner);
            let name = store::claim_file(&claim.path, self.repo.place.folds_case);
            claims.write(name, &store::bytes(&*claim))?;
        }
        Ok(())
    }

    /// Takes the session off the bus: its claims, its record, and its inbox if that holds no mail. Gives the paths that
    /// were released; `None` when the record belongs to another incarnation, and nothing was changed.
    pub fn leave(&self, me: &Me) -> Result<Option<Vec<String>>, Error> {
        let _lock = self.lock()?;
        let mut look = self.look_locked()?;
        match look.member(&me.id) {
            Some(member) if member.record.owner == me.owner => {}
            Some(member) if member.state == State::Live => return Ok(None),
            _ => return Ok(Some(Vec::new())),
        }
        self.leave_locked(&mut look, &me.id, &me.owner).map(Some)
    }

    fn leave_locked(&self, look: &mut Snapshot, id: &str, owner: &str) -> Result<Vec<String>, Error> {
        let mut released = Vec::new();
        if let Some(claims) = self.looked(CLAIMS)? {
            for claim in look.claims.iter().filter(|claim| claim.id == id && claim.owner == owner) {
                claims.remove(store::claim_file(&claim.path, self.repo.place.folds_case))?;
                released.push(claim.path.clone());
            }
        }
        look.claims.retain(|claim| claim.id != id || claim.owner != owner);
        self.dir()?.sub(SESSIONS)?.remove(store::record_file(id)?)?;
        look.members.retain(|member| member.record.id != id);
        // It has left; an empty inbox goes with the next one who prunes.
        let _ = self.drop_inbox(id);
        Ok(released)
    }

    /// Beats for a member that a timer of ours keeps alive; false when the record is another incarnation's or gone, and
    /// the caller is to stop.
    pub fn beat(&self, me: &Me) -> Result<bool, Error> {
        let _lock = self.lock()?;
        // Read again under the lock: a rename alone would overwrite what a newer pane has written.
        match self.record(&me.id)? {
            Some(mut record) if record.owner == me.owner => {
                stamp(&mut record, me, &self.world.now());
                self.write_record(&record)?;
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    /// Beats if the last beat is old and the lock is free. A call never waits to beat.
    pub fn beat_if_due(&self, me: &Me, member: &Member) {
        if member.age_ms < if me.timer { limits::BEAT_MS } else { limits::BEAT_CALLS_MS } {
            return;
        }
        if let Ok(Some(_lock)) = self.try_lock()
            && let Ok(Some(mut record)) = self.record(&me.id)
            && record.owner == me.owner
        {
            stamp(&mut record, me, &self.world.now());
            // A beat that fails is made up by the next call.
            let _ = self.write_record(&record);
        }
    }

    /// Beats for a member on whose behalf a hook acts, if its last beat is old and the lock is free.
    pub fn renew_if_due(&self, member: &Member) {
        let me = Me {
            id: member.record.id.clone(),
            agent: member.record.agent.clone(),
            model: None,
            pid: member.record.pid,
            process: member.record.process.clone(),
            name: None,
            source: IdSource::Given,
            timer: member.record.beat == Beat::Timer,
            owner: member.record.owner.clone(),
        };
        if member.age_ms >= limits::BEAT_CALLS_MS {
            self.beat_if_due(&me, member);
        }
    }

    fn write_record(&self, record: &Record) -> Result<(), Error> {
        let name = store::record_file(&record.id)?;
        self.dir()?.sub(SESSIONS)?.write(name, &store::bytes(record))?;
        Ok(())
    }
}

fn stamp(record: &mut Record, me: &Me, now: &crate::clock::Moment) {
    record.beat_at = Some(Timestamp::from_epoch_ms(now.wall_ms));
    record.beat_mono = Some(now.mono_ms);
    record.beat = if me.timer { Beat::Timer } else { Beat::Calls };
}

/// The first of many names, and how many more there are: a sentence has no end to look for.
pub(crate) fn first_of(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// The paths that were released, to stand at the end of a sentence.
pub(crate) fn list(released: &[String]) -> String {
    if released.is_empty() { String::new() } else { format!("; released: {}", first_of(released)) }
}

/// Whether a join takes a member off the bus: the same agent process had that id as its own before, and has one session
/// at a time. Ids that a user gave stay, however many share a process.
fn replaces(me: &Me, record: &Record) -> bool {
    let mine = Record::new().pid(me.pid).process(me.process.clone());
    me.source == IdSource::Agent { replaces: true }
        && record.id != me.id
        && record.id_from == Some(IdFrom::AGENT)
        && record.agent == me.agent
        && same_process(&mine, record)
}
