//! The writer: events in, one session's status file out.
