//! The session bus inside Pi: the tool `session`, the notice before a prompt, the guard question, waking.

use std::time::Duration;

use jig_session_publish::Now;
use jig_session_schema::bridge::CommandDefinition;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::Status;
use serde_json::Value;

use super::id;
use super::link::Link;
use crate::failure::Failure;

/// The bus's side of one Pi session.
pub(super) struct Bus {}

impl Bus {
    pub(super) fn of(_environment: &Environment, _places: &Places) -> Self {
        Self {}
    }

    /// Tools to register, as Pi takes them.
    pub(super) fn tools(&self) -> Vec<Value> {
        Vec::new()
    }

    /// Commands to register.
    pub(super) fn commands(&self) -> Vec<CommandDefinition> {
        Vec::new()
    }

    /// Whether the bridge is to ask before an editing tool runs.
    pub(super) fn guards(&self) -> bool {
        false
    }

    /// The session began, or goes on.
    pub(super) fn began(&mut self, _hello: &Value, _status: Option<&Status>, _now: Now) {}

    /// A message to add to the prompt that is about to be sent.
    pub(super) fn before_prompt(&mut self, _line: &Value) -> Option<Value> {
        None
    }

    /// Why an editing tool may not run.
    pub(super) fn guard(&mut self, _line: &Value) -> Option<String> {
        None
    }

    /// The model calls a tool of ours.
    pub(super) fn tool(&mut self, line: &Value, link: &mut Link) -> Result<(), Failure> {
        link.error(id(line), format!("there is no tool {}", line["name"]))
    }

    /// A call was broken off.
    pub(super) fn cancel(&mut self, line: &Value, link: &mut Link) -> Result<(), Failure> {
        link.error(id(line), "cancelled".into())
    }

    /// The user gave a command that is not the host's own.
    pub(super) fn command(&mut self, line: &Value, link: &mut Link) -> Result<(), Failure> {
        link.done(id(line), None)
    }

    /// A key in a panel of the bus's.
    pub(super) fn key(&mut self, _line: &Value, _link: &mut Link) -> Result<(), Failure> {
        Ok(())
    }

    /// Every other line, after the publisher has taken it.
    pub(super) fn told(&mut self, _line: &Value, _link: &mut Link) -> Result<(), Failure> {
        Ok(())
    }

    /// After every batch of lines, and at the deadline.
    pub(super) fn tick(
        &mut self,
        _idle: bool,
        _status: Option<&Status>,
        _link: &mut Link,
        _now: Now,
    ) -> Result<(), Failure> {
        Ok(())
    }

    /// When `tick` is wanted.
    pub(super) fn deadline(&self) -> Option<Duration> {
        None
    }

    /// The session ends, or is reloaded.
    pub(super) fn leave(&mut self, _keep: bool, _now: Now) {}
}
