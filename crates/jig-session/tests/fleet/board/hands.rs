//! What the board does for a person: on the bus, in other panes, in the clipboard, to a session.

use std::process::Stdio;

use super::{open, press, shell, types, until};
use crate::common::{eventually, now_ms, program, timestamp};
use crate::panes::tmux::{self, Tmux, folder};

/// A folder that is a repository.
fn repository(tmux: &Tmux) -> std::path::PathBuf {
    let repo = folder(&tmux.env, "repo");
    for name in [".git/objects", ".git/refs"] {
        std::fs::create_dir_all(repo.join(name)).expect("made");
    }
    std::fs::write(repo.join(".git/HEAD"), "ref: refs/heads/main\n").expect("written");
    repo
}

#[test]
fn w_joins_and_listens_and_x_releases_after_a_question() {
    let Some(tmux) = tmux::start("w_joins_and_listens_and_x_releases_after_a_question") else { return };
    let repo = repository(&tmux);
    let jig = program().display().to_string();
    let pane = shell(&tmux, &repo, (100, 24));
    types(&tmux, &pane, &format!("{jig} board"));
    tmux.shows(&pane, "[Sessions]");
    press(&tmux, &pane, &["3"]);
    until(&tmux, &pane, "nobody has joined by looking", |screen| screen.contains("you are not on this bus"));
    press(&tmux, &pane, &["w"]);
    until(&tmux, &pane, "w joins and listens", |screen| {
        screen.contains("you are repo") && screen.contains("listening: next")
    });
    press(&tmux, &pane, &["w"]);
    until(&tmux, &pane, "w stops listening", |screen| screen.contains("not listening"));
    press(&tmux, &pane, &["q"]);
    until(&tmux, &pane, "the shell is back", |screen| screen.trim_end().ends_with("ready>"));
    types(&tmux, &pane, &format!("clear; {jig} bus claim docs/plan.md --reason plan; {jig} board"));
    press(&tmux, &pane, &["3"]);
    until(&tmux, &pane, "the claim is shown", |screen| screen.contains("[Claims]") && screen.contains("docs/plan.md"));
    press(&tmux, &pane, &["x"]);
    until(&tmux, &pane, "it asks", |screen| screen.contains("release docs/plan.md? y/N"));
    press(&tmux, &pane, &["n"]);
    until(&tmux, &pane, "no is no", |screen| !screen.contains("y/N") && screen.contains("docs/plan.md"));
    press(&tmux, &pane, &["x", "y"]);
    until(&tmux, &pane, "it is released", |screen| screen.contains("nothing is held"));
    // Mail is looked at and stays.
    press(&tmux, &pane, &["q"]);
    until(&tmux, &pane, "the shell is back", |screen| screen.trim_end().ends_with("ready>"));
    let other = tmux.new_session("other", &repo, "exec sh");
    types(&tmux, &other, &format!("{jig} bus join other; {jig} bus send repo 'three words here'"));
    types(&tmux, &pane, &format!("clear; {jig} board"));
    press(&tmux, &pane, &["2"]);
    until(&tmux, &pane, "the mail is shown", |screen| screen.contains("three words here"));
    press(&tmux, &pane, &["Enter"]);
    until(&tmux, &pane, "it is opened", |screen| screen.contains("from") && screen.contains("takes it"));
    press(&tmux, &pane, &["C-c"]);
    until(&tmux, &pane, "the shell is back", |screen| screen.trim_end().ends_with("ready>"));
    types(&tmux, &pane, &format!("clear; {jig} bus peek"));
    until(&tmux, &pane, "it is unread", |screen| screen.contains("three words here"));
}

#[test]
fn a_goes_to_the_pane_and_y_copies() {
    let Some(tmux) = tmux::start("a_goes_to_the_pane_and_y_copies") else { return };
    let env = &tmux.env;
    let target = tmux.new_session("target", &env.work(), "exec sleep 600");
    let pid: u32 = tmux.tell(&target, "#{pane_pid}").parse().expect("a pid");
    let mut document = crate::common::status_document("s-target", pid);
    document["name"] = "in a pane".into();
    env.write_status("s-target", &document);
    let pane = open(&tmux, &env.work(), (80, 24), "");
    until(&tmux, &pane, "it is listed", |screen| screen.contains("in a pane"));
    press(&tmux, &pane, &["y", "y"]);
    until(&tmux, &pane, "it says so", |screen| screen.contains("copied: s-target"));
    assert_eq!(tmux.run(&["show-buffer"]), "s-target");
    // A client that shows the board is switched to the pane.
    let mut command = tmux.command(&["-C", "attach-session", "-t", "board"]);
    let mut client =
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started");
    eventually("the client is attached", || {
        (tmux.run(&["list-clients", "-F", "#{client_session}"]) == "board").then_some(())
    });
    let mark = env.state_dir().join("seen/s-target");
    assert!(!mark.exists(), "it was looked at in the list only");
    press(&tmux, &pane, &["a"]);
    eventually("who goes there has seen it", || mark.exists().then_some(()));
    eventually("the client shows the target", || {
        (tmux.run(&["list-clients", "-F", "#{client_session}"]) == "target").then_some(())
    });
    let _ = client.kill();
    let _ = client.wait();
}

/// A terminal that takes OSC 52, as one at the other end of ssh does.
#[test]
fn outside_of_tmux_y_asks_the_terminal_to_copy() {
    let Some(tmux) = tmux::start("outside_of_tmux_y_asks_the_terminal_to_copy") else { return };
    tmux.run(&["set-option", "-s", "set-clipboard", "on"]);
    let _live = tmux.env.live("s-copied", |_| ());
    let pane = open(&tmux, &tmux.env.work(), (80, 24), "env -u TMUX -u TMUX_PANE");
    until(&tmux, &pane, "it is listed", |screen| screen.contains("s-copied"));
    press(&tmux, &pane, &["y", "y"]);
    until(&tmux, &pane, "it says so", |screen| screen.contains("copied: s-copied"));
    eventually("the terminal has it", || {
        (tmux.run(&["list-buffers", "-F", "#{buffer_sample}"]) == "s-copied").then_some(())
    });
}

#[test]
fn enter_marks_a_session_as_seen_and_looking_at_the_list_marks_none() {
    let Some(tmux) = tmux::start("enter_marks_a_session_as_seen_and_looking_at_the_list_marks_none") else { return };
    let env = &tmux.env;
    let mut live = env.live("s-first", |document| document["state"] = "busy".into());
    let pane = open(&tmux, &env.work(), (80, 24), "");
    until(&tmux, &pane, "it is listed", |screen| screen.contains("busy"));
    let marks = env.state_dir().join("seen");
    // In a turn that began after the session did.
    let settled = |document: &mut serde_json::Value| {
        document["state"] = "idle".into();
        document["startedAt"] = timestamp(now_ms() - 60_000).into();
        document["stateAt"] = timestamp(now_ms()).into();
    };
    live.rewrite(settled);
    until(&tmux, &pane, "it is idle, and nobody has marked anything yet", |screen| {
        screen.contains("idle") && !screen.contains("finished")
    });
    assert!(!marks.exists(), "looking marks nothing");
    press(&tmux, &pane, &["Enter"]);
    eventually("its mark is there", || marks.join("s-first").exists().then_some(()));
    press(&tmux, &pane, &["Escape"]);
    let _other = env.live("s-other", settled);
    until(&tmux, &pane, "what settled and was not opened is done", |screen| {
        let state = |id: &str| {
            let line = screen.lines().find(|line| line.contains(id)).unwrap_or_default();
            line.trim_start_matches('>').split_whitespace().next().unwrap_or_default().to_owned()
        };
        state("s-other") == "finished" && state("s-first") == "idle" && screen.contains("1 done, 1 idle")
    });
    press(&tmux, &pane, &["q"]);
}

#[test]
fn outside_of_tmux_a_attaches_and_the_board_comes_back() {
    let Some(tmux) = tmux::start("outside_of_tmux_a_attaches_and_the_board_comes_back") else { return };
    let env = &tmux.env;
    let target = tmux.new_session("target", &env.work(), "echo here-it-is; exec sleep 600");
    tmux.shows(&target, "here-it-is");
    let pid: u32 = tmux.tell(&target, "#{pane_pid}").parse().expect("a pid");
    let mut document = crate::common::status_document("s-target", pid);
    document["tmuxSocket"] = tmux.socket.display().to_string().into();
    document["tmuxPane"] = target.clone().into();
    env.write_status("s-target", &document);
    let pane = open(&tmux, &env.work(), (80, 24), "env -u TMUX -u TMUX_PANE");
    until(&tmux, &pane, "it is listed", |screen| screen.contains("s-target"));
    press(&tmux, &pane, &["a"]);
    until(&tmux, &pane, "the target is shown", |screen| screen.contains("here-it-is"));
    eventually("the client is there", || {
        (tmux.run(&["list-clients", "-F", "#{client_session}"]) == "target").then_some(())
    });
    tmux.run(&["detach-client", "-s", "target"]);
    until(&tmux, &pane, "the board is back", |screen| screen.contains("[Sessions]") && screen.contains("s-target"));
    press(&tmux, &pane, &["?"]);
    until(&tmux, &pane, "its keys work", |screen| screen.contains("What the words mean"));
}

#[test]
fn a_tool_is_switched_and_the_answer_shown() {
    let Some(tmux) = tmux::start("a_tool_is_switched_and_the_answer_shown") else { return };
    let env = &tmux.env;
    let keeper = crate::common::Sleeper::start();
    let mut publisher = env.jig_command(&["publish", "--agent", "own"]);
    let mut publisher = publisher.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
    let stdin = publisher.stdin.as_mut().expect("piped");
    let lines = [
        serde_json::json!({ "event": "session", "schema": 1, "session": "s-own", "pid": keeper.pid(), "cwd": env.work() }),
        serde_json::json!({
            "event": "capabilities", "accepts": ["tools"], "skills": [],
            "tools": [{ "name": "bash", "source": "builtin", "tokens": 900, "on": true }],
        }),
        serde_json::json!({ "event": "context", "tokens": 1000, "window": 2000, "detail": {
            "at": null, "basis": "estimate", "window": 2000, "total": 1000, "parts": [{ "part": "other", "tokens": 1000 }],
            "tools": [{ "name": "bash", "source": "builtin", "tokens": 900, "on": true }],
            "skills": [], "contextFiles": [],
        }}),
    ];
    for line in lines {
        std::io::Write::write_all(stdin, format!("{line}\n").as_bytes()).expect("it reads");
    }
    let pane = open(&tmux, &env.work(), (100, 24), "");
    until(&tmux, &pane, "it is listed", |screen| screen.contains("s-own"));
    press(&tmux, &pane, &["Enter", "3"]);
    until(&tmux, &pane, "its tools are shown", |screen| {
        screen.contains("[on ] bash") && screen.contains("it takes: tools")
    });
    press(&tmux, &pane, &["r"]);
    until(&tmux, &pane, "what it does not take is said", |screen| screen.contains("takes no reload"));
    press(&tmux, &pane, &["Enter"]);
    // The order reaches the feeder; what it answers is the session's answer.
    let mut order = String::new();
    let stdout = publisher.stdout.take().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut order).expect("an order");
    assert!(order.contains("bash") && order.contains("false"), "{order}");
    let _ = publisher.kill();
    let _ = publisher.wait();
}
