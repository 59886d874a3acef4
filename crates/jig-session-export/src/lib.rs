//! Sessions in the forms of other programs.
//!
//! Everything here is a pure function of rows and a time: a line for a status bar ([`statusline`]), the transitions that
//! a person cares about ([`notices`]) and what a desktop or a terminal shows of them ([`desktop`]), a document for
//! Prometheus ([`metrics`]), records of a terminal's program status ([`program_status`]). The caller reads, waits and
//! writes. Texts of sessions are foreign: each form has its own escaping here, and none hands them to a shell.

pub mod desktop;
pub mod metrics;
pub mod notices;
pub mod program_status;
pub mod statusline;
