//! The pi-king card of a session, for users of pi-king: written only when `JIG_SESSION_KING` asks for it.

use std::time::Duration;

use jig_session_publish::Now;
use jig_session_schema::places::{Environment, Places};
use jig_session_schema::status::Status;
use serde_json::Value;

/// Keeps the card, or nothing.
pub(super) struct King {}

impl King {
    /// Looks at `JIG_SESSION_KING`.
    pub(super) fn of(_environment: &Environment, _places: &Places) -> Self {
        Self {}
    }

    /// What the bridge is to tell besides: `prompt`, the beginning of each prompt.
    pub(super) fn wants(&self) -> Vec<String> {
        Vec::new()
    }

    /// The session began, or goes on; `hello` is the bridge's line.
    pub(super) fn began(&mut self, _hello: &Value, _status: Option<&Status>, _now: Now) {}

    /// Every line of the bridge, `hello` included, after the publisher has taken it.
    pub(super) fn line(&mut self, _line: &Value, _now: Now) {}

    /// After every batch of lines, and at the deadline.
    pub(super) fn tick(&mut self, _status: Option<&Status>, _now: Now) {}

    /// When `tick` is wanted.
    pub(super) fn deadline(&self) -> Option<Duration> {
        None
    }

    /// The session ends, or is reloaded.
    pub(super) fn leave(&mut self, _keep: bool, _now: Now) {}
}
