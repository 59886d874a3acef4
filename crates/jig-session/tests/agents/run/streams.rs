//! What passes: every byte, in both directions, and the terminal's questions and answers.

use std::fs;

use super::screen::{SIZE, Screen};
use crate::common::{TestEnvironment, skipped};

#[test]
fn what_the_program_writes_is_what_the_terminal_gets() {
    let env = TestEnvironment::new();
    // Every byte there is, sequences broken anywhere, eight megabytes of it.
    let mut bytes: Vec<u8> = (0..=255).cycle().take(1 << 16).collect();
    bytes.extend_from_slice(b"\x1b]7501;state=idle\x07\x1b]7501;?\x1b\\\x1b]750\x1b[c\x1b");
    let bytes = bytes.repeat(128);
    fs::write(env.work().join("bytes"), &bytes).expect("written");
    let mut screen = Screen::run(&env, &["sh", "-c", "stty raw -echo; cat bytes"]);
    screen.ends_with(0);
    let shown = screen.shown();
    assert_eq!(shown.len(), bytes.len());
    assert!(shown == bytes);
}

#[test]
fn what_is_typed_is_what_the_program_reads() {
    let env = TestEnvironment::new();
    let mut screen = Screen::run(&env, &["sh", "-c", "stty raw -echo; printf ready; head -c 70000 > typed"]);
    screen.wait_for("ready");
    let typed: Vec<u8> = (0..=255_u8).cycle().take(70_000).collect();
    screen.send(&typed);
    screen.ends_with(0);
    assert!(fs::read(env.work().join("typed")).expect("written") == typed);
}

/// Asks as agents do and says, in hex, what came back up to the attributes.
const ASKS: &str = "stty raw -echo; printf '\\033]7501;?\\033\\\\\\033[c'; head -c COUNT | od -An -tx1 | tr -d ' \\n'; \
                    printf '\\033]7501;state=working:app=asker\\033\\\\'; sleep 0.3; printf over";
const OURS: &str = "\x1b]7501;?:states=idle,working,done,blocked,error:kinds=permission,question,auth\x1b\\";
const ATTRIBUTES: &str = "\x1b[?62;22c";
const REPORT: &str = "\x1b]7501;state=working:app=asker\x1b\\";

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn where_the_terminal_does_not_know_reports_we_answer_and_keep_them_from_it() {
    let env = TestEnvironment::new();
    let expected = format!("{OURS}{ATTRIBUTES}");
    let mut screen = Screen::run(&env, &["sh", "-c", &ASKS.replace("COUNT", &expected.len().to_string())]);
    screen.wait_for("\x1b[c");
    screen.send(ATTRIBUTES);
    screen.ends_with(0);
    assert!(screen.text().contains(&hex(&expected)), "{:?}", screen.text());
    assert!(screen.text().contains("\x1b]7501;?\x1b\\"), "the question itself passes");
    assert!(!screen.text().contains(REPORT), "{:?}", screen.text());
}

#[test]
fn where_the_terminal_answers_it_answers_alone_and_gets_the_reports() {
    let env = TestEnvironment::new();
    let expected = format!("\x1b]7501;?\x1b\\{ATTRIBUTES}");
    let mut screen = Screen::run(&env, &["sh", "-c", &ASKS.replace("COUNT", &expected.len().to_string())]);
    screen.wait_for("\x1b[c");
    screen.send(&expected);
    screen.ends_with(0);
    assert!(screen.text().contains(&hex(&expected)), "{:?}", screen.text());
    assert!(screen.text().contains(REPORT));
}

#[test]
fn a_terminal_that_answers_nothing_is_answered_for() {
    let env = TestEnvironment::new();
    let mut screen = Screen::run(&env, &["sh", "-c", &ASKS.replace("COUNT", &OURS.len().to_string())]);
    screen.ends_with(0);
    assert!(screen.text().contains(&hex(OURS)), "{:?}", screen.text());
}

#[test]
fn reports_of_a_program_that_did_not_ask_pass() {
    let env = TestEnvironment::new();
    let mut screen = Screen::run(&env, &["printf", "\\033]7501;state=working\\007x"]);
    screen.ends_with(0);
    assert_eq!(screen.text(), "\x1b]7501;state=working\x07x", "not one byte is written anew");
}

/// Programs that take the whole screen, each with the keys that end it.
#[test]
fn full_screen_programs_show_the_same_as_without_us() {
    let env = TestEnvironment::new();
    let lines: String = (0..500).map(|n| format!("line {n}\n")).collect();
    fs::write(env.work().join("lines"), lines).expect("written");
    // Each key is typed once the last line of what the one before it shows is there: a page has one line fewer than the
    // terminal has rows.
    let page = usize::from(SIZE.ws_row) - 1;
    let [first, second, third] = [page - 1, 2 * page - 1, 3 * page - 1].map(|n| format!("line {n}"));
    #[allow(clippy::type_complexity, reason = "a table")]
    let programs: [(&str, &str, &[(&str, &str)]); 3] = [
        ("less", "less lines", &[(&first, " "), (&second, " "), (&third, "q")]),
        ("vim", "vim -u NONE -N lines", &[(&first, "G"), ("499", ":q!\r")]),
        ("top", "top -d 60", &[("load average", "q")]),
    ];
    for (program, line, steps) in programs {
        if env
            .command("sh")
            .args(["-c", &format!("command -v {program}")])
            .status()
            .is_ok_and(|status| !status.success())
        {
            skipped("full_screen_programs", &format!("{program} is not installed"));
            continue;
        }
        let mut shown = Vec::new();
        for runs in [format!("exec {line}"), format!("exec \"$J\" run -- {line}")] {
            let mut screen = Screen::shell(&env, &runs);
            for (shown, keys) in steps {
                screen.wait_for(shown);
                screen.send(keys);
            }
            screen.ends_with(0);
            shown.push(screen.text());
        }
        // What `top` says changes; that it cleans up does not.
        if program == "less" {
            assert_eq!(shown[0], shown[1], "{program}");
        }
        let last = |text: &str| text.rsplit('\x1b').next().unwrap_or_default().to_owned();
        assert_eq!(last(&shown[0]), last(&shown[1]), "{program}: {:?}", shown[1]);
    }
}
