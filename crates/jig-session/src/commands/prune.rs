//! `jig-session prune`: removes what crashed sessions left behind.

use jig_session_liveness::{Machine, Probes};
use jig_session_schema::documents::{Prune, Pruned, RetainedFile};
use jig_session_store::Plan;

use crate::app::App;
use crate::failure::{Exit, Outcome};
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Print what would be removed, remove nothing
    #[arg(long, short = 'n')]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let places = app.places();
    let machine = Machine::new();
    let plan = Plan { now_ms: app.now().epoch_ms(), booted_ms: machine.booted_ms(), dry_run: args.dry_run };
    let mut pruned = jig_session_store::prune(&places.sessions, &places.requests, &plan, &Probes::new(&machine))?;
    let marks = jig_session_store::stale_marks(&places.seen, &places.sessions, args.dry_run);
    pruned.removed.extend(marks.into_iter().map(|path| (path, "gone".to_owned())));
    if app.json {
        let mut document = Prune::new();
        document.removed =
            pruned.removed.iter().map(|(path, why)| Pruned::new().path(path.clone()).verdict(why.clone())).collect();
        document.kept =
            pruned.kept.iter().map(|(path, why)| RetainedFile::new().path(path.clone()).reason(why.clone())).collect();
        app.print_json(&document)?;
    } else {
        let verb = if args.dry_run { "would remove" } else { "removed" };
        let mut out = String::new();
        for (path, why) in &pruned.removed {
            out.push_str(&format!("{verb} {} ({})\n", clean(path), clean(why)));
        }
        for (path, why) in &pruned.kept {
            out.push_str(&format!("kept {} ({})\n", clean(path), clean(why)));
        }
        if pruned.removed.is_empty() {
            out.push_str("nothing to remove\n");
        }
        app.print(&out)?;
    }
    Ok(if pruned.failed { Exit::FINDINGS } else { Exit::OK })
}
