//! `jig-session seen`: marks a session as looked at, so that its finished turn no longer counts as unseen.

use jig_session_schema::documents::Seen;
use jig_session_schema::row::Source;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::{select, view};
use jig_session_view::rows;
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT, add = select::completer())]
    session: String,
    /// Say nothing, not even that there is no such session: for hooks
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    match marked(args, app) {
        Err(failure) if args.quiet && matches!(failure.code, Code::NotFound | Code::Ambiguous) => Ok(Exit::OK),
        other => other,
    }
}

fn marked(args: &Args, app: &App) -> Outcome {
    let places = app.places();
    let view = view::load(app)?;
    let row = &select::pick(app, &view, &args.session)?.row;
    if row.source != Source::Jig {
        let failure = Failure::new(
            Code::Unsupported,
            format!("session {} is pi-king's: only it says what was seen", row.session),
        );
        return Err(failure.hint("its own dashboard marks it").path(&row.path));
    }
    let path = jig_session_store::mark(&places.seen, &places.sessions, row)?;
    if app.json {
        let mut seen = Seen::new().session(row.session.clone()).path(path.to_string_lossy().into_owned());
        seen.at = app.now();
        app.print_json(&seen)?;
    } else if !args.quiet {
        app.print(&format!("{} seen\n", clean(&rows::title(row))))?;
    }
    Ok(Exit::OK)
}
