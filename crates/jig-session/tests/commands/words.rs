//! What people read, held as text: the help of every command, tables at three widths, `doctor`, `explain`, errors.
//!
//! `INSTA_UPDATE=always cargo test -p jig-session --test commands words` writes `snapshots/` anew; read the difference
//! as the person would who meets it in a terminal.

use serde_json::json;

use crate::common::{Live, Output, TestEnvironment, finish, now_ms, program, skipped, timestamp};

/// Holds a text against the file of this name.
fn hold(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// The text without what differs from run to run: the home, process ids, digests.
fn plain(env: &TestEnvironment, pid: u32, text: &str) -> String {
    let text = text.replace(&env.root().display().to_string(), "[root]");
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let identity = crate::common::identity(pid);
    [
        (identity["start"].as_str().unwrap(), "linux:[start]"),
        (identity["pidNamespace"].as_str().unwrap(), "[namespace]"),
        (boot.trim(), "[boot]"),
        (&pid.to_string(), "[pid]"),
        (env!("CARGO_PKG_VERSION"), "[version]"),
    ]
    .iter()
    .fold(text, |text, (from, to)| text.replace(from, to))
}

/// The commands that a help text lists.
fn listed(help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = commands.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

fn hold_help(env: &TestEnvironment, command: &[String]) {
    let help = env.jig(&[command, &["--help".to_owned()]].concat()).exits(0).stdout;
    hold(&format!("help{}", command.iter().map(|word| format!("_{word}")).collect::<String>()), &help);
    for name in listed(&help) {
        hold_help(env, &[command, &[name]].concat());
    }
}

#[test]
fn the_help_of_every_command() {
    hold_help(&TestEnvironment::new(), &[]);
}

/// Sessions of every state, with long and short texts.
fn sessions(env: &TestEnvironment) -> Vec<Live> {
    let ago = |seconds: i64| timestamp(now_ms() - seconds * 1000 - 500);
    vec![
        env.live("019fb27c-6804-7fa5-8000-0000000000aa", |document| {
            document["name"] = "checkout: write the migration".into();
            document["attention"] = json!({ "reason": "approval", "since": ago(120) });
            document["cwd"] = "/home/dev/projects/shop/services/checkout".into();
            document["terminal"] = "%3".into();
        }),
        env.live("019fb27c-6804-7fa5-8000-0000000000bb", |document| {
            document["state"] = "busy".into();
            document["stateAt"] = ago(3_700).into();
            document["model"] = json!({ "provider": "acme", "id": "m-2", "name": "A model with a rather long name" });
        }),
        env.live("short", |document| {
            document["stateAt"] = ago(60).into();
            document["name"] = "日本語の名前".into();
        }),
        // One name, and folders that begin alike.
        env.live("019fb27c-6804-7fa5-8000-0000000000cc", |document| {
            document["stateAt"] = ago(200).into();
            document["name"] = "api".into();
            document["cwd"] = "/home/dev/projects/shop/services/api".into();
        }),
        env.live("019fb27c-6804-7fa5-8000-0000000000dd", |document| {
            document["stateAt"] = ago(300).into();
            document["name"] = "api".into();
            document["cwd"] = "/home/dev/projects/shop/services/api-next".into();
        }),
    ]
}

#[test]
fn the_table_at_three_widths() {
    let env = TestEnvironment::new();
    if env.command("script").arg("--version").output().is_err() {
        return skipped("the_table_at_three_widths", "script (util-linux) is not installed");
    }
    let _sessions = sessions(&env);
    for width in [60, 80, 140] {
        let program = program();
        let line = format!("stty cols {width}; exec '{}' --color never ls", program.display());
        let mut command = env.command("script");
        command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm");
        let shown = finish(command, b"").exits(0).stdout;
        hold(&format!("ls_{width}"), &shown.replace("\r\n", "\n"));
    }
}

#[test]
fn why_a_session_lives() {
    let env = TestEnvironment::new();
    let at = "2026-11-30T12:00:00.000Z";
    let live = env.live("s-1", |document| {
        for field in ["startedAt", "updatedAt", "stateAt"] {
            document[field] = at.into();
        }
    });
    hold("explain", &plain(&env, live.pid(), &env.jig(&["explain", "s-1"]).exits(0).stdout));
}

#[test]
fn what_an_error_says() {
    let env = TestEnvironment::new();
    let _sessions = sessions(&env);
    let mut text = String::new();
    for args in [
        &["ls", "extra"] as &[&str],
        &["lst"],
        &["show"],
        &["show", "nosuch"],
        &["show", "019"],
        &["show", "019fb27c"],
        &["show", "api"],
        &["show", "%7"],
        &["wait", "short", "--for", "sleep"],
        &["wait", "short", "--for", "busy", "--timeout", "0"],
        &["wait", "short", "--timeout", "soon"],
        &["request", "short", "--reload", "--wait", "1"],
        &["request", "short"],
        &["validate", "it's.json"],
        &["live", "--status", "asleep"],
        &["bulk", "fly"],
        &["king", "dismiss", "nosuch"],
        &["bus", "fly"],
        &["bus", "send", "nobody", "hello"],
        &["bus", "inbox", "--limit", "0"],
        &["hooks", "status", "nosuch"],
        &["publish"],
        &["hook"],
    ] {
        let Output { code, stdout, stderr } = env.jig(args);
        text += &format!("$ jig-session {}\n{stdout}{stderr}[{code}]\n\n", args.join(" "));
    }
    hold("errors", &text.replace(&env.root().display().to_string(), "[root]"));
}

#[test]
fn what_is_looked_for() {
    let env = TestEnvironment::new();
    env.set("PATH", "/nonexistent");
    let Output { stdout, .. } = env.jig(&["doctor"]);
    hold("doctor", &plain(&env, std::process::id(), &stdout));
}
