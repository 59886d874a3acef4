//! One look at all inboxes, by their names: what is unread, and whether anything lies there that is to be pruned.

use std::collections::{HashMap, HashSet};

use jig_session_atomic::{Leftover, LeftoverKind, PrivateDir};
use jig_session_schema::bus::ListenMode;
use jig_session_schema::names;

use crate::clock::older;
use crate::error::Error;
use crate::member::{Member, Snapshot};
use crate::store::{self, Bus, INBOX};
use crate::{limits, mail_name, told, wake};

/// The inboxes of a bus at one moment.
pub(crate) struct Inboxes {
    /// Unread mail of every inbox, by its folder's name; mail that is taken and not confirmed is included.
    unread: HashMap<String, u64>,
    /// Folders of those who hear of somebody's mail at their next turn only, because its wakes are used up.
    throttled: HashSet<String>,
    /// Something lies there that a prune would remove or give back, or could not be looked at.
    pub(crate) untidy: bool,
}

impl Inboxes {
    /// Unread mail of a session.
    pub(crate) fn unread(&self, id: &str) -> u64 {
        names::bus_name(id).and_then(|name| self.unread.get(&name).copied()).unwrap_or(0)
    }

    /// Whether a session is not woken by somebody's mail at present.
    pub(crate) fn is_throttled(&self, id: &str) -> bool {
        names::bus_name(id).is_some_and(|name| self.throttled.contains(&name))
    }
}

impl Bus<'_> {
    /// Looks at every inbox once. An inbox of somebody who is not `asked` for keeps nobody from being answered.
    pub(crate) fn look_at_inboxes(&self, look: &Snapshot, asked: impl Fn(&str) -> bool) -> Result<Inboxes, Error> {
        let mut found = Inboxes { unread: HashMap::new(), throttled: HashSet::new(), untidy: false };
        let Some(inboxes) = self.looked(INBOX)? else { return Ok(found) };
        let members = look.members.iter().filter_map(|member| Some((names::bus_name(&member.record.id)?, member)));
        let members: HashMap<String, &Member> = members.collect();
        for name in store::texts(inboxes.list()?) {
            let member = members.get(&name).copied();
            let wakes = member.is_some_and(|member| {
                member.record.listen.as_ref().is_some_and(|listen| listen.mode == ListenMode::Wake)
            });
            let looked = inboxes.sub_existing(&name).map_err(Error::from).and_then(|inbox| match inbox {
                Some(inbox) => look_at(&inbox, look, look.has_record_file(&name), wakes),
                None => Ok(Inbox::default()),
            });
            match looked {
                Ok(inbox) => {
                    found.untidy |= inbox.untidy;
                    if inbox.throttled {
                        found.throttled.insert(name.clone());
                    }
                    found.unread.insert(name, inbox.unread);
                }
                Err(error) if member.is_some_and(|member| asked(&member.record.id)) => return Err(error),
                Err(_) => found.untidy = true,
            }
        }
        Ok(found)
    }
}

/// One inbox: what is unread, whether its owner's wakes are used up, and whether a prune has something to do there.
#[derive(Default)]
struct Inbox {
    unread: u64,
    throttled: bool,
    untidy: bool,
}

fn look_at(inbox: &PrivateDir, look: &Snapshot, has_owner: bool, wakes: bool) -> Result<Inbox, Error> {
    let names: Vec<String> = store::texts(inbox.list()?).collect();
    let unread = crate::send::readable(inbox)?;
    let throttled = wakes
        && names.iter().any(|name| name == told::TOLD)
        && wake::is_throttled(&told::read(inbox).wakes, look.now.wall_ms);
    let mut untidy = !has_owner && names.iter().all(|name| told::is_mark(name));
    for name in &names {
        if let Some(ms) = mail_name::ms(name) {
            untidy |= older(look.now.wall_ms, i64::try_from(ms).unwrap_or(i64::MAX), limits::TTL_MAIL_MS);
        } else if mail_name::consumer(name).is_some() {
            // Whether its consumer still runs is a question for the prune.
            untidy = true;
        } else if name == told::REMOVED {
            untidy |= told::is_removal_old(inbox, look.now.wall_ms);
        } else {
            untidy |= is_temporary(name.as_ref());
        }
    }
    Ok(Inbox { unread, throttled, untidy })
}

pub(crate) fn is_temporary(name: &std::ffi::OsStr) -> bool {
    Leftover::parse(name).is_some_and(|leftover| leftover.kind == LeftoverKind::Temporary)
}
