//! `jig-session king pin`, `unpin`, `order`, `name`: the viewer's layout, edited in place.

use jig_session_atomic::{PrivateDir, Reason, TempName};
use jig_session_king::layout::Layout;
use jig_session_king::writer::sweep;
use jig_session_liveness::{Machine, Processes};
use jig_session_schema::king_documents::KingLayout;
use jig_session_schema::places::KING_DIR;

use super::cards;
use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

/// A layout is a few lists of ids.
const LAYOUT_BYTES: usize = 1 << 20;
/// How often an edit begins anew when a layout appears meanwhile.
const TRIES: u32 = 3;

#[derive(clap::Args, Debug)]
pub(crate) struct Ids {
    /// Sessions: their ids, or an unambiguous beginning or end of 4 or more characters
    #[arg(required = true, value_name = "SESSION")]
    sessions: Vec<String>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct Name {
    /// The session's id, or an unambiguous beginning or end of 4 or more characters
    session: String,
    /// The name; omit it to show the session's own again
    name: Option<String>,
}

pub(crate) fn pin(args: &Ids, app: &App) -> Outcome {
    edit(app, &args.sessions, |layout, ids| layout.pin(ids))
}

pub(crate) fn unpin(args: &Ids, app: &App) -> Outcome {
    edit(app, &args.sessions, |layout, ids| layout.unpin(ids))
}

pub(crate) fn order(args: &Ids, app: &App) -> Outcome {
    edit(app, &args.sessions, |layout, ids| layout.reorder(ids))
}

pub(crate) fn name(args: &Name, app: &App) -> Outcome {
    let name = args.name.as_deref().map(str::trim).filter(|name| !name.is_empty());
    edit(app, std::slice::from_ref(&args.session), |layout, ids| {
        for id in ids {
            layout.set_name(id, name);
        }
    })
}

/// Reads the layout, changes it, replaces it. No lock exists between viewers: the last writer wins, so
/// the time between reading and writing is short.
fn edit(app: &App, wanted: &[String], change: impl Fn(&mut Layout, &[String])) -> Outcome {
    let file = LayoutFile::open(app)?;
    let known = cards::ids(app)?;
    let mut tries = 0;
    let (layout, ids) = loop {
        let (mut layout, is_there) = file.read()?;
        let ids =
            wanted.iter().map(|wanted| resolve(wanted, &known, &layout)).collect::<Result<Vec<String>, Failure>>()?;
        change(&mut layout, &ids);
        if file.write(&layout, is_there)? {
            break (layout, ids);
        }
        tries += 1;
        if tries == TRIES {
            let message = format!("cannot edit {}: it comes and goes", file.path());
            return Err(Failure::new(Code::Io, message).path(file.path()).hint("try again"));
        }
    };
    let machine = Machine::new();
    sweep(&file.dir, Layout::FILE, &|pid| machine.is_missing(pid));
    if app.json {
        let names = ids.iter().filter_map(|id| Some((id.clone(), layout.name(id)?.to_owned())));
        let owned = |ids: Vec<&str>| ids.into_iter().map(str::to_owned).collect();
        let document = KingLayout::new()
            .path(file.path())
            .pinned(owned(layout.pinned()))
            .order(owned(layout.order()))
            .names(names.collect());
        app.print_json(&document)?;
    }
    Ok(Exit::OK)
}

/// A session that has a card, or that the layout still names.
fn resolve(wanted: &str, known: &[String], layout: &Layout) -> Result<String, Failure> {
    let named = [layout.pinned(), layout.order()].concat();
    if known.iter().any(|id| id == wanted) || named.contains(&wanted) || layout.name(wanted).is_some() {
        return Ok(wanted.to_owned());
    }
    cards::by_part(wanted, known.iter().map(String::as_str))
}

/// The file beside the folder of the cards.
pub(super) struct LayoutFile {
    dir: PrivateDir,
}

impl LayoutFile {
    pub(super) fn open(app: &App) -> Result<Self, Failure> {
        let folder = cards::folder(app);
        let parent = folder.parent().map_or_else(|| folder.clone(), std::path::Path::to_path_buf);
        let dir = PrivateDir::open(&parent).map_err(|error| error.named_by(KING_DIR))?;
        Ok(Self { dir: dir.with_temp_name(TempName::PerProcess) })
    }

    fn path(&self) -> String {
        self.dir.path().join(Layout::FILE).to_string_lossy().into_owned()
    }

    /// The layout to edit, and whether there is one. What is not understood is not written over.
    fn read(&self) -> Result<(Layout, bool), Failure> {
        match self.dir.read(Layout::FILE, LAYOUT_BYTES) {
            Ok(file) => Layout::parse(&file.bytes).map(|layout| (layout, true)).map_err(|error| {
                Failure::new(Code::Io, format!("cannot edit {}: {error}", self.path()))
                    .hint("mend the file or move it away")
                    .path(self.path())
            }),
            Err(problem) if problem.reason == Reason::Missing => Ok((Layout::default(), false)),
            Err(problem) if problem.reason == Reason::Empty => Ok((Layout::default(), true)),
            Err(problem) => Err(Failure::new(Code::Io, format!("cannot read {}: {problem}", self.path()))
                .path(self.path())
                .errno(problem.errno)),
        }
    }

    /// False when there was no layout to edit and there is one now: a first layout replaces none.
    fn write(&self, layout: &Layout, is_there: bool) -> Result<bool, Failure> {
        if !is_there {
            return Ok(self.dir.create_new(Layout::FILE, &layout.to_bytes())?.is_some());
        }
        self.dir.write(Layout::FILE, &layout.to_bytes())?;
        Ok(true)
    }
}

/// The layout for a listing: one that cannot be read is an empty one.
pub(crate) fn shown(app: &App) -> Layout {
    let folder = cards::folder(app);
    let Some(Ok(Some(dir))) = folder.parent().map(PrivateDir::open_existing) else { return Layout::default() };
    let file = dir.read(Layout::FILE, LAYOUT_BYTES);
    file.ok().and_then(|file| Layout::parse(&file.bytes).ok()).unwrap_or_default()
}
