//! The server: one tool, answered as the command line answers, and a beat while it is joined.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jig_session_bus::{Bus, System, World};
use jig_session_schema::limits::HEARTBEAT;
use jig_session_schema::names;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::{Map, Value, json};

use super::delivery::{Confirming, Pending};
use crate::app::App;
use crate::commands::bus::{Actor, Options, Surface, tool};
use crate::failure::{Code, Exit, Failure, Outcome};

/// Serves until the client closes stdin.
pub(crate) fn run(app: &App) -> Outcome {
    let failed = |what: &str, error: &dyn std::fmt::Display| Failure::new(Code::Io, format!("{what}: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .map_err(|error| failed("cannot start the server", &error).errno(error.raw_os_error()))?;
    let app = App { env: app.env.clone(), json: true, color: false };
    let server = Server {
        state: Arc::new(State { surface: own_id(&System::new()), app, joined: Mutex::default() }),
        pending: Pending::default(),
    };
    let state = Arc::clone(&server.state);
    let transport = (tokio::io::stdin(), Confirming::new(tokio::io::stdout(), server.pending.clone()));
    let served = runtime.block_on(async move {
        let beats = Arc::clone(&server.state);
        let beating = tokio::spawn(async move {
            loop {
                tokio::time::sleep(HEARTBEAT).await;
                beats.beat();
            }
        });
        let served = match server.serve(transport).await {
            Ok(running) => running.waiting().await.map(|_| ()).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        beating.abort();
        served
    });
    // A read of stdin that is still pending must not keep the process.
    runtime.shutdown_timeout(Duration::from_millis(100));
    state.end();
    match served {
        Ok(()) => Ok(Exit::OK),
        // A client that says nothing and goes has not been failed.
        Err(error) if error.contains("closed") => Ok(Exit::OK),
        Err(error) => Err(failed("the MCP connection failed", &error)),
    }
}

/// The id of last resort: this process's own, kept while it runs.
fn own_id(world: &System) -> String {
    let (pid, start) = world.this();
    let hex = names::hash16(&format!("{pid}\n{start}\n{}", world.random()))
        + &names::hash16(&format!("{}\n{pid}", world.random()));
    format!("mcp-{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

struct State {
    app: App,
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

    /// Who this server acts for now; asked at every call, since one process may begin another session.
    fn actor(&self) -> Result<Actor, Failure> {
        Actor::find(&self.app, &Options::default(), Surface::Server { id: self.surface.clone() })
    }
}

#[derive(Clone)]
struct Server {
    state: Arc<State>,
    pending: Pending,
}

impl Server {
    fn call(&self, parameters: &Map<String, Value>) -> CallToolResult {
        let actor = match self.state.actor() {
            Ok(actor) => actor,
            Err(failure) => return failed(parameters, &failure, None),
        };
        let unread = || -> Option<u64> {
            let bus: Bus<'_> = actor.bus().ok()?;
            bus.member(&actor.me.id).ok()??;
            bus.unread(&actor.me.id).ok()
        };
        let call = match tool::call(parameters) {
            Ok(call) => call,
            Err(message) => return failed(parameters, &Failure::new(Code::Usage, message), unread()),
        };
        let mut done = match actor.perform(&call) {
            Ok(done) => done,
            Err(failure) => return failed(parameters, &failure, unread()),
        };
        done.add_notes(self.state.leave_own(&actor));
        let line = done.notes().iter().fold(tool::line(&done.result), |line, note| format!("{line}; {note}"));
        let document = serde_json::to_value(&done.result).unwrap_or_default();
        if let Some(taken) = done.taken {
            self.pending.hold(taken);
        }
        let member = actor.bus().ok().and_then(|bus| bus.member(&actor.me.id).ok().flatten());
        let own = member.is_some_and(|member| member.record.owner == actor.me.owner);
        *self.state.joined.lock().unwrap_or_else(PoisonError::into_inner) = own.then_some(actor);
        result(&line, document, done.code.is_some())
    }
}

/// A call that failed, in the form of every result, so that `unread` is never missing.
fn failed(parameters: &Map<String, Value>, failure: &Failure, unread: Option<u64>) -> CallToolResult {
    let action = parameters.get("action").and_then(Value::as_str).unwrap_or_default();
    let mut document = json!({
        "schema": 1, "action": action, "ok": false, "code": failure.code.word(), "message": failure.message,
    });
    if let Some(hint) = &failure.hint {
        document["hint"] = json!(hint);
    }
    document["unread"] = json!(unread);
    result(&failure.message, document, true)
}

fn result(line: &str, document: Value, is_error: bool) -> CallToolResult {
    // Clients that show no structured content show the text: it holds the whole answer, after one line for people.
    let text = format!("{line}\n{document}");
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(document);
    result.is_error = Some(is_error);
    result
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut config = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        config.server_info = Implementation::new("jig-session", env!("CARGO_PKG_VERSION"));
        config.instructions = Some(tool::INSTRUCTIONS.to_owned());
        config
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let annotations =
            ToolAnnotations::with_title("Session bus").read_only(false).destructive(true).open_world(false);
        let session =
            Tool::new(tool::NAME, tool::DESCRIPTION, Arc::new(tool::parameters())).with_annotations(annotations);
        Ok(ListToolsResult::with_all_items(vec![session]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != tool::NAME {
            let message = format!("there is no tool \"{}\": the one tool is \"{}\"", request.name, tool::NAME);
            return Ok(failed(&Map::new(), &Failure::new(Code::Usage, message), None).into());
        }
        Ok(self.call(&request.arguments.unwrap_or_default()).into())
    }
}
