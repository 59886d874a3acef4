//! The panel's lines.

use jig_session_schema::time::Timestamp;
use jig_session_view::bus::listens;
use jig_session_view::table::{fit, wrap};
use jig_session_view::{ages, sanitise};

use super::{BusPanel, Tab};

impl BusPanel {
    /// The lines of the panel; none is wider than the terminal, and no foreign character steers it.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        let room = self.room();
        let mut lines = vec![self.head(), String::new()];
        match &self.open {
            Some(all) => {
                self.top = self.top.min(all.len().saturating_sub(room));
                lines.extend(all.iter().skip(self.top).take(room).cloned());
            }
            None => {
                let rows = self.rows_of_scope();
                self.top = self.top.min(self.focus).max((self.focus + 1).saturating_sub(room));
                if rows.is_empty() {
                    lines.push(self.nothing().to_owned());
                }
                for (i, row) in rows.iter().enumerate().skip(self.top).take(room) {
                    lines.push(format!("{} {row}", if i == self.focus { '>' } else { ' ' }));
                }
            }
        }
        lines.push(String::new());
        lines.push(match (&self.confirming, self.message.is_empty()) {
            (Some(path), _) => format!("release {path}? y/N"),
            (None, false) => self.message.clone(),
            (None, true) => self.help().to_owned(),
        });
        lines.into_iter().map(|line| self.fit(&line)).collect()
    }

    fn head(&self) -> String {
        let scopes: Vec<String> = Tab::ALL
            .iter()
            .map(|(scope, name)| if *scope == self.scope { format!("[{name}]") } else { format!(" {name} ") })
            .collect();
        let me = match &self.status.me {
            Some(me) => {
                let listens = if me.listen.is_none() { "not listening" } else { listens(me) };
                format!("you are {} · {listens} · {} unread", me.label, me.unread)
            }
            None => "you are not on this bus".to_owned(),
        };
        format!("{}   {me}", scopes.join(" "))
    }

    fn help(&self) -> &'static str {
        match (&self.open, self.scope) {
            (Some(_), _) => "up, down, g, G scroll · Esc back",
            (None, Tab::Claims) => "Tab scope · Enter open · w listen · x release · q close",
            (None, _) => "Tab scope · Enter open · w listen · q close",
        }
    }

    fn nothing(&self) -> &'static str {
        match self.scope {
            Tab::Sessions => "nobody is on this bus",
            Tab::Inbox => "no unread mail",
            Tab::Claims => "nothing is held",
        }
    }

    fn age(&self, at: Option<Timestamp>) -> String {
        self.now.map(|now| ages::since(at, now)).unwrap_or_default()
    }

    fn rows_of_scope(&self) -> Vec<String> {
        match self.scope {
            Tab::Sessions => self
                .status
                .members
                .iter()
                .map(|member| {
                    let listens = if member.listen.is_none() { "-" } else { listens(member) };
                    format!(
                        "{:<20} {:<5} {:<8} {:<5} {:>3} unread {:>3} claims  {:>4}  {}",
                        member.label,
                        member.state,
                        member.agent,
                        listens,
                        member.unread,
                        member.claims,
                        self.age(member.beat_at),
                        member.branch.as_deref().unwrap_or_default()
                    )
                })
                .collect(),
            Tab::Inbox => self
                .mail
                .iter()
                .map(|mail| {
                    let preview = mail.preview.as_deref().unwrap_or_default();
                    format!("{:<8} {:<16} {:>4}  {preview}", mail.kind, mail.from.label, self.age(mail.sent_at))
                })
                .collect(),
            Tab::Claims => self
                .status
                .claims
                .iter()
                .map(|claim| {
                    let reason = claim.reason.as_deref().unwrap_or_default();
                    format!("{:<32} {:<16} {:>4}  {reason}", claim.path, claim.label, self.age(claim.since))
                })
                .collect(),
        }
    }

    /// The focused row in full.
    pub(super) fn opened(&self) -> Option<Vec<String>> {
        match self.scope {
            Tab::Sessions => self.status.members.get(self.focus).map(|member| {
                let mut lines = vec![
                    format!("label    {}", member.label),
                    format!("id       {}", member.id),
                    format!("agent    {} {}", member.agent, member.model.as_deref().unwrap_or_default()),
                    format!("state    {}, last beat {} ago", member.state, self.age(member.beat_at)),
                    format!("folder   {}", member.cwd),
                    format!("branch   {}", member.branch.as_deref().unwrap_or("none")),
                    format!("unread   {}", member.unread),
                ];
                let claims = self.status.claims.iter().filter(|claim| claim.session == member.id);
                lines.extend(claims.map(|claim| format!("holds    {}", claim.path)));
                lines
            }),
            Tab::Inbox => self.mail.get(self.focus).map(|mail| {
                let mut lines = vec![format!("{} from {}, {} ago", mail.kind, mail.from.label, self.age(mail.sent_at))];
                if !mail.paths.is_empty() {
                    lines.push(format!("about {}", mail.paths.join(", ")));
                }
                lines.push(String::new());
                lines.extend(wrap(mail.preview.as_deref().unwrap_or_default(), self.width.saturating_sub(2)));
                lines.push(String::new());
                lines.push("session inbox reads it whole, and takes it".to_owned());
                lines
            }),
            Tab::Claims => self.status.claims.get(self.focus).map(|claim| {
                vec![
                    format!("path     {}", claim.path),
                    format!("held by  {} ({})", claim.label, claim.session),
                    format!("since    {} ago", self.age(claim.since)),
                    format!("reason   {}", claim.reason.as_deref().unwrap_or("none")),
                ]
            }),
        }
    }

    fn fit(&self, line: &str) -> String {
        fit(&sanitise::clean(line), self.width)
    }
}
