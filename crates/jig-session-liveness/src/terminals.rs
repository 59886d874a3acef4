//! What runs on this machine's terminals: their processes, who has each terminal, and how it is read.

/// A process with a controlling terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TerminalProcess {
    /// Its id.
    pub pid: u32,
    /// Its parent's id; 0 when it has none.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// The device number of its controlling terminal.
    pub terminal: u64,
    /// The group that has that terminal; none when no group does.
    pub foreground: Option<u32>,
    /// Whether it is stopped.
    pub stopped: bool,
    /// Its short name.
    pub name: String,
    /// The words it was started with; empty when they cannot be read.
    pub command: Vec<String>,
}

/// Every process that has a controlling terminal. Empty where the system does not list them in `/proc`.
pub fn on_terminals() -> Vec<TerminalProcess> {
    #[cfg(target_os = "linux")]
    return crate::linux::on_terminals();
    #[cfg(not(target_os = "linux"))]
    Vec::new()
}

/// The words a process was started with; empty when they cannot be read.
pub fn command_line(pid: u32) -> Vec<String> {
    let bytes = of_process(pid, "cmdline").unwrap_or_default();
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// A file of the kernel's about a process.
#[cfg(target_os = "linux")]
fn of_process(pid: u32, name: &str) -> Option<Vec<u8>> {
    crate::linux::of_process(pid, name)
}

/// There is none here.
#[cfg(not(target_os = "linux"))]
fn of_process(_pid: u32, _name: &str) -> Option<Vec<u8>> {
    None
}

/// A variable of the environment that a process was started with, when it can be read.
pub fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = of_process(pid, "environ")?;
    let value = |entry: &[u8]| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec);
    environment.split(|byte| *byte == 0).find_map(value).map(|value| String::from_utf8_lossy(&value).into_owned())
}

/// Whether a terminal is read key by key, as line editors and full-screen programs do; none when it cannot be opened.
/// Only its settings are read.
#[cfg(unix)]
pub fn reads_keys(tty: &std::path::Path) -> Option<bool> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::termios::{LocalModes, isatty, tcgetattr};

    // Without O_NOCTTY a process without a terminal would take this one as its own.
    let flags = OFlags::RDONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, tty, flags, Mode::empty()).ok()?;
    if !isatty(&file) {
        return None;
    }
    Some(!tcgetattr(&file).ok()?.local_modes.contains(LocalModes::ICANON))
}

/// Not known here.
#[cfg(not(unix))]
pub fn reads_keys(_tty: &std::path::Path) -> Option<bool> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_variable_of_our_own_environment() {
        let (name, value) = std::env::vars().find(|(_, value)| !value.is_empty()).expect("there are variables");
        assert_eq!(variable(std::process::id(), &name), Some(value));
        assert_eq!(variable(std::process::id(), "NO_SUCH_VARIABLE_OF_OURS"), None);
    }

    #[test]
    fn what_is_no_terminal_is_not_known() {
        assert_eq!(reads_keys(std::path::Path::new("/dev/null")), None);
        assert_eq!(reads_keys(std::path::Path::new("/nowhere")), None);
    }
}
