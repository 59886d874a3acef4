//! The eye on the sessions: rows with what a listing leaves out, and the session that is opened.

use std::collections::HashMap;
use std::path::Path;
use std::thread;

use jig_session_atomic::Stamp;
use jig_session_board::{Entry, Event, Id, Opened, Sessions};
use jig_session_git::Repository;
use jig_session_king::layout::Layout;
use jig_session_schema::row::{Row, Source};
use jig_session_schema::status::{Child, Recent};
use jig_session_store::{Nudge, Session};

use super::Shared;
use crate::app::App;
use crate::commands::{explain, king};
use crate::elsewhere::Elsewhere;
use crate::follow::Follow;
use crate::view::{self, View};

/// Starts looking; what it gives has it look at once.
pub(super) fn start(shared: &Shared, all: bool, elsewhere: Elsewhere) -> Nudge {
    let shared = shared.clone();
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut follow = Follow::new(&shared.app).quiet();
        let _ = sender.send(follow.nudge());
        match elsewhere.follow(&shared.app, all, &follow.nudge()) {
            Ok(followed) => follow = follow.beside(followed),
            Err(failure) => shared.say(failure.message),
        }
        let mut eye = Eye::new(all);
        let mut before = None;
        let mut opened_before = None;
        loop {
            let (sessions, view) = match follow.look() {
                Ok(view) => (eye.sessions(&shared.app, &view), Some(view)),
                Err(failure) => (Sessions { problems: vec![failure.message], ..Sessions::default() }, None),
            };
            let at = shared.app.now();
            let opened = shared.wanted().open.zip(view.as_ref()).and_then(|(id, view)| opened(view, &id));
            let event = if before.as_ref() == Some(&sessions) {
                Event::Now(at)
            } else {
                before = Some(sessions.clone());
                Event::Sessions(Sessions { at: Some(at), ..sessions })
            };
            if !shared.outlet.send(event) {
                return;
            }
            if opened != opened_before {
                opened_before.clone_from(&opened);
                if let Some(opened) = opened
                    && !shared.outlet.send(Event::Opened(Box::new(opened)))
                {
                    return;
                }
            }
            follow.wait(None);
        }
    });
    receiver.recv().unwrap_or_default()
}

/// Rows as entries; what is read beside them is read once for each version of a file.
pub(crate) struct Eye {
    all: bool,
    groups: HashMap<String, String>,
    details: HashMap<String, (Stamp, Detail)>,
}

#[derive(Clone, Default)]
struct Detail {
    recent: Option<Recent>,
    children: Vec<Child>,
}

impl Eye {
    pub(crate) fn new(all: bool) -> Self {
        Self { all, groups: HashMap::new(), details: HashMap::new() }
    }

    /// What the board shows of a look.
    pub(crate) fn sessions(&mut self, app: &App, view: &View) -> Sessions {
        let layout = king::layout::shown(app);
        let mut details = HashMap::new();
        let entries = view.listed(self.all).map(|session| {
            let detail = self.detail(session);
            details.insert(session.row.path.clone(), (session.stamp, detail.clone()));
            self.entry(&session.row, detail, &layout)
        });
        let entries = entries.collect();
        // What ended is forgotten with it.
        self.details = details;
        let owned = |ids: Vec<&str>| ids.into_iter().map(str::to_owned).collect();
        let (of_files, of_hosts): (Vec<_>, Vec<_>) = view.problems.iter().partition(|problem| problem.path.is_some());
        let mut problems: Vec<String> = of_hosts
            .iter()
            .map(|problem| format!("{}: {}", problem.host.as_deref().unwrap_or_default(), problem.message))
            .collect();
        match of_files.len() {
            0 => {}
            1 => problems.push("1 entry gives no session: jig-session doctor says why".to_owned()),
            count => problems.push(format!("{count} entries give no session: jig-session doctor says why")),
        }
        Sessions { at: None, entries, pinned: owned(layout.pinned()), order: owned(layout.order()), problems }
    }

    fn entry(&mut self, row: &Row, detail: Detail, layout: &Layout) -> Entry {
        let mut row = row.clone();
        // What a viewer calls it goes before its own name, and is what is searched for.
        if let Some(name) = layout.name(&row.session) {
            row.name = Some(name.to_owned());
        }
        let group = match row.host {
            None => self.groups.entry(row.cwd.clone()).or_insert_with_key(|cwd| root(cwd)).clone(),
            Some(_) => row.cwd.clone(),
        };
        Entry { group, recent: detail.recent, children: detail.children, ..Entry::of(row) }
    }

    fn detail(&self, session: &Session) -> Detail {
        let row = &session.row;
        if row.source != Source::Jig || row.host.is_some() {
            return Detail::default();
        }
        match self.details.get(&row.path) {
            Some((stamp, detail)) if *stamp == session.stamp => detail.clone(),
            _ => view::status(row)
                .map(|status| Detail { recent: status.recent.into_iter().next(), children: status.children })
                .unwrap_or_default(),
        }
    }
}

/// The main worktree of the repository that holds a folder, else the folder.
fn root(cwd: &str) -> String {
    let repository = Path::new(cwd).is_absolute().then(|| Repository::discover(cwd).ok()).flatten().flatten();
    let Some(repository) = repository else { return cwd.to_owned() };
    let common = repository.common_dir();
    let root = match common.parent() {
        Some(parent) if common.ends_with(".git") => Some(parent),
        _ => repository.worktree(),
    };
    root.unwrap_or(common).to_string_lossy().into_owned()
}

/// The session that is opened, with its whole file.
pub(crate) fn opened(view: &View, id: &Id) -> Option<Opened> {
    let session = view.sessions.iter().find(|session| Id::of(&session.row) == *id)?;
    let row = &session.row;
    let here = row.host.is_none();
    let status = (here && row.source == Source::Jig).then(|| view::status(row)).flatten();
    let evidence = if here { explain::lines(session, view) } else { vec!["jig-session explain tells it there".into()] };
    let branch = here.then(|| Repository::discover(&row.cwd).ok().flatten()?.branch()).flatten();
    Some(Opened { id: id.clone(), status: status.map(Box::new), evidence, branch })
}
