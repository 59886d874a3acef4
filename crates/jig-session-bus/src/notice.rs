//! The notice a model reads when mail has come: a pointer and a preview, never the mail itself.

use jig_session_schema::bus::MessageKind;
use jig_session_schema::bus_result::MessageView;

/// The headline, one line a message, and what to do.
pub fn text(messages: &[MessageView]) -> String {
    let handoffs = messages.iter().filter(|message| message.kind == MessageKind::Handoff).count();
    let others = messages.len() - handoffs;
    let mut head = Vec::new();
    if handoffs > 0 {
        head.push(counted(handoffs, "handoff"));
    }
    if others > 0 {
        head.push(counted(others, "message"));
    }
    let mut text = head.join(", ");
    for message in messages {
        let preview = message.preview.as_deref().or(message.text.as_deref()).unwrap_or_default();
        text.push_str(&format!("\n{}: {preview}", message.from.label));
    }
    text.push_str(if handoffs > 0 {
        "\nThe work is yours: read it with session inbox, record the plan, and start."
    } else {
        "\nRead with session inbox."
    });
    text
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
