//! Linux: `/proc`, read by ourselves.

use std::fmt::Write;

use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use rustix::time::{ClockId, clock_gettime};

use crate::evidence::Probe;
use crate::identity::{ProbeError, Process, ProcessState};
use crate::terminals::{TerminalProcess, command_line};

/// What `/proc/PID/stat` says, as far as it is of use here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    command: String,
    state: ProcessState,
    parent: u32,
    group: u32,
    session: u32,
    terminal: u64,
    foreground: i32,
    ticks: u64,
}

impl Stat {
    /// Takes the line apart. The name in brackets may hold anything, brackets and blanks too, so the fields are counted
    /// from the last closing one.
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let open = line.iter().position(|b| *b == b'(')?;
        let close = line.iter().rposition(|b| *b == b')')?;
        let command = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
        let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
        let mut fields = rest.split_ascii_whitespace();
        let letter = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        let terminal: i64 = fields.next()?.parse().ok()?;
        let foreground = fields.next()?.parse().ok()?;
        let threads: i64 = fields.nth(11)?.parse().ok()?;
        let ticks = fields.nth(1)?.parse().ok()?;
        let state = match letter {
            // The first thread of a process may end before the others: the process lives on.
            "Z" if threads > 1 => ProcessState::Live,
            "Z" => ProcessState::Zombie,
            "X" | "x" => ProcessState::Dead,
            "T" | "t" => ProcessState::Stopped,
            _ => ProcessState::Live,
        };
        // The kernel prints a device number of 32 bits as a signed one.
        let terminal = u64::from(terminal as u32);
        Some(Self { command, state, parent, group, session, terminal, foreground, ticks })
    }

    fn start(&self) -> String {
        format!("linux:{}", self.ticks)
    }
}

/// Every live process that has a controlling terminal, by one read of `/proc` and two of each such process.
pub(crate) fn on_terminals() -> Vec<TerminalProcess> {
    let system = System::new();
    // The kernel's own folder can always be closed.
    #[allow(clippy::disallowed_methods)]
    let Ok(folder) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = folder.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let process = |pid: u32| {
        let stat = system.stat(pid).ok().filter(|stat| stat.terminal != 0)?;
        let runs = matches!(stat.state, ProcessState::Live | ProcessState::Stopped);
        runs.then(|| TerminalProcess {
            pid,
            parent: stat.parent,
            group: stat.group,
            terminal: stat.terminal,
            foreground: u32::try_from(stat.foreground).ok().filter(|group| *group > 0),
            stopped: stat.state == ProcessState::Stopped,
            name: stat.command,
            command: command_line(pid),
        })
    };
    pids.filter_map(process).collect()
}

/// How this process sees the system; rarely needed parts are read lazily.
#[derive(Debug)]
pub(crate) struct System {
    /// `/proc` is there and shows the namespace that our own ids belong to.
    proc_is_ours: bool,
}

impl System {
    pub(crate) fn new() -> Self {
        // In a new pid namespace `/proc` can still be the old one's: its numbers are not ours then.
        let own = link("/proc/self").and_then(|text| text.parse::<u32>().ok());
        Self { proc_is_ours: own == Some(std::process::id()) }
    }

    pub(crate) fn boot_id(&self) -> Option<String> {
        small_file("/proc/sys/kernel/random/boot_id")
    }

    pub(crate) fn pid_namespace(&self) -> Option<String> {
        let text = link("/proc/self/ns/pid")?;
        Some(text.strip_prefix("pid:[")?.strip_suffix(']')?.to_owned())
    }

    /// The machine's id as it is; it leaves this crate only as a digest.
    pub(crate) fn machine_id(&self) -> Option<String> {
        ["/etc/machine-id", "/var/lib/dbus/machine-id"].into_iter().find_map(small_file)
    }

    pub(crate) fn pid_max(&self) -> Option<u32> {
        small_file("/proc/sys/kernel/pid_max")?.parse().ok()
    }

    pub(crate) fn booted_ms(&self) -> Option<i64> {
        let ms = |clock| {
            let at = clock_gettime(clock);
            at.tv_sec * 1000 + at.tv_nsec / 1_000_000
        };
        Some(ms(ClockId::Realtime) - ms(ClockId::Boottime))
    }

    pub(crate) fn process(&self, pid: u32) -> Result<Process, ProbeError> {
        let stat = self.stat(pid)?;
        Ok(Process {
            pid,
            parent: Some(stat.parent).filter(|parent| *parent > 0),
            state: stat.state,
            session: Some(stat.session).filter(|leader| *leader > 0),
            terminal: Some(stat.terminal).filter(|device| *device != 0),
            start: stat.start(),
            started_ms: self.started_ms(&stat),
            command: stat.command,
        })
    }

    /// The beginning of the command line, one argument a word.
    pub(crate) fn command_line(&self, pid: u32) -> Vec<String> {
        let mut buffer = [0; 4096];
        let Ok(read) = read_small(&format!("/proc/{pid}/cmdline"), &mut buffer) else { return Vec::new() };
        let text = buffer[..read].strip_suffix(&[0]).unwrap_or(&buffer[..read]);
        if text.is_empty() || !self.proc_is_ours {
            return Vec::new();
        }
        text.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// One read of `/proc`; a second probe, whether the process exists at all, runs only when that failed.
    pub(crate) fn probe(&self, pid: u32) -> Probe {
        match self.stat(pid) {
            Ok(stat) => Probe::Exists {
                state: Some(stat.state),
                start: Some(stat.start()),
                own_start: None,
                started_ms: self.started_ms(&stat),
            },
            Err(ProbeError::Missing) => Probe::Missing,
            Err(ProbeError::Hidden) => Probe::Exists { state: None, start: None, own_start: None, started_ms: None },
            Err(ProbeError::Failed(errno)) => Probe::Failed(errno),
        }
    }

    /// The start as the process itself sees it: time namespaces shift the kernel's number. Asked only when the recorded
    /// number is another one, which hardly ever happens to a live process.
    pub(crate) fn own_start(&self, pid: u32, start: &str) -> Option<String> {
        let ticks: i64 = start.strip_prefix("linux:")?.parse().ok()?;
        let ours = boottime_offset("/proc/self/timens_offsets")?;
        let theirs = boottime_offset(&format!("/proc/{pid}/timens_offsets"))?;
        if ours == theirs {
            return None;
        }
        let shifted = ticks + (theirs - ours) * ticks_per_second()?;
        (shifted >= 0).then(|| format!("linux:{shifted}"))
    }

    fn stat(&self, pid: u32) -> Result<Stat, ProbeError> {
        let errno = if self.proc_is_ours {
            let mut path = String::with_capacity(24);
            let _ = write!(path, "/proc/{pid}/stat");
            let mut buffer = [0; 1024];
            match read_small(&path, &mut buffer) {
                // A line that cannot be taken apart is none of any kernel; nothing is concluded from it.
                Ok(read) => return Stat::parse(&buffer[..read]).ok_or(ProbeError::Failed(None)),
                Err(errno) => errno,
            }
        } else {
            Errno::NOENT
        };
        match (exists(pid), errno) {
            (Some(false), _) => Err(ProbeError::Missing),
            // Hidden by the mount option, by a security module, or by a `/proc` that is not ours.
            (Some(true), Errno::NOENT | Errno::ACCESS | Errno::PERM | Errno::SRCH) => Err(ProbeError::Hidden),
            _ => Err(ProbeError::Failed(Some(errno.raw_os_error()))),
        }
    }

    fn started_ms(&self, stat: &Stat) -> Option<i64> {
        let ticks = i64::try_from(stat.ticks).ok()?;
        Some(self.booted_ms()? + ticks * 1000 / ticks_per_second()?)
    }
}

/// Whether a process has the id: the one question that `hidepid` does not change the answer of. `None` when the system
/// does not answer.
fn exists(pid: u32) -> Option<bool> {
    // 0 and negative numbers mean groups of processes and always exist.
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return Some(false) };
    match test_kill_process(pid) {
        Ok(()) | Err(Errno::PERM) => Some(true),
        Err(Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

fn ticks_per_second() -> Option<i64> {
    i64::try_from(rustix::param::clock_ticks_per_second()).ok().filter(|n| *n > 0)
}

/// Whole seconds: the kernel takes offsets for the boot clock in seconds and nanoseconds, and nobody gives the latter.
fn boottime_offset(path: &str) -> Option<i64> {
    let mut buffer = [0; 256];
    let read = read_small(path, &mut buffer).ok()?;
    let text = std::str::from_utf8(&buffer[..read]).ok()?;
    let line = text.lines().find(|line| line.starts_with("boottime"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn link(path: &str) -> Option<String> {
    readlinkat(CWD, path, Vec::new()).ok()?.into_string().ok()
}

/// A file of the kernel's about a process; at most as much of it as is of use.
pub(crate) fn of_process(pid: u32, name: &str) -> Option<Vec<u8>> {
    const MOST: usize = 256 * 1024;
    let path = format!("/proc/{pid}/{name}");
    let file = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty()).ok()?;
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while bytes.len() < MOST {
        match rustix::io::read(&file, &mut buffer) {
            Ok(0) => break,
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    Some(bytes)
}

fn small_file(path: &str) -> Option<String> {
    let mut buffer = [0; 128];
    let read = read_small(path, &mut buffer).ok()?;
    let text = std::str::from_utf8(&buffer[..read]).ok()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn read_small(path: &str, buffer: &mut [u8]) -> Result<usize, Errno> {
    let fd = openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY, Mode::empty())?;
    loop {
        match rustix::io::read(&fd, &mut *buffer) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(command: &str, state: &str, threads: i64, terminal: i32, ticks: u64) -> String {
        format!(
            "4711 ({command}) {state} 12 4711 4700 {terminal} -1 4194560 100 0 0 0 1 2 0 0 20 0 {threads} 0 {ticks} 2000000 \
             300 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn the_fields_are_counted_from_the_last_bracket() {
        for command in ["sleep", "a) Z 9 (b", ") R 1 2 3", "", "(", ")", "sd-pam)", "a\nb", "tmux: server"] {
            let stat = Stat::parse(line(command, "S", 1, 34816, 55_760).as_bytes()).expect(command);
            assert_eq!((stat.command.as_str(), stat.parent, stat.ticks), (command, 12, 55_760));
            assert_eq!(stat.session, 4700);
            assert_eq!((stat.state, stat.terminal), (ProcessState::Live, 34816));
        }
    }

    #[test]
    fn states_by_their_letter() {
        use ProcessState::{Dead, Live, Stopped, Zombie};
        for (letter, state) in [
            ("R", Live),
            ("S", Live),
            ("D", Live),
            ("I", Live),
            ("P", Live),
            ("T", Stopped),
            ("t", Stopped),
            ("Z", Zombie),
            ("X", Dead),
            ("x", Dead),
        ] {
            let stat = Stat::parse(line("a", letter, 1, 0, 1).as_bytes()).expect(letter);
            assert_eq!(stat.state, state, "{letter}");
        }
        let stat = Stat::parse(line("a", "Z", 2, 0, 1).as_bytes()).expect("parsed");
        assert_eq!(stat.state, Live, "the first thread has ended, the process has not");
    }

    #[test]
    fn what_no_kernel_prints_is_nothing() {
        for text in ["", "4711", "4711 (a", "4711 (a)", "4711 (a) S", "4711 (a) S x", "1 (a) S 1 1 1 0 -1 1 1", ")("] {
            assert_eq!(Stat::parse(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_name_any_numbers(
            command in "[^\\x00]{0,15}", threads in 1i64..1000, terminal in any::<i32>(), ticks in any::<u64>(),
        ) {
            let stat = Stat::parse(line(&command, "S", threads, terminal, ticks).as_bytes()).expect("parsed");
            prop_assert_eq!(stat.command, command);
            prop_assert_eq!((stat.ticks, stat.terminal), (ticks, u64::from(terminal as u32)));
        }

        #[test]
        fn no_bytes_make_the_parser_fail(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Stat::parse(&bytes);
        }
    }
}
