//! Keys, whoever tells them: a terminal's bytes, or ratatui's backend.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key, as far as the board knows any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A character that is typed.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// An arrow up.
    Up,
    /// An arrow down.
    Down,
    /// An arrow to the left.
    Left,
    /// An arrow to the right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Z.
    Suspend,
    /// Ctrl-L: draw everything anew.
    Redraw,
}

/// What terminals send for keys that are no character.
const SEQUENCES: &[(&str, Key)] = &[
    ("\r", Key::Enter),
    ("\n", Key::Enter),
    ("\u{1b}", Key::Esc),
    ("\t", Key::Tab),
    ("\u{1b}[Z", Key::BackTab),
    ("\u{7f}", Key::Backspace),
    ("\u{8}", Key::Backspace),
    ("\u{1b}[A", Key::Up),
    ("\u{1b}OA", Key::Up),
    ("\u{1b}[B", Key::Down),
    ("\u{1b}OB", Key::Down),
    ("\u{1b}[C", Key::Right),
    ("\u{1b}OC", Key::Right),
    ("\u{1b}[D", Key::Left),
    ("\u{1b}OD", Key::Left),
    ("\u{1b}[5~", Key::PageUp),
    ("\u{1b}[6~", Key::PageDown),
    ("\u{1b}[H", Key::Home),
    ("\u{1b}[1~", Key::Home),
    ("\u{1b}[F", Key::End),
    ("\u{1b}[4~", Key::End),
    ("\u{3}", Key::Interrupt),
    ("\u{c}", Key::Redraw),
];

impl Key {
    /// The key of what a terminal sent for it; none for a key that the board does not know.
    #[must_use]
    pub fn of_bytes(data: &str) -> Option<Self> {
        if let Some((_, key)) = SEQUENCES.iter().find(|(sequence, _)| *sequence == data) {
            return Some(*key);
        }
        let mut characters = data.chars();
        let only = characters.next().filter(|_| characters.next().is_none())?;
        (!only.is_control()).then_some(Self::Char(only))
    }

    /// The key of an event of the terminal; none for a release, and for a key that the board does not know.
    #[must_use]
    pub fn of_event(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let control = event.modifiers.contains(KeyModifiers::CONTROL);
        Some(match event.code {
            KeyCode::Char(character) if control => match character.to_ascii_lowercase() {
                'c' => Self::Interrupt,
                'z' => Self::Suspend,
                'l' => Self::Redraw,
                'h' => Self::Backspace,
                _ => return None,
            },
            KeyCode::Char(character) if !event.modifiers.contains(KeyModifiers::ALT) => Self::Char(character),
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Esc,
            KeyCode::Tab if event.modifiers.contains(KeyModifiers::SHIFT) => Self::BackTab,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_and_its_library_tell_the_same_keys() {
        let event = |code| KeyEvent::new(code, KeyModifiers::NONE);
        for (data, code) in [
            ("\u{1b}[A", KeyCode::Up),
            ("\u{1b}OB", KeyCode::Down),
            ("\u{1b}[5~", KeyCode::PageUp),
            ("\r", KeyCode::Enter),
            ("\u{1b}", KeyCode::Esc),
            ("\t", KeyCode::Tab),
            ("é", KeyCode::Char('é')),
            ("G", KeyCode::Char('G')),
        ] {
            assert_eq!(Key::of_bytes(data), Key::of_event(&event(code)), "{data:?}");
            assert!(Key::of_bytes(data).is_some(), "{data:?}");
        }
    }

    #[test]
    fn what_is_no_key_of_the_board_does_nothing() {
        for data in ["", "\u{1b}[200~", "\u{1}", "ab", "\u{1b}[1;5A"] {
            assert_eq!(Key::of_bytes(data), None, "{data:?}");
        }
        assert_eq!(Key::of_event(&KeyEvent::new(KeyCode::Char('x'), KeyModifiers::CONTROL)), None);
        assert_eq!(Key::of_event(&KeyEvent::new(KeyCode::F(1), KeyModifiers::NONE)), None);
    }
}
