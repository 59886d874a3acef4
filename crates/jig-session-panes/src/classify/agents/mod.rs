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
mod qwen;

/// Every agent, in the order in which titles and drawings are tried when the command says nothing.
pub(crate) const ALL: [&Agent; 10] = [
    &pi::AGENT,
    &claude::AGENT,
    &copilot::AGENT,
    &gemini::AGENT,
    &qwen::AGENT,
    &opencode::AGENT,
    &codewith::AGENT,
    &codex::AGENT,
    &antigravity::AGENT,
    &aider::AGENT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_its_screens_or_says_that_it_has_none() {
        for agent in jig_session_agents::ALL {
            let rules = ALL.into_iter().filter(|rules| rules.of.name == agent.name).count();
            assert_eq!(rules, usize::from(agent.screen.is_some()), "{}", agent.name);
        }
    }
}
