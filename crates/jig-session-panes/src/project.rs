//! Which project a pane belongs to, derived from its folder and its session's name.

/// How open sessions are recognised, and what paths are resolved against.
#[derive(Clone, Debug)]
pub struct ProjectRule {
    /// The home folder that `~` expands to; `None` leaves `~` as it is.
    pub home: Option<String>,
    /// How the folder or the session of an open session begins.
    pub open_prefix: String,
}

impl Default for ProjectRule {
    fn default() -> Self {
        Self { home: None, open_prefix: "open-".to_owned() }
    }
}

/// A pane's project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The folder as it came, normalised; null when there is none.
    pub folder: Option<String>,
    /// The project's folder: cut at the last part that begins with the open prefix.
    pub path: Option<String>,
    /// A short name, never empty.
    pub slug: String,
    /// Whether it is an open session.
    pub open: bool,
}

impl ProjectRule {
    /// The project of a pane.
    pub fn project(&self, session: &str, folder: &str) -> Project {
        let folder = self.normalise(folder);
        let path = folder.as_deref().map(|folder| self.cut(folder).to_owned());
        let base = path.as_deref().and_then(|path| path.rsplit('/').next()).filter(|base| !base.is_empty());
        let slug = slug(base.unwrap_or(session));
        let open = session.starts_with(&self.open_prefix) || slug.starts_with(&self.open_prefix.to_lowercase());
        Project { folder, path, slug, open }
    }

    /// A path trimmed, `~` expanded, slashes single, no slash at the end, `/home/<x>/Workspace` as `workspace`.
    pub fn normalise(&self, path: &str) -> Option<String> {
        let path = path.trim();
        if path.is_empty() {
            return None;
        }
        let expanded = match (path.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
            _ => path.to_owned(),
        };
        let rooted = expanded.starts_with('/');
        let mut parts: Vec<&str> = expanded.split('/').filter(|part| !part.is_empty()).collect();
        if rooted && parts.len() > 2 && parts[0] == "home" && parts[2] == "Workspace" {
            parts[2] = "workspace";
        }
        Some(if rooted { format!("/{}", parts.join("/")) } else { parts.join("/") })
    }

    fn cut<'a>(&self, path: &'a str) -> &'a str {
        let prefix = self.open_prefix.to_lowercase();
        let mut end = path.len();
        loop {
            let start = path[..end].rfind('/').map_or(0, |at| at + 1);
            if !prefix.is_empty() && path[start..end].to_lowercase().starts_with(&prefix) {
                return &path[..end];
            }
            if start == 0 {
                return path;
            }
            end = start - 1;
        }
    }
}

/// Lower case, each run outside `a-z0-9` one dash, no dash at the ends; `unknown` when nothing is left.
fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.to_lowercase().chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    if slug.is_empty() { "unknown".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> ProjectRule {
        ProjectRule { home: Some("/home/dev".into()), ..ProjectRule::default() }
    }

    #[test]
    fn slugs() {
        assert_eq!(slug("My App (v2)"), "my-app-v2");
        assert_eq!(slug("日本"), "unknown");
        assert_eq!(rule().project("router", "/").slug, "router");
        assert_eq!(rule().project("router", "").slug, "router");
        assert_eq!(rule().project("s", "/home/dev/a_b").slug, "a-b");
    }

    #[test]
    fn paths_are_normalised() {
        let rule = rule();
        assert_eq!(rule.normalise("  "), None);
        assert_eq!(rule.normalise("~/x//y/").as_deref(), Some("/home/dev/x/y"));
        assert_eq!(rule.normalise("~").as_deref(), Some("/home/dev"));
        assert_eq!(rule.normalise("~other/x").as_deref(), Some("~other/x"));
        assert_eq!(rule.normalise("//").as_deref(), Some("/"));
        assert_eq!(rule.normalise("/home/dev/Workspace/a").as_deref(), Some("/home/dev/workspace/a"));
        assert_eq!(rule.normalise("/home/dev/Workspaces").as_deref(), Some("/home/dev/Workspaces"));
        assert_eq!(rule.normalise("/srv/dev/Workspace").as_deref(), Some("/srv/dev/Workspace"));
    }

    #[test]
    fn an_open_project_is_cut_at_its_last_open_part() {
        let project = rule().project("worker", "/home/dev/open-suite/open-Router/packages/api");
        assert_eq!(project.path.as_deref(), Some("/home/dev/open-suite/open-Router"));
        assert_eq!((project.slug.as_str(), project.open), ("open-router", true));
        assert!(rule().project("open-x", "/srv/x").open);
        assert!(!rule().project("Open-x", "/srv/x").open);
        assert!(!rule().project("worker", "/srv/x").open);
    }
}
