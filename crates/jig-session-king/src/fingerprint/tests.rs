use super::{Global, Shown, agent_dir, compute, join};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where the vectors' fixture stood when pi-king's own code computed them: paths are part of the hash.
const VECTOR_ROOT: &str = "/tmp/pkfp";

fn put(root: &Path, name: &str, bytes: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

/// The folder that the vectors were taken from: every rule occurs in it once.
fn fixture() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let settings = r#"{ "b": 1.0, "a": "café \u00e9 \ud83d\ude00 \u007f \/", "10": true, "2": null, "n": [1e3, 1E21, 0.0000001, 12345678901234567890], "packages": ["npm:foo@1", "git:github.com/u/r@v1", "../local/pkg", "/abs/none", {"source":"x"}, "git:github.com/none/none"] }"#;
    for (name, bytes) in [
        ("agent/settings.json", &*format!("{settings}\n")),
        ("agent/trust.json", "{}"),
        ("agent/extensions/a.ts", "export default 1\n"),
        ("agent/extensions/sub/b.mjs", "x"),
        ("agent/extensions/sub/readme.md", "skip"),
        ("agent/extensions/sub/node_modules/x/c.js", "skip"),
        ("agent/extensions/.git/d.js", "skip"),
        ("agent/skills/s1/SKILL.md", "S"),
        ("agent/skills/s1/extra/other.md", "no"),
        ("agent/skills/SKILL.md", "root"),
        ("agent/prompts/p.md", "P"),
        ("agent/prompts/p.txt", "no"),
        ("agent/themes/t.json", "T"),
        ("agent/themes/deep/any.bin", "T2"),
        ("agent/npm/package-lock.json", r#"{"lock":1}"#),
        ("agent/git/github.com/u/r/.git/HEAD", "ref: refs/heads/main\n"),
        ("agent/git/github.com/u/r/package.json", r#"{"name":"r"}"#),
        ("local/pkg/package.json", r#"{"name":"pkg"}"#),
        ("local/pkg/src/i.ts", "s"),
        ("local/pkg/src/inner/j.js", "s2"),
        ("local/pkg/extensions/e.cjs", "e"),
        ("local/pkg/skills/k/SKILL.md", "k"),
        ("local/pkg/prompts/q.md", "q"),
        ("proj/.pi/settings.json", r#"{"x":1}"#),
        ("proj/.pi/extensions/pe.js", "pe"),
        ("proj/.pi/skills/p/SKILL.md", "ps"),
        ("proj/.pi/prompts/pp.md", "pp"),
        ("proj/.pi/themes/pt", "pt"),
    ] {
        put(dir.path(), name, bytes);
    }
    symlink("a.ts", dir.path().join("agent/extensions/link.ts")).unwrap();
    fs::create_dir(dir.path().join("bare")).unwrap();
    dir
}

fn vectors(dir: &Path) -> [String; 2] {
    let shown = Shown(Some((dir.to_str().unwrap().to_owned(), VECTOR_ROOT.to_owned())));
    let global = Global::read_as(&dir.join("agent"), shown).expect("the settings are JSON");
    ["proj", "bare"].map(|cwd| global.in_folder(&dir.join(cwd)))
}

#[test]
fn equals_pi_kings_own_values() {
    assert_eq!(vectors(fixture().path()), ["6283e70fe3a58342", "18eb35f08061ec81"]);
}

#[test]
fn every_input_counts_and_nothing_else_does() {
    let dir = fixture();
    let before = vectors(dir.path());
    for (name, bytes) in [
        ("agent/extensions/sub/readme.md", "other"),
        ("agent/extensions/.git/d.js", "other"),
        ("agent/extensions/sub/node_modules/x/c.js", "other"),
        ("agent/skills/s1/extra/other.md", "other"),
        ("agent/prompts/p.txt", "other"),
        ("local/pkg/themes/t", "other"),
    ] {
        put(dir.path(), name, bytes);
        assert_eq!(vectors(dir.path()), before, "{name} is not loaded at start");
    }
    let mut seen = vec![before[0].clone()];
    for name in [
        "agent/settings.json",
        "agent/trust.json",
        "agent/keybindings.json",
        "agent/extensions/a.ts",
        "agent/skills/SKILL.md",
        "agent/prompts/p.md",
        "agent/themes/deep/any.bin",
        "agent/npm/package-lock.json",
        "agent/git/github.com/u/r/.git/HEAD",
        "agent/git/github.com/none/none/package.json",
        "local/pkg/src/inner/j.js",
        "proj/.pi/settings.json",
        "proj/.pi/themes/pt",
    ] {
        let old = fs::read_to_string(dir.path().join(name)).unwrap_or_default();
        // One more blank changes a file; in the settings it would be canonicalised away.
        let new = if name == "agent/settings.json" { old.replacen('{', "{\"new\":1,", 1) } else { format!("{old} ") };
        put(dir.path(), name, &new);
        let now = vectors(dir.path())[0].clone();
        assert!(!seen.contains(&now), "{name} counts");
        seen.push(now);
    }
}

#[test]
fn without_settings_there_is_no_value() {
    let dir = fixture();
    let agent = dir.path().join("agent");
    assert!(compute(&agent, &dir.path().join("bare")).is_some());
    put(dir.path(), "agent/settings.json", "{ not json");
    assert_eq!(compute(&agent, &dir.path().join("bare")), None);
    fs::remove_file(agent.join("settings.json")).unwrap();
    assert_eq!(compute(&agent, &dir.path().join("bare")), None);
}

#[test]
fn a_link_to_a_tree_is_followed_at_its_root_only() {
    let dir = tempfile::tempdir().unwrap();
    put(dir.path(), "agent/settings.json", "{}");
    put(dir.path(), "elsewhere/e.ts", "1");
    let value = || compute(&dir.path().join("agent"), dir.path()).unwrap();
    let without = value();
    fs::create_dir(dir.path().join("agent/extensions")).unwrap();
    symlink(dir.path().join("elsewhere"), dir.path().join("agent/extensions/sub")).unwrap();
    assert_eq!(value(), without, "a linked folder inside a tree is skipped");
    fs::remove_dir_all(dir.path().join("agent/extensions")).unwrap();
    symlink(dir.path().join("elsewhere"), dir.path().join("agent/extensions")).unwrap();
    assert_ne!(value(), without, "the root of a tree may be a link");
}

#[test]
fn the_agents_folder_is_the_trimmed_variable_or_the_home_default() {
    let home = Path::new("/h");
    for (given, dir) in [(Some(" /x/y "), "/x/y"), (Some("  "), "/h/.pi/agent"), (None, "/h/.pi/agent")] {
        assert_eq!(agent_dir(|_| given, home), Path::new(dir));
    }
}

#[test]
fn join_never_leaves_by_an_absolute_part() {
    assert_eq!(join(Path::new("/a/b"), "/abs/none"), PathBuf::from("/a/b/abs/none"));
    assert_eq!(join(Path::new("/a/b"), "../c/./d"), PathBuf::from("/a/c/d"));
    assert_eq!(join(Path::new("/a"), "../../../c"), PathBuf::from("/c"));
}
