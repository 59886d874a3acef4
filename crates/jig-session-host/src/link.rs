//! Lines to the bridge, and the calls whose answers are awaited.

use std::collections::HashMap;
use std::io::{self, Write};

use jig_session_schema::bridge::{
    BridgeReload, Call, CommandDefinition, Done, EntriesQuestion, HostResult, LineId, Panel, Quiet, Ready, SeenFile,
    Skills,
};
use serde::Serialize;
use serde_json::Value;

use crate::Error;
use crate::switches::SwitchChange;

/// Why Pi was called: what its answer is used for.
pub(crate) enum Pending {
    /// No answer is wanted.
    Nothing,
    /// Whether Pi is idle.
    Idle,
    /// The active tools, before they are set.
    Active(SwitchChange),
    /// They were set.
    Set(SwitchChange),
    /// The active tools, after they were set.
    Verify(SwitchChange),
    /// The switches were stored in the session.
    Stored(SwitchChange),
}

/// The host's output.
pub(crate) struct Link {
    next: u64,
    pending: HashMap<String, Pending>,
}

impl Link {
    pub(crate) fn new() -> Self {
        Self { next: 1, pending: HashMap::new() }
    }

    /// Calls one of Pi's functions.
    pub(crate) fn call(&mut self, function: &str, args: Vec<Value>, purpose: Pending) -> Result<(), Error> {
        let mut call = Call::new();
        if !matches!(purpose, Pending::Nothing) {
            let id = self.next.to_string();
            self.next += 1;
            call.id = Some(LineId(id.clone()));
            self.pending.insert(id, purpose);
        }
        call.function = function.to_owned();
        call.args = args;
        write(&call)
    }

    /// Calls one of Pi's functions in the context of a command.
    pub(crate) fn call_in(&mut self, command: &str, function: &str, args: Vec<Value>) -> Result<(), Error> {
        let mut call = Call::new();
        call.function = function.to_owned();
        call.args = args;
        call.command = Some(command.to_owned());
        write(&call)
    }

    /// What the answer in a `return` line is for; `None` when nobody waits for it.
    pub(crate) fn returned(&mut self, id: &LineId) -> Option<Pending> {
        self.pending.remove(&id.0)
    }

    pub(crate) fn ready(
        &mut self,
        tools: Vec<Value>,
        commands: Vec<CommandDefinition>,
        guard: bool,
        want: Vec<String>,
    ) -> Result<(), Error> {
        write(&Ready::new().tools(tools).commands(commands).guard(Some(guard)).want(want))
    }

    pub(crate) fn entries(&mut self) -> Result<(), Error> {
        write(&EntriesQuestion::new().id(LineId("entries".to_owned())))
    }

    pub(crate) fn result(&mut self, id: &str, result: Value) -> Result<(), Error> {
        write(&HostResult::new().id(id.to_owned()).result(result))
    }

    /// As [`Link::result`]; false when the bridge has gone and nobody has read it.
    pub(crate) fn delivered(&mut self, id: &str, result: Value) -> Result<bool, Error> {
        written(&HostResult::new().id(id.to_owned()).result(result))
    }

    /// A question that cannot be answered.
    pub(crate) fn error(&mut self, id: &str, error: String) -> Result<(), Error> {
        write(&HostResult::new().id(id.to_owned()).error(Some(error)))
    }

    pub(crate) fn skills(&mut self, hidden: Vec<String>) -> Result<(), Error> {
        write(&Skills::new().hidden(hidden))
    }

    pub(crate) fn quiet(&mut self, files: Option<Vec<SeenFile>>) -> Result<(), Error> {
        write(&Quiet::new().files(files))
    }

    /// A command has ended; `text` is written to Pi's output, in a mode that has no other place for it.
    pub(crate) fn done(&mut self, id: &str, text: Option<String>) -> Result<(), Error> {
        write(&Done::new().id(id.to_owned()).text(text))
    }

    pub(crate) fn reload(&mut self, id: &str) -> Result<(), Error> {
        write(&BridgeReload::new().id(id.to_owned()))
    }

    pub(crate) fn panel(&mut self, lines: Vec<String>) -> Result<(), Error> {
        write(&Panel::new().lines(Some(lines)))
    }

    pub(crate) fn close_panel(&mut self) -> Result<(), Error> {
        write(&Panel::new().close(Some(true)))
    }
}

fn write(line: &impl Serialize) -> Result<(), Error> {
    written(line).map(|_| ())
}

/// Writes a line; false when the bridge has gone.
fn written(line: &impl Serialize) -> Result<bool, Error> {
    let mut text = serde_json::to_vec(line).map_err(|error| Error::Bridge(error.into()))?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    match out.write_all(&text).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        // The end of input follows, and ends the host.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Error::Bridge(error)),
    }
}
