//! Executes the steps of a plan through tmux, after verifying each pane again.

use jig_session_panes::bulk::{Executor, Outcome, Step};
use jig_session_panes::observe::{ObserveOptions, observe};
use jig_session_panes::pane::Pane;
use jig_session_schema::live::PaneStatus;

use crate::app::App;
use crate::commands::live::join;
use crate::commands::live::terminals::ThisMachine;

/// The panes of a plan on their server.
pub(super) struct TmuxExecutor<'a> {
    pub(super) app: &'a App,
    pub(super) setting: &'a ObserveOptions,
    pub(super) statuses: Option<&'a [PaneStatus]>,
    pub(super) panes: &'a [Pane],
}

impl Executor for TmuxExecutor<'_> {
    /// The same pane, the same process in it, and a status that was selected.
    fn verify(&self, step: &Step) -> Result<(), String> {
        let Some(planned) = self.panes.get(step.index) else { return Err("not in the plan".to_owned()) };
        let mut found = observe(self.setting, &ThisMachine, |facts, _| facts.pane_id == planned.facts.pane_id)
            .map_err(|error| error.to_string())?;
        join::join(self.app, &mut found).map_err(|failure| failure.message)?;
        let Some(now) = found.first() else { return Err("the pane is gone".to_owned()) };
        if now.facts.target() != planned.facts.target() {
            return Err(format!("the pane is {} now", now.facts.target()));
        }
        if now.facts.pid != planned.facts.pid {
            return Err("another process runs in the pane now".to_owned());
        }
        let (was, is) = (planned.classification.status, now.classification.status);
        let requested = self.statuses.is_some_and(|statuses| statuses.contains(&is));
        if was != is && !requested {
            return Err(format!("the pane is {is} now, it was {was}"));
        }
        Ok(())
    }

    fn execute(&self, step: &Step) -> Outcome {
        match self.setting.server.execute(&step.argv) {
            Ok(answer) => Outcome { exit_code: answer.code, message: answer.errors },
            Err(error) => Outcome { exit_code: None, message: error.to_string() },
        }
    }
}
