//! The notice a model reads when mail has come: a pointer and a preview, never the mail itself.
//!
//! A notice is made ([`Bus::notice`], [`Bus::wake_notice`]), delivered by its caller in the agent's own form, and only
//! then recorded ([`Bus::record_notice`]): one that got lost is made again.

use jig_session_schema::bus::{Beat, ListenMode, Message, MessageKind};
use jig_session_schema::bus_result::{MemberState, MessageView};

use crate::error::Error;
use crate::member::Member;
use crate::room::units;
use crate::store::Bus;
use crate::{limits, view, wake};

/// The points of an agent's turn at which a notice can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A person has spoken: a new turn begins.
    Prompt,
    /// Within a turn, such as after a tool.
    Turn,
    /// The turn is about to end; a notice holds it back.
    End {
        /// It goes on already because a notice held it back before.
        held_back: bool,
    },
}

/// A notice that is ready to be delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What the model reads.
    pub text: String,
    /// The ids of the messages it is about, oldest first; never empty.
    pub messages: Vec<String>,
    /// The sessions whose mail raises a turn by it; empty when it raises none.
    pub wakes: Vec<String>,
}

impl Notice {
    /// A notice about these messages; `None` when there are none.
    pub fn of(unread: &[Message], door: Door) -> Option<Self> {
        let previews: Vec<MessageView> = unread.iter().map(view::preview).collect();
        let messages = unread.iter().map(|message| message.id.clone()).collect();
        (!unread.is_empty()).then(|| Self { text: text(&previews, door), messages, wakes: Vec::new() })
    }
}

impl Bus<'_> {
    /// Unread mail that no notice was about yet, oldest first.
    pub fn unannounced(&self, id: &str) -> Result<Vec<Message>, Error> {
        let mark = self.told(id)?;
        Ok(self.peek_after(id, mark.last.as_deref(), limits::UNREAD)?.messages)
    }

    /// The notice that is due to a member at this point of its turn; a prompt gives its wake budget back.
    pub fn notice(&self, member: &Member, occasion: Occasion) -> Result<Option<Notice>, Error> {
        let id = &member.record.id;
        self.renew_if_due(member);
        if occasion == Occasion::Prompt {
            self.forget_wakes(id)?;
        }
        match occasion {
            _ if member.record.listen.is_none() || member.state != MemberState::Live => Ok(None),
            Occasion::Prompt | Occasion::Turn => Ok(Notice::of(&self.unannounced(id)?, Door::of(member))),
            Occasion::End { held_back: true } => Ok(None),
            Occasion::End { held_back: false } => self.wake_notice(member),
        }
    }

    /// The notice that raises a turn of an idle member; `None` unless it asked to be woken and its wake budget for one
    /// of the senders is not used up.
    pub fn wake_notice(&self, member: &Member) -> Result<Option<Notice>, Error> {
        let id = &member.record.id;
        if member.record.listen.as_ref().is_none_or(|listen| listen.mode != ListenMode::Wake) {
            return Ok(None);
        }
        let unread = self.unannounced(id)?;
        let senders: Vec<&str> = unread.iter().map(|message| message.from.id.as_str()).collect();
        if !wake::may_wake(&self.told(id)?.wakes, &senders, self.world.now().wall_ms) {
            return Ok(None);
        }
        let wakes = senders.iter().map(|sender| (*sender).to_owned()).collect();
        Ok(Notice::of(&unread, Door::of(member)).map(|notice| Notice { wakes, ..notice }))
    }

    /// A notice has been delivered: the next one is about later mail.
    pub fn record_notice(&self, id: &str, notice: &Notice) -> Result<(), Error> {
        let Some(last) = notice.messages.last() else { return Ok(()) };
        self.set_told(id, last, &notice.wakes.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

/// How the model reads its mail: the tool where a server or a bridge of ours runs for the session, else a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Door {
    /// The tool `session`.
    Tool,
    /// `jig-session bus inbox`, where only hooks are installed.
    Command,
}

impl Door {
    fn words(self) -> &'static str {
        match self {
            Self::Tool => "session inbox",
            Self::Command => "jig-session bus inbox",
        }
    }

    fn of(member: &Member) -> Self {
        if member.record.beat == Beat::Timer { Self::Tool } else { Self::Command }
    }
}

/// Most characters of a notice, in UTF-16 units: agents cut or drop the output of a hook that is over 10,000 of them.
pub const NOTICE_UNITS: usize = 8_000;

/// The headline, what to do, and as many previews as there is room for, handoffs first.
pub fn text(messages: &[MessageView], door: Door) -> String {
    let (handoffs, others): (Vec<_>, Vec<_>) =
        messages.iter().partition(|message| message.kind == MessageKind::Handoff);
    let mut head = Vec::new();
    if !handoffs.is_empty() {
        head.push(counted(handoffs.len(), "handoff"));
    }
    if !others.is_empty() {
        head.push(counted(others.len(), "message"));
    }
    let mut text = head.join(", ");
    let door = door.words();
    text.push_str(&if handoffs.is_empty() {
        format!("\nRead with: {door}")
    } else {
        format!("\nThe work is yours: read it with {door}, record the plan, and start.")
    });
    let mut room = NOTICE_UNITS - units(&text) - "\nand 1000 more".len();
    let mut left = messages.len();
    for message in handoffs.into_iter().chain(others) {
        let preview = message.preview.as_deref().or(message.text.as_deref()).unwrap_or_default();
        let line = format!("\n{}: {preview}", message.from.label);
        let Some(rest) = room.checked_sub(units(&line)) else { break };
        room = rest;
        left -= 1;
        text.push_str(&line);
    }
    if left > 0 {
        text.push_str(&format!("\nand {left} more"));
    }
    text
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
