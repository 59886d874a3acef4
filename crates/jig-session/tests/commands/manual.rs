//! Manual pages and completion: what a person's shell and `man` get.

use std::fs;

use crate::common::{TestEnvironment, finish, skipped};

#[test]
fn a_page_has_options_documents_exit_codes_and_examples() {
    let env = TestEnvironment::new();
    let page = env.jig(&["man", "wait"]).exits(0).stdout;
    for part in [
        ".TH",
        "jig\\-session wait",
        ".SH \"EXIT STATUS\"",
        "124",
        ".SH JSON",
        "wait.v1",
        ".SH EXAMPLES",
        "\\-\\-timeout",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(env.jig(&["man"]).exits(0).stdout.contains("SUBCOMMANDS"));
    let none = env.jig(&["man", "fly"]).exits(4).stderr;
    assert!(none.contains("no command \"fly\""), "{none}");
    let folder = env.root().join("man1");
    fs::create_dir(&folder).unwrap();
    env.jig(&["man", "--out", folder.to_str().unwrap()]).exits(0);
    let pages: Vec<String> =
        fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for name in ["jig-session.1", "jig-session-ls.1", "jig-session-bus-claim.1", "jig-session-hooks-install.1"] {
        assert!(pages.iter().any(|page| page == name), "{name} is not among {pages:?}");
    }
    let nowhere = env.jig(&["man", "--out", "/nonexistent/man1"]).exits(1).stderr;
    assert!(nowhere.contains("/nonexistent/man1"), "{nowhere}");
}

#[test]
fn man_finds_nothing_wrong_with_any_page() {
    let env = TestEnvironment::new();
    if env.command("groff").arg("--version").output().is_err() {
        return skipped("man_finds_nothing_wrong_with_any_page", "groff is not installed");
    }
    env.jig(&["man", "--out", env.work().to_str().unwrap()]).exits(0);
    for page in fs::read_dir(env.work()).unwrap() {
        let mut groff = env.command("groff");
        groff.args(["-man", "-Tutf8", "-ww", "-z"]).arg(page.unwrap().path());
        let output = finish(groff, b"").exits(0);
        assert_eq!(output.stderr, "");
    }
}

#[test]
fn each_shell_gets_a_script_that_asks_the_program() {
    let env = TestEnvironment::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = env.jig(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("JIG_COMPLETE") && script.contains("jig-session"), "{shell}: {script}");
        if ["bash", "zsh", "fish"].contains(&shell) && env.command(shell).arg("--version").output().is_ok() {
            let mut check = env.command(shell);
            check.arg("-n");
            finish(check, script.as_bytes()).exits(0);
        }
    }
    assert_eq!(env.jig(&["completions", "cmd"]).code, 2);
    assert_eq!(env.jig(&["completions", "bash", "--json"]).code, 2);
}

#[test]
fn sessions_are_completed_from_live_rows() {
    let env = TestEnvironment::new();
    let _live = env.live("s-one", |document| document["name"] = "billing".into());
    let mut dead = env.live("s-two", |_| ());
    dead.process.kill();
    let _hostile = env.live("s-three", |document| document["name"] = "bill\u{1b}[2J".into());
    let complete = |words: &[&str]| {
        let mut command = env.jig_command::<&str>(&[]);
        command.env("JIG_COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9");
        command.env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string()).env("_CLAP_COMPLETE_SPACE", "true");
        command.arg("--").args(words);
        let mut found: Vec<String> = finish(command, b"").exits(0).stdout.lines().map(str::to_owned).collect();
        found.sort();
        found
    };
    assert_eq!(complete(&["jig-session", "show", "s-"]), ["s-one", "s-three"]);
    assert_eq!(complete(&["jig-session", "wait", "bill"]), ["billing"]);
    assert!(complete(&["jig-session", "bus", "cl"]).contains(&"claim".to_owned()));
    assert!(complete(&["jig-session", "ls", "--st"]).contains(&"--state".to_owned()));
}
