//! Tool calls: names only, never an argument but the path of a file that was written.

use jig_session_schema::bridge::{BusData, EventData};
use jig_session_schema::event::{DecisionEvent, Event, OutputEvent, ToolEvent, ToolOutcome, ToolPhase};
use jig_session_schema::status::{AnswerWord, Decision, OutputAction};
use jig_session_schema::time::Timestamp;
use jig_session_schema::words::Name;

use super::{Bridge, said};

/// A call that runs.
#[derive(Debug)]
pub(super) struct Call {
    path: Option<String>,
    /// The rules require a person's decision.
    pub(super) asked: bool,
    /// Calls are counted as they begin.
    pub(super) number: u64,
}

/// What a tool does to the file it names.
pub(super) fn output_of(tool: &str) -> Option<OutputAction> {
    match tool {
        "write" => Some(OutputAction::WRITTEN),
        "edit" => Some(OutputAction::EDITED),
        _ => None,
    }
}

impl Bridge {
    pub(super) fn call_began(&mut self, data: &EventData, at: Option<Timestamp>) -> Vec<Event> {
        let Some((tool, action)) = names(data) else { return Vec::new() };
        let id = said(data.tool_call_id.as_ref());
        if let Some(id) = &id {
            let number = self.calls.values().map(|call| call.number).max().unwrap_or_default() + 1;
            let call =
                Call { path: said(data.args.as_ref().and_then(|args| args.path.as_ref())), asked: false, number };
            self.calls.insert(id.clone(), call);
        }
        vec![ToolEvent::new().at(at).phase(ToolPhase::Start).id(id).tool(Some(tool)).action(action).into()]
    }

    pub(super) fn call_ended(&mut self, data: &EventData, at: Option<Timestamp>) -> Vec<Event> {
        let Some((tool, action)) = names(data) else { return Vec::new() };
        let id = said(data.tool_call_id.as_ref());
        let call = id.as_ref().and_then(|id| self.calls.remove(id));
        let asks = self.dialog.as_ref().is_some_and(|(_, about)| about.is_none() || *about == id);
        let failed = data.is_error == Some(true);
        let outcome = if failed { ToolOutcome::Error } else { ToolOutcome::Ok };
        let end = ToolEvent::new().at(at).phase(ToolPhase::End).id(id.clone()).tool(Some(tool)).action(action);
        let mut events = vec![end.outcome(Some(outcome)).into()];
        if failed {
            self.errors.extend(id);
        } else if let Some(path) = call.and_then(|call| call.path)
            && let Some(action) = data.tool_name.as_deref().and_then(output_of)
        {
            events.push(OutputEvent::new().at(at).path(path).action(action).into());
        }
        if asks {
            // The dialog is still open, whatever it is about.
            events.extend(self.asks_again(at));
        }
        events
    }

    /// Only a decision that names its call and is one of the words is taken; the rest of the event is dropped.
    pub(super) fn decided(&mut self, data: &BusData, at: Option<Timestamp>) -> Vec<Event> {
        let decision = data.decision.as_deref().and_then(Decision::parse);
        let Some((id, decision)) = said(data.tool_call_id.as_ref()).zip(decision) else { return Vec::new() };
        if let Some(call) = self.calls.get_mut(&id) {
            call.asked = decision == Decision::Ask;
        }
        let answer = said(data.answer.as_ref()).and_then(AnswerWord::new);
        vec![DecisionEvent::new().at(at).id(id).decision(decision).answer(answer).into()]
    }
}

/// The tool's and the action's names: a tool of an MCP server is the server's name and the tool's.
fn names(data: &EventData) -> Option<(Name, Option<Name>)> {
    let tool = said(data.tool_name.as_ref())?;
    if let Some((server, name)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"))
        && !server.is_empty()
        && !name.is_empty()
    {
        return Some((Name::new(server)?, Name::new(name)));
    }
    let action = said(data.args.as_ref().and_then(|args| args.action.as_ref()));
    Some((Name::new(tool)?, action.and_then(Name::new)))
}
