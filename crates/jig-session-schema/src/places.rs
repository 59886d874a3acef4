//! Where everything is: a pure function of the environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The environment of a process, read once.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    account_home: Option<PathBuf>,
}

impl Environment {
    /// From pairs, as the system gives them.
    pub fn new(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        Self { variables: variables.into_iter().collect(), account_home: None }
    }

    /// The home folder that the system's password database names for the user, for a process without a usable `HOME`.
    #[must_use]
    pub fn with_account_home(mut self, home: Option<PathBuf>) -> Self {
        self.account_home = home;
        self
    }

    /// The same without some variables.
    #[must_use]
    pub fn without(&self, names: &[&str]) -> Self {
        let mut rest = self.clone();
        rest.variables.retain(|(name, _)| !names.iter().any(|without| name == without));
        rest
    }

    /// From texts, for tests.
    pub fn of<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        Self::new(variables.into_iter().map(|(name, value)| (name.into(), value.into())))
    }

    /// A variable's text; an empty one, or one that is not UTF-8, counts as unset.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.get_os(name).and_then(OsStr::to_str)
    }

    /// A variable's value; an empty one counts as unset.
    #[must_use]
    pub fn get_os(&self, name: &str) -> Option<&OsStr> {
        // The last one counts, as for a process that got a variable twice.
        let found = self.variables.iter().rev().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// Whether a variable is there at all, even empty.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.variables.iter().any(|(key, _)| key == name)
    }

    /// Every pair.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// A variable that must hold an absolute path to count.
    fn absolute(&self, name: &'static str, ignored: &mut Vec<IgnoredVariable>) -> Option<PathBuf> {
        let value = self.get_os(name)?;
        let trimmed = value.to_str().map_or_else(|| PathBuf::from(value), |text| PathBuf::from(text.trim()));
        if trimmed.is_absolute() {
            return Some(trimmed);
        }
        if !trimmed.as_os_str().is_empty() {
            ignored.push(IgnoredVariable { name, why: "is not an absolute path" });
        }
        None
    }
}

/// A variable that was set and counts as unset; `paths`, `doctor` and stderr say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IgnoredVariable {
    /// Which one.
    pub name: &'static str,
    /// Why.
    pub why: &'static str,
}

/// Every folder and file of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Places {
    /// The home folder: `$HOME`, else the one that the password database names, else `/`.
    pub home: PathBuf,
    /// `$JIG_STATE_DIR`, else `${XDG_STATE_HOME:-~/.local/state}/jig`.
    pub state_dir: PathBuf,
    /// Status files.
    pub sessions: PathBuf,
    /// Request files.
    pub requests: PathBuf,
    /// Marks of which sessions a person has seen.
    pub seen: PathBuf,
    /// The bus of every repository; `$JIG_BUS_DIR` in tests.
    pub bus: PathBuf,
    /// The log of errors.
    pub log: PathBuf,
    /// Our archive of call-log metrics.
    pub king_archive: PathBuf,
    /// pi-king's status files: `$PI_KING_STATUS_DIR`, else `~/.pi/king/session-status`.
    pub king: PathBuf,
    /// `${XDG_CONFIG_HOME:-~/.config}/jig/config.json`.
    pub config: PathBuf,
    /// Variables that were set and do not count.
    pub ignored: Vec<IgnoredVariable>,
}

/// The variable that names the folder of pi-king's status files.
pub const KING_DIR: &str = "PI_KING_STATUS_DIR";

impl Places {
    /// The places of an environment.
    #[must_use]
    pub fn of(env: &Environment) -> Self {
        let mut ignored = Vec::new();
        let home = env.absolute("HOME", &mut ignored).or_else(|| env.account_home.clone()).unwrap_or_else(|| {
            if !env.has("HOME") {
                let why = "is not set, and the password database names no home: / stands for it";
                ignored.push(IgnoredVariable { name: "HOME", why });
            }
            PathBuf::from("/")
        });
        let xdg_state = env.absolute("XDG_STATE_HOME", &mut ignored).unwrap_or_else(|| home.join(".local/state"));
        let xdg_config = env.absolute("XDG_CONFIG_HOME", &mut ignored).unwrap_or_else(|| home.join(".config"));
        let state_dir = env.absolute("JIG_STATE_DIR", &mut ignored).unwrap_or_else(|| xdg_state.join("jig"));
        let king = env.absolute(KING_DIR, &mut ignored);
        Self {
            sessions: state_dir.join("sessions"),
            requests: state_dir.join("requests"),
            seen: state_dir.join("seen"),
            bus: env.absolute("JIG_BUS_DIR", &mut ignored).unwrap_or_else(|| state_dir.join("bus")),
            log: state_dir.join("log"),
            king_archive: state_dir.join("king"),
            king: king.unwrap_or_else(|| home.join(".pi/king/session-status")),
            config: xdg_config.join("jig/config.json"),
            home,
            state_dir,
            ignored,
        }
    }

    /// The log file.
    #[must_use]
    pub fn log_file(&self) -> PathBuf {
        self.log.join("jig-session.log")
    }

    /// Whether a path is below a folder where other programs write: nothing is ever removed there.
    #[must_use]
    pub fn is_kings(&self, path: &Path) -> bool {
        path.starts_with(&self.king)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_follow_home() {
        let places = Places::of(&Environment::of([("HOME", "/home/dev")]));
        assert_eq!(places.sessions, Path::new("/home/dev/.local/state/jig/sessions"));
        assert_eq!(places.requests, Path::new("/home/dev/.local/state/jig/requests"));
        assert_eq!(places.king, Path::new("/home/dev/.pi/king/session-status"));
        assert_eq!(places.config, Path::new("/home/dev/.config/jig/config.json"));
        assert_eq!(places.ignored, []);
    }

    #[test]
    fn without_a_usable_home_the_accounts_home_counts() {
        let account = || Some(PathBuf::from("/account"));
        for (variables, home, ignored) in [
            (vec![("HOME", "/h")], "/h", 0),
            (vec![("HOME", "")], "/account", 0),
            (vec![("HOME", "h")], "/account", 1),
            (vec![], "/account", 0),
        ] {
            let places = Places::of(&Environment::of(variables.clone()).with_account_home(account()));
            assert_eq!((places.home.as_path(), places.ignored.len()), (Path::new(home), ignored), "{variables:?}");
            assert!(places.sessions.starts_with(home) && places.king.starts_with(home), "{variables:?}");
        }
        let none = Places::of(&Environment::default());
        assert_eq!((none.home.as_path(), none.ignored.len()), (Path::new("/"), 1));
    }

    #[test]
    fn each_variable_moves_its_place_and_nothing_else() {
        let with = |name: &str, value: &str| Places::of(&Environment::of([("HOME", "/h"), (name, value)]));
        assert_eq!(with("XDG_STATE_HOME", "/x").sessions, Path::new("/x/jig/sessions"));
        assert_eq!(with("JIG_STATE_DIR", "/j").sessions, Path::new("/j/sessions"));
        assert_eq!(with("XDG_CONFIG_HOME", "/c").config, Path::new("/c/jig/config.json"));
        assert_eq!(with("PI_KING_STATUS_DIR", " /k ").king, Path::new("/k"));
        assert_eq!(with("JIG_BUS_DIR", "/b").bus, Path::new("/b"));
        assert_eq!(with("PI_CODING_AGENT_DIR", "/p"), with("UNRELATED", "/p"));
    }

    #[test]
    fn relative_and_empty_variables_count_as_unset() {
        let plain = Places::of(&Environment::of([("HOME", "/h")]));
        for name in ["JIG_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "PI_KING_STATUS_DIR", "JIG_BUS_DIR"] {
            let empty = Places::of(&Environment::of([("HOME", "/h"), (name, "")]));
            assert_eq!(empty, plain, "{name}");
            let relative = Places::of(&Environment::of([("HOME", "/h"), (name, "state")]));
            assert_eq!(relative.ignored, [IgnoredVariable { name, why: "is not an absolute path" }]);
            assert_eq!(Places { ignored: vec![], ..relative }, plain, "{name}");
        }
        assert_eq!(Places::of(&Environment::default()).state_dir, Path::new("/.local/state/jig"));
    }
}
