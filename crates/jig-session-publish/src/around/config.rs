//! The optional configuration file: where ticket folders and workflow folders are, and the Jira address.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// What `config.json` says about a session's surroundings. Everything is optional; nothing is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `memory.dir`: the folder that holds one folder a ticket.
    pub tickets: Option<PathBuf>,
    /// `workflow.dirs`: folders that may hold a `workflow.json`.
    pub workflows: Vec<PathBuf>,
    /// `jira.site`: the address that a ticket's link is made from.
    pub jira: Option<String>,
}

impl Config {
    /// Reads the document. What does not parse, or has another type, counts as absent: publishing needs none of it.
    pub fn of(document: &[u8], home: Option<&Path>) -> Self {
        let Ok(document) = serde_json::from_slice::<Value>(document) else { return Self::default() };
        let path = |value: &Value| value.as_str().and_then(|text| absolute(text, home));
        let dirs = &document["workflow"]["dirs"];
        Self {
            tickets: path(&document["memory"]["dir"]),
            workflows: match dirs {
                Value::Array(dirs) => dirs.iter().filter_map(path).collect(),
                one => path(one).into_iter().collect(),
            },
            jira: document["jira"]["site"].as_str().map(str::trim).filter(|site| !site.is_empty()).map(str::to_owned),
        }
    }

    /// The address of a ticket, if a Jira site is known.
    pub(crate) fn link(&self, key: &str) -> Option<String> {
        let site = self.jira.as_deref()?.trim_end_matches('/');
        let scheme = if site.contains("://") { "" } else { "https://" };
        Some(format!("{scheme}{site}/browse/{key}"))
    }
}

/// An absolute path, or one below the home folder written with `~/`. A relative one names nothing: it would depend
/// on where the session was started.
fn absolute(text: &str, home: Option<&Path>) -> Option<PathBuf> {
    if let Some(rest) = text.strip_prefix("~/") {
        return home.map(|home| home.join(rest));
    }
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_sections_are_read() {
        let text = br#"{"memory":{"dir":"~/tickets"},"workflow":{"dirs":["/w/a","rel","~/w"]},"jira":{"site":"jira.example.org"}}"#;
        let config = Config::of(text, Some(Path::new("/home/dev")));
        assert_eq!(config.tickets.as_deref(), Some(Path::new("/home/dev/tickets")));
        assert_eq!(config.workflows, [PathBuf::from("/w/a"), PathBuf::from("/home/dev/w")]);
        assert_eq!(config.link("ABC-1").as_deref(), Some("https://jira.example.org/browse/ABC-1"));
    }

    #[test]
    fn a_site_may_carry_its_scheme() {
        let config = Config { jira: Some("http://jira.local/".into()), ..Config::default() };
        assert_eq!(config.link("A-1").as_deref(), Some("http://jira.local/browse/A-1"));
    }

    #[test]
    fn what_is_wrong_counts_as_absent() {
        for text in ["", "[]", "null", r#"{"memory":7,"workflow":{"dirs":[1,{}]},"jira":{"site":""}}"#] {
            assert_eq!(Config::of(text.as_bytes(), None), Config::default(), "{text}");
        }
    }
}
