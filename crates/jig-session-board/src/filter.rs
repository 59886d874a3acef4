//! What is typed behind `/`: the one filter of sessions, and what of it fits mail, claims and panes.

use std::fmt::Display;

use jig_session_schema::live::{LiveRow, PaneStatus};
use jig_session_schema::row::Row;
use jig_session_store::{Filter, Repositories, RepositoryTerm, StateTerm};

/// The filter as it is typed. While a term is not finished the last one that could be read stands.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    pub(crate) text: String,
    /// Keys are typed into it.
    pub(crate) open: bool,
    /// Why the text is no filter.
    pub(crate) wrong: Option<String>,
    filter: Filter,
    repositories: Repositories,
}

impl Typed {
    pub(crate) fn set(&mut self, text: String) {
        match Filter::parse(&text) {
            Ok(filter) => (self.filter, self.wrong) = (filter, None),
            Err(wrong) => self.wrong = Some(wrong.to_string()),
        }
        self.text = text;
    }

    pub(crate) fn takes(&mut self, row: &Row) -> bool {
        self.filter.takes(row, &mut self.repositories)
    }

    /// Whether these texts of a row have every word: mail and claims have no state of their own.
    pub(crate) fn takes_texts(&self, texts: &[&dyn Display]) -> bool {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string().to_lowercase()).collect();
        self.filter.words.iter().all(|word| texts.iter().any(|text| text.contains(word.as_str())))
    }

    /// Whether nothing is asked that only a session can answer.
    pub(crate) fn has_words_only(&self) -> bool {
        let filter = &self.filter;
        filter.states.is_empty() && filter.agents.is_empty() && filter.repositories.is_empty()
    }

    /// Whether a pane is shown: a status stands for the state of the session in it.
    pub(crate) fn takes_pane(&self, pane: &LiveRow) -> bool {
        let filter = &self.filter;
        let agent = pane.agent.as_ref().map_or("", |agent| agent.as_str());
        let in_state = |term: &StateTerm| match (term, pane.status) {
            (StateTerm::Attention, status) => status == PaneStatus::NeedsAttention,
            (StateTerm::Is(condition), PaneStatus::NeedsAttention) => condition.word() == "attention",
            (StateTerm::Is(condition), PaneStatus::Active) => matches!(condition.word(), "busy" | "stopped"),
            (StateTerm::Is(condition), PaneStatus::Idle) => condition.word() == "idle",
            (StateTerm::Is(condition), PaneStatus::Dead) => condition.word() == "gone",
            // A status of a later version is no state that is known here.
            _ => false,
        };
        let in_repository = |term: &RepositoryTerm| match term {
            RepositoryTerm::Name(name) => pane.project_slug.eq_ignore_ascii_case(name),
            RepositoryTerm::Repository(folder) | RepositoryTerm::Below(folder) => {
                let root = folder.parent().filter(|_| folder.ends_with(".git")).unwrap_or(folder);
                pane.cwd.as_ref().is_some_and(|cwd| std::path::Path::new(cwd).starts_with(root))
            }
        };
        (filter.states.is_empty() || filter.states.iter().any(in_state))
            && (filter.agents.is_empty() || filter.agents.iter().any(|name| name.eq_ignore_ascii_case(agent)))
            && (filter.repositories.is_empty() || filter.repositories.iter().any(in_repository))
            && self.takes_texts(&[
                &pane.target,
                &pane.pane_id,
                &pane.command,
                &pane.title,
                &pane.project_slug,
                &pane.status,
                &agent,
                &pane.cwd.as_deref().unwrap_or_default(),
                &pane.last_visible_line.as_deref().unwrap_or_default(),
            ])
    }
}

#[cfg(test)]
mod tests {
    use jig_session_schema::status::AgentName;

    use super::*;

    fn typed(text: &str) -> Typed {
        let mut typed = Typed::default();
        typed.set(text.to_owned());
        typed
    }

    #[test]
    fn a_term_that_is_not_finished_leaves_the_last_filter() {
        let busy = Row::new().name(Some("one".into())).state(jig_session_schema::status::State::Busy);
        let busy = busy.verdict(jig_session_schema::row::Verdict::Alive);
        let mut typed = typed("state:idle");
        assert!(!typed.takes(&busy));
        typed.set("state:idle state:bu".into());
        assert!(!typed.takes(&busy) && typed.wrong.is_some());
        typed.set("state:idle state:busy".into());
        assert!(typed.takes(&busy) && typed.wrong.is_none());
    }

    #[test]
    fn panes_are_found_by_what_they_show() {
        let pane = LiveRow::new().status(PaneStatus::NeedsAttention).agent(Some(AgentName::CLAUDE));
        let pane = pane.project_slug("shop".into()).cwd(Some("/home/dev/shop".into())).command("node".into());
        for (text, shown) in [
            ("", true),
            ("node", true),
            ("state:attention", true),
            ("state:approval", true),
            ("state:busy", false),
            ("agent:Claude repo:shop", true),
            ("agent:pi", false),
            ("repo:web", false),
            ("repo:/home/dev/", true),
        ] {
            assert_eq!(typed(text).takes_pane(&pane), shown, "{text:?}");
        }
    }
}
