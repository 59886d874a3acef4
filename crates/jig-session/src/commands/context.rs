//! `jig-session context`: what fills a session's context, as the session itself reports it.

use jig_session_schema::documents::ContextDocument;

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::{select, view};
use jig_session_view::{context, sanitise};

/// The width when the output is no terminal.
const WIDTH: usize = 80;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT, add = select::completer())]
    session: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let session = select::one(app, &args.session)?;
    let detail = view::status(&session.row).and_then(|status| status.context_detail);
    if app.json {
        app.print_json(&ContextDocument::new().at(app.now()).session(session.row).context_detail(detail))?;
        return Ok(Exit::OK);
    }
    let name = session.row.name.as_deref().unwrap_or(&session.row.session);
    let mut text = format!("{}\n", sanitise::clean(name));
    match detail {
        Some(detail) => {
            for line in context::lines(&detail, app.width().unwrap_or(WIDTH), app.color) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        None => text.push_str("the session tells nothing of what fills its context\n"),
    }
    app.print(&text)?;
    Ok(Exit::OK)
}
