//! Names of hosts, as ssh takes them.

use std::fmt;

/// The word that stands for every host of the configuration.
const ALL: &str = "all";

/// A host as its user names it: an alias of ssh's configuration, a name, `user@name`, an `ssh://` address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Host(String);

/// Why a text names no host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostError {
    /// ssh would take it for an option, or it holds what no name has.
    NoHost(String),
    /// `all`, and the configuration names none.
    NoneConfigured,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHost(text) => write!(f, "--on: {text:?} is no name of a host"),
            Self::NoneConfigured => f.write_str("--on all: the configuration names no hosts"),
        }
    }
}

impl std::error::Error for HostError {}

impl Host {
    /// The host of this name.
    ///
    /// # Errors
    /// When it is empty, begins with `-`, or holds blanks or control characters.
    pub fn new(name: &str) -> Result<Self, HostError> {
        let fits = !name.is_empty()
            && name.len() <= 255
            && !name.starts_with('-')
            && name.chars().all(|c| !c.is_whitespace() && !c.is_control());
        if fits { Ok(Self(name.to_owned())) } else { Err(HostError::NoHost(name.to_owned())) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The hosts that are asked for, each once: names between commas, and those that are configured where `all` stands.
///
/// # Errors
/// When a text is no name, and when `all` stands for none.
pub fn hosts<'a>(wanted: impl IntoIterator<Item = &'a str>, configured: &[String]) -> Result<Vec<Host>, HostError> {
    let mut hosts = Vec::new();
    let mut add = |name: &str| -> Result<(), HostError> {
        let host = Host::new(name)?;
        if !hosts.contains(&host) {
            hosts.push(host);
        }
        Ok(())
    };
    for name in wanted.into_iter().flat_map(|list| list.split(',')) {
        if name != ALL {
            add(name)?;
        } else if configured.is_empty() {
            return Err(HostError::NoneConfigured);
        } else {
            configured.iter().try_for_each(|name| add(name))?;
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_commas_each_once() {
        let configured = ["far".to_owned(), "near".to_owned()];
        for (wanted, named) in [
            (vec!["a"], vec!["a"]),
            (vec!["a,b", "a"], vec!["a", "b"]),
            (vec!["all"], vec!["far", "near"]),
            (vec!["near,all"], vec!["near", "far"]),
            (vec!["user@far.example", "ssh://far:2222"], vec!["user@far.example", "ssh://far:2222"]),
            (vec![], vec![]),
        ] {
            let found = hosts(wanted.iter().copied(), &configured).expect("hosts");
            assert_eq!(found.iter().map(Host::name).collect::<Vec<_>>(), named);
        }
    }

    #[test]
    fn what_ssh_would_take_for_an_option_is_no_host() {
        for text in ["-oProxyCommand=id", "", "a,", "a b", "a\n", "-"] {
            assert!(hosts([text], &[]).is_err(), "{text:?}");
        }
        assert_eq!(hosts(["all"], &[]), Err(HostError::NoneConfigured));
        assert!(hosts(["all"], &["-oX".to_owned()]).is_err(), "the configuration too");
    }
}
