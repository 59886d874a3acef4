//! The server: one tool, answered as the command line answers, and a beat while it is joined.
//!
//! One message is read, answered and flushed before the next one is read, so a client that does not read stops its
//! server and fills no memory, and mail is confirmed when the line that holds it has left.

use std::io::{self, BufRead, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use jig_session_actor::{Actor, Error, Options, Surface};
use jig_session_bus::{Bus, Code, System, Taken, World, tool};
use jig_session_schema::bus_result::FailedCall;
use jig_session_schema::limits::{HEARTBEAT, LINE_BYTES};
use jig_session_schema::names;
use jig_session_schema::places::Environment;
use serde_json::{Map, Value, json};

use crate::rpc::{self, Message};

/// Versions of the protocol that are spoken, the newest one first: what differs between them is not used here.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Serves until the client closes stdin or reads no more. `env` is this process's environment.
///
/// # Errors
/// When stdin cannot be read or stdout not be written.
pub fn serve(env: Environment) -> io::Result<()> {
    let state = Arc::new(State { surface: own_id(&System::new()), env, joined: Mutex::default() });
    let beats = Arc::clone(&state);
    // It ends with the process.
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(HEARTBEAT);
            beats.beat();
        }
    });
    let answered = answer_lines(&state, io::stdin().lock(), io::stdout().lock());
    state.end();
    match answered {
        // A client that goes has not been failed.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

fn answer_lines(state: &State, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = LINE_BYTES as u64 + 1;
        if input.by_ref().take(limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let (messages, list) = if line.len() > LINE_BYTES {
            // The rest of the line is nobody's.
            input.skip_until(b'\n')?;
            (vec![rpc::too_long(&line, LINE_BYTES)], false)
        } else if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        } else {
            rpc::read(&line)
        };
        let mut answers = Vec::new();
        let mut mail = Vec::new();
        for message in messages {
            match message {
                Message::Silent => {}
                Message::Wrong(answer) => answers.push(answer),
                Message::Request { id, method, params } => {
                    let (answer, taken) = state.answer(&id, &method, &params);
                    answers.push(answer);
                    mail.extend(taken);
                }
            }
        }
        if answers.is_empty() {
            continue;
        }
        let text = if list { Value::Array(answers) } else { answers.remove(0) };
        writeln!(output, "{text}").and_then(|()| output.flush())?;
        // Mail that cannot be removed now comes back, and is shown once more.
        mail.into_iter().for_each(|taken: Taken| drop(taken.confirm()));
    }
}

/// The id of last resort: this process's own, constant while it runs.
fn own_id(world: &System) -> String {
    let (pid, start) = world.this();
    let hex = names::hash16(&format!("{pid}\n{start}\n{}", world.random()))
        + &names::hash16(&format!("{}\n{pid}", world.random()));
    format!("mcp-{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

struct State {
    env: Environment,
    /// The id of last resort.
    surface: String,
    /// Who this server has acted as last, while it is on the bus.
    joined: Mutex<Option<Actor>>,
}

impl State {
    /// Beats as whom this server has joined; stops when the record is another's.
    fn beat(&self) {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let beaten = joined.as_ref().map(|actor| actor.bus_made().map(|bus| bus.beat(&actor.me)));
        // A beat that fails is made up by the next one.
        if matches!(beaten, Some(Ok(Ok(false)))) {
            *joined = None;
        }
    }

    /// A session that is this server's own ends with it. An agent's outlives its server, which may be started again.
    fn end(&self) {
        let joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(actor) = joined.filter(|actor| actor.me.id == self.surface) {
            let _ = actor.bus_made().map(|bus| bus.leave(&actor.me));
        }
    }

    /// The agent's session has become known: what this server held under an id of its own is that session's no more.
    fn leave_own(&self, now: &Actor) -> Vec<String> {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = joined.take_if(|own| own.me.id == self.surface && now.me.id != self.surface) else {
            return Vec::new();
        };
        let left = own.bus_made().ok().and_then(|bus| bus.leave(&own.me).ok().flatten()).unwrap_or_default();
        let held = if left.is_empty() { String::new() } else { format!("; released: {}", left.join(", ")) };
        vec![format!("this server was {} before, which left the bus{held}", own.me.id)]
    }

    /// The member this server acts for now; resolved at every call, since one process may begin another session.
    fn actor(&self) -> Result<Actor, Error> {
        Actor::find(&self.env, &Options::default(), Surface::Server { id: self.surface.clone() })
    }
}

impl State {
    /// The answer to one request, and the mail in it.
    fn answer(&self, id: &Value, method: &str, params: &Map<String, Value>) -> (Value, Option<Taken>) {
        let done = |result: Value| (rpc::success(id, &result), None);
        match method {
            "initialize" => done(about(params)),
            "ping" => done(json!({})),
            "tools/list" => done(json!({ "tools": [tool()] })),
            "tools/call" => {
                let none = Map::new();
                let arguments = match params.get("arguments") {
                    None | Some(Value::Null) => &none,
                    Some(Value::Object(arguments)) => arguments,
                    Some(_) => return (rpc::failure(id, rpc::PARAMS, "\"arguments\" is not an object"), None),
                };
                match params.get("name").and_then(Value::as_str) {
                    Some(tool::NAME) => {
                        let (result, taken) = self.call(arguments);
                        (rpc::success(id, &result), taken)
                    }
                    Some(name) => {
                        let words = format!("unknown tool \"{name}\": the one tool is \"{}\"", tool::NAME);
                        (rpc::failure(id, rpc::PARAMS, &words), None)
                    }
                    None => (rpc::failure(id, rpc::PARAMS, "\"name\" is not a text"), None),
                }
            }
            _ => (rpc::failure(id, rpc::METHOD, &format!("unknown method \"{method}\"")), None),
        }
    }

    fn call(&self, parameters: &Map<String, Value>) -> (Value, Option<Taken>) {
        let actor = match self.actor() {
            Ok(actor) => actor,
            Err(error) => return (failed(parameters, &error.into(), None), None),
        };
        let unread = || -> Option<u64> {
            let bus: Bus<'_> = actor.bus().ok()?;
            bus.member(&actor.me.id).ok()??;
            bus.unread(&actor.me.id).ok()
        };
        let call = match tool::call(parameters) {
            Ok(call) => call,
            Err(message) => return (failed(parameters, &Failure::usage(message), unread()), None),
        };
        let mut done = match actor.perform(&call) {
            Ok(done) => done,
            Err(error) => return (failed(parameters, &error.into(), unread()), None),
        };
        done.add_notes(self.leave_own(&actor));
        let line = done.notes().iter().fold(tool::line(&done.result), |line, note| format!("{line}; {note}"));
        let document = serde_json::to_value(&done.result).unwrap_or_default();
        let member = actor.bus().ok().and_then(|bus| bus.member(&actor.me.id).ok().flatten());
        let own = member.is_some_and(|member| member.record.owner == actor.me.owner);
        *self.joined.lock().unwrap_or_else(PoisonError::into_inner) = own.then_some(actor);
        (result(&line, document, done.code.is_some()), done.taken)
    }
}

/// Why a call failed.
struct Failure {
    code: Code,
    message: String,
    hint: Option<String>,
}

impl Failure {
    fn usage(message: String) -> Self {
        Self { code: Code::Usage, message, hint: None }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { code: error.code(), message: error.to_string(), hint: error.hint() }
    }
}

/// A call that failed, in the form of every result, so that `unread` is never missing.
fn failed(parameters: &Map<String, Value>, failure: &Failure, unread: Option<u64>) -> Value {
    let action = parameters.get("action").and_then(Value::as_str).unwrap_or_default();
    let document = FailedCall::new()
        .action(action.to_owned())
        .ok(false)
        .code(Some(failure.code.into()))
        .message(Some(failure.message.clone()))
        .hint(failure.hint.clone())
        .unread(unread);
    let document = Value::Object(document.to_document());
    result(&failure.message, document, true)
}

fn result(line: &str, document: Value, is_error: bool) -> Value {
    // Clients that show no structured content show the text: it holds the whole answer, after one line for people.
    let text = format!("{line}\n{document}");
    json!({ "content": [{ "type": "text", "text": text }], "structuredContent": document, "isError": is_error })
}

/// The answer to `initialize`: the client's protocol version if it is supported, else the newest one.
fn about(params: &Map<String, Value>) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.into_iter().find(|version| asked == Some(version)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": {} },
        "serverInfo": { "name": "jig-session", "version": env!("CARGO_PKG_VERSION") },
        "instructions": tool::INSTRUCTIONS,
    })
}

fn tool() -> Value {
    json!({
        "name": tool::NAME,
        "description": tool::DESCRIPTION,
        "inputSchema": tool::parameters(),
        "annotations": {
            "title": "Session bus", "readOnlyHint": false, "destructiveHint": true, "openWorldHint": false,
        },
    })
}
