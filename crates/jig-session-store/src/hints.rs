//! Change notices of the operating system: a hint to look sooner, never the truth.
//!
//! A notice can be late, lost or missing altogether (network file systems, a full queue, no watches left), so nothing
//! here says what changed. Polling alone must give the same answers.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

/// Watches on some folders, for as long as they can be had.
#[derive(Debug)]
pub struct Hints {
    folders: Vec<Folder>,
    watcher: Option<RecommendedWatcher>,
    sender: SyncSender<()>,
    receiver: Receiver<()>,
    trouble: Option<String>,
}

/// Has the one who waits for hints look at once.
#[derive(Clone, Debug, Default)]
pub struct Nudge(Option<SyncSender<()>>);

impl Nudge {
    /// Gives a hint.
    pub fn now(&self) {
        if let Some(sender) = &self.0 {
            // Full: a hint is waiting already.
            let _ = sender.try_send(());
        }
    }
}

/// A folder and what its watch is on: a folder made anew needs a new watch.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    watched: Option<Which>,
}

/// Which folder a path named: the inode, and when it was made, since a freed inode number comes back soon.
type Which = (u64, Option<SystemTime>);

impl Hints {
    /// Hints for these folders. Nothing is watched before [`Hints::renew`].
    pub fn new(folders: &[&Path]) -> Self {
        // One place: many notices before the next look are one hint.
        let (sender, receiver) = sync_channel(1);
        let folders = folders.iter().map(|path| Folder { path: path.to_path_buf(), watched: None }).collect();
        Self { folders, watcher: None, sender, receiver, trouble: None }
    }

    /// Watches the folders that exist and are not watched yet. Called before each look, so that what happens after
    /// the look began gives a hint.
    pub fn renew(&mut self) {
        if self.trouble.is_some() {
            return;
        }
        for index in 0..self.folders.len() {
            let which = which(&self.folders[index].path);
            if which == self.folders[index].watched {
                continue;
            }
            let path = self.folders[index].path.clone();
            self.folders[index].watched = which;
            if which.is_none() {
                continue;
            }
            if let Err(error) = self.watch(&path) {
                // Gone between the two calls: the next look finds out.
                if matches!(error.kind, notify::ErrorKind::PathNotFound) {
                    self.folders[index].watched = None;
                    continue;
                }
                self.trouble = Some(format!("cannot watch {}: {}", path.display(), reason(&error)));
                self.watcher = None;
                return;
            }
        }
    }

    /// What gives a hint of its own, from any thread.
    #[must_use]
    pub fn nudge(&self) -> Nudge {
        Nudge(Some(self.sender.clone()))
    }

    /// Watches these folders from the next [`Hints::renew`] on, and no others.
    pub fn watch_only(&mut self, folders: &[PathBuf]) {
        if !self.folders.iter().map(|folder| &folder.path).eq(folders) {
            self.watcher = None;
            self.folders = folders.iter().map(|path| Folder { path: path.clone(), watched: None }).collect();
        }
    }

    /// Why there are no hints, when there are none.
    pub fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Waits for a hint, at most this long. Whether one came.
    pub fn wait(&self, limit: Duration) -> bool {
        match self.receiver.recv_timeout(limit) {
            Ok(()) => true,
            Err(RecvTimeoutError::Timeout) => false,
            // Cannot be: the sender is a field of this value. Sleeping keeps the caller's loop from spinning.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(limit);
                false
            }
        }
    }

    fn watch(&mut self, path: &Path) -> notify::Result<()> {
        if self.watcher.is_none() {
            let sender = self.sender.clone();
            self.watcher = Some(notify::recommended_watcher(move |event: notify::Result<Event>| {
                if matters(&event) {
                    // Full: a hint is waiting already.
                    let _ = sender.try_send(());
                }
            })?);
        }
        match &mut self.watcher {
            Some(watcher) => watcher.watch(path, RecursiveMode::NonRecursive),
            None => Ok(()),
        }
    }
}

/// Reading makes notices too, and every write begins with a temporary file: neither is worth a look. A lost notice
/// (an error, a queue that ran over) is.
fn matters(event: &notify::Result<Event>) -> bool {
    match event {
        Err(_) => true,
        Ok(event) if event.need_rescan() => true,
        Ok(event) if event.kind.is_access() => false,
        Ok(event) => event.paths.iter().any(|path| path.extension().is_some_and(|extension| extension == "json")),
    }
}

fn reason(error: &notify::Error) -> String {
    match &error.kind {
        notify::ErrorKind::MaxFilesWatch => "no watches left (fs.inotify.max_user_watches)".into(),
        notify::ErrorKind::Io(error) => error.to_string(),
        _ => error.to_string(),
    }
}

fn which(path: &Path) -> Option<Which> {
    let facts = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&facts);
    #[cfg(not(unix))]
    let inode = 0;
    Some((inode, facts.created().ok()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::time::Instant;

    use super::*;

    fn event(paths: &[&str], kind: notify::EventKind) -> notify::Result<Event> {
        Ok(paths.iter().fold(Event::new(kind), |event, path| event.add_path(path.into())))
    }

    #[test]
    fn only_what_can_change_the_list_is_a_hint() {
        use notify::event::{AccessKind, CreateKind, EventKind, Flag, ModifyKind, RemoveKind, RenameMode};
        let renamed = EventKind::Modify(ModifyKind::Name(RenameMode::To));
        assert!(matters(&event(&["/s/a.json"], renamed)));
        assert!(matters(&event(&["/s/a.json"], EventKind::Remove(RemoveKind::File))));
        assert!(!matters(&event(&["/s/a.json"], EventKind::Access(AccessKind::Any))));
        assert!(!matters(&event(&["/s/.a.json.tmp-1-00000000"], EventKind::Create(CreateKind::File))));
        assert!(matters(&Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan))));
        assert!(matters(&Err(notify::Error::io(io::Error::other("lost")))));
    }

    #[test]
    fn a_rename_is_heard_also_in_a_folder_made_later_or_anew() {
        let root = tempfile::tempdir().expect("a folder");
        let folder = root.path().join("sessions");
        let mut hints = Hints::new(&[&folder]);
        hints.renew();
        assert_eq!(hints.trouble(), None);
        for _ in 0..2 {
            fs::create_dir(&folder).expect("made");
            hints.renew();
            if let Some(trouble) = hints.trouble() {
                let line = format!("SKIPPED a_rename_is_heard_also_in_a_folder_made_later_or_anew: {trouble}");
                let _ = io::Write::write_all(&mut io::stderr(), format!("{line}\n").as_bytes());
                return;
            }
            fs::write(folder.join(".a.tmp"), "{}").expect("written");
            fs::rename(folder.join(".a.tmp"), folder.join("a.json")).expect("renamed");
            let end = Instant::now() + Duration::from_secs(30);
            while !hints.wait(Duration::from_millis(100)) {
                assert!(Instant::now() < end, "no hint came");
            }
            fs::remove_dir_all(&folder).expect("removed");
            hints.renew();
        }
    }
}
