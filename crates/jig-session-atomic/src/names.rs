//! The names of files that are not documents: temporaries and taken files.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// How a folder's temporaries are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TempName {
    /// `.<file>.tmp-<pid>-<8 hex>`: hidden, no two at a time are the same, does not end in `.json`.
    #[default]
    Unique,
    /// `<file>.tmp-<pid>`, as pi-king's own writer names them. One per process: a leftover of an earlier process with
    /// the same id is replaced.
    PerProcess,
}

/// What kind of leftover a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftoverKind {
    /// A file that was being written.
    Temporary,
    /// A file that one process took for itself.
    Taken,
}

/// A name of the forms `.<file>.tmp-<pid>-<8 hex>` and `.<file>.taken-<pid>-<8 hex>`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover<'a> {
    /// Temporary or taken.
    pub kind: LeftoverKind,
    /// The name of the file that it was made for.
    pub file: &'a str,
    /// The process that made it.
    pub pid: u32,
}

impl<'a> Leftover<'a> {
    /// Takes a name apart. `None` for every name that this crate did not make: no leading dot, another number of hex
    /// digits, upper-case digits, a process id of 0 or with leading zeros.
    pub fn parse(name: &'a OsStr) -> Option<Self> {
        let name = name.to_str()?.strip_prefix('.')?;
        let (rest, unique) = name.rsplit_once('-')?;
        let (rest, pid) = rest.rsplit_once('-')?;
        let hex = unique.len() == 8 && unique.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let number = !pid.starts_with('0') && pid.bytes().all(|b| b.is_ascii_digit());
        if !hex || !number {
            return None;
        }
        let pid = pid.parse().ok()?;
        let (kind, file) = match (rest.strip_suffix(".tmp"), rest.strip_suffix(".taken")) {
            (Some(file), _) => (LeftoverKind::Temporary, file),
            (_, Some(file)) => (LeftoverKind::Taken, file),
            _ => return None,
        };
        (!file.is_empty()).then_some(Self { kind, file, pid })
    }
}

/// `.<file>.<word>-<pid>-<8 hex>`, unique for every call.
pub(crate) fn unique(file: &OsStr, word: &str, pid: u32) -> OsString {
    numbered(file, word, pid, random32(pid))
}

/// `.<file>.<word>-<pid>-<8 hex>` with this number.
pub(crate) fn numbered(file: &OsStr, word: &str, pid: u32, number: u32) -> OsString {
    let mut name = OsString::with_capacity(file.len() + word.len() + 24);
    name.push(".");
    name.push(file);
    name.push(format!(".{word}-{pid}-{number:08x}"));
    name
}

/// A number that two calls hardly share. A clash costs another try, no more: files are made with `O_EXCL`.
pub(crate) fn random32(pid: u32) -> u32 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    (RandomState::new().hash_one((call, pid)) & 0xffff_ffff) as u32
}

/// Whether a name is one component and therefore a file of the folder itself.
pub(crate) fn is_component(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    !bytes.is_empty() && bytes != b"." && bytes != b".." && !bytes.iter().any(|b| matches!(b, b'/' | 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_others_are_not_ours() {
        for name in [
            "a.json",
            "a.json.tmp-12",
            ".tmp-12-1700000000000",
            ".tmpAb3dEf",
            ".a.json.tmp-12",
            ".a.json.tmp-12-ABCDEF01",
            ".a.json.tmp-12-abcdef0",
            ".a.json.tmp-012-abcdef01",
            ".a.json.tmp-0-abcdef01",
            ".a.json.tmp-99999999999-abcdef01",
            ".a.json.tmp--abcdef01",
            ".a.json.temp-12-abcdef01",
            "..tmp-12-abcdef01x",
            ".tmp-12-abcdef01",
            "",
            ".",
        ] {
            assert_eq!(Leftover::parse(OsStr::new(name)), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_made_name_is_taken_apart_again(file in "[a-zA-Z0-9._~-]{1,160}\\.json", pid in 1u32..4_194_305) {
            for (word, kind) in [("tmp", LeftoverKind::Temporary), ("taken", LeftoverKind::Taken)] {
                let name = unique(OsStr::new(&file), word, pid);
                prop_assert_eq!(Leftover::parse(&name), Some(Leftover { kind, file: &file, pid }));
                prop_assert!(!name.to_string_lossy().ends_with(".json"));
                prop_assert!(name.len() <= 255);
            }
        }

        #[test]
        fn no_name_makes_the_parser_fail(name in "\\PC{0,80}", tail in "[.tmpaken0-9a-f-]{0,40}") {
            let _ = Leftover::parse(OsStr::new(&name));
            let _ = Leftover::parse(OsStr::new(&format!(".{name}{tail}")));
        }
    }
}
