//! Names of messages: the order of an inbox is the order of its names.

/// The name of a message without `.json`: 13 digits of milliseconds, then chance.
pub(crate) fn id(ms: u64, random: u32) -> String {
    format!("{ms:013}-{random:08x}")
}

/// The milliseconds in the name of a message's file; `None` for every other name.
pub(crate) fn ms(file: &str) -> Option<u64> {
    let (ms, random) = file.strip_suffix(".json")?.split_once('-')?;
    let digits = ms.len() == 13 && ms.bytes().all(|b| b.is_ascii_digit());
    let hex = random.len() == 8 && random.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if digits && hex { ms.parse().ok() } else { None }
}

/// The milliseconds of the next message: never before what the inbox has seen, whatever the clock says.
pub(crate) fn next(now_ms: i64, newest: Option<u64>) -> u64 {
    let now = u64::try_from(now_ms).unwrap_or(0);
    newest.map_or(now, |newest| now.max(newest + 1)).min(9_999_999_999_999)
}

/// The folder in which a consumer keeps the mail it has taken and not confirmed yet.
pub(crate) fn taken_folder(pid: u32, start: &str) -> String {
    format!(".taken-{pid}-{start}")
}

/// The consumer in the name of such a folder.
pub(crate) fn consumer(folder: &str) -> Option<(u32, &str)> {
    let (pid, start) = folder.strip_prefix(".taken-")?.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits(pid) && digits(start) { Some((pid.parse().ok()?, start)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_are_named_like_messages() {
        // Behaviour 88.
        assert_eq!(ms("1795974687301-00ab12ef.json"), Some(1_795_974_687_301));
        for name in [
            ".1795974687301-00ab12ef.json",
            "1795974687301-00AB12EF.json",
            "1795974687301-00ab12e.json",
            "795974687301-00ab12ef.json",
            "1795974687301-00ab12ef",
            "1795974687301.json",
            "note.json",
            ".told",
        ] {
            assert_eq!(ms(name), None, "{name}");
        }
    }

    #[test]
    fn the_order_survives_a_clock_that_goes_back() {
        assert_eq!(next(2000, None), 2000);
        assert_eq!(next(2000, Some(1999)), 2000);
        assert_eq!(next(2000, Some(2000)), 2001);
        assert_eq!(next(5, Some(2000)), 2001);
        assert_eq!(next(-5, None), 0);
        assert!(id(5, 1) < id(6, 0) && id(999_999_999_999, 9) < id(1_000_000_000_000, 0));
    }

    #[test]
    fn a_consumer_is_named_by_its_folder() {
        assert_eq!(consumer(&taken_folder(12, "345")), Some((12, "345")));
        for name in [".taken-12", ".taken--1", ".taken-a-1", "taken-1-1", ".taken-1-x"] {
            assert_eq!(consumer(name), None, "{name}");
        }
    }
}
