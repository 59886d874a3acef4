//! Real programs: what they write, ask and hear is what it would be without `run`.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use super::screen::Screen;
use crate::common::{DEADLINE, TestEnvironment, eventually, skipped};

/// Whether Python with curses is there, which the programs of this file are written in.
fn has_python(env: &TestEnvironment, test: &str) -> bool {
    let there =
        env.command("python3").args(["-c", "import curses, termios"]).status().is_ok_and(|status| status.success());
    if !there {
        skipped(test, "python3 with curses is not installed");
    }
    there
}

/// The same command line without `run` and under it.
fn both_ways(line: &str) -> [String; 2] {
    [format!("exec {line}"), format!("exec \"$J\" run -- {line}")]
}

#[test]
fn a_hundred_megabytes_are_the_same_to_the_last_byte() {
    const SIZE: usize = 100 << 20;
    let env = TestEnvironment::new();
    // Bytes of every value in no order; sequences begin and break off everywhere in it.
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(SIZE);
    while bytes.len() < SIZE {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    fs::File::create(env.work().join("bytes")).and_then(|mut file| file.write_all(&bytes)).expect("written");
    let mut screen = Screen::run(&env, &["sh", "-c", "stty raw -echo; cat bytes"]);
    let (mut length, mut grew) = (0, Instant::now());
    while length < SIZE {
        assert!(grew.elapsed() < DEADLINE, "nothing more came after {length} bytes");
        std::thread::sleep(Duration::from_millis(20));
        if screen.length() > length {
            (length, grew) = (screen.length(), Instant::now());
        }
    }
    screen.ends_with(0);
    let shown = screen.shown();
    assert_eq!(shown.len(), bytes.len());
    let differs = shown.iter().zip(&bytes).position(|(shown, written)| shown != written);
    assert_eq!(differs, None, "the first byte that differs");
}

/// What programs ask a terminal, and what one says.
const QUESTIONS: [(&str, &str); 20] = [
    ("\x1b[c", "\x1b[?62;22;52c"),
    ("\x1b[0c", "\x1b[?62;22;52c"),
    ("\x1b[>c", "\x1b[>41;390;0c"),
    ("\x1b[=c", "\x1bP!|7E565445\x1b\\"),
    ("\x1b[5n", "\x1b[0n"),
    ("\x1b[6n", "\x1b[12;40R"),
    ("\x1b[?6n", "\x1b[?12;40;1R"),
    ("\x1b[?996n", "\x1b[?997;1n"),
    ("\x1b[>q", "\x1bP>|terminal 1.4\x1b\\"),
    ("\x1b]10;?\x1b\\", "\x1b]10;rgb:ffff/ffff/ffff\x1b\\"),
    ("\x1b]11;?\x07", "\x1b]11;rgb:0000/0000/0000\x07"),
    ("\x1b]4;7;?\x1b\\", "\x1b]4;7;rgb:c0c0/c0c0/c0c0\x1b\\"),
    ("\x1b]52;c;?\x07", "\x1b]52;c;aGVsZA==\x07"),
    ("\x1b[?u", "\x1b[?1u"),
    ("\x1b[?2026$p", "\x1b[?2026;2$y"),
    ("\x1b[4$p", "\x1b[4;2$y"),
    ("\x1bP$qm\x1b\\", "\x1bP1$r0;1m\x1b\\"),
    ("\x1bP+q544e\x1b\\", "\x1bP1+r544e=787465726d\x1b\\"),
    ("\x1b[14t", "\x1b[4;620;970t"),
    // An escape alone, a key and a paste are no answers.
    ("\x1b[21t", "\x1b\x1b[A\x1b[200~\x1b[?62c\x1b]7501;?\x1b\\\x1b[201~"),
];

/// Asks each question of the file `questions` and reads as long as the answer is; then all of them at once. What came
/// goes into the file `answers`, with what came that nobody asked for.
const ASKER: &str = r#"
import json, os, select, tty
tty.setraw(0)
asked = json.load(open("questions"))
def read(count):
    got = b""
    while len(got) < count and select.select([0], [], [], 60)[0]:
        got += os.read(0, count - len(got))
    return got.decode("latin-1")
answers = []
for question, answer in asked:
    os.write(1, question.encode())
    answers.append(read(len(answer)))
os.write(1, b"ALL" + "".join(question for question, _ in asked).encode() + b"TOLD")
answers.append(read(sum(len(answer) for _, answer in asked)))
more = select.select([0], [], [], 0.4)[0]
answers.append(os.read(0, 4096).decode("latin-1") if more else "")
json.dump(answers, open("answers", "w"))
"#;

#[test]
fn every_question_to_the_terminal_has_the_terminals_answer() {
    let env = TestEnvironment::new();
    if !has_python(&env, "every_question_to_the_terminal") {
        return;
    }
    fs::write(env.work().join("asker.py"), ASKER).expect("written");
    fs::write(env.work().join("questions"), serde_json::to_vec(&QUESTIONS.to_vec()).unwrap()).expect("written");
    let all: String = QUESTIONS.iter().map(|(_, answer)| *answer).collect();
    let mut expected: Vec<&str> = QUESTIONS.iter().map(|(_, answer)| *answer).collect();
    expected.extend([all.as_str(), ""]);
    let mut shown = Vec::new();
    for line in both_ways("python3 asker.py") {
        let mut screen = Screen::shell(&env, &line);
        let mut before = String::new();
        for (question, answer) in QUESTIONS {
            before.push_str(question);
            screen.wait_for(&before);
            screen.send(answer);
        }
        screen.wait_for("TOLD");
        // In pieces that break every sequence somewhere.
        for piece in all.as_bytes().chunks(3) {
            screen.send(piece);
        }
        screen.ends_with(0);
        let answers: Vec<String> = serde_json::from_slice(&fs::read(env.work().join("answers")).unwrap()).unwrap();
        assert_eq!(answers, expected, "{line}");
        fs::remove_file(env.work().join("answers")).unwrap();
        shown.push(screen.shown());
    }
    assert_eq!(shown[0], shown[1], "every question passes as it is");
}

/// A table over the whole screen, in colours, with keys, mouse and size. The title counts its frames.
const TABLE: &str = r#"
import curses, os
def main(screen):
    curses.curs_set(0)
    curses.start_color()
    curses.use_default_colors()
    curses.mousemask(curses.ALL_MOUSE_EVENTS)
    for number in range(1, 8):
        curses.init_pair(number, number, -1)
    top = frame = 0
    while True:
        rows, columns = screen.getmaxyx()
        screen.erase()
        screen.addstr(0, 0, f"tasks {frame} of {rows}x{columns}"[:columns - 1], curses.A_REVERSE)
        for row in range(1, rows - 1):
            number = top + row
            line = f"{number:5d} {'|' * (number * 7 % 40):40s} program-{number}"
            screen.addstr(row, 0, line[:columns - 1], curses.color_pair(1 + number % 7) | (curses.A_BOLD * (number % 2)))
        screen.addstr(rows - 1, 0, "F1Help F10Quit"[:columns - 1])
        screen.refresh()
        os.write(1, b"\x1b]2;frame %d\x07" % frame)
        key = screen.getch()
        frame += 1
        if key == ord("q"):
            return
        top += {curses.KEY_DOWN: 1, curses.KEY_NPAGE: rows - 2}.get(key, 0)
        if key == curses.KEY_MOUSE:
            top = curses.getmouse()[2]
curses.wrapper(main)
"#;

#[test]
fn a_full_screen_table_is_the_same_byte_for_byte() {
    let env = TestEnvironment::new();
    if !has_python(&env, "a_full_screen_table") {
        return;
    }
    fs::write(env.work().join("table.py"), TABLE).expect("written");
    let mut shown = Vec::new();
    for line in both_ways("python3 table.py") {
        let mut screen = Screen::shell(&env, &line);
        // A down key, a page, the mouse, two keys at once, any key.
        for (frame, keys) in ["\x1bOB", "\x1b[6~", "\x1b[<0;9;10M", "\x1bOB", "x"].into_iter().enumerate() {
            screen.wait_for(&format!("frame {frame}\x07"));
            screen.send(keys);
        }
        screen.wait_for("frame 5\x07");
        screen.resize(20, 60);
        screen.wait_for("frame 6\x07");
        screen.send("q");
        screen.ends_with(0);
        shown.push(screen.text());
    }
    assert!(shown[0].contains("of 20x60"), "{}", shown[0]);
    assert_eq!(shown[0], shown[1]);
}

#[test]
fn a_full_screen_program_stops_and_goes_on_and_the_terminal_is_the_shells_meanwhile() {
    let env = TestEnvironment::new();
    if !has_python(&env, "a_full_screen_program_stops") {
        return;
    }
    fs::write(env.work().join("table.py"), TABLE).expect("written");
    let mut command = env.command("setsid");
    command.args(["-c", "bash", "--norc", "--noprofile", "-i"]).env("TERM", "xterm").env("PS1", "PROMPT ");
    command.env("J", env!("CARGO_BIN_EXE_jig-session"));
    let mut screen = Screen::start(command);
    screen.wait_for("PROMPT");
    let modes = |screen: &Screen, name: &str| {
        screen.send(format!("stty -a > {name}.part; mv {name}.part {name}\r"));
        eventually("the modes", || fs::read_to_string(env.work().join(name)).ok())
    };
    let before = modes(&screen, "before");
    screen.send("$J run -- python3 table.py\r");
    screen.wait_for("frame 0\x07");
    screen.send("\x1bOB");
    screen.wait_for("frame 1\x07");
    screen.send("\x1a");
    screen.wait_for("Stopped");
    assert_eq!(modes(&screen, "stopped"), before);
    screen.send("fg\r");
    // It draws its whole table anew, and then in the size that the terminal has now.
    screen.wait_for("tasks 1 of 31x97");
    screen.resize(24, 80);
    screen.wait_for("frame 2\x07");
    screen.wait_for("of 24x80");
    let prompts = screen.text().matches("PROMPT").count();
    screen.send("q");
    screen.wait_for_times("PROMPT", prompts + 1);
    let after = modes(&screen, "after");
    assert_eq!(after, before.replace("rows 31; columns 97", "rows 24; columns 80"));
    screen.send("exit 0\r");
    screen.ends_with(0);
}

/// Asks a real terminal everything at once, and last what each answers; what came goes into a file.
const ASKER_OF_ALL: &str = r#"
import json, os, re, select, sys, time, tty
tty.setraw(0)
asked = [question for question, _ in json.load(open("questions"))]
os.write(1, b"\x1b[2J\x1b[H" + "".join(asked).encode() + b"\x1b[5n")
got, end = b"", time.monotonic() + 60
while b"\x1b[0n" not in got.split(b"\x1b[0n", 1)[-1] and time.monotonic() < end:
    if select.select([0], [], [], 1)[0]:
        got += os.read(0, 4096)
time.sleep(0.3)
while select.select([0], [], [], 0.2)[0]:
    got += os.read(0, 4096)
json.dump(got.decode("latin-1"), open(sys.argv[1] + ".part", "w"))
os.rename(sys.argv[1] + ".part", sys.argv[1])
"#;

#[test]
fn in_tmux_a_program_hears_what_tmux_says() {
    let env = TestEnvironment::new();
    if !has_python(&env, "in_tmux_a_program_hears") {
        return;
    }
    fs::write(env.work().join("asker.py"), ASKER_OF_ALL).expect("written");
    fs::write(env.work().join("questions"), serde_json::to_vec(&QUESTIONS.to_vec()).unwrap()).expect("written");
    let socket = env.root().join("tmux");
    let tmux = |args: &[&str]| {
        let mut command = env.command("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&socket).args(args);
        command.status().is_ok_and(|status| status.success())
    };
    let mut answers = Vec::new();
    let ours = format!("{} run -- ", env!("CARGO_BIN_EXE_jig-session"));
    for (name, under) in [("bare", ""), ("run", ours.as_str())] {
        let line = format!("exec {under}python3 asker.py {name}");
        if !tmux(&["new-session", "-d", "-x", "90", "-y", "20", "-s", name, &line]) {
            skipped("in_tmux_a_program_hears", "tmux cannot open a session");
            return;
        }
        answers.push(eventually("the answers", || fs::read_to_string(env.work().join(name)).ok()));
    }
    tmux(&["kill-server"]);
    assert!(answers[0].contains("[?") && answers[0].contains("[0n"), "{answers:?}");
    assert_eq!(answers[0], answers[1]);
}
