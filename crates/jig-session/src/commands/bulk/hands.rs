//! What the queue works with: another look at the pane, and tmux.

use jig_session_panes::bulk::{Hands, Outcome, Step};
use jig_session_panes::observe::{Pane, Setting, observe};
use jig_session_schema::live::PaneStatus;

use crate::app::App;
use crate::commands::live::join;

/// The panes of a plan on their server.
pub(super) struct OnTmux<'a> {
    pub(super) app: &'a App,
    pub(super) setting: &'a Setting,
    pub(super) statuses: Option<&'a [PaneStatus]>,
    pub(super) panes: &'a [Pane],
}

impl Hands for OnTmux<'_> {
    /// The same pane, the same process in it, and a status that the run was asked for.
    fn check(&self, step: &Step) -> Result<(), String> {
        let Some(planned) = self.panes.get(step.index) else { return Err("not in the plan".to_owned()) };
        let mut found = observe(self.setting, |facts, _| facts.pane_id == planned.facts.pane_id)
            .map_err(|error| error.to_string())?;
        join::outrank(self.app, &mut found).map_err(|failure| failure.message)?;
        let Some(now) = found.first() else { return Err("the pane is gone".to_owned()) };
        if now.facts.target() != planned.facts.target() {
            return Err(format!("the pane is {} now", now.facts.target()));
        }
        if now.facts.pid != planned.facts.pid {
            return Err("another process runs in the pane now".to_owned());
        }
        let (was, is) = (planned.class.status, now.class.status);
        let asked_for = self.statuses.is_some_and(|statuses| statuses.contains(&is));
        if was != is && !asked_for {
            return Err(format!("the pane is {is} now, it was {was}"));
        }
        Ok(())
    }

    fn act(&self, step: &Step) -> Outcome {
        match self.setting.server.act(&step.argv) {
            Ok(answer) => Outcome { exit_code: answer.code, message: answer.errors },
            Err(error) => Outcome { exit_code: None, message: error.to_string() },
        }
    }
}
