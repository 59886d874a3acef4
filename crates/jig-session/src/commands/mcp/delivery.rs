//! Mail in an answer is gone from the inbox only when the answer has left: a writer that knows which answers it has
//! written.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use jig_session_bus::Taken;
use tokio::io::AsyncWrite;

/// Mail in answers that have not left yet. What is still here at the end goes back into its inbox.
#[derive(Clone, Default)]
pub(crate) struct Pending(Arc<Mutex<Vec<Waiting>>>);

struct Waiting {
    taken: Taken,
    /// The answer was written, and waits for the flush.
    written: bool,
}

impl Pending {
    /// Keeps mail until the answer that holds it has left.
    pub(crate) fn hold(&self, taken: Taken) {
        if !taken.messages.is_empty() {
            self.lock().push(Waiting { taken, written: false });
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A whole line was written: an answer is told by the id of the first message in it, which no other line holds
    /// before it.
    fn line(&self, line: &[u8]) {
        for waiting in self.lock().iter_mut().filter(|waiting| !waiting.written) {
            let id = waiting.taken.messages.first().map(|message| message.id.as_bytes());
            waiting.written = id.is_some_and(|id| line.windows(id.len()).any(|part| part == id));
        }
    }

    fn flushed(&self) {
        let mut left = Vec::new();
        for waiting in self.lock().drain(..) {
            if waiting.written {
                // Mail that cannot be removed now comes back, and is shown once more.
                let _ = waiting.taken.confirm();
            } else {
                left.push(waiting);
            }
        }
        *self.lock() = left;
    }
}

/// A writer that confirms mail when the line that holds it has been flushed.
pub(crate) struct Confirming<W> {
    inner: W,
    pending: Pending,
    line: Vec<u8>,
}

impl<W> Confirming<W> {
    pub(crate) fn new(inner: W, pending: Pending) -> Self {
        Self { inner, pending, line: Vec::new() }
    }

    fn wrote(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                self.pending.line(&self.line);
                self.line.clear();
            } else {
                self.line.push(*byte);
            }
        }
    }
}

impl<W: AsyncWrite + Unpin> AsyncWrite for Confirming<W> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.inner).poll_write(cx, bytes);
        if let Poll::Ready(Ok(count)) = &written {
            this.wrote(&bytes[..*count]);
        }
        written
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(cx);
        if let Poll::Ready(Ok(())) = &flushed {
            this.pending.flushed();
        }
        flushed
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(cx)
    }
}
