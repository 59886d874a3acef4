//! Where an agent's files lie.

use std::path::{Path, PathBuf};

/// A folder of an agent's: below the one that a variable names, else below the home folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The variable, and the path below the folder that it names.
    pub variable: Option<(&'static str, &'static str)>,
    /// The path below the home folder.
    pub home: &'static str,
}

impl Folder {
    /// Its path; a variable whose value is no absolute path counts as unset, and `~` in it is the home folder, which a
    /// shell leaves as it is inside quotes.
    #[must_use]
    pub fn path<'a>(&self, variable: impl Fn(&str) -> Option<&'a str>, home: &Path) -> PathBuf {
        let named = self.variable.and_then(|(name, below)| {
            let value = variable(name)?;
            let folder = match value.strip_prefix('~') {
                Some("") => home.to_owned(),
                Some(rest) if rest.starts_with('/') => home.join(&rest[1..]),
                _ => PathBuf::from(value),
            };
            folder.is_absolute().then(|| join(&folder, below))
        });
        named.unwrap_or_else(|| join(home, self.home))
    }
}

/// A file of an agent's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File {
    /// Its folder.
    pub folder: Folder,
    /// Its name in the folder.
    pub name: &'static str,
}

impl File {
    /// Its path.
    #[must_use]
    pub fn path<'a>(&self, variable: impl Fn(&str) -> Option<&'a str>, home: &Path) -> PathBuf {
        join(&self.folder.path(variable, home), self.name)
    }
}

/// An empty part adds nothing, not even a slash.
fn join(folder: &Path, below: &str) -> PathBuf {
    if below.is_empty() { folder.to_owned() } else { folder.join(below) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_counts_when_it_is_an_absolute_path() {
        let folder = Folder { variable: Some(("XDG_CONFIG_HOME", "opencode")), home: ".config/opencode" };
        let path = |value: Option<&'static str>| {
            File { folder, name: "opencode.json" }.path(|_| value, Path::new("/home/u")).display().to_string()
        };
        assert_eq!(path(None), "/home/u/.config/opencode/opencode.json");
        assert_eq!(path(Some("/c")), "/c/opencode/opencode.json");
        assert_eq!(path(Some("c")), "/home/u/.config/opencode/opencode.json");
        assert_eq!(path(Some("~/c")), "/home/u/c/opencode/opencode.json");
        assert_eq!(path(Some("~")), "/home/u/opencode/opencode.json");
    }
}
