//! Sessions of other machines, however they are heard of: through ssh (`--on`) or a broker (`--fleet`).

use std::time::Duration;

use jig_session_remote::{Fleet, FleetLook};
use jig_session_store::Nudge;

use crate::app::App;
use crate::broker::{Broker, FleetArgs, Follower};
use crate::failure::Failure;
use crate::on::{On, OnArgs};

/// How long a first answer of a broker may take.
const BROKER: Duration = Duration::from_secs(5);

/// The other machines that are meant; nothing has been asked yet.
#[derive(Default)]
pub(crate) struct Elsewhere {
    on: Option<On>,
    broker: Option<Broker>,
}

impl Elsewhere {
    /// Those that the command line names.
    ///
    /// # Errors
    /// When it names none.
    pub(crate) fn open(on: Option<&OnArgs>, fleet: &FleetArgs, app: &App) -> Result<Self, Failure> {
        let on = on.map(|on| on.open(app)).transpose()?.flatten();
        Ok(Self { on, broker: fleet.open(app)? })
    }

    /// Follows them from now on; `None` where no other machine is meant.
    ///
    /// # Errors
    /// When the certificates for a broker cannot be used.
    pub(crate) fn follow(self, app: &App, all: bool, nudge: &Nudge) -> Result<Option<Followed>, Failure> {
        if self.on.is_none() && self.broker.is_none() {
            return Ok(None);
        }
        let wake = || {
            let nudge = nudge.clone();
            move || nudge.now()
        };
        let broker = self.broker.map(|broker| broker.follow(app, wake())).transpose()?;
        Ok(Some(Followed { ssh: self.on.map(|on| on.follow(all, wake())), broker }))
    }
}

/// Machines that are followed.
pub(crate) struct Followed {
    ssh: Option<Fleet>,
    broker: Option<Follower>,
}

impl Followed {
    /// What they said last.
    pub(crate) fn look(&self) -> FleetLook {
        let mut look = self.ssh.as_ref().map(Fleet::look).unwrap_or_default();
        if let Some(theirs) = self.broker.as_ref().map(Follower::look) {
            look.rows.extend(theirs.rows);
            look.problems.extend(theirs.problems);
            look.went.extend(theirs.went);
            look.arriving.extend(theirs.arriving);
            look.last_seen.extend(theirs.last_seen);
        }
        look
    }

    /// Waits until all have sent what is there, or are lost.
    pub(crate) fn settle(&self) {
        if let Some(broker) = &self.broker {
            broker.settle(BROKER);
        }
        if let Some(ssh) = &self.ssh {
            ssh.settle(On::limit());
        }
    }
}
