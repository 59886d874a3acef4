//! Which process calls: the session's agent, above this one.

use jig_session_agents::Agent;
use jig_session_liveness::{Judgement, Machine, ProbeError, Process, Processes, Record, agent_above};
use jig_session_schema::status::{self, Status};

/// The process a hook speaks for.
pub(crate) struct Caller {
    pub(crate) pid: u32,
    /// It is the one that the session's document names.
    pub(crate) is_kept: bool,
    /// It serves several sessions.
    pub(crate) shared: bool,
}

impl Caller {
    /// The process that the document names, if it is above this one; else the nearest that can be the agent. `None` when
    /// the agent is gone.
    pub(crate) fn find(agent: &Agent, kept: Option<&Status>, machine: &Machine) -> Option<Self> {
        let own = std::process::id();
        let is_kept = |process: &Process| {
            let record = kept.map(Record::of_status);
            let identity = machine.identity(process.start.clone());
            record.is_some_and(|record| record.same_process(&Record::of(Some(process.pid), Some(&identity))))
        };
        let kept = machine.ancestors(own).into_iter().find(is_kept).map(|process| process.pid);
        let pid = kept.or_else(|| agent_above(machine, own))?;
        let line = machine.command_line(pid);
        let shared = agent.shared.is_some_and(|word| line.iter().any(|found| found == word));
        Some(Self { pid, is_kept: kept.is_some(), shared })
    }
}

/// A table of processes in which the one that is published serves several sessions.
pub(crate) struct Shared(pub(crate) Machine);

impl Processes for Shared {
    fn process(&self, pid: u32) -> Result<Process, ProbeError> {
        self.0.process(pid)
    }

    fn command_line(&self, pid: u32) -> Vec<String> {
        self.0.command_line(pid)
    }

    fn judge(&self, record: &Record<'_>) -> Judgement {
        self.0.judge(record)
    }

    fn identity(&self, start: String) -> status::Process {
        self.0.identity(start).shared(Some(true))
    }
}
