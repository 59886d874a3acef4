//! One line for a status bar: who waits for a person, the longest wait first, and how many sessions do what.

use std::str::FromStr;

use jig_session_schema::documents::{Statusline, StatuslineWait};
use jig_session_schema::row::Row;
use jig_session_schema::status::Reason;
use jig_session_schema::time::Timestamp;
use jig_session_store::{Condition, by_urgency};
use jig_session_view::sanitise::clean;
use jig_session_view::table::fit;
use jig_session_view::{ages, rows};
use serde_json::{Map, Value, json};

/// The widest name of a session in a line, in columns.
const NAME: usize = 24;
/// What stands between two parts of the line.
const BETWEEN: &str = " · ";

/// The program that shows the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// tmux's status line, with its styles.
    Tmux,
    /// A custom module of Waybar with `"return-type": "json"`.
    Waybar,
    /// A label of SketchyBar.
    Sketchybar,
    /// A custom module of Starship.
    Starship,
    /// A block of the i3bar protocol: i3status wrappers, i3blocks with `format=json`.
    I3status,
    /// Text.
    Plain,
    /// The document `statusline.v1`.
    Json,
}

impl Host {
    /// Every host by its word.
    pub const ALL: [(&'static str, Self); 7] = [
        ("tmux", Self::Tmux),
        ("waybar", Self::Waybar),
        ("sketchybar", Self::Sketchybar),
        ("starship", Self::Starship),
        ("i3status", Self::I3status),
        ("plain", Self::Plain),
        ("json", Self::Json),
    ];
}

impl FromStr for Host {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, host)| *host);
        found.ok_or_else(|| format!("none of {}", Self::ALL.map(|(name, _)| name).join(", ")))
    }
}

/// What a line says, as a document: counts of live sessions, and who waits.
#[must_use]
pub fn summary<'a>(rows: impl IntoIterator<Item = &'a Row>, at: Timestamp) -> Statusline {
    let rows: Vec<&Row> = rows.into_iter().collect();
    let mut document = Statusline::new().at(at);
    for row in by_urgency(rows.iter().copied()).into_iter().map(|place| rows[place]) {
        match Condition::of(row) {
            Condition::Gone => {}
            Condition::Stopped => document.stopped += 1,
            Condition::Busy => document.busy += 1,
            Condition::Idle => document.idle += 1,
            // Nobody is held up by a turn that is over.
            Condition::Attention(reason) if reason == Reason::FINISHED => document.finished += 1,
            Condition::Attention(reason) => {
                document.attention += 1;
                let since = row.attention.as_ref().and_then(|attention| attention.since);
                let wait = StatuslineWait::new().session(row.session.clone()).agent(Some(row.agent_name()));
                let wait = wait.name(row.name.clone()).reason(reason).since(since).host(row.host.clone());
                document.waiting.push(wait.title(rows::title(row)));
            }
        }
    }
    document
}

/// The line for a host, naming at most `names` of the sessions that wait; `None` when nothing is live.
#[must_use]
pub fn line(document: &Statusline, host: Host, names: usize) -> Option<String> {
    let parts = parts(document, names);
    let first = parts.first()?;
    let joined =
        |escape: fn(&str) -> String| parts.iter().map(|part| escape(&part.text)).collect::<Vec<_>>().join(BETWEEN);
    Some(match host {
        Host::Plain | Host::Sketchybar => joined(str::to_owned),
        Host::Starship => joined(for_prompt),
        Host::Tmux => parts.iter().map(Part::in_tmux).collect::<Vec<_>>().join(BETWEEN),
        Host::Waybar => {
            let class = first.kind.word();
            let tooltip = for_pango(&list(document));
            json!({ "text": joined(for_pango), "alt": class, "tooltip": tooltip, "class": class }).to_string()
        }
        Host::I3status => {
            let mut block = Map::new();
            block.insert("name".into(), "jig-session".into());
            block.insert("full_text".into(), joined(str::to_owned).into());
            block.insert("short_text".into(), first.short.clone().into());
            // A name is text, whatever the bar is set to.
            block.insert("markup".into(), "none".into());
            if let Some(colour) = first.kind.colour() {
                block.insert("color".into(), colour.into());
            }
            if first.kind == Kind::Attention {
                block.insert("urgent".into(), true.into());
            }
            Value::Object(block).to_string()
        }
        Host::Json => serde_json::to_string(document).unwrap_or_default(),
    })
}

/// One part of the line.
struct Part {
    kind: Kind,
    text: String,
    short: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Attention,
    Stopped,
    Finished,
    Busy,
    Idle,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Stopped => "stopped",
            Self::Finished => "finished",
            Self::Busy => "busy",
            Self::Idle => "idle",
        }
    }

    fn colour(self) -> Option<&'static str> {
        match self {
            Self::Attention => Some("#e64553"),
            Self::Stopped => Some("#df8e1d"),
            Self::Finished => Some("#209fb5"),
            Self::Busy => Some("#40a02b"),
            Self::Idle => None,
        }
    }

    fn tmux_style(self) -> Option<&'static str> {
        match self {
            Self::Attention => Some("fg=red,bold"),
            Self::Stopped => Some("fg=yellow"),
            Self::Finished => Some("fg=cyan"),
            Self::Busy => Some("fg=green"),
            Self::Idle => None,
        }
    }
}

impl Part {
    fn in_tmux(&self) -> String {
        let text = for_tmux(&self.text);
        match self.kind.tmux_style() {
            Some(style) => format!("#[{style}]{text}#[default]"),
            None => text,
        }
    }
}

fn parts(document: &Statusline, names: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    if document.attention > 0 {
        let need = if document.attention == 1 { "needs you" } else { "need you" };
        let short = format!("{} {need}", document.attention);
        let named: Vec<String> = document.waiting.iter().take(names).map(|wait| named(wait, document.at)).collect();
        let text = if named.is_empty() { short.clone() } else { format!("{short}: {}", named.join(", ")) };
        parts.push(Part { kind: Kind::Attention, text, short });
    }
    for (kind, count, word) in [
        (Kind::Stopped, document.stopped, "stopped"),
        (Kind::Finished, document.finished, "done"),
        (Kind::Busy, document.busy, "busy"),
        (Kind::Idle, document.idle, "idle"),
    ] {
        if count > 0 {
            let text = format!("{count} {word}");
            parts.push(Part { kind, short: text.clone(), text });
        }
    }
    parts
}

/// Every wait and every count on a line of its own.
fn list(document: &Statusline) -> String {
    let mut lines = Vec::new();
    for part in parts(document, 0) {
        let waits: &[StatuslineWait] = if part.kind == Kind::Attention { &document.waiting } else { &[] };
        lines.push(part.text);
        lines.extend(waits.iter().map(|wait| format!("  {}", named(wait, document.at))));
    }
    lines.join("\n")
}

fn named(wait: &StatuslineWait, now: Timestamp) -> String {
    let age = ages::since(wait.since, now);
    let name = fit(&clean(&wait.title), NAME);
    let host = wait.host.as_deref().map(|host| format!("{}:", fit(&clean(host), NAME))).unwrap_or_default();
    let reason = fit(&clean(&wait.reason), NAME);
    let text = format!("{host}{name} {reason} {age}");
    text.trim_end().to_owned()
}

/// The full-width form of a character that means something to whoever reads the line: it looks alike and does nothing,
/// however often the line is expanded.
fn wide(character: char) -> char {
    char::from_u32(u32::from(character) + 0xFEE0).filter(|_| character.is_ascii_graphic()).unwrap_or(character)
}

/// tmux expands what a command printed, once or more: `#[`, `#{`, `#(`, and `%` as a time. A `#` before a digit, and
/// a `%` before a blank, are nothing to it.
fn for_tmux(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let harmless = match (character, characters.peek()) {
            ('#', Some(next)) => next.is_ascii_digit(),
            ('%', Some(next)) => *next == ' ',
            ('#' | '%', None) => false,
            _ => true,
        };
        out.push(if harmless { character } else { wide(character) });
    }
    out
}

/// Pango's markup: the characters that begin an element or an entity.
pub(crate) fn for_pango(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// A shell expands its prompt: nothing in the text may be a command or a sequence of the prompt.
fn for_prompt(text: &str) -> String {
    text.chars()
        .map(|character| if matches!(character, '$' | '`' | '\\' | '%' | '!') { wide(character) } else { character })
        .collect()
}

#[cfg(test)]
mod tests {
    use jig_session_schema::row::Verdict;
    use jig_session_schema::status::{Attention, State};
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_795_976_327_855;

    fn row(name: &str, state: State, reason: Option<(Reason, i64)>) -> Row {
        let attention = reason.map(|(reason, seconds)| {
            Attention::new().reason(reason).since(Some(Timestamp::from_epoch_ms(NOW - seconds * 1000)))
        });
        let row = Row::new().session(format!("id-{name}")).name(Some(name.into())).state(state);
        row.attention(attention).verdict(Verdict::Alive)
    }

    fn document(rows: &[Row]) -> Statusline {
        summary(rows, Timestamp::from_epoch_ms(NOW))
    }

    fn shown(rows: &[Row], host: Host) -> Option<String> {
        line(&document(rows), host, 1)
    }

    #[test]
    fn the_longest_wait_comes_first_and_nothing_is_empty() {
        let rows = [
            row("busy", State::Busy, None),
            row("new", State::Busy, Some((Reason::QUESTION, 5))),
            row("old", State::Idle, Some((Reason::APPROVAL, 400))),
            row("done", State::Idle, Some((Reason::FINISHED, 4000))),
            row("idle", State::Idle, None),
        ];
        assert_eq!(
            shown(&rows, Host::Plain).as_deref(),
            Some("2 need you: old approval 6m · 1 done · 1 busy · 1 idle")
        );
        let both = line(&document(&rows), Host::Plain, 9).expect("a line");
        assert!(both.starts_with("2 need you: old approval 6m, new question 5s · "), "{both}");
        assert_eq!(line(&document(&rows), Host::Plain, 0).expect("a line"), "2 need you · 1 done · 1 busy · 1 idle");
        assert_eq!(shown(&rows[..1], Host::Plain).as_deref(), Some("1 busy"));
        let gone = row("gone", State::Busy, None).verdict(Verdict::Gone);
        for (_, host) in Host::ALL {
            assert_eq!(shown(&[], host), None);
            assert_eq!(shown(std::slice::from_ref(&gone), host), None);
            let line = shown(&rows, host).expect("a line");
            assert_eq!(line.lines().count(), 1, "{line}");
        }
    }

    #[test]
    fn each_host_in_its_own_words() {
        let rows = [row("a & b", State::Busy, Some((Reason::APPROVAL, 61))), row("x", State::Busy, None)];
        assert_eq!(
            shown(&rows, Host::Tmux).as_deref(),
            Some("#[fg=red,bold]1 needs you: a & b approval 1m#[default] · #[fg=green]1 busy#[default]")
        );
        let waybar: Value = serde_json::from_str(&shown(&rows, Host::Waybar).expect("a line")).expect("JSON");
        assert_eq!(waybar["text"], "1 needs you: a &amp; b approval 1m · 1 busy");
        assert_eq!((&waybar["alt"], &waybar["class"]), (&json!("attention"), &json!("attention")));
        assert_eq!(waybar["tooltip"], "1 needs you\n  a &amp; b approval 1m\n1 busy");
        let block: Value = serde_json::from_str(&shown(&rows, Host::I3status).expect("a line")).expect("JSON");
        assert_eq!((&block["urgent"], &block["markup"]), (&json!(true), &json!("none")));
        assert_eq!((&block["short_text"], &block["color"]), (&json!("1 needs you"), &json!("#e64553")));
        let json: Value = serde_json::from_str(&shown(&rows, Host::Json).expect("a line")).expect("JSON");
        assert_eq!((&json["attention"], &json["waiting"][0]["session"]), (&json!(1), &json!("id-a & b")));
    }

    #[test]
    fn what_is_harmless_stays_readable() {
        assert_eq!(for_tmux("fix #12, 50% done"), "fix #12, 50% done");
        assert_eq!(for_tmux("#(id) #{pid} #[x] ## %H #"), "＃(id) ＃{pid} ＃[x] ＃＃ ％H ＃");
        assert_eq!(for_prompt("$(id) `id` \\w %n !!"), "＄(id) ｀id｀ ＼w ％n ！！");
    }

    proptest! {
        #[test]
        fn no_name_becomes_more_than_text(name in "[#%({\\[<>&\"'$`\\\\!a-z0-9 \\x00-\\x1f;]{0,40}") {
            let rows = [row(&name, State::Busy, Some((Reason::APPROVAL, 61)))];
            let tmux = shown(&rows, Host::Tmux).expect("a line");
            let inner = tmux.strip_prefix("#[fg=red,bold]").and_then(|rest| rest.strip_suffix("#[default]"));
            let inner = inner.expect("our own style around it");
            for (at, _) in inner.match_indices('#') {
                prop_assert!(inner[at + 1..].starts_with(|next: char| next.is_ascii_digit()), "{inner}");
            }
            for (at, _) in inner.match_indices('%') {
                prop_assert!(inner[at + 1..].starts_with(' '), "{inner}");
            }
            let waybar: Value = serde_json::from_str(&shown(&rows, Host::Waybar).expect("a line")).expect("JSON");
            for text in [&waybar["text"], &waybar["tooltip"]] {
                let text = text.as_str().expect("text");
                prop_assert!(!text.contains(['<', '>', '"', '\'']), "{text}");
                for (at, _) in text.match_indices('&') {
                    let entities = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
                    prop_assert!(entities.iter().any(|entity| text[at..].starts_with(entity)), "{text}");
                }
            }
            let prompt = shown(&rows, Host::Starship).expect("a line");
            prop_assert!(!prompt.contains(['$', '`', '\\', '%', '!']), "{prompt}");
            for (_, host) in Host::ALL {
                let line = shown(&rows, host).expect("a line");
                prop_assert!(host == Host::Json || !line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
