//! Who speaks: the one order in which every surface finds the member it acts for.

use jig_session_agents::Agent;

/// A process above this one, nearest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its pid.
    pub pid: u32,
    /// Its short name, as the kernel keeps it.
    pub name: String,
    /// Its command line; empty when unreadable.
    pub command: Vec<String>,
}

/// What a session's own files tell about the process that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// The session's id.
    pub session: String,
    /// The agent's name, as its status file has it.
    pub agent: String,
    /// The session's name, as its user set it.
    pub name: Option<String>,
    /// The model, for people.
    pub model: Option<String>,
}

/// The evidence from which the calling member is resolved.
pub struct Question<'a> {
    /// `--as`: an id or a label.
    pub named: Option<&'a str>,
    /// The id in a hook's payload.
    pub payload: Option<&'a str>,
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The processes above this one, nearest first.
    pub ancestors: &'a [Ancestor],
    /// What the status files tell about a process.
    pub known: &'a dyn Fn(u32) -> Option<Known>,
    /// The session id from the agent's own record of the process.
    pub record: &'a dyn Fn(&'static Agent, u32) -> Option<String>,
    /// The id of last resort below that agent, if there is one: `mcp-…` of a server, `term-…` of a terminal.
    pub fallback: &'a LastResort<'a>,
}

/// Makes an id below the agent with this name and pid.
pub type LastResort<'a> = dyn Fn(Option<(&str, u32)>) -> String + 'a;

/// How a session's id became known, which decides what a join under it may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// Set explicitly (`--as`, `--id`, `JIG_BUS_SESSION`): it replaces no other member.
    Given,
    /// The agent's own.
    Agent {
        /// The agent changes it in place and has one session a process: it replaces the agent's former one.
        replaces: bool,
    },
    /// Made up for a server or a terminal that nobody knows an id of.
    Own,
}

/// The caller, before it is looked up on the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The member's id; for `--as` the argument as typed.
    pub id: String,
    /// The agent above this process, when there is one: its name and pid.
    pub agent: Option<(String, u32)>,
    /// How the id became known.
    pub source: IdSource,
    /// The result from the status files, when they were consulted.
    pub known: Option<Known>,
}

/// Finds who speaks. The nearest agent decides whose variable is believed: an agent that was started from another
/// one's shell inherits that one's variables.
pub fn find(question: &Question<'_>) -> Answer {
    let program = question.ancestors.iter().find_map(|ancestor| Some((agent_of(ancestor)?, ancestor.pid)));
    let agent = program.map(|(agent, pid)| (agent.name.to_owned(), pid));
    let source = IdSource::Agent { replaces: program.is_some_and(|(agent, _)| agent.replaces_session) };
    let answer = |id: String| Answer { id, agent: agent.clone(), source, known: None };
    let given = question.named.map(str::to_owned).or_else(|| (question.variable)("JIG_BUS_SESSION"));
    if let Some(id) = given {
        return Answer { source: IdSource::Given, ..answer(id) };
    }
    if let Some(id) = question.payload {
        return answer(id.to_owned());
    }
    if let Some(id) = program.and_then(|(agent, _)| (question.variable)(agent.session_variable?)) {
        return answer(id);
    }
    // Without a program that is known by name, any ancestor that has a status file is the agent.
    let asked = question.ancestors.iter().map(|ancestor| ancestor.pid);
    let asked: Vec<u32> = match program {
        Some((_, pid)) => vec![pid],
        None => asked.collect(),
    };
    for pid in asked {
        if let Some(known) = (question.known)(pid) {
            let agent = Some((known.agent.clone(), pid));
            return Answer { agent, known: Some(known.clone()), ..answer(known.session) };
        }
    }
    if let Some(id) = program.and_then(|(agent, pid)| (question.record)(agent, pid)) {
        return answer(id);
    }
    let below = agent.as_ref().map(|(name, pid)| (name.as_str(), *pid));
    Answer { source: IdSource::Own, ..answer((question.fallback)(below)) }
}

/// The agent a process is, by its name or by the script its interpreter runs.
pub fn agent_of(ancestor: &Ancestor) -> Option<&'static Agent> {
    jig_session_agents::of_process(&ancestor.name, &ancestor.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ancestor(pid: u32, name: &str, command: &[&str]) -> Ancestor {
        Ancestor { pid, name: name.into(), command: command.iter().map(|word| (*word).to_owned()).collect() }
    }

    fn ask(variables: &[(&str, &str)], ancestors: &[Ancestor], known: &[(u32, &str)]) -> Answer {
        find(&Question {
            named: None,
            payload: None,
            variable: &|name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned()),
            ancestors,
            known: &|pid| {
                let (_, session) = known.iter().find(|(p, _)| *p == pid)?;
                Some(Known { session: (*session).into(), agent: "gemini".into(), ..Known::default() })
            },
            record: &|_, _| None,
            fallback: &|_| "term-1".to_owned(),
        })
    }

    #[test]
    fn the_nearest_agent_decides_which_variable_is_believed() {
        // An agent started from another agent's shell inherits that one's variables.
        let codex_in_pi = [ancestor(30, "bash", &[]), ancestor(20, "codex", &[]), ancestor(10, "pi", &[])];
        let both = [("PI_SESSION_ID", "p-1"), ("CODEX_THREAD_ID", "c-1")];
        assert_eq!(ask(&both, &codex_in_pi, &[]).id, "c-1");
        assert_eq!(ask(&both, &codex_in_pi, &[]).agent, Some(("codex".into(), 20)));
        let inherited = [("PI_SESSION_ID", "p-1")];
        assert_eq!(ask(&inherited, &codex_in_pi, &[]).source, IdSource::Own, "Pi's id is not Codex's");
        let alone = ask(&inherited, &[ancestor(30, "tmux", &[])], &[]);
        assert_eq!(alone.source, IdSource::Own, "a variable alone proves nothing");
    }

    #[test]
    fn only_an_agent_that_changes_its_id_in_place_replaces_one() {
        let source = |variables: &[(&str, &str)], name| ask(variables, &[ancestor(5, name, &[])], &[]).source;
        assert_eq!(source(&[("CLAUDE_CODE_SESSION_ID", "c")], "claude"), IdSource::Agent { replaces: true });
        assert_eq!(source(&[("CODEX_THREAD_ID", "x")], "codex"), IdSource::Agent { replaces: false });
        assert_eq!(source(&[("JIG_BUS_SESSION", "w-1")], "claude"), IdSource::Given, "a dispatcher's worker");
    }

    #[test]
    fn the_order_is_named_variable_payload_agent_status_record_last_resort() {
        let claude = [ancestor(5, "claude", &[])];
        let full = |named, payload, variables: &[(&str, &str)], known: Option<&str>, record: Option<&str>| {
            find(&Question {
                named,
                payload,
                variable: &|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()),
                ancestors: &claude,
                known: &|_| known.map(|id| Known { session: id.into(), ..Known::default() }),
                record: &|_, _| record.map(str::to_owned),
                fallback: &|_| "last".to_owned(),
            })
            .id
        };
        let variables = [("JIG_BUS_SESSION", "b"), ("CLAUDE_CODE_SESSION_ID", "d")];
        assert_eq!(full(Some("a"), Some("c"), &variables, Some("e"), Some("f")), "a");
        assert_eq!(full(None, Some("c"), &variables, Some("e"), Some("f")), "b");
        assert_eq!(full(None, Some("c"), &variables[1..], Some("e"), Some("f")), "c");
        assert_eq!(full(None, None, &variables[1..], Some("e"), Some("f")), "d");
        assert_eq!(full(None, None, &[], Some("e"), Some("f")), "e");
        assert_eq!(full(None, None, &[], None, Some("f")), "f");
        assert_eq!(full(None, None, &[], None, None), "last");
    }

    #[test]
    fn a_status_file_makes_an_unknown_program_the_agent() {
        let chain = [ancestor(9, "bash", &[]), ancestor(8, "newagent", &[])];
        let answer = ask(&[], &chain, &[(8, "s-8")]);
        assert_eq!((answer.id.as_str(), answer.agent), ("s-8", Some(("gemini".into(), 8))));
    }
}
