//! Looking again and again: polling is the truth, the system's notices only say when to look sooner.

use std::time::{Duration, Instant};

use jig_session_liveness::{Machine, Probes};
use jig_session_schema::limits::POLL_INTERVAL;
use jig_session_store::{Hints, Nudge, Store};

use crate::app::App;
use crate::elsewhere::{Elsewhere, Followed};
use crate::failure::Failure;
use crate::view::{self, View};

/// Two looks are at least this far apart, however many notices come.
const SPACING: Duration = Duration::from_millis(10);

/// The eyes of `watch` and `wait`.
pub(crate) struct Follow<'a> {
    app: &'a App,
    store: Store,
    hints: Hints,
    machine: Machine,
    looked: Option<Instant>,
    told: bool,
    elsewhere: Option<Followed>,
}

impl<'a> Follow<'a> {
    pub(crate) fn new(app: &'a App) -> Self {
        let store = view::store(app);
        let hints = Hints::new(&store.folders());
        Self { app, store, hints, machine: Machine::new(), looked: None, told: false, elsewhere: None }
    }

    /// The same, and nothing is said on stderr: the screen is somebody's.
    pub(crate) fn quiet(mut self) -> Self {
        self.told = true;
        self
    }

    /// The same, and the sessions of other machines among this one's, as soon as they have been received.
    pub(crate) fn with(self, elsewhere: Elsewhere, all: bool) -> Result<Self, Failure> {
        let followed = elsewhere.follow(self.app, all, &self.hints.nudge())?;
        if let Some(followed) = &followed {
            followed.settle();
        }
        Ok(self.beside(followed))
    }

    /// The same, and what these machines say, whenever they say it.
    pub(crate) fn beside(mut self, elsewhere: Option<Followed>) -> Self {
        self.elsewhere = elsewhere;
        self
    }

    /// What has it look at once, from any thread.
    pub(crate) fn nudge(&self) -> Nudge {
        self.hints.nudge()
    }

    /// Looks now.
    pub(crate) fn look(&mut self) -> Result<View, Failure> {
        // Watched before the look: what happens during it gives a notice, and another look.
        self.hints.renew();
        if let Some(trouble) = self.hints.trouble().filter(|_| !self.told) {
            self.told = true;
            self.app.note(&format!("{trouble}; looking every {} s instead", POLL_INTERVAL.as_secs()));
        }
        let now = self.app.now();
        let look = self.store.look_again(&Probes::new(&self.machine), now.epoch_ms());
        self.looked = Some(Instant::now());
        let view = View::of(look?, now, &view::marks(self.app));
        let Some(theirs) = self.elsewhere.as_ref().map(Followed::look) else { return Ok(view) };
        Ok(view.with(theirs.rows, theirs.problems))
    }

    /// Waits for a notice, for the poll, or until `deadline`; then it is time to look.
    pub(crate) fn wait(&self, deadline: Option<Instant>) {
        let now = Instant::now();
        let left = deadline.map_or(POLL_INTERVAL, |deadline| deadline.saturating_duration_since(now));
        self.hints.wait(left.min(POLL_INTERVAL));
        if let Some(looked) = self.looked {
            std::thread::sleep(SPACING.saturating_sub(looked.elapsed()));
        }
    }
}
