//! What each key does.

use jig_session_board::{Action, Change, Event, Key, Tab};

use crate::drawn;
use crate::scene::{after, board, bus, id, press, sessions};

fn wants(keys: &str) -> Vec<Action> {
    let actions = press(&mut board(), keys);
    actions.into_iter().filter(|action| !matches!(action, Action::Look(_))).collect()
}

fn shows(keys: &str, text: &str) {
    let screen = drawn(&mut after(keys), 100, 30);
    assert!(screen.contains(text), "after {keys:?} there is no {text:?} in\n{screen}");
}

#[test]
fn tabs_go_round_in_both_directions() {
    for (keys, shown) in [
        ("", "[Sessions]"),
        ("<tab>", "[Inbox 1]"),
        ("<tab><tab>", "[Claims]"),
        ("<tab><tab><tab>", "[Panes]"),
        ("<tab><tab><tab><tab>", "[Sessions]"),
        ("<backtab>", "[Panes]"),
        ("<left><right><right>", "[Inbox 1]"),
        ("3", "[Claims]"),
        ("<enter><tab>", "[Context]"),
        ("<enter><backtab>", "[Evidence]"),
        ("<enter>3", "[Requests]"),
    ] {
        shows(keys, shown);
    }
}

#[test]
fn escape_leaves_a_pane_then_the_filter_and_closes_only_a_panel() {
    shows("<enter>", "[Work]");
    shows("<enter><esc>", "[Sessions]");
    shows("/flaky<enter>", "/flaky");
    shows("/flaky<enter><esc>", "docs");
    assert_eq!(wants("<esc><esc>"), []);
    assert_eq!(wants("q"), [Action::Close]);
    assert_eq!(wants("<ctrl-c>"), [Action::Close]);
    assert_eq!(wants("/<ctrl-c>"), [Action::Close]);
    let mut panel = board().as_panel(&[Tab::Sessions]);
    assert_eq!(panel.update(Event::Key(Key::Esc)), [Action::Close]);
    assert_eq!(wants("<ctrl-z>"), [Action::Suspend]);
    assert_eq!(board().as_panel(&[Tab::Sessions]).update(Event::Key(Key::Suspend)), []);
}

#[test]
fn opening_a_session_marks_it_as_seen_and_has_it_looked_at() {
    let actions = press(&mut board(), "<enter>");
    assert_eq!(actions[0], Action::Seen(id("01a-billing")));
    assert!(matches!(&actions[1], Action::Look(wanted) if wanted.open == Some(id("01a-billing"))));
    let back = press(&mut after("<enter>"), "<esc>");
    assert!(matches!(&back[..], [Action::Look(wanted)] if wanted.open.is_none()));
}

#[test]
fn a_claim_of_ones_own_is_released_after_a_plain_yes() {
    shows("3x", "api/billing is held by billing-core: only its holder releases it");
    shows("3<down>x", "release docs/plan.md? y/N");
    let release = Action::Release("docs/plan.md".into());
    assert_eq!(wants("3<down>xy"), std::slice::from_ref(&release));
    assert_eq!(wants("3<down>xY"), [release]);
    for no in ["n", "<enter>", "<esc>", "q", "x", " "] {
        assert_eq!(wants(&format!("3<down>x{no}")), [], "{no:?} is no yes");
    }
    assert_eq!(wants("1x"), [], "only claims are released");
}

#[test]
fn w_begins_and_stops_listening_and_nothing_joins_by_itself() {
    assert_eq!(wants("w"), [Action::Listen(false)], "this one listens");
    let mut board = board();
    let mut alone = bus();
    alone.status.me = None;
    board.update(Event::Bus(alone));
    assert_eq!(press(&mut board, "w"), [Action::Listen(true)]);
    assert!(wants("2<enter><esc>3<enter><esc>1<down><up>").iter().all(|action| !matches!(action, Action::Listen(_))));
}

#[test]
fn a_goes_to_the_session_or_the_pane() {
    assert_eq!(wants("a"), [Action::Seen(id("01a-billing")), Action::GoTo(id("01a-billing"))]);
    assert_eq!(wants("<enter>a").last(), Some(&Action::GoTo(id("01a-billing"))));
    assert_eq!(wants("4<down>a"), [Action::GoToPane("%7".into())]);
    assert_eq!(wants("2a"), []);
}

#[test]
fn y_copies_what_is_asked_for() {
    assert_eq!(wants("yy"), [Action::Copy("01a-billing".into())]);
    assert_eq!(wants("yp"), [Action::Copy("/home/dev/.local/state/jig/sessions/01a-billing.json".into())]);
    assert_eq!(wants("yf"), [Action::Copy("/home/dev/shop/api".into())]);
    assert_eq!(wants("y<esc>"), []);
    assert_eq!(wants("3y"), [Action::Copy("api/billing".into())]);
    assert_eq!(wants("4y"), [Action::Copy("shop:0.1".into())]);
    assert_eq!(wants("2y"), [Action::Copy("m-1".into())]);
}

#[test]
fn tools_and_skills_are_switched_and_a_reload_is_asked_for_first() {
    let billing = || id("01a-billing");
    let seen = || Action::Seen(billing());
    let ask = |change| Action::Ask(billing(), change);
    assert_eq!(wants("<enter>3<enter>"), [seen(), ask(Change::Tool("bash".into(), true))]);
    assert_eq!(wants("<enter>3<down> "), [seen(), ask(Change::Tool("edit".into(), false))]);
    assert_eq!(wants("<enter>3<down><down><enter>"), [seen(), ask(Change::Skill("pdf-tools".into(), false))]);
    assert_eq!(wants("<enter>3r"), [seen()]);
    assert_eq!(wants("<enter>3ry"), [seen(), ask(Change::Reload)]);
    assert_eq!(wants("<enter>3rn"), [seen()]);
}

#[test]
fn nothing_is_done_to_a_session_of_another_machine() {
    let mut board = board();
    let mut far = sessions();
    far.entries[0].row.host = Some("build".into());
    board.update(Event::Sessions(far));
    let actions = press(&mut board, "a");
    assert!(actions.iter().all(|action| !matches!(action, Action::GoTo(_))), "{actions:?}");
    assert!(drawn(&mut board, 80, 24).contains("the session is on build"));
}

#[test]
fn the_filter_narrows_while_it_is_typed() {
    for (keys, shown, hidden) in [
        ("/flaky", "flaky test", "migrate"),
        ("/state:attention", "billing", "migrate"),
        ("/agent:codex", "migrate", "flaky"),
        ("/repo:site", "docs", "billing"),
        ("/state:attention repo:site", "none of 6", "billing"),
        ("3/docs", "docs/plan.md", "api/billing"),
        ("4/state:idle", "site:0.0", "shop:0.1"),
        ("2/nothing", "no unread mail", "billing-core"),
    ] {
        let screen = drawn(&mut after(keys), 100, 30);
        assert!(screen.contains(shown) && !screen.contains(hidden), "{keys:?}\n{screen}");
    }
    shows("/flaky<bs><bs><bs><bs><bs>mig", "migrate");
    let mut board = after("/");
    board.paste("fla\nky");
    assert!(drawn(&mut board, 100, 30).contains("/fla ky"));
    let mut board = after("3<down>");
    board.paste("xy");
    assert!(drawn(&mut board, 100, 30).contains("[Claims]"), "a paste is no key");
}

#[test]
fn the_focus_stays_on_its_session_when_the_list_turns() {
    let mut board = after("<down>");
    let focused = |board: &mut jig_session_board::Board| {
        let screen = drawn(board, 120, 30);
        screen.lines().find(|line| line.starts_with("> ")).map(str::to_owned).unwrap_or_default()
    };
    assert!(focused(&mut board).contains("flaky test"));
    let mut turned = sessions();
    turned.entries.reverse();
    board.update(Event::Sessions(turned));
    assert!(focused(&mut board).contains("flaky test"));
}

#[test]
fn a_session_that_ends_while_it_is_open_says_so() {
    let mut board = after("<enter>");
    let mut left = sessions();
    left.entries.remove(0);
    board.update(Event::Sessions(left));
    assert!(drawn(&mut board, 80, 24).contains("session 01a-billing has ended"));
    assert_eq!(press(&mut board, "a").len(), 0);
    press(&mut board, "<esc>");
    assert!(drawn(&mut board, 80, 24).contains("[Sessions]"));
}
