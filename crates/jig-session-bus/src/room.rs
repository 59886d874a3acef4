//! How much mail one answer may hold: agents cut what is long, and mail that was cut would count as read.

use jig_session_schema::bus_result::MessageView;

use crate::limits;

/// The room of an answer, counted in the form in which it is given.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// For all messages together, in UTF-16 units: what the programs that cut count.
    pub units: usize,
    /// For one message that stands alone.
    pub alone: usize,
    /// What one message takes, in the form of the answer.
    pub cost: fn(&MessageView) -> usize,
}

impl Room {
    /// Of an answer that is handed to a model as it is, as JSON.
    pub const ANSWER: Self = Self { units: limits::ANSWER_UNITS, alone: limits::LETTER_UNITS, cost: as_json };

    /// Of a command's output, in its form.
    pub fn output(cost: fn(&MessageView) -> usize) -> Self {
        Self { units: limits::OUTPUT_UNITS, alone: limits::OUTPUT_ALONE_UNITS, cost }
    }

    /// As many of these messages as fit, one in any case.
    pub fn fitting(&self, messages: &[MessageView]) -> usize {
        let mut left = self.units;
        let fits = |view: &&MessageView| {
            let rest = left.checked_sub((self.cost)(view));
            left = rest.unwrap_or(0);
            rest.is_some()
        };
        messages.iter().take_while(fits).count().max(usize::from(!messages.is_empty()))
    }
}

/// UTF-16 units of a text.
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// What a message takes in a document, with the comma behind it.
fn as_json(view: &MessageView) -> usize {
    serde_json::to_string(view).map_or(usize::MAX, |text| units(&text) + 1)
}
