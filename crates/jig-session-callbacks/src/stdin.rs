//! A payload on stdin, of whoever may write too much of it or too late.

use std::time::Instant;

use jig_session_schema::limits::LINE_BYTES;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Reads stdin to its end: at most a megabyte and not past `end`; the error says why there is none.
pub(crate) fn bounded(end: Instant) -> Result<Vec<u8>, String> {
    let stdin = std::io::stdin();
    let mut bytes = Vec::new();
    let mut chunk = [0; 16 * 1024];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().try_into().unwrap_or(0), tv_nsec: left.subsec_nanos().into() };
        let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
        let unread = |error: rustix::io::Errno| format!("the payload cannot be read: {error}");
        if poll(&mut waited, Some(&left)).map_err(unread)? == 0 {
            return Err("no payload came in time".to_owned());
        }
        let read = rustix::io::read(&stdin, &mut chunk).map_err(unread)?;
        if read == 0 {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&chunk[..read]);
        if bytes.len() > LINE_BYTES {
            return Err(format!("the payload is longer than {LINE_BYTES} bytes"));
        }
    }
}
