//! The quick way to a row's fields: the rest of the file is skipped, not parsed.
//!
//! A listing of a thousand sessions reads a thousand files of which it shows twenty fields.

use crate::king::KingStatus;
use crate::quick::{self, Empty, One};
use crate::read::{Read, ReadError};
use crate::row::Summary;
use crate::shape::Unknown;
use crate::status::{Agent, Attention, Context, Model, Process, Publisher, Usage};

impl Summary {
    /// Reads a status file's summary: what [`Summary::read`] gives, without the fields that are not in it, and faster.
    ///
    /// # Errors
    /// As [`Summary::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        if let Ok(value) = quick::document(bytes) {
            return Ok(Read { value, problems: Vec::new() });
        }
        let mut read = Self::read(bytes)?;
        read.value.forget_unknown();
        Ok(read)
    }

    /// A listing prints the contract's fields and nothing else.
    fn forget_unknown(&mut self) {
        let nested = [
            Some(&mut self.unknown),
            self.model.as_mut().map(|model| &mut model.unknown),
            self.agent.as_mut().map(|agent| &mut agent.unknown),
            self.process.as_mut().map(|process| &mut process.unknown),
            self.publisher.as_mut().map(|publisher| &mut publisher.unknown),
            self.attention.as_mut().map(|attention| &mut attention.unknown),
            Some(&mut self.context.unknown),
            Some(&mut self.usage.unknown),
        ];
        nested.into_iter().flatten().for_each(|unknown| *unknown = Unknown::default());
    }
}

quick!(Summary, requires [session, version], checks [version: One = "schema"], others skipped, {
    session = "session", pid = "pid", cwd = "cwd", terminal = "terminal", terminal_from = "terminalFrom",
    model = "model", state = "state", context = "context", usage = "usage",
    started_at = "startedAt", updated_at = "updatedAt", agent = "agent", name = "name", process = "process",
    attention = "attention", state_from = "stateFrom", state_at = "stateAt", background = "background",
    tmux_pane = "tmuxPane", tmux_socket = "tmuxSocket", publisher = "publisher",
});
// A pi-king card without what no listing shows.
quick!(KingStatus, requires [id, version], checks [version: One = "formatVersion", subagents: Empty = "subagents"], others skipped, {
    id = "id", name = "name", cwd = "cwd", model = "model", pid = "pid", started_at = "startedAt",
    last_activity = "lastActivity", status = "status", session_file = "sessionFile", visible = "visible",
    context_pct = "contextPct",
});
quick!(Model, requires [id], checks [], others skipped, { provider = "provider", id = "id", name = "name", });
quick!(Agent, requires [name], checks [], others skipped, { name = "name", version = "version", });
quick!(Process, requires [], checks [], others kept, {
    start = "start", boot_id = "bootId", pid_namespace = "pidNamespace", machine = "machine", shared = "shared",
});
quick!(Publisher, requires [pid, start], checks [], others skipped, {
    pid = "pid", start = "start", boot_id = "bootId", pid_namespace = "pidNamespace",
});
quick!(Attention, requires [reason], checks [], others skipped, { reason = "reason", since = "since", });
quick!(Context, requires [], checks [], others skipped, { tokens = "tokens", window = "window", percent = "percent", });
quick!(Usage, requires [], checks [], others skipped, {
    input = "input", output = "output", cache_read = "cacheRead", cache_write = "cacheWrite", cost = "cost",
});

impl KingStatus {
    /// Reads a card's summary: what [`KingStatus::read`] gives, without `project`, `activity`, `title`,
    /// `startupFingerprint`, `isFork` and fields this version does not know, and faster.
    ///
    /// # Errors
    /// As [`KingStatus::read`].
    pub fn scan(bytes: &[u8]) -> Result<Read<Self>, ReadError> {
        if let Ok(value) = quick::document(bytes) {
            return Ok(Read { value, problems: Vec::new() });
        }
        let mut read = Self::read(bytes)?;
        let card = &mut read.value;
        (card.project, card.activity, card.title) = (None, None, None);
        (card.startup_fingerprint, card.is_fork, card.unknown) = (None, None, Unknown::default());
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The lenient reader's summary, without what is not in it.
    fn slow(bytes: &[u8]) -> Result<Read<Summary>, ReadError> {
        let mut read = Summary::read(bytes)?;
        read.value.forget_unknown();
        Ok(read)
    }

    fn full() -> Value {
        json!({
            "schema": 1, "session": "s-1", "pid": 4242, "cwd": "/home/dev/app", "terminal": "%3",
            "terminalFrom": "TMUX_PANE", "agentDir": "/home/dev/.pi/agent",
            "model": { "provider": "acme", "id": "m-2", "name": "M 2", "more": [] }, "thinking": "low", "state": "busy",
            "context": { "tokens": 1050, "window": 200000, "percent": 0.5 },
            "usage": { "input": 1000, "output": 50, "cacheRead": 0, "cacheWrite": 0, "cost": 0.004 },
            "tools": { "active": 4, "total": 5 }, "outputs": [{ "path": "/x" }], "recent": [],
            "startedAt": "2026-11-29T18:18:47.855Z", "updatedAt": "2026-11-29T18:18:48.000Z",
            "agent": { "name": "pi", "version": "1.6.0" }, "name": "billing",
            "process": { "start": "linux:77", "bootId": "b", "pidNamespace": "4026531836", "machine": "00", "shared": true },
            "attention": { "reason": "approval", "since": "2026-11-29T18:18:48.000Z" }, "stateFrom": "hook:Stop",
            "stateAt": "2026-11-29T18:18:48.000Z", "background": 2, "tmuxPane": "%3", "tmuxSocket": "/tmp/t",
            "transcript": "/t.jsonl", "later": { "deep": [1] },
        })
    }

    #[test]
    fn a_plain_file_is_taken_without_the_lenient_reader() {
        let text = full().to_string();
        let quick = quick::document::<Summary>(text.as_bytes()).expect("the quick way");
        assert_eq!(quick, slow(text.as_bytes()).expect("the lenient way").value);
    }

    /// Each field in turn gets each odd value, at the top and one level down; both readers must say the same.
    #[test]
    fn both_ways_agree_on_every_odd_field() {
        let changed = quick::odd_changes(&full());
        assert!(changed.len() > 800, "{}", changed.len());
        changed.iter().for_each(|text| compare(text));
        for text in [
            "",
            "[]",
            "{}",
            "null",
            "[1,\"s\"]",
            "{\"schema\":1,\"session\":\"a\",\"session\":\"b\"}",
            "{\"schema\":1,\"schema\":2,\"session\":\"a\"}",
            "{\"schema\":2,\"session\":\"a\"}",
            "{\"session\":\"a\"}",
            "{\"schema\":1,\"s\\u0065ssion\":\"a\"}",
            "{\"schema\":1,\"session\":\"a\\ud83d\"}",
            "{\"schema\":1,\"session\":\"a\"} x",
            "\u{feff}{\"schema\":1,\"session\":\"a\"}",
        ] {
            compare(text);
        }
    }

    #[test]
    fn both_ways_agree_on_depth() {
        for depth in 50..70 {
            let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            compare(&format!("{{\"schema\":1,\"session\":\"a\",\"later\":{deep}}}"));
            compare(&format!("{{\"schema\":1,\"session\":\"a\",\"model\":{{\"id\":\"m\",\"later\":{deep}}}}}"));
        }
    }

    /// Each field of a card in turn gets each odd value; both readers must say the same of what a listing shows.
    #[test]
    fn both_ways_agree_on_every_odd_card() {
        let card = json!({
            "formatVersion": 1, "id": "k-1", "name": "billing", "cwd": "/a", "project": "a", "model": "m", "pid": 4242,
            "startedAt": 1_795_974_219_108.073_5, "lastActivity": 1_795_974_300_000_i64, "status": "idle",
            "activity": "a\nb", "title": "t", "sessionFile": "/t.jsonl", "subagents": [], "visible": true,
            "contextPct": 12, "startupFingerprint": "2f3e29980346b92c", "isFork": false, "later": [1],
        });
        let text = card.to_string();
        assert!(quick::document::<KingStatus>(text.as_bytes()).is_ok());
        let compare = |text: &str| {
            let read = |read: Result<Read<KingStatus>, ReadError>| {
                let bad_pid = |read: &Read<KingStatus>| read.problems.iter().any(|field| field.pointer == "/pid");
                read.map(|read| (bad_pid(&read), read.value))
            };
            let lenient = read(KingStatus::read(text.as_bytes())).map(|(bad_pid, mut card)| {
                (card.project, card.activity, card.title) = (None, None, None);
                (card.startup_fingerprint, card.is_fork, card.unknown) = (None, None, Unknown::default());
                (bad_pid, card)
            });
            assert_eq!(read(KingStatus::scan(text.as_bytes())), lenient, "{text}");
        };
        quick::odd_changes(&card).iter().for_each(|text| compare(text));
    }

    fn compare(text: &str) {
        assert_eq!(Summary::scan(text.as_bytes()), slow(text.as_bytes()), "{text}");
    }
}
