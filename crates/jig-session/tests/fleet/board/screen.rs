//! What stands on the screen, at every size, while files come, change and go.

use super::{capture, open, press, shell, types, until};
use crate::common::{now_ms, program, status_document, timestamp};
use crate::panes::tmux;

#[test]
fn the_board_follows_the_files_at_every_size() {
    let Some(tmux) = tmux::start("the_board_follows_the_files_at_every_size") else { return };
    let env = &tmux.env;
    let mut first = env.live("s-first", |document| {
        document["name"] = "first".into();
        document["cwd"] = env.work().display().to_string().into();
    });
    let pane = open(&tmux, &env.work(), (80, 24), "");
    until(&tmux, &pane, "the session is listed", |screen| screen.contains("idle") && screen.contains("first"));
    let second = env.live("s-second", |document| document["name"] = "second".into());
    until(&tmux, &pane, "a new session is listed", |screen| screen.contains("second"));
    first.rewrite(|document| {
        document["state"] = "busy".into();
        document["attention"] = serde_json::json!({ "reason": "approval", "since": document["updatedAt"] });
    });
    until(&tmux, &pane, "its wait is shown", |screen| screen.contains("approval") && screen.contains("1 needs you"));
    let first_line = |screen: &str| screen.lines().position(|line| line.contains("first"));
    let second_line = |screen: &str| screen.lines().position(|line| line.contains("second"));
    until(&tmux, &pane, "who waits is first", |screen| first_line(screen) < second_line(screen));
    std::fs::remove_file(&second.path).expect("removed");
    until(&tmux, &pane, "what ended is gone", |screen| !screen.contains("second"));
    for (width, height) in [("200", "60"), ("40", "12"), ("80", "24")] {
        tmux.run(&["resize-window", "-t", &pane, "-x", width, "-y", height]);
        until(&tmux, &pane, "it fits its new size", |screen| {
            screen.contains("[Sessions]")
                && screen.contains("first")
                && screen.trim_end().lines().count() == height.parse().unwrap_or(0)
        });
    }
    let broken = env.sessions_dir().join("broken.json");
    std::fs::write(&broken, "{").expect("written");
    until(&tmux, &pane, "a bad file is told of", |screen| {
        screen.contains("gives no session") && screen.contains("first")
    });
    press(&tmux, &pane, &["q"]);
    until(&tmux, &pane, "the shell is back", |screen| screen.trim_end().ends_with("ready>"));
}

#[test]
fn hostile_strings_stay_text() {
    let Some(tmux) = tmux::start("hostile_strings_stay_text") else { return };
    let env = &tmux.env;
    let evil = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}evil\r\n\u{7f}日本語";
    let _live = env.live("s-evil", |document| {
        for field in ["name", "cwd", "terminal", "thinking"] {
            document[field] = evil.into();
        }
        document["model"] = serde_json::json!({ "id": evil, "name": evil, "provider": evil });
        document["recent"] = serde_json::json!([{ "at": null, "tool": "x\u{1b}[2J", "outcome": "ok" }]);
        document["outputs"] = serde_json::json!([{ "path": evil, "action": evil, "at": null, "repo": evil }]);
        document["ticket"] = serde_json::json!({ "key": evil, "title": evil, "url": evil });
        document["workflow"] = serde_json::json!({ "name": evil, "stages": [evil], "current": evil, "prs": [evil] });
    });
    let pane = open(&tmux, &env.work(), (120, 30), "");
    until(&tmux, &pane, "it is listed", |screen| screen.contains("evil"));
    for keys in [&["Enter"][..], &["Tab"], &["Tab"], &["Tab"], &["Escape"]] {
        press(&tmux, &pane, keys);
        until(&tmux, &pane, "it is still drawn in whole", |screen| {
            screen.contains("evil")
                && (screen.contains("[Sessions]") && screen.lines().next().is_some_and(|l| l.contains("Panes")))
        });
        assert_ne!(tmux.tell(&pane, "#{pane_title}"), "owned");
        let screen = capture(&tmux, &pane);
        assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen:?}");
    }
}

#[test]
fn every_key_does_what_its_help_says() {
    let Some(tmux) = tmux::start("every_key_does_what_its_help_says") else { return };
    let env = &tmux.env;
    let lives: Vec<_> = ["alpha", "beta", "gamma"]
        .iter()
        .map(|name| {
            env.live(&format!("s-{name}"), |document| {
                document["name"] = (*name).into();
                document["cwd"] = env.work().display().to_string().into();
                document["contextDetail"] = serde_json::json!({
                    "at": null, "basis": "measured", "window": 200_000, "total": 100_000,
                    "parts": [{ "part": "system", "tokens": 100_000 }],
                    "tools": [{ "name": "bash", "source": "builtin", "tokens": 900, "on": true }],
                    "skills": [], "contextFiles": [],
                });
            })
        })
        .collect();
    let pane = open(&tmux, &env.work(), (100, 26), "");
    let focused = |screen: &str, name: &str| screen.lines().any(|line| line.starts_with("> ") && line.contains(name));
    for (keys, shown) in [
        (&["j"][..], "beta"),
        (&["Down"], "gamma"),
        (&["k"], "beta"),
        (&["Up"], "alpha"),
        (&["G"], "gamma"),
        (&["g"], "alpha"),
        (&["NPage"], "gamma"),
        (&["PPage"], "alpha"),
        (&["End"], "gamma"),
        (&["Home"], "alpha"),
    ] {
        press(&tmux, &pane, keys);
        until(&tmux, &pane, &format!("{keys:?} gives {shown}"), |screen| focused(screen, shown));
    }
    for (keys, shown) in [
        (&["Tab"][..], "[Inbox]"),
        (&["Tab"], "[Claims]"),
        (&["Tab"], "[Panes]"),
        (&["Tab"], "[Sessions]"),
        (&["BTab"], "[Panes]"),
        (&["Right"], "[Sessions]"),
        (&["Left"], "[Panes]"),
        (&["1"], "[Sessions]"),
        (&["Enter"], "[Work]"),
        (&["Tab"], "50.0 %"),
        (&["Tab"], "[on ] bash"),
        (&["Tab"], "verdict    alive"),
        (&["2"], "[Context]"),
        (&["Escape"], "[Sessions]"),
        (&["?"], "go to its tmux pane"),
        (&["Escape"], "alpha"),
        (&["/"], "/"),
        (&["b", "e", "t"], "/bet"),
    ] {
        press(&tmux, &pane, keys);
        until(&tmux, &pane, &format!("{keys:?} gives {shown}"), |screen| screen.contains(shown));
    }
    until(&tmux, &pane, "the filter hides the others", |screen| screen.contains("beta") && !screen.contains("alpha"));
    press(&tmux, &pane, &["Enter", "Escape"]);
    until(&tmux, &pane, "the filter is away", |screen| screen.contains("beta") && screen.contains("alpha"));
    drop(lives);
}

#[test]
fn without_colour_there_is_no_colour() {
    let Some(tmux) = tmux::start("without_colour_there_is_no_colour") else { return };
    let env = &tmux.env;
    let _live = env.live("s-one", |document| {
        document["attention"] = serde_json::json!({ "reason": "approval", "since": document["updatedAt"] });
    });
    let coloured = |screen: &str| ["38;5;", "31m", "32m", "33m", "36m", "91m"].iter().any(|code| screen.contains(code));
    let pane = open(&tmux, &env.work(), (80, 24), "NO_COLOR=1");
    until(&tmux, &pane, "it is listed", |screen| screen.contains("approval"));
    assert!(!coloured(&tmux.run(&["capture-pane", "-e", "-p", "-t", &pane])));
    press(&tmux, &pane, &["q"]);
    until(&tmux, &pane, "the shell is back", |screen| screen.trim_end().ends_with("ready>"));
    super::types(&tmux, &pane, &format!("{} board", crate::common::program().display()));
    until(&tmux, &pane, "it is listed", |screen| screen.contains("approval"));
    assert!(coloured(&tmux.run(&["capture-pane", "-e", "-p", "-t", &pane])));
}

#[test]
fn two_hundred_sessions_are_listed_and_scrolled() {
    let Some(tmux) = tmux::start("two_hundred_sessions_are_listed_and_scrolled") else { return };
    let env = &tmux.env;
    let process = crate::common::Sleeper::start();
    for place in 0..200 {
        let session = format!("s-{place:03}");
        let mut document = status_document(&session, process.pid());
        document["name"] = format!("name-{place:03}").into();
        env.write_status(&session, &document);
    }
    let pane = open(&tmux, &env.work(), (80, 24), "");
    until(&tmux, &pane, "the first is listed", |screen| screen.contains("name-000") && screen.contains("200 idle"));
    press(&tmux, &pane, &["G"]);
    until(&tmux, &pane, "the last is listed", |screen| screen.contains("name-199") && !screen.contains("name-000"));
}

#[test]
fn the_figures_of_the_call_logs_stand_below_the_sessions() {
    let Some(tmux) = tmux::start("the_figures_of_the_call_logs_stand_below_the_sessions") else { return };
    let env = &tmux.env;
    let _live = env.live("s-first", |_| ());
    let stamp = timestamp(now_ms());
    let folder = env.work().join("logs").join(&stamp[..10]);
    std::fs::create_dir_all(&folder).expect("made");
    let record = serde_json::json!({ "summary": {
        "status": 200, "model": "omni-anthropic/m\u{1b}[2J", "timestamp": stamp, "duration": 1500,
        "tokens": { "in": 2000, "out": 30, "cacheRead": 1500 },
    }});
    std::fs::write(folder.join("a.json"), record.to_string()).expect("written");
    let pane = shell(&tmux, &env.work(), (120, 30));
    types(
        &tmux,
        &pane,
        &format!("PI_KING_CALL_LOGS={}/logs TZ=UTC {} board", env.work().display(), program().display()),
    );
    let shown = |screen: &str| {
        ["1 call, 0 errors, p95 1.5 s", "net 500 cache 75 %", "calls today by hour"]
            .iter()
            .all(|part| screen.contains(part))
    };
    until(&tmux, &pane, "the day's figures are shown", |screen| screen.contains("s-first") && shown(screen));
    press(&tmux, &pane, &["Enter"]);
    until(&tmux, &pane, "and below the session", |screen| screen.contains("Work") && shown(screen));
    for (width, height) in [("40", "12"), ("80", "24")] {
        tmux.run(&["resize-window", "-t", &pane, "-x", width, "-y", height]);
        until(&tmux, &pane, "it fits its new size", |screen| {
            screen.contains("[Sessions]") && screen.trim_end().lines().count() == height.parse().unwrap_or(0)
        });
    }
}
