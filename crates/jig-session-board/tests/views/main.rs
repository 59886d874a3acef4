//! The board's views on ratatui's test backend, and what its keys do.
#![allow(clippy::disallowed_methods, reason = "tests read the files that they made")]

mod keys;
mod scene;

use jig_session_board::{Board, Event, Sessions, Tab, plain, terminal};
use jig_session_schema::invisible::is_invisible;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use scene::{after, board, press};
use unicode_width::UnicodeWidthStr;

/// What stands on a terminal of this size, line by line.
fn drawn(board: &mut Board, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a backend in memory");
    let screen = board.screen(width.into(), height.into());
    terminal::draw_on(&mut terminal, &screen, true).expect("drawn");
    let buffer = terminal.backend().buffer().clone();
    let mut lines: Vec<String> = Vec::new();
    for row in 0..height {
        let mut line = String::new();
        let mut skip = 0;
        for column in 0..width {
            let symbol = buffer[(column, row)].symbol();
            if skip == 0 {
                line.push_str(symbol);
                skip = symbol.width().saturating_sub(1);
            } else {
                skip -= 1;
            }
        }
        lines.push(line.trim_end().to_owned());
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines.join("\n")
}

macro_rules! view {
    ($name:ident, $keys:literal, $width:literal, $height:literal) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!(drawn(&mut after($keys), $width, $height));
        }
    };
}

view!(sessions_80, "", 80, 24);
view!(sessions_200, "", 200, 40);
view!(sessions_40, "", 40, 20);
view!(inbox_80, "2", 80, 24);
view!(inbox_message, "2<enter>", 80, 24);
view!(claims_80, "3", 80, 24);
view!(claims_40, "3", 40, 14);
view!(claims_question, "3<down>x", 80, 12);
view!(panes_80, "4", 80, 24);
view!(panes_pane, "4<enter>", 80, 24);
view!(session_work, "<enter>", 80, 24);
view!(session_work_200, "<enter>", 200, 40);
view!(session_context, "<enter>2", 80, 30);
view!(session_requests, "<enter>3", 80, 24);
view!(session_evidence, "<enter>4", 80, 24);
view!(session_work_40, "<enter>", 40, 24);
view!(filter_typed, "/state:attention", 80, 24);
view!(filter_unfinished, "/state:bu", 80, 24);
view!(help_80, "?", 80, 34);

#[test]
fn nothing_at_all() {
    let mut board = Board::new("/home/dev");
    assert!(drawn(&mut board, 80, 10).contains("looking"));
    board.update(Event::Sessions(Sessions { at: scene::ago(0), ..Sessions::default() }));
    insta::assert_snapshot!(drawn(&mut board, 80, 12));
}

#[test]
fn a_panel_is_as_high_as_what_it_shows_and_its_focus_needs_no_colour() {
    let mut board = Board::new("/home/dev").as_panel(&[Tab::Sessions, Tab::Inbox, Tab::Claims]);
    board.update(Event::Sessions(scene::sessions()));
    board.update(Event::Bus(scene::bus()));
    press(&mut board, "<tab><tab>");
    let lines = plain::lines(&board.screen(80, 16), false);
    insta::assert_snapshot!(lines.join("\n"));
    assert!(lines.iter().all(|line| !line.contains('\u{1b}')));
    assert!(plain::lines(&board.screen(80, 16), true).concat().contains('\u{1b}'));
}

#[test]
fn colours_follow_the_state_and_without_colour_there_is_none() {
    let screen = board().screen(80, 24);
    let cells = |color| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).expect("a backend in memory");
        terminal::draw_on(&mut terminal, &screen, color).expect("drawn");
        terminal.backend().buffer().content.clone()
    };
    use ratatui::style::{Color, Modifier};
    assert!(cells(true).iter().any(|cell| cell.fg == Color::Red && cell.modifier.contains(Modifier::BOLD)));
    assert!(cells(true).iter().any(|cell| cell.fg == Color::Yellow));
    assert!(cells(false).iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(cells(false).iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)), "the focus is still seen");
}

#[test]
fn two_hundred_sessions_are_scrolled() {
    let mut sessions = Sessions { at: scene::ago(0), ..Sessions::default() };
    for place in 0..200 {
        let mut entry = scene::sessions().entries[place % 6].clone();
        entry.row.session = format!("many-{place:03}");
        entry.row.name = Some(format!("name-{place:03}"));
        entry.row.attention = None;
        sessions.entries.push(entry);
    }
    let mut board = Board::new("/home/dev");
    board.update(Event::Sessions(sessions));
    assert!(drawn(&mut board, 80, 24).contains("> "));
    press(&mut board, "G");
    let end = drawn(&mut board, 80, 24);
    assert!(end.contains("> ") && !end.contains("more"), "{end}");
    press(&mut board, "g");
    assert!(drawn(&mut board, 80, 24).contains("more"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever keys come at whatever size: no line is wider than the screen, none steers the terminal, nothing panics.
    #[test]
    fn any_keys_at_any_size(
        keys in prop::collection::vec(prop::sample::select(vec![
            "<enter>", "<esc>", "<tab>", "<backtab>", "<down>", "<up>", "<pgdn>", "G", "g", "1", "2", "3", "4", "w",
            "x", "y", "n", "a", "/", "s", "?", "q", "r", "<bs>", "<left>", "<right>", " ",
        ]), 0..24),
        width in 1_usize..220,
        height in 1_usize..70,
    ) {
        let mut board = after(&keys.concat());
        let screen = board.screen(width, height);
        prop_assert!(screen.lines.len() <= height.max(6));
        for line in &screen.lines {
            prop_assert!(line.width() <= width.max(20), "{:?}", line);
            prop_assert!(!line.text().chars().any(is_invisible), "{:?}", line);
        }
    }
}
