//! What the host shows its user, in the way the mode allows.

use jig_session_publish::Publisher;
use jig_session_schema::status::Status;
use serde_json::json;

use crate::Error;
use crate::link::{Link, Pending};
use jig_session_view::context;

/// The width of texts that are not shown in a terminal of known width.
pub(crate) const WIDTH: usize = 80;

/// A size of the terminal, in cells; the one before where none is given.
pub(crate) fn cells(given: Option<u64>, before: usize) -> usize {
    given.and_then(|cells| usize::try_from(cells).ok()).unwrap_or(before)
}

/// `/session-file`: the file, and the terminal it names.
pub(crate) fn session_file(publisher: &Publisher) -> String {
    let path = publisher.path().map_or_else(|| "none".to_owned(), |path| path.to_string_lossy().into_owned());
    let status = publisher.status();
    let terminal = status.and_then(|status| status.terminal.as_deref());
    let from = status.and_then(|status| status.terminal_from.as_deref());
    match (terminal, from) {
        (Some(terminal), Some(from)) => format!("{path}\nterminal {terminal}, named by {from}"),
        (Some(terminal), None) => format!("{path}\nterminal {terminal}"),
        (None, _) => format!("{path}\nno variable names a terminal"),
    }
}

/// `/context` as lines.
pub(crate) fn context(status: Option<&Status>, width: usize, color: bool) -> Vec<String> {
    match status.and_then(|status| status.context_detail.as_ref()) {
        Some(detail) => context::lines(detail, width, color),
        None => vec!["nothing is known of the context yet: it is counted from the first prompt on".to_owned()],
    }
}

/// Shows a text as the answer to a command. Pi's own notification is silent in print and JSON mode.
pub(crate) fn text(link: &mut Link, mode: &str, command: &str, text: String) -> Result<(), Error> {
    match mode {
        "tui" | "rpc" => link.call_in(command, "ctx.ui.notify", vec![json!(text), json!("info")])?,
        "json" => {
            let message = json!({ "customType": "jig-session", "content": text, "display": true });
            link.call("pi.sendMessage", vec![message], Pending::Nothing)?;
        }
        _ => return link.done(command, Some(text)),
    }
    link.done(command, None)
}
