//! Every kind of repository, asked with git itself and with this crate: the answers are the same.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use jig_session_git::Repository;

fn git(folder: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main", "-c", "user.name=dev"])
        .args(["-c", "user.email=dev@example.com", "-c", "commit.gpgsign=false"])
        .args(args)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_COMMON_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .expect("git runs");
    assert!(
        output.status.success(),
        "git {args:?} in {}: {}",
        folder.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("git prints UTF-8").trim_end().to_owned()
}

/// What git says of a folder: worktree, git folder, common folder, branch.
type Answer = (Option<PathBuf>, PathBuf, PathBuf, Option<String>);

fn by_git(folder: &Path) -> Answer {
    let real = |text: String| std::fs::canonicalize(folder.join(text)).expect("git names a folder that is there");
    let worktree = (git(folder, &["rev-parse", "--is-inside-work-tree"]) == "true")
        .then(|| real(git(folder, &["rev-parse", "--show-toplevel"])));
    let branch = git(folder, &["branch", "--show-current"]);
    (
        worktree,
        real(git(folder, &["rev-parse", "--git-dir"])),
        real(git(folder, &["rev-parse", "--git-common-dir"])),
        (!branch.is_empty()).then_some(branch),
    )
}

fn by_us(folder: &Path) -> Answer {
    let found = Repository::discover(folder).expect("the folder is there").expect("there is a repository");
    (found.worktree().map(Path::to_owned), found.git_dir().to_owned(), found.common_dir().to_owned(), found.branch())
}

fn folder(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(&path).expect("a folder can be made");
    path
}

/// Says why a test did not run, on the stream that the test runner does not keep for itself.
fn skipped(name: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {why}");
}

fn has_git() -> bool {
    let found = Command::new("git").arg("--version").output().is_ok();
    if !found {
        skipped("against_git", "git is not installed");
    }
    found
}

#[test]
fn the_same_answers_as_git() {
    if !has_git() {
        return;
    }
    let temp = tempfile::tempdir().expect("a temporary folder");
    let root = std::fs::canonicalize(temp.path()).expect("it has a real path");

    let main = folder(root.join("billing app"));
    git(&main, &["init"]);
    let unborn = by_git(&main);
    assert_eq!(by_us(&main), unborn, "a repository without a commit");
    assert_eq!(unborn.3.as_deref(), Some("main"));
    git(&main, &["commit", "--allow-empty", "-m", "one"]);

    let deep = folder(main.join("src/deep"));
    let tree = root.join("linked");
    git(&main, &["worktree", "add", "-b", "fix/ABC-1", tree.to_str().expect("UTF-8")]);
    let in_tree = folder(tree.join("src"));
    let relative = root.join("moved");
    git(&main, &["worktree", "add", "--detach", relative.to_str().expect("UTF-8")]);
    // Newer versions of git can write relative pointers; the form is the same for all.
    let pointer = std::fs::read_to_string(relative.join(".git")).expect("a worktree's .git is a file");
    let target = pointer.trim().strip_prefix("gitdir: ").expect("it points").to_owned();
    let target = Path::new(&target).strip_prefix(&root).expect("inside the temporary folder").to_owned();
    std::fs::write(relative.join(".git"), format!("gitdir: ../{}\n", target.display())).expect("written");

    let bare = root.join("store.git");
    git(&root, &["clone", "--bare", main.to_str().expect("UTF-8"), bare.to_str().expect("UTF-8")]);
    let in_bare = bare.join("objects");

    git(&main, &["submodule", "add", bare.to_str().expect("UTF-8"), "libs/part"]);
    let submodule = main.join("libs/part");
    let nested = folder(main.join("vendor/own"));
    git(&nested, &["init", "-b", "inner"]);

    let link = root.join("link");
    std::os::unix::fs::symlink(&deep, &link).expect("a link");
    let separate = folder(root.join("separate"));
    let kept = root.join("kept");
    git(&separate, &["init", "--separate-git-dir", kept.to_str().expect("UTF-8")]);
    // A `.git` that is a link to a folder elsewhere.
    let through = folder(root.join("through"));
    std::os::unix::fs::symlink(main.join(".git"), through.join(".git")).expect("a link");

    for place in [
        &main,
        &deep,
        &tree,
        &in_tree,
        &relative,
        &bare,
        &in_bare,
        &submodule,
        &nested,
        &link,
        &separate,
        &through,
        &main.join(".git"),
        &main.join(".git/refs"),
    ] {
        assert_eq!(by_us(place), by_git(place), "{}", place.display());
    }
    git(&main, &["checkout", "--detach"]);
    assert_eq!(by_us(&main), by_git(&main), "no branch is checked out");
    assert_eq!(by_us(&main).3, None);

    let name = |path: &Path| Repository::discover(path).expect("there").expect("a repository").name();
    assert_eq!(name(&deep), "billing app");
    assert_eq!(name(&tree), "billing app", "a linked worktree is named as its main checkout");
    assert_eq!(name(&bare), "store");
}

#[test]
fn no_repository_is_no_error() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    if Repository::discover(temp.path()).expect("it is there").is_some() {
        return skipped("no_repository_is_no_error", "temporary folders of this machine lie in a repository");
    }
    let empty = folder(temp.path().join("empty/.git"));
    for place in [temp.path(), &empty, &temp.path().join("not/there/yet")] {
        assert_eq!(Repository::discover(place).expect("no error"), None, "{}", place.display());
    }
}

#[test]
fn broken_pointers_are_passed_over() {
    if !has_git() {
        return;
    }
    let temp = tempfile::tempdir().expect("a temporary folder");
    let root = std::fs::canonicalize(temp.path()).expect("it has a real path");
    git(&root, &["init"]);
    for (name, content) in [
        ("nowhere", "gitdir: /nowhere/at/all\n".to_owned()),
        ("nothing", String::new()),
        ("blank", "gitdir:   \n".to_owned()),
        ("itself", "gitdir: .\n".to_owned()),
        ("long", format!("gitdir: {}\n", "a".repeat(20_000))),
        ("binary", "\0\0gitdir: x".to_owned()),
    ] {
        let place = folder(root.join(name));
        std::fs::write(place.join(".git"), content).expect("written");
        let found = Repository::discover(&place).expect("no error").expect("the outer one");
        assert_eq!(found.worktree(), Some(root.as_path()), "{name}");
    }
    let place = folder(root.join("pipe"));
    let made = Command::new("mkfifo").arg(place.join(".git")).status().expect("mkfifo runs");
    assert!(made.success());
    assert_eq!(Repository::discover(&place).expect("no wait").expect("the outer one").worktree(), Some(root.as_path()));
}

#[test]
fn variables_of_git_change_nothing() {
    if !has_git() {
        return;
    }
    // The variables are set for a child, the same test program run on one test of its own.
    const INNER: &str = "JIG_GIT_TEST_FOLDER";
    #[allow(clippy::disallowed_methods)]
    if let Some(place) = std::env::var_os(INNER) {
        let found = Repository::discover(&place).expect("there").expect("a repository");
        assert_eq!(found.worktree(), Some(Path::new(&place)));
        return;
    }
    let temp = tempfile::tempdir().expect("a temporary folder");
    let root = std::fs::canonicalize(temp.path()).expect("it has a real path");
    for name in ["one", "two"] {
        git(&folder(root.join(name)), &["init"]);
    }
    let status = Command::new(std::env::current_exe().expect("the test program has a path"))
        .args(["variables_of_git_change_nothing", "--exact", "--test-threads=1"])
        .env(INNER, root.join("one"))
        .env("GIT_DIR", root.join("two/.git"))
        .env("GIT_WORK_TREE", root.join("two"))
        .env("GIT_COMMON_DIR", root.join("two/.git"))
        .env("GIT_CEILING_DIRECTORIES", &root)
        .output()
        .expect("it runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stdout));
}
