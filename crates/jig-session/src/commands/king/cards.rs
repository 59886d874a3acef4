//! pi-king's folder as these commands need it: where it is, which cards are in it, which one is meant.

use std::path::PathBuf;

use jig_session_atomic::PrivateDir;
use jig_session_schema::places::KING_DIR;

use crate::app::App;
use crate::failure::{Code, Failure};

/// Shortest beginning or end of an id that may stand for it.
const PART: usize = 4;

/// The folder of the cards.
pub(super) fn folder(app: &App) -> PathBuf {
    app.places().king
}

/// That folder, if it is there.
pub(super) fn open(app: &App) -> Result<Option<PrivateDir>, Failure> {
    Ok(PrivateDir::open_existing(folder(app)).map_err(|error| error.named_by(KING_DIR))?)
}

/// The ids of all cards, by their files' names: the name is the key.
pub(super) fn ids(app: &App) -> Result<Vec<String>, Failure> {
    let Some(dir) = open(app)? else {
        return Ok(Vec::new());
    };
    let names = dir.documents()?;
    let mut ids: Vec<String> =
        names.iter().filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned())).collect();
    ids.sort();
    Ok(ids)
}

/// The one id that a beginning or an end of 4 or more characters stands for.
pub(super) fn by_part<'a>(wanted: &str, known: impl Iterator<Item = &'a str>) -> Result<String, Failure> {
    let fits = |id: &&str| wanted.len() >= PART && (id.starts_with(wanted) || id.ends_with(wanted));
    let matches: Vec<&str> = known.filter(fits).collect();
    match matches.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(Failure::new(Code::NotFound, format!("no card of {wanted:?} in pi-king's folder"))
            .hint("see jig-session king ls --all")),
        several => Err(Failure::new(Code::Ambiguous, format!("{wanted:?} names {} sessions", several.len()))
            .hint("use more of the id")
            .candidates(several.iter().map(ToString::to_string).collect())),
    }
}
