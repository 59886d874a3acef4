//! Hostile surroundings: locales, names, servers that do not answer, panes that vanish, many panes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use super::tmux::{folder, search_path, start, targets, wrap};
use crate::common::{eventually, finish, skipped};

#[test]
fn the_locale_changes_nothing() {
    let Some(tmux) = start("the_locale_changes_nothing") else { return };
    let work = folder(&tmux.env, "日本\té");
    let pane = tmux.new_session("über", &work, "printf '日本 ✓\\n'; exec cat");
    tmux.shows(&pane, "✓");
    tmux.until(&pane, "#{pane_current_command}", "cat");
    let expected = tmux.row(&pane);
    assert_eq!(expected["cwd"], work.to_str().expect("UTF-8"));
    assert_eq!(expected["lastVisibleLine"], "日本 ✓");
    for locale in [Some("C"), Some("POSIX"), None] {
        let output = tmux.again(|| {
            let mut command = tmux.jig_command(&["live", "--json"]);
            command.env_remove("LC_ALL").env_remove("LANG");
            if let Some(locale) = locale {
                command.env("LC_ALL", locale);
            }
            command
        });
        let rows = output.exits(0).json();
        assert!(rows.as_array().is_some_and(|rows| rows.contains(&expected)), "{locale:?}: {rows}");
    }
    // Nothing at all but PATH, which tmux itself is found by.
    let output = tmux.again(|| {
        let mut command = tmux.jig_command(&["live", "--json"]);
        command.env_clear().env("PATH", search_path());
        command
    });
    assert_eq!(output.exits(0).json().as_array().map(Vec::len), Some(2));
}

#[test]
fn any_folder_and_title_stay_in_their_fields() {
    let Some(tmux) = start("any_folder_and_title_stay_in_their_fields") else { return };
    let work = folder(&tmux.env, "tab\there;new\nline,%1 \u{202e}x");
    let pane = tmux.new_session("odd", &work, "exec cat");
    tmux.until(&pane, "#{pane_current_command}", "cat");
    tmux.run(&["select-pane", "-t", &pane, "-T", "ti\u{202e}tle; %1,5:x"]);
    let row = tmux.row(&pane);
    assert_eq!(row["cwd"], work.to_str().expect("UTF-8"), "a path is never altered");
    assert_eq!(row["title"], "title; %1,5:x", "what would turn the text round is left out");
    assert_eq!((&row["paneDead"], &row["command"]), (&json!(false), &json!("cat")));
    assert_eq!(tmux.rows(&[]).len(), 2);
    let text = tmux.jig(&["live"]).exits(0).stdout;
    assert!(!text.contains('\u{202e}'), "{text}");
}

#[test]
fn a_stopped_server_is_an_error_in_time() {
    let Some(tmux) = start("a_stopped_server_is_an_error_in_time") else { return };
    let pid = tmux.run(&["display-message", "-p", "-t", "%0", "#{pid}"]);
    let signal = |name: &str| {
        let status = tmux.env.command("kill").args([&format!("-{name}"), &pid]).status();
        assert!(status.expect("kill can be started").success());
    };
    signal("STOP");
    let began = Instant::now();
    let output = finish(tmux.jig_command(&["live", "--json"]), b"");
    signal("CONT");
    let output = output.exits(1);
    assert_eq!(output.stdout, "");
    let error = output.error();
    assert_eq!(error["error"]["code"], "tmux-failed");
    assert_eq!(error["error"]["message"], "the tmux server does not answer within 2 s");
    assert!(began.elapsed().as_secs() < 25, "it gave up after {:?}", began.elapsed());
    assert_eq!(tmux.rows(&[]).len(), 1, "it answers again");
}

#[test]
fn a_socket_without_permission_is_an_error() {
    let name = "a_socket_without_permission_is_an_error";
    let Some(tmux) = start(name) else { return };
    // Root may connect to anything, so the question is asked as nobody.
    let root = rustix::process::geteuid().is_root();
    let as_nobody = |mut command: std::process::Command| {
        if root {
            command.uid(65534).gid(65534);
        }
        command
    };
    for path in [tmux.env.root().to_path_buf(), tmux.env.work()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o711)).expect("the mode can be set");
    }
    fs::set_permissions(&tmux.socket, fs::Permissions::from_mode(0o000)).expect("the mode can be set");
    let mut probe = as_nobody(tmux.env.jig_command(&["--version"]));
    if !probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
        return skipped(name, "the program cannot be started as another user");
    }
    let output = finish(as_nobody(tmux.jig_command(&["live", "--json"])), b"").exits(1);
    assert_eq!(output.stdout, "");
    let error = output.error();
    assert_eq!(error["error"]["code"], "tmux-failed");
    let message = error["error"]["message"].as_str().unwrap_or_default();
    assert!(message.contains("ermission denied"), "{message}");
    fs::set_permissions(&tmux.socket, fs::Permissions::from_mode(0o700)).expect("the mode can be set");
}

#[test]
fn without_tmux_there_is_one_clear_error() {
    let env = crate::common::TestEnvironment::new();
    let mut command = env.jig_command(&["live", "--json"]);
    command.env("PATH", folder(&env, "empty"));
    let output = finish(command, b"").exits(1);
    assert_eq!(output.stdout, "");
    assert_eq!(output.error()["error"]["code"], "tmux-failed");
    assert!(output.error()["error"]["hint"].as_str().is_some_and(|hint| hint.contains("install tmux")));
    let mut command = env.jig_command(&["live"]);
    command.env("PATH", folder(&env, "empty"));
    let output = finish(command, b"").exits(1);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.starts_with("error: cannot start tmux"), "{}", output.stderr);
}

#[test]
fn a_pane_that_vanishes_costs_only_its_row() {
    let Some(tmux) = start("a_pane_that_vanishes_costs_only_its_row") else { return };
    let gone = tmux.new_session("gone", &tmux.env.work(), "exec cat");
    tmux.new_session("stays", &tmux.env.work(), "exec cat");
    wrap(
        &tmux.env,
        &format!(
            "case \"$*\" in *source-file*) \"$real\" -S '{}' kill-pane -t '{gone}' 2>/dev/null ;; esac",
            tmux.socket.display()
        ),
    );
    assert_eq!(targets(&tmux.rows(&[])), ["keep:0.0", "stays:0.0"]);
}

#[test]
fn names_that_begin_alike_are_kept_apart() {
    let Some(tmux) = start("names_that_begin_alike_are_kept_apart") else { return };
    for name in ["router", "router-2", "rout"] {
        tmux.new_session(name, &tmux.env.work(), &format!("printf '{name} speaks\\n'; exec cat"));
    }
    for (name, pane) in [("router", "%1"), ("router-2", "%2"), ("rout", "%3")] {
        tmux.shows(pane, "speaks");
        assert_eq!(tmux.row(pane)["lastVisibleLine"], format!("{name} speaks"));
    }
}

#[test]
fn the_history_behind_a_full_screen_program_does_not_count() {
    let Some(tmux) = start("the_history_behind_a_full_screen_program_does_not_count") else { return };
    let program = "i=0; while [ $i -lt 60 ]; do echo 'waiting for approval? [y/N]'; i=$((i+1)); done; \
                   printf '\\033[?1049h\\033[H'; exec cat";
    let pane = tmux.new_session("full", &tmux.env.work(), program);
    tmux.until(&pane, "#{alternate_on}", "1");
    tmux.until(&pane, "#{pane_current_command}", "cat");
    let row = tmux.row(&pane);
    assert_eq!((&row["status"], &row["lastVisibleLine"]), (&json!("active"), &Value::Null));
}

#[test]
fn a_pane_cannot_forge_another_ones_frame() {
    let Some(tmux) = start("a_pane_cannot_forge_another_ones_frame") else { return };
    let pane = tmux.new_session("forger", &tmux.env.work(), "printf '@0 %%0 1 0\\n@ %%0 1 0\\n'; exec cat");
    tmux.shows(&pane, "@ %0 1 0");
    assert_eq!(tmux.row("%0")["paneDead"], false);
    assert_eq!(tmux.row(&pane)["lastVisibleLine"], "@ %0 1 0");
}

#[test]
fn two_processes_whatever_the_number_of_panes() {
    let name = "two_processes_whatever_the_number_of_panes";
    let Some(tmux) = start(name) else { return };
    let many = 499;
    let batch = tmux.env.work().join("batch");
    fs::write(&batch, "new-window -d -t keep: 'exec cat'\n".repeat(many)).expect("it can be written");
    let made = finish(tmux.command(&["source-file", batch.to_str().expect("UTF-8")]), b"");
    if made.code != 0 {
        let why = made.stderr.lines().next().unwrap_or_default().to_owned();
        return skipped(name, &format!("500 panes cannot be opened here: {why}"));
    }
    eventually("every pane runs", || {
        let panes = tmux.run(&["list-panes", "-a", "-F", "#{pane_current_command}"]);
        (panes.lines().filter(|&command| command == "cat").count() == many + 1).then_some(())
    });
    let log = tmux.env.work().join("calls");
    wrap(&tmux.env, &format!("echo \"$*\" >> '{}'", log.display()));
    // A machine so busy that the server stays silent for two seconds asks again; only the last run is counted.
    let output = eventually("the server answers", || {
        let _ = fs::remove_file(&log);
        let output = finish(tmux.jig_command(&["live", "--json"]), b"");
        (!output.stderr.contains("does not answer")).then_some(output)
    });
    assert_eq!(output.exits(0).json().as_array().map(Vec::len), Some(many + 1));
    let calls = fs::read_to_string(&log).expect("tmux was called");
    assert!(calls.lines().count() <= 3, "{calls}");
}
