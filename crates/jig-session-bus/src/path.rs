//! A claim path made relative to the repository, through links, or the refusal that names why.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::limits;
use crate::pattern::is_pattern;
use crate::text;

/// Where paths are looked up: one worktree.
#[derive(Clone, Debug)]
pub struct Worktree {
    /// Real path of the worktree's root.
    pub root: PathBuf,
    /// Real path of the working directory.
    pub cwd: PathBuf,
    /// The same root as the user spells it, when the working directory was reached through a link.
    pub spelled_root: Option<PathBuf>,
    /// What its worktrees share: the common git folder, or the main root of another version control; the root itself
    /// outside of any.
    pub common: PathBuf,
    /// Real paths of the folders of the version control, in which nobody may claim.
    pub git: Vec<PathBuf>,
    /// Names differ in case only on this file system.
    pub folds_case: bool,
}

/// A path as it is stored, and whether it names a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimPath {
    /// Relative to the root, `/` between parts, `.` for the root; or `@name` of a resource.
    pub path: String,
    /// It was spelled as a folder, or is one.
    pub dir: bool,
}

/// Why a path cannot be claimed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    /// Nothing, or a byte no path can hold.
    #[error("a path cannot be empty or hold a NUL byte")]
    Empty,
    /// Longer than a claim's path may be.
    #[error("a path has at most {} bytes", limits::PATH)]
    TooLong,
    /// A pattern other than "everything below".
    #[error("\"{0}\" is a pattern; claims are files or folders")]
    Pattern(String),
    /// A spelling that some tool would expand, and nothing here does.
    #[error("\"{0}\" begins with \"~\" or \"$\", which stands for nothing here")]
    Home(String),
    /// Several paths in one word.
    #[error("\"{0}\" is several paths in one")]
    Several(String),
    /// A path written as files are mentioned to an agent.
    #[error("\"{0}\" names a file as a resource")]
    Mention(String),
    /// An address and no path.
    #[error("\"{0}\" is an address and no path")]
    Address(String),
    /// Not in this worktree.
    #[error("\"{0}\" is outside the repository")]
    Outside(String),
    /// In another repository than the session's.
    #[error("\"{path}\" is in another repository, {root}", root = .root.display())]
    Elsewhere {
        /// The path.
        path: String,
        /// That repository's root.
        root: PathBuf,
    },
    /// Inside the repository's own bookkeeping.
    #[error("\"{0}\" is inside the git folder")]
    Git(String),
    /// Links that lead to themselves.
    #[error("\"{0}\" leads through too many links")]
    Loop(String),
    /// A resource's name that could be mistaken.
    #[error("\"{0}\" is not a resource name: \"@\" and 1 to 64 letters, digits, \".\", \"_\", \"-\", \":\", \"/\"")]
    Resource(String),
    /// A name that JSON cannot carry.
    #[error("\"{0}\" is not UTF-8")]
    NotText(String),
}

impl BadPath {
    /// The way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Pattern(text) if text.contains('[') => Some(
                "name each path, or claim the folder; a file with brackets in its name is claimed when it is there"
                    .to_owned(),
            ),
            Self::Pattern(_) => Some("name each path, or claim the folder: src/api or src/api/**".to_owned()),
            Self::Home(_) => Some("write the path out; for a file of that name: ./~name".to_owned()),
            Self::Several(_) => Some("name each path by itself".to_owned()),
            Self::Mention(text) => Some(format!("write it without the \"@\": {}", &text[1..])),
            Self::Address(text) => Some(match file_uri(text) {
                Some(path) => format!("write it as a path: {path}"),
                None => "claim the path of a file or folder, or a resource such as @name".to_owned(),
            }),
            Self::Outside(_) => Some("claims are paths of the repository the session works in".to_owned()),
            Self::Elsewhere { root, .. } => {
                Some(format!("use that repository's bus: jig-session bus --cwd '{}' …", root.display()))
            }
            Self::Loop(_) => Some("look at the link with: ls -l".to_owned()),
            _ => None,
        }
    }
}

/// Resolves what the user typed.
pub fn resolve(argument: &str, place: &Worktree) -> Result<ClaimPath, BadPath> {
    if argument.is_empty() || argument.contains('\0') {
        return Err(BadPath::Empty);
    }
    if argument.len() > limits::PATH {
        return Err(BadPath::TooLong);
    }
    if let Some(name) = argument.strip_prefix('@') {
        // Agents are given files in this form too; a build or a port is not called like a file that is there.
        let is_path = name.contains(['/', '.']) && place.cwd.join(name).symlink_metadata().is_ok();
        return if is_path { Err(BadPath::Mention(argument.to_owned())) } else { resource(argument) };
    }
    let (spelled, as_dir) = below(argument, place)?;
    let spelled = if as_dir { spelled } else { without_line(&spelled, place) };
    let path = Path::new(&spelled);
    let outside = || BadPath::Outside(argument.to_owned());
    let start = if path.is_absolute() { below_spelled_root(path, place) } else { place.cwd.join(path) };
    let real = follow(&start).ok_or_else(|| BadPath::Loop(argument.to_owned()))?;
    if place.git.iter().any(|git| real.starts_with(git)) {
        return Err(BadPath::Git(argument.to_owned()));
    }
    // The file's own worktree decides its name: it may be another one than the caller stands in.
    let root = worktree_root(&real, place).map_err(|root| match root {
        Some(root) => BadPath::Elsewhere { path: argument.to_owned(), root },
        None => outside(),
    })?;
    // An absolute path must lie inside its worktree as it is written: a link elsewhere into it is not followed.
    if path.is_absolute() && !lexical(&start).starts_with(&root) {
        return Err(outside());
    }
    let relative = real.strip_prefix(&root).map_err(|_| outside())?;
    if is_bookkeeping(relative, place) {
        return Err(BadPath::Git(argument.to_owned()));
    }
    let stored = stored(relative).ok_or_else(|| BadPath::NotText(argument.to_owned()))?;
    if stored.len() > limits::PATH {
        return Err(BadPath::TooLong);
    }
    Ok(ClaimPath { dir: as_dir || stored == "." || real.is_dir(), path: stored })
}

/// The paths that a tool may mean by what its agent wrote: the words themselves, and what they are as a URI of a file or
/// from the home folder.
pub(crate) fn spellings(written: &str, home: Option<&Path>) -> Vec<String> {
    let mut spellings = vec![written.to_owned()];
    if let Some(path) = file_uri(written) {
        spellings.push(path);
    } else if let Some(rest) = written.strip_prefix("~/")
        && let Some(home) = home
    {
        spellings.push(home.join(rest).to_string_lossy().into_owned());
    }
    spellings
}

/// The path of a `file:` URI; `None` when it is none.
pub(crate) fn file_uri(text: &str) -> Option<String> {
    let scheme = text.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:"))?;
    let rest = &text[scheme.len()..];
    let rest = rest.strip_prefix("//").map_or(rest, |rest| rest.strip_prefix("localhost").unwrap_or(rest));
    let bytes = rest.as_bytes();
    let mut path = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = bytes.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (path.push(byte), at += 3).1,
            None => (path.push(*byte), at += 1).1,
        }
    }
    String::from_utf8(path).ok()
}

/// The real path of a file that a program is about to write, spelled from its working folder; `None` when no file can be
/// meant.
pub(crate) fn real(written: &str, cwd: &Path) -> Option<PathBuf> {
    if written.is_empty() || written.contains('\0') { None } else { follow(&cwd.join(written)) }
}

/// The stored spelling of a real path in a worktree; `None` when it is not in it, or in its bookkeeping.
pub(crate) fn locate(real: &Path, place: &Worktree) -> Option<ClaimPath> {
    let relative = real.strip_prefix(&place.root).ok()?;
    if place.git.iter().any(|git| real.starts_with(git)) || is_bookkeeping(relative, place) {
        return None;
    }
    Some(ClaimPath { path: stored(relative)?, dir: false })
}

/// The root of the worktree that holds a real path, if that is one of the place's repository. Otherwise the root of the
/// repository that it is in, if it is in any.
fn worktree_root(real: &Path, place: &Worktree) -> Result<PathBuf, Option<PathBuf>> {
    // A nested repository's root is a name in the repository around it.
    let folder = if real.starts_with(&place.root) && real != place.root { real.parent() } else { None };
    let found = crate::repo::find(folder.unwrap_or(real), None).map_err(|_| None)?;
    if found.is_versioned {
        let same = found.common == place.common;
        return if same { Ok(found.place.root) } else { Err(Some(found.place.root)) };
    }
    // Outside of version control the place's root is where its session stands.
    if place.git.is_empty() && real.starts_with(&place.root) { Ok(place.root.clone()) } else { Err(None) }
}

fn is_bookkeeping(relative: &Path, place: &Worktree) -> bool {
    relative.starts_with(".git")
        || (!place.git.is_empty() && [".hg", ".jj", ".svn"].iter().any(|m| relative.starts_with(m)))
}

/// The spelling two claims are compared by.
pub fn key(path: &str, folds_case: bool) -> String {
    if folds_case && !path.starts_with('@') { path.to_lowercase() } else { path.to_owned() }
}

/// Lexically cleaned: no `.`, no doubled `/`, `..` taken back. For comparing with a stored path as it was typed.
pub fn cleaned(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.last().is_none_or(|last| *last == "..") {
                    parts.push("..");
                } else {
                    parts.pop();
                }
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

fn resource(argument: &str) -> Result<ClaimPath, BadPath> {
    let name = &argument[1..];
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b':' | b'/'));
    if fits {
        Ok(ClaimPath { path: argument.to_owned(), dir: false })
    } else {
        Err(BadPath::Resource(argument.to_owned()))
    }
}

/// `x/`, `x/*` and `x/**` mean the folder `x`; another pattern is refused, unless a file has just that name.
fn below(argument: &str, place: &Worktree) -> Result<(String, bool), BadPath> {
    if place.cwd.join(argument).symlink_metadata().is_ok() {
        return Ok((argument.to_owned(), argument.ends_with('/')));
    }
    let argument = argument.trim();
    let is_there = |part: &str| !part.is_empty() && place.cwd.join(part.trim()).symlink_metadata().is_ok();
    if argument.contains(',') && argument.split(',').all(is_there) {
        return Err(BadPath::Several(argument.to_owned()));
    }
    if argument.is_empty() {
        return Err(BadPath::Empty);
    }
    if argument.starts_with(['~', '$']) {
        return Err(BadPath::Home(argument.to_owned()));
    }
    let scheme = argument.split_once(':').filter(|(scheme, rest)| {
        let named = scheme.len() > 1 && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+.-".contains(&b));
        let is_drive = scheme.len() == 1 && rest.starts_with(['\\', '/']);
        is_drive || named && (rest.starts_with("//") || scheme.eq_ignore_ascii_case("file"))
    });
    if scheme.is_some() {
        return Err(BadPath::Address(argument.to_owned()));
    }
    let trimmed = argument.trim_end_matches('/');
    let stem = trimmed.strip_suffix("/**").or_else(|| trimmed.strip_suffix("/*"));
    let stem = stem.or((trimmed == "*" || trimmed == "**").then_some("."));
    let (spelled, as_dir) = match stem {
        Some(stem) => (stem, true),
        None => (trimmed, argument.ends_with('/')),
    };
    if spelled.starts_with('!') || is_pattern(spelled, place) {
        return Err(BadPath::Pattern(argument.to_owned()));
    }
    Ok((if spelled.is_empty() { "/" } else { spelled }.to_owned(), as_dir))
}

/// A path without the line that editors put behind it (`a.md:12`, `a.md:12:5`, `a.md#L12`), unless a file has that name.
fn without_line(spelled: &str, place: &Worktree) -> String {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let mut path = spelled;
    if place.cwd.join(path).symlink_metadata().is_ok() {
        return path.to_owned();
    }
    if let Some((stem, _)) = path.rsplit_once("#L").filter(|(_, line)| is_number(&line.replace('L', ""))) {
        path = stem;
    }
    for _ in 0..2 {
        match path.rsplit_once(':').filter(|(stem, line)| !stem.is_empty() && is_number(line)) {
            Some((stem, _)) => path = stem,
            None => break,
        }
    }
    path.to_owned()
}

/// An absolute path that is spelled as the user reached the root, from the real root.
fn below_spelled_root(path: &Path, place: &Worktree) -> PathBuf {
    let clean = lexical(path);
    let rest = place.spelled_root.as_ref().and_then(|spelled| clean.strip_prefix(spelled).ok());
    rest.map_or_else(|| path.to_owned(), |rest| place.root.join(rest))
}

fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            part => clean.push(part),
        }
    }
    clean
}

/// Follows every link, part by part. Missing parts stay as written: a dangling link resolves to its target.
/// `None` when there are too many links.
fn follow(path: &Path) -> Option<PathBuf> {
    let mut real = PathBuf::new();
    let mut left: VecDeque<OsString> = parts(path).collect();
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        if Path::new(&part).is_absolute() {
            real = PathBuf::from(part);
            continue;
        }
        real.push(&part);
        // Anything but a link that can be read, a missing name included, stands for itself.
        let Ok(target) = fs::read_link(&real) else { continue };
        links += 1;
        if links > limits::LINKS {
            return None;
        }
        real.pop();
        for part in parts(&target).collect::<Vec<_>>().into_iter().rev() {
            left.push_front(part);
        }
    }
    Some(real)
}

fn parts(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().filter(|part| *part != Component::CurDir).map(|part| part.as_os_str().to_owned())
}

/// The stored spelling: `/` between parts, normal form C, `./` before a name that begins like a resource.
fn stored(relative: &Path) -> Option<String> {
    let mut text = String::new();
    for part in relative.components() {
        if !text.is_empty() {
            text.push('/');
        }
        text.push_str(part.as_os_str().to_str()?);
    }
    let text = text::nfc(&text);
    Some(match text.chars().next() {
        None => ".".to_owned(),
        Some('@') => format!("./{text}"),
        Some(_) => text,
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Tree {
        _dir: tempfile::TempDir,
        place: Worktree,
        outside: PathBuf,
    }

    fn tree() -> Tree {
        let dir = tempfile::tempdir().expect("a folder");
        let base = dir.path().canonicalize().expect("its real path");
        let root = base.join("repo");
        let outside = base.join("outside");
        for sub in ["src/api", "docs", ".git/objects", ".git/refs", "@types"] {
            fs::create_dir_all(root.join(sub)).expect("a folder");
        }
        fs::create_dir_all(&outside).expect("a folder");
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        fs::write(root.join("src/api/routes.ts"), "x").expect("a file");
        fs::create_dir_all(root.join("app/[id]")).expect("a folder");
        symlink(&root, base.join("link")).expect("a link");
        symlink("src/api/routes.ts", root.join("r.ts")).expect("a link");
        symlink("api", root.join("src/alias")).expect("a link");
        symlink("src/new.ts", root.join("dangling")).expect("a link");
        symlink("loop-b", root.join("loop-a")).expect("a link");
        symlink("loop-a", root.join("loop-b")).expect("a link");
        symlink(&outside, root.join("out")).expect("a link");
        let place = Worktree {
            cwd: root.clone(),
            spelled_root: Some(base.join("link")),
            common: root.join(".git"),
            git: vec![root.join(".git")],
            root,
            folds_case: false,
        };
        Tree { _dir: dir, place, outside }
    }

    fn path(argument: &str, place: &Worktree) -> String {
        resolve(argument, place).expect(argument).path
    }

    #[test]
    fn one_place_has_one_spelling() {
        let tree = tree();
        let root = tree.place.root.display().to_string();
        let table = [
            ("src/api", "src/api"),
            ("./src//api/", "src/api"),              // 98
            ("src/../src/api", "src/api"),           //
            (&format!("{root}/src/api"), "src/api"), // 99
            (&format!("{root}/../link/src"), "src"), // the root as the user spells it
            ("r.ts", "src/api/routes.ts"),           // 102
            ("src/alias", "src/api"),                // 103
            ("src/alias/routes.ts", "src/api/routes.ts"),
            ("src/alias/../docs", "src/docs"),      // `..` after the link was followed
            ("dangling", "src/new.ts"),             // 104
            ("src/none/yet.ts", "src/none/yet.ts"), // 106
            ("src/**", "src"),                      // 109
            ("src/*", "src"),
            (".", "."),
            ("*", "."),
            ("@build", "@build"),
            ("@docs", "@docs"), // a resource, though a folder is called so
            (" src/api\n", "src/api"),
            ("new,file.ts", "new,file.ts"),
            ("./@types", "./@types"),
            ("app/[id]", "app/[id]"),                   // a file that is called so is no pattern
            ("app/[id]/page.tsx", "app/[id]/page.tsx"), // nor is what is to be made in it
            ("app/[id]/[slug].tsx", "app/[id]/[slug].tsx"),
            ("src/api/routes.ts:12", "src/api/routes.ts"),
            ("src/api/routes.ts:12:5", "src/api/routes.ts"),
            ("src/api/routes.ts#L3-L9", "src/api/routes.ts"),
            ("new.md:7", "new.md"),
            ("docs/a{b}", "docs/a{b}"),
        ];
        for (argument, expected) in table {
            assert_eq!(path(argument, &tree.place), expected, "{argument}");
        }
        assert!(resolve("src/api", &tree.place).expect("a path").dir);
        assert!(resolve("new/", &tree.place).expect("a path").dir);
        assert!(!resolve("r.ts", &tree.place).expect("a path").dir);
    }

    #[test]
    fn a_subfolder_stores_relative_to_the_root() {
        // Behaviour 107.
        let mut tree = tree();
        tree.place.cwd = tree.place.root.join("src");
        assert_eq!(path("api/routes.ts", &tree.place), "src/api/routes.ts");
        assert_eq!(path("../docs", &tree.place), "docs");
        assert_eq!(path(".", &tree.place), "src");
    }

    #[test]
    fn what_cannot_be_claimed_is_refused_with_its_reason() {
        let mut tree = tree();
        let place = &tree.place;
        let outside = tree.outside.display().to_string();
        assert_eq!(resolve(&outside, place), Err(BadPath::Outside(outside.clone()))); // 100
        // 100: an absolute path that only a link would bring inside is refused as it is written.
        let through = format!("{outside}/back");
        symlink(&place.root, &through).expect("a link");
        assert!(matches!(resolve(&through, place), Err(BadPath::Outside(_))));
        assert!(matches!(resolve("out/x", place), Err(BadPath::Outside(_)))); // 101
        assert!(matches!(resolve("..", place), Err(BadPath::Outside(_))));
        assert!(matches!(resolve("/", place), Err(BadPath::Outside(_))));
        assert!(matches!(resolve("loop-a", place), Err(BadPath::Loop(_)))); // 105
        for pattern in ["pkg/{a,b}/**", "src/f{1..3}.rs", "!src/x", "src/?.rs", "src/[ab].rs", "a/**/b"] {
            assert!(matches!(resolve(pattern, place), Err(BadPath::Pattern(_))), "{pattern}");
        }
        for home in ["~", "~/notes", "~user/x", "$HOME/x", "${ROOT}/src"] {
            assert!(matches!(resolve(home, place), Err(BadPath::Home(_))), "{home}");
        }
        for several in ["src,docs", "src/api/routes.ts, docs"] {
            assert!(matches!(resolve(several, place), Err(BadPath::Several(_))), "{several}");
        }
        let mention = resolve("@src/api/routes.ts", place).expect_err("a file");
        assert_eq!(mention.hint().as_deref(), Some("write it without the \"@\": src/api/routes.ts"));
        for address in ["file:///r/a", "file:a", "https://x.invalid/a", "C:\\src\\a", "c:/src/a"] {
            let refused = resolve(address, place).expect_err("an address");
            assert!(matches!(refused, BadPath::Address(_)) && refused.hint().is_some(), "{address}");
        }
        let refused = resolve("src/*.rs", place).expect_err("a pattern"); // 109
        assert!(refused.hint().is_some_and(|hint| hint.contains("folder")));
        assert!(matches!(resolve(".git", place), Err(BadPath::Git(_)))); // 114
        assert!(matches!(resolve(".git/config", place), Err(BadPath::Git(_))));
        assert_eq!(resolve("", place), Err(BadPath::Empty));
        assert_eq!(resolve("a\0b", place), Err(BadPath::Empty));
        assert_eq!(resolve(&"x".repeat(513), place), Err(BadPath::TooLong));
        assert!(matches!(resolve("@", place), Err(BadPath::Resource(_))));
        assert!(matches!(resolve("@a b", place), Err(BadPath::Resource(_))));
        tree.place.git.push(tree.place.root.join("bare"));
        assert!(matches!(resolve("bare/refs", &tree.place), Err(BadPath::Git(_))));
    }

    #[test]
    fn a_uri_of_a_file_and_a_tilde_are_paths_too() {
        for (uri, path) in [
            ("file:///r/a%20b", Some("/r/a b")),
            ("file://localhost/r/a", Some("/r/a")),
            ("FILE:/r/%C3%A9", Some("/r/\u{e9}")),
            ("file://src/a", Some("src/a")),
            ("file:///r/100%", Some("/r/100%")),
            ("file:///r/%ff", None),
            ("http://r/a", None),
            ("src/a", None),
        ] {
            assert_eq!(file_uri(uri).as_deref(), path, "{uri}");
        }
        assert_eq!(spellings("~/a", Some(Path::new("/h"))), ["~/a", "/h/a"]);
        assert_eq!(spellings("~a", Some(Path::new("/h"))), ["~a"]);
    }

    #[test]
    fn cleaning_is_lexical() {
        for (typed, clean) in [("src//api/", "src/api"), ("./a/../b", "b"), ("../x", "../x"), ("", "."), ("a/..", ".")]
        {
            assert_eq!(cleaned(typed), clean);
        }
    }

    #[test]
    fn case_is_folded_where_the_file_system_does() {
        assert_eq!(key("Src/A.ts", true), "src/a.ts");
        assert_eq!(key("Src/A.ts", false), "Src/A.ts");
    }
}
