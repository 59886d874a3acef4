//! tmux panes: discovery, classification, bulk plans and their queue.
//!
//! Knows tmux and the screens of agents; knows nothing of status files, stores or commands: the binary
//! joins those.

pub mod bulk;
pub mod classify;
mod nested;
pub mod observe;
pub mod pane;
pub mod processes;
pub mod project;
pub mod text;
pub mod tmux;
