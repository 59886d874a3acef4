//! Waiting for an answer: a mark that keeps two sessions from waiting for each other.

use jig_session_atomic::PrivateDir;
use jig_session_schema::bus_marks::WaitingMark;

use crate::error::{Code, Error, Refusal};
use crate::member::Member;
use crate::store::{self, Bus};
use crate::target;

pub(crate) const WAITING: &str = ".waiting";

/// The mark of a session that waits; it goes when this is dropped.
#[derive(Debug)]
pub struct Waiting {
    inbox: PrivateDir,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // A mark that stays names a process; it counts for nothing when that one is gone.
        let _ = self.inbox.remove(WAITING);
    }
}

impl Bus<'_> {
    /// One member as it is now.
    pub fn member(&self, id: &str) -> Result<Option<Member>, Error> {
        Ok(self.record(id)?.map(|record| Member::judge(record, &self.world.now(), self.world)))
    }

    /// Makes the inbox of a member, so that its folder can be watched before the first mail comes.
    pub fn open_inbox(&self, id: &str) -> Result<(), Error> {
        self.inbox_made(id).map(|_| ())
    }

    /// Marks that a session waits for an answer of another one, unless that one waits for it.
    ///
    /// The mark is written before the other's is looked at, so of two that begin at once at least one sees the other.
    pub fn wait_for(&self, id: &str, to: &str) -> Result<Result<Waiting, Refusal>, Error> {
        let look = self.look()?;
        let names: Vec<(&str, &str)> =
            look.members.iter().map(|member| (member.record.id.as_str(), member.record.label.as_str())).collect();
        let inbox = self.inbox_made(id)?;
        // Whoever is not found here is refused by the sending itself.
        let Ok(place) = target::resolve(to, &names) else { return Ok(Ok(Waiting { inbox })) };
        let (other, label) = names[place];
        let (pid, start) = self.world.this();
        let mark = WaitingMark::new().answer_from(other.to_owned()).pid(pid).start(start);
        inbox.write(WAITING, &store::bytes(&mark))?;
        let waiting = Waiting { inbox };
        if self.waits_for(other, id)? {
            drop(waiting);
            return Ok(Err(Refusal::new(Code::Refused, format!("\"{label}\" waits for an answer of this session"))
                .hint("answer it first: jig-session bus inbox")));
        }
        Ok(Ok(waiting))
    }

    fn waits_for(&self, id: &str, for_whom: &str) -> Result<bool, Error> {
        let Some(inbox) = self.inbox_looked(id)? else { return Ok(false) };
        let Ok(read) = inbox.read(WAITING, 4096) else { return Ok(false) };
        let Ok(mark) = WaitingMark::read(&read.bytes) else { return Ok(false) };
        let WaitingMark { answer_from, pid, start, .. } = mark.value;
        Ok(answer_from == for_whom && crate::world::runs(self.world, pid, &start) != Some(false))
    }
}
