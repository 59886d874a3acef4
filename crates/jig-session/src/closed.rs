//! Whether this program was started without an open standard output.
//!
//! The runtime opens `/dev/null` in the place of a closed stream before `main`, and from then on everything that is
//! written seems to arrive: `bus inbox >&-` would take mail that nobody sees. So it is checked before the runtime.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Code, Failure};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Run by the loader, before the runtime starts.
#[expect(unsafe_code, reason = "a function in this section runs before the runtime, and nothing else does")]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // One system call, and nothing that needs the runtime.
    let closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()) == Err(rustix::io::Errno::BADF);
    CLOSED.store(closed, Ordering::Relaxed);
}

/// Refuses to go on without an open standard output.
pub(crate) fn require_stdout() -> Result<(), Failure> {
    if CLOSED.load(Ordering::Relaxed) {
        return Err(Failure::new(Code::Io, "standard output is closed, so nothing was done")
            .hint("give it somewhere to go, such as >/dev/null")
            .errno(Some(rustix::io::Errno::BADF.raw_os_error())));
    }
    Ok(())
}
