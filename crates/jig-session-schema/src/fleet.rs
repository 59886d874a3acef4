//! What a machine tells others through a broker: each live session reduced to what may leave the machine, and the
//! machine itself.

use crate::row::Verdict;
use crate::shape::Tag;
use crate::status::{Agent, Attention, Context, Model, State, Usage};
use crate::time::Timestamp;

record! {
    /// One live session as its machine shares it. The list of fields is complete on purpose: what a status file gains
    /// stays on its machine until it is listed here.
    pub struct FleetSession {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When the machine sent it, by its own clock.
        required at: Timestamp = "at",
        /// The session's id.
        required session: String = "session",
        /// Which agent.
        seed agent: Option<Agent> = "agent",
        /// The session's name as its user set it; only where its machine shares names.
        added name: Option<String> = "name",
        /// The last part of the agent's working folder.
        needed folder: String = "folder",
        /// The agent's working folder; only where its machine shares paths.
        added cwd: Option<String> = "cwd",
        /// The reconciled state.
        needed state: State = "state",
        /// A person is waited for; reconciled.
        seed attention: Option<Attention> = "attention",
        /// When the state last changed; reconciled.
        seed state_at: Option<Timestamp> = "stateAt",
        /// The model.
        seed model: Option<Model> = "model",
        /// How full the context is.
        needed context: Context = "context",
        /// Tokens and cost; null when this source tells none.
        seed usage: Option<Usage> = "usage",
        /// When this process began this session.
        seed started_at: Option<Timestamp> = "startedAt",
        /// When the session's file was last written.
        seed updated_at: Option<Timestamp> = "updatedAt",
        /// Whether the session lives, as its machine judged it.
        needed verdict: Verdict = "verdict",
    }
}

record! {
    /// A machine that shares its sessions. The broker sends the last one, with `online` false, when the machine goes
    /// without a word.
    pub struct FleetMachine {
        /// The version of this document: 1.
        version schema: Tag = "schema" is 1,
        /// When the machine sent it, by its own clock; of a machine that went without a word, when it had connected.
        required at: Timestamp = "at",
        /// Whether it is connected.
        required online: bool = "online",
        /// A hash that tells machines with one name apart.
        needed id: String = "id",
        /// The version of the program that shares.
        seed version: Option<String> = "version",
        /// The operating system, such as `linux` or `macos`.
        seed os: Option<String> = "os",
        /// How many sessions are shared.
        seed sessions: Option<u64> = "sessions",
    }
}
