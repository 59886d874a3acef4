//! The only place that rows come from: every reading command gets its rows here; none opens a folder itself.

use jig_session_liveness::{Machine, Probes};
use jig_session_store::{Hints, Marks, Store};
pub(crate) use jig_session_store::{Narrow, View, document, status};

use crate::app::App;
use crate::elsewhere::{Elsewhere, Followed};
use crate::failure::Failure;

/// Looks at both folders once.
pub(crate) fn load(app: &App) -> Result<View, Failure> {
    let mut store = store(app);
    let machine = Machine::new();
    let look = store.look(&Probes::new(&machine))?;
    Ok(View::of(look, app.now(), &marks(app)))
}

/// The same, with the sessions of other machines among this one's.
pub(crate) fn load_with(app: &App, elsewhere: Elsewhere) -> Result<View, Failure> {
    let nobody = Hints::new(&[]).nudge();
    let followed = elsewhere.follow(app, false, &nobody)?;
    if let Some(followed) = &followed {
        followed.settle();
    }
    let view = load(app)?;
    let Some(theirs) = followed.as_ref().map(Followed::look) else { return Ok(view) };
    Ok(view.with(theirs.rows, theirs.problems))
}

/// The marks of what a person has seen.
pub(crate) fn marks(app: &App) -> Marks {
    Marks::open(&app.places().seen)
}

/// Says which variables count as unset, since a person would look in the wrong folder. With `--json` stderr holds error
/// documents only: there `paths` and `doctor` tell it.
pub(crate) fn note_ignored(app: &App) {
    for ignored in app.places().ignored.iter().filter(|_| !app.json) {
        app.note(&format!("note: {} counts as unset: it {}", ignored.name, ignored.why));
    }
}

/// The store of this run, for commands that look more than once.
pub(crate) fn store(app: &App) -> Store {
    let places = app.places();
    Store::new(&places.sessions, &places.king)
}
