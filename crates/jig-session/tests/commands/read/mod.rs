//! The reading commands, run as a person or a program runs them.

mod cost;
mod filters;
mod following;
mod harness;
mod hindered;
mod hostile;
mod listing;
mod readme;
mod replaced;
mod root;
mod single;
mod terminal;
mod verdicts;
