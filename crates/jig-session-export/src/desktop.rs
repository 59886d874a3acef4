//! What a desktop or a terminal shows of a notice. Programs get the texts as arguments; nothing is a shell's text.

use jig_session_view::rows;
use jig_session_view::sanitise::clean;
use jig_session_view::table::fit;

use crate::notices::{Notice, Transition};
use crate::statusline::for_pango;

/// The widest title and text, in columns.
const TITLE: usize = 60;
const TEXT: usize = 120;

/// A notice in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which session, in our own words first.
    pub title: String,
    /// What happened, and where.
    pub text: String,
    /// It should not be missed.
    pub urgent: bool,
}

/// How the person is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// `notify-send`, on a desktop of freedesktop.org.
    NotifySend,
    /// `osascript`, on macOS.
    Osascript,
    /// The terminal, by OSC 9.
    Osc9,
    /// The terminal, by OSC 777.
    Osc777,
}

/// What there is to reach a person by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Surroundings<'a> {
    /// Whether a program of this name can be run.
    pub has_notify_send: bool,
    /// As above.
    pub has_osascript: bool,
    /// Whether there is a desktop to talk to: `DISPLAY`, `WAYLAND_DISPLAY` or a session bus.
    pub has_desktop: bool,
    /// `TERM`.
    pub term: &'a str,
    /// `TERM_PROGRAM`.
    pub term_program: &'a str,
}

/// The way to the person: a desktop, else the terminal.
#[must_use]
pub fn door(around: &Surroundings<'_>) -> Door {
    if around.has_osascript {
        return Door::Osascript;
    }
    if around.has_notify_send && around.has_desktop {
        return Door::NotifySend;
    }
    let by_777 = ["foot", "rxvt"].iter().any(|name| around.term.starts_with(name));
    if by_777 && around.term_program.is_empty() { Door::Osc777 } else { Door::Osc9 }
}

/// A notice in words: the first ones are ours, so that no name is taken for a command of a terminal.
#[must_use]
pub fn message(notice: &Notice) -> Message {
    let row = &notice.row;
    let agent = row.agent_name();
    let host = row.host.as_deref().map(|host| format!(" on {host}")).unwrap_or_default();
    let name = rows::title(row);
    let reason = notice.reason.as_deref().unwrap_or_default();
    let what = match notice.transition {
        Transition::Attention if notice.escalated => format!("still waits for you ({reason})"),
        Transition::Attention => format!("waits for you ({reason})"),
        Transition::Settled => match notice.turn_ms {
            Some(ms) if ms >= 1000 => format!("is done after {}", duration(ms / 1000)),
            _ => "is done".to_owned(),
        },
        Transition::Gone if reason == "ended" => "has ended".to_owned(),
        Transition::Gone => "went without an end: its process is gone".to_owned(),
        Transition::Added => "has begun".to_owned(),
    };
    Message {
        title: fit(&clean(&format!("{}: {name}", title_word(notice.transition))), TITLE),
        text: fit(&clean(&format!("session of {agent}{host} {what}, in {}", row.cwd)), TEXT),
        urgent: notice.escalated || notice.transition == Transition::Attention,
    }
}

fn title_word(transition: Transition) -> &'static str {
    match transition {
        Transition::Attention => "Waits for you",
        Transition::Settled => "Done",
        Transition::Gone => "Gone",
        Transition::Added => "New",
    }
}

fn duration(seconds: i64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

/// The program and its arguments for a door that is a program.
#[must_use]
pub fn command(door: Door, message: &Message) -> Option<Vec<String>> {
    let words: Vec<String> = match door {
        Door::NotifySend => {
            let urgency = if message.urgent { "critical" } else { "normal" };
            // A notification's text may be markup; its title is none.
            let text = for_pango(&message.text);
            vec![
                "notify-send".into(),
                "--app-name=jig-session".into(),
                format!("--urgency={urgency}"),
                "--".into(),
                message.title.clone(),
                text,
            ]
        }
        Door::Osascript => {
            let script =
                ["on run texts", "display notification (item 2 of texts) with title (item 1 of texts)", "end run"];
            let mut words = vec!["osascript".to_owned()];
            words.extend(script.iter().flat_map(|line| ["-e".to_owned(), (*line).to_owned()]));
            words.extend([message.title.clone(), message.text.clone()]);
            words
        }
        Door::Osc9 | Door::Osc777 => return None,
    };
    Some(words)
}

/// What is written to the terminal for a door that is one; inside tmux it is handed through.
#[must_use]
pub fn sequence(door: Door, message: &Message, in_tmux: bool) -> Option<String> {
    // Cleaned texts hold no control character; `;` ends a field of OSC 777.
    let sequence = match door {
        Door::Osc9 => format!("\x1b]9;{}. {}\x07", message.title, message.text),
        Door::Osc777 => {
            format!("\x1b]777;notify;{};{}\x07", message.title.replace(';', ","), message.text.replace(';', ","))
        }
        Door::NotifySend | Door::Osascript => return None,
    };
    Some(if in_tmux { format!("\x1bPtmux;{}\x1b\\", sequence.replace('\x1b', "\x1b\x1b")) } else { sequence })
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::Row;
    use jig_session_schema::time::Timestamp;

    use super::*;

    fn notice(transition: Transition, name: &str, reason: Option<&str>) -> Notice {
        let row = Row::new().session("s-1".to_owned()).name(Some(name.into())).cwd("/w/shop".into());
        let at = Timestamp::from_epoch_ms(0);
        Notice { transition, row, reason: reason.map(str::to_owned), at, turn_ms: Some(95_000), escalated: false }
    }

    #[test]
    fn what_happened_in_words() {
        for (transition, reason, title, text) in [
            (
                Transition::Attention,
                Some("approval"),
                "Waits for you: bill",
                "session of pi waits for you (approval), in /w/shop",
            ),
            (Transition::Settled, None, "Done: bill", "session of pi is done after 1 min, in /w/shop"),
            (Transition::Gone, Some("ended"), "Gone: bill", "session of pi has ended, in /w/shop"),
            (Transition::Added, None, "New: bill", "session of pi has begun, in /w/shop"),
        ] {
            let message = message(&notice(transition, "bill", reason));
            assert_eq!((message.title.as_str(), message.text.as_str()), (title, text));
        }
    }

    #[test]
    fn a_hostile_name_is_text_at_every_door() {
        let hostile = "4;1;\x1b]52;c;eA==\x07<b>`id`\"; do shell script \"id\"";
        let message = message(&notice(Transition::Attention, hostile, Some("approval")));
        let sent = command(Door::NotifySend, &message).expect("a program");
        assert_eq!(sent[..4], ["notify-send", "--app-name=jig-session", "--urgency=critical", "--"]);
        assert!(!sent[5].contains(['<', '>']), "{sent:?}");
        let script = command(Door::Osascript, &message).expect("a program");
        assert!(script[1..7].iter().all(|word| !word.contains("shell")), "the script is ours alone: {script:?}");
        for door in [Door::Osc9, Door::Osc777] {
            let sequence = sequence(door, &message, false).expect("a sequence");
            assert_eq!(sequence.matches(['\x1b', '\x07']).count(), 2, "{sequence:?}");
            assert!(sequence.contains(";Waits for you: 4"), "{sequence:?}");
        }
        let sequence = sequence(Door::Osc777, &message, false).expect("a sequence");
        assert_eq!(sequence.matches(';').count(), 3, "{sequence:?}");
    }

    #[test]
    fn tmux_hands_it_through() {
        let message = Message { title: "a".into(), text: "b".into(), urgent: false };
        let sequence = sequence(Door::Osc9, &message, true).expect("a sequence");
        assert_eq!(sequence, "\x1bPtmux;\x1b\x1b]9;a. b\x07\x1b\\");
    }

    #[test]
    fn the_terminal_is_the_last_door() {
        let desktop = Surroundings { has_notify_send: true, has_desktop: true, ..Surroundings::default() };
        assert_eq!(door(&desktop), Door::NotifySend);
        assert_eq!(door(&Surroundings { has_desktop: false, ..desktop }), Door::Osc9);
        assert_eq!(door(&Surroundings { has_osascript: true, ..Surroundings::default() }), Door::Osascript);
        assert_eq!(door(&Surroundings { term: "foot-extra", ..Surroundings::default() }), Door::Osc777);
        assert_eq!(
            door(&Surroundings { term: "xterm", term_program: "ghostty", ..Surroundings::default() }),
            Door::Osc9
        );
    }
}
