//! A watch on a folder, as an accelerator: whatever it misses, the next look finds.

use std::os::fd::BorrowedFd;
use std::path::Path;

/// Becomes readable when a file comes into the folder.
pub(super) struct Watch(#[cfg(target_os = "linux")] Option<std::os::fd::OwnedFd>);

#[cfg(target_os = "linux")]
impl Watch {
    /// Watches a folder. A system that has no watch left gives one that is never readable.
    pub(super) fn of(folder: &Path) -> Self {
        use rustix::fs::inotify::{CreateFlags, init};
        let watch = Self(init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok());
        watch.renew(folder);
        watch
    }

    /// Watches the folder that the path leads to now; once more is no second watch.
    pub(super) fn renew(&self, folder: &Path) {
        use rustix::fs::inotify::{WatchFlags, add_watch};
        if let Some(fd) = &self.0 {
            // A request comes by rename; a program that writes in place is seen when it closes the file.
            let _ = add_watch(fd, folder, WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE | WatchFlags::ONLYDIR);
        }
    }

    /// Whether something happened since the last call.
    pub(super) fn changed(&self) -> bool {
        let Some(fd) = &self.0 else { return false };
        let mut events = [0; 4096];
        let mut changed = false;
        while rustix::io::read(fd, &mut events).is_ok_and(|size| size > 0) {
            changed = true;
        }
        changed
    }

    /// What to wait for.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsFd;
        self.0.as_ref().map(AsFd::as_fd)
    }
}

/// Elsewhere the folder is only polled.
#[cfg(not(target_os = "linux"))]
impl Watch {
    pub(super) fn of(_folder: &Path) -> Self {
        Self()
    }

    pub(super) fn renew(&self, _folder: &Path) {}

    pub(super) fn changed(&self) -> bool {
        false
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}
