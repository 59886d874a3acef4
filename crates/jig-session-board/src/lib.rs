//! The board: live sessions, the session bus and tmux panes on one screen.
//!
//! [`Board`] is a pure state: it takes [`Event`]s (a key, a size, what a look found) and gives [`Action`]s to be carried
//! out; [`Board::screen`] is what it shows, as lines of styled text for a width and a height. There are two outlets of
//! those lines: [`terminal`] draws them with ratatui, [`plain`] gives them as text for a panel of another program.
//!
//! *Invariant:* nothing here reads a file, starts a program or knows a clock. What is shown comes in as an event; what a
//! person wants done goes out as an action.

mod arrange;
mod board;
mod filter;
mod keys;
mod list;
mod model;
pub mod plain;
mod requests;
pub mod terminal;
mod views;

pub use board::{Action, Board, Event, Section, Tab, Wanted};
pub use keys::Key;
pub use model::{Bus, Change, Entry, Id, Opened, Panes, Sessions};
pub use views::Screen;
