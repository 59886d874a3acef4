//! Which sessions: the options of `ls`, `watch`, `wait`, `statusline`, `metrics` and `board` that make one filter.

use std::path::Path;

use jig_session_git::Repository;
use jig_session_store::{Filter, RepositoryTerm, StateTerm};

use crate::view::Narrow;

#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Which sessions")]
pub(crate) struct FilterArgs {
    /// Only sessions in one of these states: busy, idle, attention, stopped, or a reason such as approval
    #[arg(long, value_name = "STATE", value_delimiter = ',')]
    state: Vec<StateTerm>,
    /// Only sessions of one of these agents
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    agent: Vec<String>,
    /// Only sessions in one of these repositories, by name or path
    #[arg(long, value_name = "REPO", value_delimiter = ',')]
    repo: Vec<String>,
    /// Only sessions in the repository of this folder; outside of any, in this folder
    #[arg(long)]
    here: bool,
}

impl FilterArgs {
    /// The filter, ready to work.
    pub(crate) fn narrow(&self) -> Narrow {
        let mut repositories: Vec<RepositoryTerm> = self.repo.iter().map(|repo| repository(repo)).collect();
        if self.here {
            repositories.push(RepositoryTerm::at(Path::new(".")));
        }
        Narrow::by(Filter { words: Vec::new(), states: self.state.clone(), agents: self.agent.clone(), repositories })
    }

    /// The same as it is typed behind `/` on the board; the repository of this folder by its path.
    pub(crate) fn typed(&self) -> String {
        let here = self.here.then(|| {
            let folder = std::env::current_dir().unwrap_or_default();
            let found = Repository::discover(&folder).ok().flatten();
            found.as_ref().and_then(Repository::worktree).map_or(folder, Path::to_path_buf).display().to_string()
        });
        let states = self.state.iter().map(|state| format!("state:{state}"));
        let agents = self.agent.iter().map(|agent| format!("agent:{agent}"));
        let repositories = self.repo.iter().chain(&here).map(|repo| format!("repo:{repo}"));
        states.chain(agents).chain(repositories).collect::<Vec<_>>().join(" ")
    }
}

fn repository(text: &str) -> RepositoryTerm {
    if matches!(text, "." | "..") { RepositoryTerm::at(Path::new(text)) } else { RepositoryTerm::from(text) }
}
