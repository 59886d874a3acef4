use super::town::{Peer, Town};
use crate::common::{Output, finish};

#[test]
fn a_status_is_read_at_a_glance() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer_with("beta", &["--wake", "--agent", "codex"]));
    town.as_peer(&a, &["claim", "src/api/", "--reason", "contract"]).exits(0);
    town.as_peer(&b, &["send", "alpha", "hello"]).exits(0);
    let text = town.text(&a, &["status"]).exits(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("bus of "), "{text}");
    assert_eq!(lines[1], "you are alpha (s-alpha), mail is announced at your next turn, 1 unread");
    let row =
        |word: &str| *lines.iter().find(|line| line.starts_with(word)).unwrap_or_else(|| panic!("{word}: {text}"));
    assert!(row("LABEL").contains("UNREAD") && row("beta").contains("codex") && row("beta").contains("wake"), "{text}");
    assert!(row("src/api").contains("alpha") && row("src/api").contains("contract"), "{text}");
    let nobody = Town::new();
    let text = nobody.env.jig(&["bus", "status"]).exits(0).stdout;
    assert!(text.contains("jig-session bus join LABEL"), "{text}");
}

#[test]
fn no_foreign_text_steers_the_terminal() {
    // bus-v1 135
    let town = Town::new();
    let a = town.peer("alpha");
    // As another program might write it: our own commands refuse such a text.
    let hostile = "\u{1b}]0;title\u{7}\u{1b}[2J\u{9b}31m\u{202e}abc\nrefused: fake";
    let id = "1796000000000-0000aaaa";
    let message = serde_json::json!({
        "schema": 1, "id": id, "kind": "message",
        "from": { "id": "s-x", "label": "x\u{1b}[31m", "agent": "pi\u{7}" },
        "to": "s-alpha", "toLabel": "alpha", "broadcast": false, "text": hostile, "paths": ["a\u{1b}[2Jb"],
        "replyTo": "\u{1b}[5n", "sentAt": "2026-11-30T02:00:00.000Z", "sentMono": null, "bootId": null,
    });
    let inbox = town.folder().join("inbox/s-alpha");
    std::fs::create_dir_all(&inbox).expect("a folder");
    std::fs::write(inbox.join(format!("{id}.json")), message.to_string()).expect("a file");
    for args in [["peek"], ["inbox"]] {
        let json = town.as_peer(&a, &["peek"]).stdout;
        assert!(!json.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{json:?}");
        let text = town.text(&a, &args).exits(0).stdout;
        assert!(text.contains("title"), "{text:?}");
        assert!(!text.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{text:?}");
        assert!(
            !text.lines().any(|line| line.starts_with("refused: fake")),
            "a text cannot look like our words: {text}"
        );
    }
}

#[test]
fn what_was_done_is_said_in_words() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    let says = |peer, args: &[&str], words: &str| {
        let text = town.text(peer, args).stdout;
        assert!(text.contains(words), "{args:?}: {text}");
    };
    says(&a, &["join"], "on the bus as alpha");
    says(&a, &["claim", "src", "docs"], "claimed src, docs");
    says(&a, &["claim", "src"], "held already: src");
    says(&b, &["check", "src/api"], "src is held by alpha");
    says(&b, &["check", "other"], "free");
    says(&b, &["send", "alpha", "hi"], "queued for alpha (live, it sees it at its next turn, 1 unread)");
    says(&a, &["peek"], "message from beta");
    says(&a, &["inbox"], "  | hi");
    says(&a, &["inbox"], "no mail");
    says(&a, &["release", "docs"], "released docs");
    says(&a, &["leave"], "off the bus, released src");
}

#[test]
fn nobody_elses_mail_is_shown() {
    // bus-v1 87
    let town = Town::new();
    let (_a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&b, &["send", "alpha", "for alpha's eyes"]).exits(0);
    for args in [&["status"][..], &["peek"], &["inbox"], &["check", "src"], &["wait", "--timeout", "0"]] {
        let output = town.as_peer(&b, args);
        assert!(!output.stdout.contains("alpha's eyes"), "{args:?}: {}", output.stdout);
    }
    assert_eq!(town.bus(&["status"]).json()["members"][0]["unread"], 1, "that there is mail is no secret");
}

#[test]
fn a_listing_needs_no_terminal() {
    // bus-v1 134
    let town = Town::new();
    let _a = town.peer("alpha");
    let output = town.env.jig(&["bus", "status"]).exits(0);
    assert!(output.stdout.contains("alpha") && !output.stdout.contains('\u{1b}'), "{}", output.stdout);
}

#[test]
fn doctor_names_a_moved_repositorys_bus_and_the_quarantine() {
    // bus-v1 21
    let town = Town::new();
    let a = town.peer("alpha");
    let bus = |code| {
        let document = town.env.jig(&["doctor", "--json"]).exits(code).json();
        let checks = document["checks"].as_array().expect("checks").iter();
        checks.filter(|check| check["check"] == "bus").cloned().collect::<Vec<_>>()
    };
    assert_eq!(bus(0).len(), 1);
    let inbox = town.folder().join("inbox/s-alpha");
    std::fs::create_dir_all(&inbox).expect("a folder");
    let torn = inbox.join("1796000000000-0000aaaa.json");
    std::fs::write(&torn, "{").expect("a file");
    let file = std::fs::File::options().write(true).open(&torn).expect("a file");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000))
        .expect("a time");
    town.as_peer(&a, &["inbox"]).exits(0);
    let found = bus(1);
    assert!(found[0]["message"].as_str().is_some_and(|text| text.contains("quarantine")), "{found:?}");
    std::fs::remove_dir_all(town.folder().join("quarantine")).expect("removed");
    let git = town.env.work().join(".git");
    std::fs::rename(&git, town.env.root().join("moved")).expect("moved");
    let found = bus(0);
    assert!(found[0]["message"].as_str().is_some_and(|text| text.contains("not there any more")), "{found:?}");
}

/// A bus command of a member whose standard output is closed from the start.
fn closed(town: &Town, peer: &Peer, args: &[&str]) -> Output {
    let mut command = town.env.command("sh");
    command.args(["-c", "exec \"$0\" \"$@\" >&-", env!("CARGO_BIN_EXE_jig-session"), "bus", "--as", &peer.id]);
    command.args(args);
    finish(command, b"")
}

#[test]
fn without_an_open_standard_output_nothing_is_done() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&b, &["claim", "docs"]).exits(0);
    town.as_peer(&b, &["send", "alpha", "hello"]).exits(0);
    for args in [
        &["inbox"][..],
        &["--json", "inbox"],
        &["claim", "src"],
        &["send", "beta", "hi"],
        &["wait", "--timeout", "0"],
        &["release", "--all"],
        &["leave"],
        &["--help"],
    ] {
        let output = closed(&town, &a, args).exits(1);
        assert!(output.stderr.contains("standard output is closed"), "{args:?}: {}", output.stderr);
    }
    let status = town.bus(&["status"]).json();
    assert_eq!(status["claims"].as_array().map(Vec::len), Some(1), "{status}");
    assert_eq!(status["members"][0]["unread"], 1, "the mail is still there: {status}");
    assert_eq!(status["members"][1]["unread"], 0, "and nothing was sent: {status}");
    // What has no use for an answer goes on: a hook is never what stops an agent.
    closed(&town, &a, &["notice", "claude", "UserPromptSubmit"]).exits(0);
    let unseen = town.text(&a, &["inbox"]).exits(0).stdout;
    assert!(unseen.contains("hello"), "{unseen}");
}

#[test]
fn what_has_happened_is_answered_though_the_unread_mail_cannot_be_counted() {
    let town = Town::new();
    let (a, _b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&a, &["claim", "docs"]).exits(0);
    let inbox = town.folder().join("inbox/s-alpha");
    let _ = std::fs::remove_dir_all(&inbox);
    std::fs::create_dir_all(town.folder().join("inbox")).expect("a folder");
    std::fs::write(&inbox, "no folder").expect("a file");
    for (args, what) in [
        (&["claim", "src"][..], "claimed"),
        (&["release", "docs"], "released"),
        (&["join", "gamma"], "label"),
        (&["leave"], "released"),
    ] {
        let answer = town.as_peer(&a, args).exits(0).json();
        assert!(answer["ok"] == true && answer[what] != serde_json::json!([]), "{answer}");
        if args != ["leave"] {
            assert_eq!(answer["unread"], serde_json::Value::Null, "{answer}");
            assert!(answer["notes"].to_string().contains("the unread mail is not counted"), "{answer}");
        }
    }
}

#[test]
fn only_what_is_forbidden_is_called_refused() {
    let town = Town::new();
    let (a, b) = (town.peer("alpha"), town.peer("beta"));
    town.as_peer(&a, &["claim", "src"]).exits(0);
    for (args, code, word) in [
        (&["inbox", "--limit", "0"][..], 2, "error: the limit is"),
        (&["peek", "--limit", "51"], 2, "error: the limit is"),
        (&["release"], 2, "error: "),
        (&["send", "nobody", "hi"], 4, "error: nobody on this bus"),
        (&["release", "docs"], 1, "not-held: "),
        (&["wait", "--timeout", "0"], 124, "timeout: "),
        (&["claim", "src"], 3, "refused: "),
        (&["join", "alpha"], 4, "refused: "),
        (&["send", "beta", "hi"], 4, "refused: "),
        (&["claim", "*.rs"], 4, "refused: "),
    ] {
        let output = town.text(&b, args).exits(code);
        assert!(output.stderr.starts_with(word), "{args:?}: {}", output.stderr);
    }
}
