//! `jig-session live`: tmux panes and what their programs do, the contract of `sessions live --json`.

mod alias;
mod explain;
pub(crate) mod join;
pub(crate) mod options;
mod table;
pub(crate) mod terminals;

use std::collections::HashMap;
use std::time::Duration;

use jig_session_panes::observe;
use jig_session_panes::pane::Pane;
use jig_session_schema::live::LiveRow;
use jig_session_schema::row::Problem;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::on::{On, OnArgs};
use jig_session_view::sanitise;
pub(crate) use table::style;

use options::{Selection, Tmux, positive_seconds};

#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Sub>,
    #[command(flatten)]
    list: List,
    #[command(flatten)]
    on: OnArgs,
}

#[derive(clap::Subcommand, Debug)]
#[command(defer = true)]
enum Sub {
    /// Classify a captured screen from stdin and name the rule that decided
    Explain(explain::Args),
    /// Link this program as `sessions` into a folder
    Alias(alias::Args),
}

#[derive(clap::Args, Debug)]
pub(crate) struct List {
    /// Repeat every --interval seconds; with --json one list per line
    #[arg(long)]
    watch: bool,
    /// Seconds between two lists of --watch
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = positive_seconds)]
    interval: Duration,
    /// Print once, even with --watch
    #[arg(long)]
    once: bool,
    /// Print one row per target: a pane of grouped sessions or linked windows appears under each
    #[arg(long)]
    all_targets: bool,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    tmux: Tmux,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    match &args.command {
        Some(Sub::Explain(args)) => explain::run(args, app),
        Some(Sub::Alias(args)) => alias::run(args, app),
        None => list_on(&args.list, app, args.on.open(app)?.as_ref()),
    }
}

/// Lists once, or again and again.
pub(crate) fn list(args: &List, app: &App) -> Outcome {
    list_on(args, app, None)
}

/// The same with the panes of other machines. One that gives none is a line on stderr and the exit code 1: the list
/// itself has no place for it.
fn list_on(args: &List, app: &App, on: Option<&On>) -> Outcome {
    if args.watch && !args.once {
        app.end_with_reader();
    }
    loop {
        let mut rows = rows(args, app)?;
        let mut exit = Exit::OK;
        if let Some(on) = on {
            let problems = theirs(args, on, &mut rows);
            let lines = crate::on::lines(&problems);
            if !lines.is_empty() {
                app.note(lines.trim_end());
                exit = Exit::FINDINGS;
            }
        }
        let watch = args.watch && !args.once;
        match (app.json, watch) {
            (true, true) => app.print_json(&rows)?,
            (true, false) => print_pretty(app, &rows)?,
            (false, _) => app.print(&table::text(app, &rows))?,
        }
        if !watch {
            return Ok(exit);
        }
        std::thread::sleep(args.interval);
        if !app.json {
            app.print("\n")?;
        }
    }
}

/// The panes of this terminal's server, and the rule that decided on each, by its id.
pub(crate) fn observed(app: &App) -> Result<(Vec<LiveRow>, HashMap<String, String>), Failure> {
    let setting = options::setting(app, &Tmux::default(), false);
    let mut panes = observe::observe(&setting, &terminals::ThisMachine, |_, _| true).map_err(options::failure)?;
    // Without the status files the screens are still there to be read.
    let _ = join::join(app, &mut panes);
    panes.sort_by(observe::by_status);
    let rules = panes.iter().map(|pane| (pane.facts.pane_id.clone(), pane.classification.rule.to_owned()));
    Ok((panes.iter().map(|pane| pane.live_row(&setting.machine)).collect(), rules.collect()))
}

/// Adds the panes of other machines, each under the name by which its machine was asked.
fn theirs(args: &List, on: &On, rows: &mut Vec<LiveRow>) -> Vec<Problem> {
    let mut words = vec!["live", "--json"];
    words.extend(args.all_targets.then_some("--all-targets"));
    words.extend(args.selection.words());
    let mut problems = Vec::new();
    for (host, answer) in on.ask(&words) {
        let unreadable = |why: String| crate::on::unreadable(host, "", &why);
        let read = answer.map_err(|none| none.problem).and_then(|bytes| {
            serde_json::from_slice::<Vec<LiveRow>>(&bytes).map_err(|error| unreadable(error.to_string()))
        });
        match read {
            Ok(read) => rows.extend(read.into_iter().map(|row| row.machine(host.name().to_owned()))),
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

fn rows(args: &List, app: &App) -> Result<Vec<LiveRow>, Failure> {
    let setting = options::setting(app, &args.tmux, args.all_targets);
    let filter = args.selection.filter()?;
    let mut panes = observe::observe(&setting, &terminals::ThisMachine, |facts, project| {
        filter.matches_listed(&setting.projects, facts, project)
    })
    .map_err(options::failure)?;
    if let Err(failure) = join::join(app, &mut panes) {
        // The screens are still there to be read; what acts on panes is stricter.
        app.note(&format!("warning: status files are left out: {}", failure.message));
    }
    panes.retain(|pane| filter.matches_classified(&setting.machine, pane.classification.status));
    panes.sort_by(observe::by_status);
    Ok(panes.iter().map(|pane: &Pane| pane.live_row(&setting.machine)).collect())
}

/// One document, indented by two: what readers of this contract have always got.
pub(crate) fn print_pretty(app: &App, document: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(document)
        .map_err(|error| Failure::new(Code::Io, format!("cannot write the document: {error}")))?;
    text.push('\n');
    app.print(&sanitise::escape_json(&text))
}
