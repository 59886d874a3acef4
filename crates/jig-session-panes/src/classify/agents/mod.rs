//! One file an agent: how its screen is read, as data. To add an agent, write a file like its
//! neighbours, name it in [`ALL`], and put screens into `tests/fixtures`.

use super::rule::Agent;

mod aider;
mod antigravity;
mod claude;
mod codewith;
mod codex;
mod copilot;
mod gemini;
mod opencode;
mod pi;

/// Every agent, in the order in which titles and drawings are tried when the command says nothing.
pub(crate) const ALL: [&Agent; 9] = [
    &pi::AGENT,
    &claude::AGENT,
    &copilot::AGENT,
    &gemini::AGENT,
    &opencode::AGENT,
    &codewith::AGENT,
    &codex::AGENT,
    &antigravity::AGENT,
    &aider::AGENT,
];
