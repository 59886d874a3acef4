//! `jig-session explain`: why a session's verdict and state are what they are.

use jig_session_liveness::{Evidence, Machine, Probe, Processes, verdict};
use jig_session_schema::documents::{Explain, Identity, ObservedIdentity, RecordedIdentity, StateEvidence, StateProof};
use jig_session_schema::row::{Row, Source};
use jig_session_schema::status::{Process, StateFrom, Status};
use jig_session_schema::time::Timestamp;
use jig_session_store::Session;

use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::view::View;
use crate::{select, view};
use jig_session_view::sanitise::clean;
use jig_session_view::{ages, rows};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[arg(help = select::ARGUMENT, add = select::completer())]
    session: String,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    view::note_ignored(app);
    let view = view::load(app)?;
    let session = select::pick(app, &view, &args.session)?;
    let explain = explain(session, &view);
    if app.json {
        app.print_json(&explain)?;
    } else {
        app.print(&text(&explain))?;
    }
    Ok(Exit::OK)
}

/// The same as lines.
pub(crate) fn lines(session: &Session, view: &View) -> Vec<String> {
    text(&explain(session, view)).lines().map(str::to_owned).collect()
}

fn explain(session: &Session, view: &View) -> Explain {
    let machine = Machine::new();
    let record = session.record();
    let evidence = machine.evidence(&record);
    let judged = verdict(&record, &evidence);
    let recorded = RecordedIdentity::new().pid(session.row.pid).process(session.process.clone());
    let mut identity = Identity::new();
    identity.recorded = recorded;
    identity.observed = observed(&evidence, &machine);
    identity.rule = judged.rule.to_string();
    // The row is corrected by the agent's own record already; the file has what the last hook said.
    let shown = state_of(&session.row);
    let mut state = StateProof::new();
    state.chosen = shown.from.clone();
    let written = view::status(&session.row).map(|status| {
        let mut row = session.row.clone();
        (row.state, row.attention) = (status.state, status.attention);
        (row.state_from, row.state_at) = (status.state_from, status.state_at);
        state_of(&row)
    });
    match written {
        Some(written) if written != shown => {
            state.written = written;
            state.evidence = vec![shown];
        }
        _ => state.written = shown,
    }
    let mut explain = Explain::new().session(session.row.clone()).identity(identity).state(state);
    explain.at = view.at;
    explain.notes = notes(session, view, &evidence);
    explain
}

/// What the system shows; null where it shows nothing.
fn observed(evidence: &Evidence<'_>, machine: &Machine) -> ObservedIdentity {
    let mut observed = ObservedIdentity::new();
    match &evidence.probe {
        Probe::NotMade | Probe::Failed(_) => {}
        Probe::Missing => observed.exists = Some(false),
        Probe::Exists { state, start, .. } => {
            observed.exists = Some(true);
            observed.process_state = state.map(|state| state.word().to_owned());
            observed.process = start.clone().map(|start| machine.identity(start));
        }
    }
    observed
}

/// The state that a row has.
fn state_of(row: &Row) -> StateEvidence {
    let mut written = StateEvidence::new();
    written.from = row.state_from.clone();
    written.at = row.state_at;
    written.state = Some(row.state);
    written.attention = row.attention.clone();
    written
}

fn notes(session: &Session, view: &View, evidence: &Evidence<'_>) -> Vec<String> {
    let row = &session.row;
    let mut notes = Vec::new();
    if let Probe::Exists { started_ms: Some(began), .. } = evidence.probe
        && let Some(started) = row.started_at
        && started.epoch_ms() - began > 60_000
    {
        let began = Timestamp::from_epoch_ms(began);
        notes.push(format!("the process is {} older than the session in it", ages::since(Some(began), started)));
    }
    if let Probe::Failed(errno) = evidence.probe {
        let why = errno.map_or("the system's answer has no sense".to_owned(), |errno| {
            std::io::Error::from_raw_os_error(errno).to_string()
        });
        notes.push(format!("the process could not be looked at: {why}"));
    }
    if row.updated_at.is_some_and(|at| at.since_ms(view.at) > 60_000) {
        notes.push("the file was written in the future: the clock was set, or is another machine's".to_owned());
    }
    if session.exited && !row.verdict.is_over() {
        notes.push("the card says that the session ended; its process went on to another one".to_owned());
    }
    if row.source == Source::Jig
        && let Some(Ok(read)) = view::document(row).ok().map(|document| Status::read_value(document.into()))
    {
        notes.extend(read.problems.iter().map(|field| format!("the field {field} and is taken as unknown")));
    }
    if row.state_from == Some(StateFrom::PROCESS) {
        notes.push(
            "nothing tells its state: the program reports none, and no hook or record has named its session".into(),
        );
    }
    if !view.listed(false).any(|listed| listed.row.session == row.session) {
        notes.push("it is listed with --all only".to_owned());
    }
    notes
}

fn text(explain: &Explain) -> String {
    let row = &explain.session;
    let identity = &explain.identity;
    let detail = row.detail.as_ref().map_or(String::new(), |detail| format!(" ({detail})"));
    let pid = identity.recorded.pid.map_or("no pid".to_owned(), |pid| format!("pid {pid}"));
    let exists = match identity.observed.exists {
        Some(true) => identity.observed.process_state.as_deref().unwrap_or("there, hidden"),
        Some(false) => "no such process",
        None => "nothing seen",
    };
    let start =
        |process: Option<&Process>| process.and_then(|process| process.start.clone()).unwrap_or_else(|| "none".into());
    let written = &explain.state.written;
    let from = written.from.as_ref().map_or("the file", |from| from.as_str());
    let at = written.at.map_or(String::new(), |at| format!(" at {at}"));
    let mut lines = vec![
        format!("session    {}", row.session),
        format!("verdict    {}{detail}", row.verdict),
        format!("rule       {}", identity.rule),
        format!("recorded   {pid}, start {}", start(identity.recorded.process.as_ref())),
        format!("observed   {exists}, start {}", start(identity.observed.process.as_ref())),
        format!("state      {}, from {from}{at}", rows::state(row).0),
        format!("file       {}", row.path),
    ];
    lines.extend(explain.notes.iter().map(|note| format!("note       {note}")));
    lines.iter().map(|line| clean(line).into_owned() + "\n").collect()
}
