//! Which sessions are meant: the one filter of `ls`, `watch`, `wait` and the board.
//!
//! Terms of one kind are alternatives, terms of different kinds must all hold, and so must every word.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jig_session_git::Repository;
use jig_session_schema::row::Row;
use jig_session_schema::status::Reason;

use crate::condition::Condition;

/// A filter. The empty one takes every session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Each must occur in what a row shows, without regard to case.
    pub words: Vec<String>,
    /// One of these conditions.
    pub states: Vec<StateTerm>,
    /// One of these agents, by name, without regard to case.
    pub agents: Vec<String>,
    /// One of these repositories.
    pub repositories: Vec<RepositoryTerm>,
}

/// A condition that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateTerm {
    /// Any reason to wait for a person.
    Attention,
    /// This condition and no other.
    Is(Condition),
}

/// A repository that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RepositoryTerm {
    /// By its name; a folder outside of any repository by its own name.
    Name(String),
    /// The repository that has this common folder, through any of its worktrees.
    Repository(PathBuf),
    /// This folder and what lies below it.
    Below(PathBuf),
}

/// An unknown word in a filter.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// No condition or reason has this name.
    #[error("no state is named {0:?}: {words}", words = state_words().join(", "))]
    State(String),
    /// A key with nothing behind it.
    #[error("{0}: wants a value, such as {0}:{1}")]
    Empty(&'static str, &'static str),
}

/// Every word that [`StateTerm`] knows: the conditions, then the reasons to wait for a person.
#[must_use]
pub fn state_words() -> Vec<&'static str> {
    ["attention", "stopped", "busy", "idle", "gone"].iter().chain(Reason::KNOWN).copied().collect()
}

impl FromStr for StateTerm {
    type Err = FilterError;

    fn from_str(word: &str) -> Result<Self, FilterError> {
        let known = Reason::KNOWN.contains(&word);
        Ok(Self::Is(match word {
            "attention" => return Ok(Self::Attention),
            "stopped" => Condition::Stopped,
            "busy" => Condition::Busy,
            "idle" => Condition::Idle,
            "gone" => Condition::Gone,
            _ => {
                let reason = Reason::new(word).filter(|_| known);
                Condition::Attention(reason.ok_or_else(|| FilterError::State(word.to_owned()))?)
            }
        }))
    }
}

/// As it is typed.
impl std::fmt::Display for StateTerm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Attention => f.write_str("attention"),
            Self::Is(condition) => condition.fmt(f),
        }
    }
}

impl StateTerm {
    fn takes(&self, condition: &Condition) -> bool {
        match self {
            Self::Attention => condition.waits(),
            // The session of a turn that is over and was not seen yet is idle.
            Self::Is(Condition::Idle) => [Condition::Idle, Condition::Attention(Reason::FINISHED)].contains(condition),
            Self::Is(wanted) => wanted == condition,
        }
    }
}

impl RepositoryTerm {
    /// The repository that holds a folder, or the folder itself outside of any.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        match Repository::discover(folder) {
            Ok(Some(repository)) => Self::Repository(repository.common_dir().to_owned()),
            _ => Self::Below(std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned())),
        }
    }
}

/// A name, or what lies at a path: a value with a `/` is a path.
impl From<&str> for RepositoryTerm {
    fn from(text: &str) -> Self {
        if text.contains('/') { Self::at(Path::new(text)) } else { Self::Name(text.to_owned()) }
    }
}

/// The repositories of folders, each looked for once as long as this value lives.
#[derive(Debug, Default)]
pub struct Repositories {
    found: HashMap<String, Option<RepositoryEntry>>,
}

/// A folder's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RepositoryEntry {
    name: String,
    common_dir: PathBuf,
}

impl Repositories {
    /// The name of the repository that holds a folder; `None` outside of any.
    pub fn name(&mut self, folder: &str) -> Option<&str> {
        self.of(folder).map(|found| found.name.as_str())
    }

    fn of(&mut self, folder: &str) -> Option<&RepositoryEntry> {
        let found = self.found.entry(folder.to_owned()).or_insert_with_key(|folder| {
            let repository = Path::new(folder).is_absolute().then(|| Repository::discover(folder).ok()).flatten()??;
            Some(RepositoryEntry { name: repository.name(), common_dir: repository.common_dir().to_owned() })
        });
        found.as_ref()
    }
}

impl Filter {
    /// Reads what a person types: words, and `state:`, `agent:`, `repo:` with values between commas.
    ///
    /// # Errors
    /// When a state has no such name, or a key no value.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut filter = Self::default();
        for term in text.split_whitespace() {
            match term.split_once(':') {
                Some(("state", values)) => {
                    for value in values_of("state", "busy", values)? {
                        filter.states.push(value.to_ascii_lowercase().parse()?);
                    }
                }
                Some(("agent", values)) => {
                    filter.agents.extend(values_of("agent", "pi", values)?.map(str::to_owned));
                }
                Some(("repo", values)) => {
                    filter.repositories.extend(values_of("repo", "shop", values)?.map(RepositoryTerm::from));
                }
                _ => filter.words.push(term.to_lowercase()),
            }
        }
        Ok(filter)
    }

    /// Whether it takes every session.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it takes the session of this row.
    pub fn takes(&self, row: &Row, repositories: &mut Repositories) -> bool {
        let condition = Condition::of(row);
        let agent = row.agent_name();
        (self.states.is_empty() || self.states.iter().any(|term| term.takes(&condition)))
            && (self.agents.is_empty() || self.agents.iter().any(|name| name.eq_ignore_ascii_case(&agent)))
            && (self.repositories.is_empty() || self.is_in_one(row, repositories))
            && self.has_words(row, &condition)
    }

    fn is_in_one(&self, row: &Row, repositories: &mut Repositories) -> bool {
        if row.host.is_some() {
            // The other machine's files are not here: only the names in the path tell.
            let has = |name: &str| Path::new(&row.cwd).components().any(|part| part.as_os_str() == name);
            return self.repositories.iter().any(|term| matches!(term, RepositoryTerm::Name(name) if has(name)));
        }
        let folder = Path::new(&row.cwd);
        let found = repositories.of(&row.cwd);
        self.repositories.iter().any(|term| match term {
            RepositoryTerm::Name(name) => match found {
                Some(found) => found.name == *name,
                None => folder.file_name().is_some_and(|own| own == name.as_str()),
            },
            RepositoryTerm::Repository(common_dir) => found.is_some_and(|found| found.common_dir == *common_dir),
            RepositoryTerm::Below(root) => {
                folder.starts_with(root) || std::fs::canonicalize(folder).is_ok_and(|real| real.starts_with(root))
            }
        })
    }

    fn has_words(&self, row: &Row, condition: &Condition) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let model = row.model.as_ref();
        let agent = row.agent_name();
        let condition = condition.to_string();
        let shown = [
            Some(row.session.as_str()),
            row.name.as_deref(),
            Some(&row.cwd),
            Some(&agent),
            Some(&condition),
            model.map(|model| model.id.as_str()),
            model.and_then(|model| model.name.as_deref()),
            row.terminal.as_deref(),
            row.tmux_pane.as_deref(),
            row.host.as_deref(),
        ];
        let shown: Vec<String> = shown.into_iter().flatten().map(str::to_lowercase).collect();
        self.words.iter().all(|word| shown.iter().any(|text| text.contains(word.as_str())))
    }
}

fn values_of<'a>(
    key: &'static str,
    example: &'static str,
    values: &'a str,
) -> Result<impl Iterator<Item = &'a str>, FilterError> {
    let values = values.split(',').filter(|value| !value.is_empty());
    if values.clone().next().is_none() { Err(FilterError::Empty(key, example)) } else { Ok(values) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use jig_session_schema::row::Verdict;
    use jig_session_schema::status::{Agent, AgentName, Attention, Model, State};

    use super::*;

    fn row(agent: &str, name: &str, cwd: &str, state: State, reason: Option<Reason>) -> Row {
        let attention = reason.map(|reason| Attention::new().reason(reason));
        let agent = AgentName::new(agent).map(|name| Agent::new().name(name));
        let row = Row::new().session("01a22868-0000".to_owned()).agent(agent).name(Some(name.into())).cwd(cwd.into());
        let model = Model::new().id("m-2".into()).name(Some("Model Two".into()));
        row.state(state).attention(attention).verdict(Verdict::Alive).model(Some(model))
    }

    fn takes(filter: &str, row: &Row) -> bool {
        Filter::parse(filter).expect("a filter").takes(row, &mut Repositories::default())
    }

    #[test]
    fn terms_of_a_kind_are_alternatives_and_kinds_must_all_hold() {
        let busy = row("pi", "Billing", "/nowhere/shop", State::Busy, None);
        let waits = row("claude", "docs", "/nowhere/site", State::Busy, Some(Reason::APPROVAL));
        for (filter, of_busy, of_waits) in [
            ("", true, true),
            ("  ", true, true),
            ("state:busy", true, false),
            ("state:attention", false, true),
            ("state:approval", false, true),
            ("state:question", false, false),
            ("state:busy,attention", true, true),
            ("state:busy state:approval", true, true),
            ("state:BUSY", true, false),
            ("agent:pi", true, false),
            ("agent:Claude", false, true),
            ("agent:pi state:approval", false, false),
            ("repo:shop", true, false),
            ("repo:shop,site", true, true),
            ("repo:/nowhere", true, true),
            ("repo:/nowhere/sh", false, false),
            ("bill", true, false),
            ("BILL two", true, false),
            ("bill docs", false, false),
            ("model", true, true),
            ("approval", false, true),
            ("01a22868 state:idle,busy", true, false),
            // A key that is none is a word.
            ("host:x", false, false),
        ] {
            assert_eq!((takes(filter, &busy), takes(filter, &waits)), (of_busy, of_waits), "{filter:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        for (filter, said) in [
            ("state:bsuy", "no state is named \"bsuy\": attention, stopped, busy, idle, gone, approval"),
            ("state:", "state: wants a value, such as state:busy"),
            ("agent:,", "agent: wants a value, such as agent:pi"),
            ("repo:", "repo: wants a value, such as repo:shop"),
        ] {
            let error = Filter::parse(filter).expect_err("no filter").to_string();
            assert!(error.starts_with(said), "{filter:?}: {error}");
        }
        for word in state_words() {
            assert!(Filter::parse(&format!("state:{word}")).is_ok(), "{word}");
        }
    }

    #[test]
    fn a_repository_is_told_through_its_worktrees_and_folders() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("its real path");
        for folder in ["shop/.git/objects", "shop/.git/refs", "shop/src", "other/shop"] {
            fs::create_dir_all(root.join(folder)).expect("made");
        }
        fs::write(root.join("shop/.git/HEAD"), "ref: refs/heads/main\n").expect("written");
        let at = |below: &str| row("pi", "x", root.join(below).to_str().expect("UTF-8"), State::Idle, None);
        let (inside, outside, remote) = (at("shop/src"), at("other"), at("shop").host(Some("far".into())));
        let here =
            |folder: &str| Filter { repositories: vec![RepositoryTerm::at(&root.join(folder))], ..Filter::default() };
        let mut known = Repositories::default();
        assert!(here("shop").takes(&inside, &mut known) && here("shop/src").takes(&inside, &mut known));
        assert!(!here("shop").takes(&outside, &mut known) && !here("other").takes(&inside, &mut known));
        assert!(here("other").takes(&at("other/shop"), &mut known), "no repository: what lies below");
        assert!(takes("repo:shop", &inside) && takes("repo:other", &outside) && !takes("repo:src", &inside));
        assert!(takes("repo:shop", &remote), "by the names of its path");
        assert!(!here("shop").takes(&remote, &mut known), "a path of this machine is none of another one");
        assert_eq!(known.name(&inside.cwd), Some("shop"));
    }
}
