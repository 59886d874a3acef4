//! `/sessions` and `/team`, and the keys of the bus's panel.

use jig_session_board::{Action, Bus as Look};
use jig_session_bus::{Call, limits, tool};
use jig_session_schema::bridge::{CommandCall, Key};
use jig_session_schema::bus_result::BusResult;
use jig_session_view::bus::listing;

use super::Bus;
use crate::link::Link;
use crate::sessions_panel::SessionsPanel;
use crate::{Error, show};

impl Bus {
    /// A command of the user that concerns the bus.
    pub(crate) fn command(&mut self, command: &CommandCall, link: &mut Link) -> Result<(), Error> {
        match command.name.as_str() {
            "sessions" if self.mode == "tui" => {
                let mut panel = SessionsPanel::new(self.home.clone(), (self.eyes)(), self.color);
                self.refresh(&mut panel);
                link.panel(panel.lines())?;
                self.panel = Some(panel);
                link.done(&command.id, None)
            }
            "sessions" => {
                let Some(me) = self.me.clone() else { return link.done(&command.id, None) };
                let done = self.perform(&me, &Call::Status)?;
                show::text(link, &self.mode, &command.id, listing(&done.result, self.now()))
            }
            "team" => self.team(command, link),
            _ => link.done(&command.id, None),
        }
    }

    /// `/team join [LABEL]`.
    fn team(&mut self, command: &CommandCall, link: &mut Link) -> Result<(), Error> {
        let words = command.args.as_deref().unwrap_or_default().trim();
        let Some(label) = words.strip_prefix("join") else {
            return show::text(link, &self.mode, &command.id, "usage: /team join [LABEL]".to_owned());
        };
        let label = Some(label.trim()).filter(|label| !label.is_empty()).map(str::to_owned);
        let Some(me) = self.me.clone() else { return link.done(&command.id, None) };
        let call = Call::Join { label, wake: false, listen: true, guard: None };
        let done = self.perform(&me, &call)?;
        self.after(&call, &done, link)?;
        let text = match tool::line(&done.result) {
            line if line.is_empty() => "nothing was done".to_owned(),
            line => line,
        };
        show::text(link, &self.mode, &command.id, text)
    }

    /// A key in the bus's panel.
    pub(crate) fn key(&mut self, key: &Key, link: &mut Link) -> Result<(), Error> {
        let Some(mut panel) = self.panel.take() else { return Ok(()) };
        if key.closed == Some(true) {
            return Ok(());
        }
        for action in panel.key(key) {
            let call = match action {
                Action::Close => return link.close_panel(),
                Action::Listen(on) => Call::Join { label: None, wake: false, listen: on, guard: None },
                Action::Release(path) => Call::Release { paths: Some(vec![path]) },
                _ => continue,
            };
            self.carry_out(&mut panel, &call, link)?;
        }
        link.panel(panel.lines())?;
        self.panel = Some(panel);
        Ok(())
    }

    fn carry_out(&mut self, panel: &mut SessionsPanel, call: &Call, link: &mut Link) -> Result<(), Error> {
        let Some(me) = self.me.clone() else { return Ok(()) };
        match self.perform(&me, call) {
            Ok(done) => {
                self.after(call, &done, link)?;
                panel.notify(tool::line(&done.result));
            }
            Err(error) => panel.notify(error.to_string()),
        }
        self.refresh(panel);
        Ok(())
    }

    /// Fills the panel with what is on the bus now.
    pub(super) fn refresh(&self, panel: &mut SessionsPanel) {
        let Some(me) = &self.me else { return };
        let status = self.perform(me, &Call::Status).map(|done| done.result);
        let mail = self.perform(me, &Call::Peek { limit: Some(limits::INBOX_MOST as u64) }).map(|done| done.result);
        if let (Ok(BusResult::Status(status)), Ok(BusResult::Peek(mail))) = (status, mail) {
            panel.show_bus(Look { at: Some(self.now()), status, mail: mail.messages, trouble: None });
        }
    }
}
