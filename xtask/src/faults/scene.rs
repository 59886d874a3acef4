//! The place where an operation is put on: a folder of its own, the programs, and what is found there afterwards.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::Context;
use serde_json::Value;

use super::strace::Run;
use crate::run::{cargo, target};

/// The programs under test, built once.
#[derive(Clone, Debug)]
pub(crate) struct Programs {
    /// `jig-session`.
    pub(crate) main: PathBuf,
    /// One operation on a private folder.
    pub(crate) act: PathBuf,
}

impl Programs {
    pub(crate) fn build() -> anyhow::Result<Self> {
        for args in [
            &["build", "--quiet", "-p", "jig-session"][..],
            &["build", "--quiet", "-p", "jig-session-atomic", "--example", "act"],
        ] {
            let output = cargo(args).output().context("cannot run cargo")?;
            let said = String::from_utf8_lossy(&output.stderr);
            anyhow::ensure!(output.status.success(), "cargo {} ended with {}: {said}", args.join(" "), output.status);
        }
        let debug = target().join("debug");
        Ok(Self { main: debug.join("jig-session"), act: debug.join("examples/act") })
    }
}

/// A folder of its own, removed in the end.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) programs: Programs,
    root: PathBuf,
}

impl Scene {
    pub(crate) fn new(programs: &Programs) -> anyhow::Result<Self> {
        Self::inside(&target().join("faults"), programs)
    }

    /// In a folder that is given, such as one on another file system.
    pub(crate) fn inside(base: &Path, programs: &Programs) -> anyhow::Result<Self> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let root = base.join(format!("{}-{number}", std::process::id()));
        fs::create_dir_all(&root).with_context(|| format!("cannot make {}", root.display()))?;
        let root = fs::canonicalize(&root)?;
        Ok(Self { programs: programs.clone(), root })
    }

    /// The folder whose calls are watched: everything that the programs are to touch.
    pub(crate) fn state(&self) -> PathBuf {
        self.root.join("state")
    }

    /// Status files.
    pub(crate) fn sessions(&self) -> PathBuf {
        self.state().join("sessions")
    }

    /// pi-king's cards; its layout lies beside them.
    pub(crate) fn cards(&self) -> PathBuf {
        self.state().join("pi-king/cards")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.root.join("strace.log")
    }

    /// Empties the folder.
    pub(crate) fn clear(&self) -> anyhow::Result<()> {
        if self.state().exists() {
            fs::remove_dir_all(self.state()).context("cannot empty the scene")?;
        }
        fs::create_dir_all(self.root.join("home"))?;
        fs::DirBuilder::new().mode(0o700).recursive(true).create(self.sessions()).context("cannot set the scene")?;
        // As a writer leaves the folder: it is known to be jig-session's.
        fs::write(self.sessions().join(".jig-session"), "").context("cannot set the scene")
    }

    /// Keeps a copy of the folder as it is now, to begin from again.
    pub(crate) fn keep(&self) -> anyhow::Result<()> {
        copy(&self.state(), &self.root.join("kept")).context("cannot keep the scene")
    }

    /// Makes the folder again what it was when it was kept.
    pub(crate) fn restore(&self) -> anyhow::Result<()> {
        fs::remove_dir_all(self.state()).context("cannot empty the scene")?;
        copy(&self.root.join("kept"), &self.state()).context("cannot set the scene again")
    }

    /// A command of `jig-session` on this folder.
    pub(crate) fn jig(&self, args: &[&str], input: &str) -> Run {
        self.program(&self.programs.main, args, input)
    }

    /// One operation on a private folder.
    pub(crate) fn act(&self, operation: &str, rest: &[&str]) -> Run {
        let folder = self.sessions().to_string_lossy().into_owned();
        let mut args = vec![operation, folder.as_str()];
        args.extend(rest);
        self.program(&self.programs.act, &args, "")
    }

    fn program(&self, program: &Path, args: &[&str], input: &str) -> Run {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        Run {
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![
                ("HOME".to_owned(), text(self.root.join("home"))),
                ("JIG_STATE_DIR".to_owned(), text(self.state())),
                ("PI_KING_STATUS_DIR".to_owned(), text(self.cards())),
                ("RUST_BACKTRACE".to_owned(), "0".to_owned()),
            ],
            input: input.to_owned(),
            lockless: false,
        }
    }

    pub(crate) fn put(&self, name: &str, content: &str) -> anyhow::Result<()> {
        fs::write(self.sessions().join(name), content).with_context(|| format!("cannot put {name}"))
    }

    /// A file's content; `None` when there is none.
    pub(crate) fn content(&self, name: &str) -> Result<Option<String>, String> {
        match fs::read_to_string(self.sessions().join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{name} cannot be read: {error}")),
        }
    }

    /// A document; torn ones are what must not be.
    pub(crate) fn document(&self, name: &str) -> Result<Option<Value>, String> {
        let Some(text) = self.content(name)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| format!("{name} is torn: {error}"))
    }

    /// Names of files that are no documents, anywhere below the folder: what an interrupted run left.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.state()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                } else if name.contains(".tmp") {
                    found.push(name);
                }
            }
        }
        found
    }
}

/// Copies a folder with everything in it and its modes.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mode = fs::metadata(from)?.permissions().mode() & 0o7777;
    fs::DirBuilder::new().mode(mode).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
