//! One session, opened: what it works on, what fills its context, what can be asked of it, and why it is shown as it is.

use jig_session_schema::status::{Answer, Status};
use jig_session_view::line::Line;
use jig_session_view::table::{Cell, Column, Style, Table};
use jig_session_view::{ages, context, rows};
use serde_json::Value;

use super::sessions::{background, band, gauge, state};
use super::{Body, fact, mark};
use crate::board::{Board, Section};
use crate::model::{Entry, Id, Opened};
use crate::requests::switches;

/// On a narrower screen the tokens of the whole session are left out.
const ROOMY: usize = 100;
/// Answers to requests that are shown.
const ANSWERS: usize = 6;

pub(super) fn body(
    board: &Board,
    id: &Id,
    section: Section,
    opened: Option<&Opened>,
    focus: usize,
    width: usize,
) -> Body {
    let Some(entry) = board.entry(id) else {
        return Body::text(super::bus::gone(&format!("session {} has ended", id.session)));
    };
    let mut head = summary(board, entry, opened, width);
    head.push(sections(section));
    head.push(Line::new());
    let nothing = |text: &str| vec![Line::of(format!(" {text}"), Style::Dim)];
    let Some(opened) = opened else {
        let text = if id.host.is_some() { "its file is on the other machine" } else { "looking …" };
        return Body { head, lines: nothing(text), focus: None, foot: Vec::new() };
    };
    let status = opened.status.as_deref();
    let (lines, focus) = match (section, status) {
        (Section::Evidence, _) => (opened.evidence.iter().map(|line| Line::plain(format!(" {line}"))).collect(), None),
        (_, None) => (nothing("its file tells no more than the list shows"), None),
        (Section::Work, Some(status)) => (work(board, entry, status, width), None),
        (Section::Context, Some(status)) => match &status.context_detail {
            Some(detail) => {
                let view = context::view(detail, width.saturating_sub(1));
                (view.into_iter().map(|line| line.indented(1)).collect(), None)
            }
            None => (nothing("what fills its context is not told"), None),
        },
        (Section::Requests, Some(status)) => requests(board, opened, status, focus),
    };
    Body { head, lines, focus, foot: band(board) }
}

/// Who it is and how it stands, in three lines.
fn summary(board: &Board, entry: &Entry, opened: Option<&Opened>, width: usize) -> Vec<Line> {
    let row = &entry.row;
    let (state, style) = state(entry);
    let age = board.age(rows::in_state_since(row));
    let since = if age.is_empty() { String::new() } else { format!(" for {age}") };
    let host = row.host.as_ref().map(|host| format!("@{host}  ")).unwrap_or_default();
    let mut first = Line::of(format!(" {}  ", rows::title(row)), Style::Bold);
    first = first.with(state, style).with(since, Style::Plain);
    let first = first.beside(Line::of(format!("{host}{}", row.session), Style::Dim), width);
    let status = opened.and_then(|opened| opened.status.as_deref());
    let version = row.agent.as_ref().and_then(|agent| agent.version.as_deref()).unwrap_or_default();
    let model = row.model.as_ref().map_or("", |model| model.name.as_deref().unwrap_or(&model.id));
    let thinking = status.and_then(|status| status.thinking.as_ref()).map(|level| format!(", thinking {level}"));
    let branch =
        opened.and_then(|opened| opened.branch.as_ref()).map(|branch| format!(" ({branch})")).unwrap_or_default();
    let second = joined(&[
        format!("{} {version}", row.agent_name()).trim_end().to_owned(),
        format!("{model}{}", thinking.unwrap_or_default()),
        format!("{}{branch}", rows::folder(&row.cwd, &board.home)),
    ]);
    let (bar, bar_style) = gauge(row.context.percent, width);
    let tokens = match (row.context.tokens, row.context.window) {
        (Some(tokens), Some(window)) => format!(" of {}, {} used", ages::tokens(window), ages::tokens(tokens)),
        _ => String::new(),
    };
    let usage = row.usage.as_ref();
    let count = |tokens: Option<u64>, word: &str| tokens.map(|tokens| format!("{word} {}", ages::tokens(tokens)));
    let used = [
        count(usage.and_then(|usage| usage.input), "in"),
        count(usage.and_then(|usage| usage.output), "out"),
        count(usage.and_then(|usage| usage.cache_read), "cached"),
    ];
    let background = background(entry);
    let used = if width < ROOMY { String::new() } else { used.into_iter().flatten().collect::<Vec<_>>().join(" ") };
    let third = joined(&[
        ages::dollars(usage.and_then(|usage| usage.cost)),
        if background.is_empty() { background } else { format!("{background} in the background") },
        row.terminal.clone().or_else(|| row.tmux_pane.clone()).unwrap_or_default(),
        Some(board.age(row.started_at)).filter(|age| !age.is_empty()).map_or(String::new(), |age| format!("{age} old")),
        used,
    ]);
    let mut last = Line::plain(" ").with(&bar, bar_style).with(tokens, Style::Plain);
    if !bar.is_empty() && !third.is_empty() {
        last.push("  ·  ", Style::Dim);
    }
    vec![first, Line::of(format!(" {second}"), Style::Plain), last.with(third, Style::Plain), Line::new()]
}

fn joined(parts: &[String]) -> String {
    parts.iter().filter(|part| !part.trim().is_empty()).map(String::as_str).collect::<Vec<_>>().join("  ·  ")
}

fn sections(shown: Section) -> Line {
    Section::ALL.iter().fold(Line::plain(" "), |line, (section, name)| {
        if *section == shown {
            line.with(format!("[{name}]"), Style::Bold)
        } else {
            line.with(format!(" {name} "), Style::Dim)
        }
    })
}

fn work(board: &Board, entry: &Entry, status: &Status, width: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    if let Some(attention) = entry.row.attention.as_ref().filter(|_| entry.waits()) {
        let waits = format!("{} for {}", attention.reason, board.age(attention.since));
        lines.push(fact("waits", "").with(waits, Style::Red));
    }
    if let Some(ticket) = &status.ticket {
        let title = ticket.title.as_deref().unwrap_or_default();
        lines.push(fact("ticket", &ticket.key).with(format!("  {title}"), Style::Bold));
        lines.extend(ticket.url.as_ref().map(|url| fact("", url)));
    }
    if let Some(workflow) = &status.workflow {
        let mut line = fact("workflow", "");
        for (place, stage) in workflow.stages.iter().enumerate() {
            if place > 0 {
                line.push(" › ", Style::Dim);
            }
            // Brackets say the same without colour.
            if workflow.current.as_ref() == Some(stage) {
                line.push(format!("[{stage}]"), Style::Green);
            } else {
                line.push(stage, Style::Plain);
            }
        }
        if workflow.stages.is_empty() {
            line.push(workflow.current.as_deref().or(workflow.name.as_deref()).unwrap_or_default(), Style::Plain);
        }
        lines.push(line);
        lines.extend(workflow.since.as_ref().map(|since| fact("", format!("in that stage since {since}"))));
        lines.extend(workflow.problem.as_ref().map(|problem| fact("", "").with(problem, Style::Yellow)));
        lines.extend(workflow.prs.iter().map(|pr| fact("PR", pull_request(pr))));
    }
    lines.extend(status.progress.map(|percent| fact("progress", format!("{percent}%"))));
    lines.extend(on_bus(board, entry));
    for child in &status.children {
        let kind = child.kind.as_ref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        lines.push(fact("subagent", format!("{}  {}{kind}", &*child.id, child.state)));
    }
    for table in [outputs(board, status), calls(board, status)].into_iter().filter(|table| !table.is_empty()) {
        if !lines.is_empty() {
            lines.push(Line::new());
        }
        lines.extend(table.lines(Some(width.saturating_sub(1))).into_iter().map(|line| line.indented(1)));
    }
    if lines.is_empty() {
        lines.push(Line::of(" nothing was done yet", Style::Dim));
    }
    lines
}

/// A pull request, as the workflow's file names it: a text, a number, or an object with one of the usual keys.
fn pull_request(pr: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(format!("#{number}")),
        _ => None,
    };
    let of = |names: &[&str]| names.iter().find_map(|name| text(pr.get(*name)?));
    text(pr).unwrap_or_else(|| {
        let parts = [of(&["number", "id", "key"]), of(&["title", "name"]), of(&["url", "link"])];
        parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
    })
}

fn on_bus(board: &Board, entry: &Entry) -> Vec<Line> {
    let status = &board.bus.status;
    let Some(member) = status.members.iter().find(|member| member.id == entry.row.session) else { return Vec::new() };
    let held: Vec<&str> = status.claims.iter().filter(|claim| claim.session == member.id).map(|c| &*c.path).collect();
    let unread = if member.unread > 0 { format!(", {} unread", member.unread) } else { String::new() };
    let held = if held.is_empty() { String::new() } else { format!(", holds {}", held.join(", ")) };
    vec![fact("bus", format!("{}{unread}{held}", member.label))]
}

fn outputs(board: &Board, status: &Status) -> Table {
    let mut table = Table::new(&[
        Column::new("OUTPUT", 12, 0),
        Column::new("ACTION", 6, 2),
        Column::new("AGO", 3, 1).right(),
        Column::new("REPOSITORY", 6, 3),
    ]);
    for output in &status.outputs {
        let repo = output.repo.as_deref();
        let path = repo.and_then(|repo| output.path.strip_prefix(repo)?.strip_prefix('/')).map(str::to_owned);
        table.push(vec![
            Cell::path(path.unwrap_or_else(|| rows::folder(&output.path, &board.home))),
            Cell::new(&*output.action),
            Cell::new(board.age(output.at)),
            Cell::path(repo.map(|repo| rows::folder(repo, &board.home)).unwrap_or_default()).style(Style::Dim),
        ]);
    }
    table
}

fn calls(board: &Board, status: &Status) -> Table {
    let mut table = Table::new(&[
        Column::new("CALL", 8, 0),
        Column::new("ACTION", 6, 3),
        Column::new("DECISION", 5, 2),
        Column::new("OUTCOME", 6, 0),
        Column::new("AGO", 3, 1).right(),
    ]);
    for call in &status.recent {
        let decision = call.decision.map(|decision| decision.to_string()).unwrap_or_default();
        let answer = call.answer.as_ref().map(|answer| format!(": {answer}")).unwrap_or_default();
        let style = match call.outcome.as_str() {
            "running" => Style::Green,
            "error" | "denied" => Style::Red,
            "aborted" => Style::Yellow,
            _ => Style::Plain,
        };
        table.push(vec![
            Cell::new(&*call.tool).style(Style::Bold),
            Cell::new(call.action.as_deref().unwrap_or_default()),
            Cell::new(format!("{decision}{answer}")),
            Cell::new(call.outcome.as_str()).style(style),
            Cell::new(board.age(call.at)),
        ]);
    }
    table
}

fn requests(board: &Board, opened: &Opened, status: &Status, focus: usize) -> (Vec<Line>, Option<usize>) {
    let takes = match &status.accepts {
        None => "it does not tell what it takes".to_owned(),
        Some(accepts) if accepts.is_empty() => "it takes no requests".to_owned(),
        Some(accepts) => {
            let words: Vec<&str> = accepts.iter().map(|accept| &**accept).collect();
            format!("it takes: {}", words.join(", "))
        }
    };
    let mut lines = vec![Line::of(format!(" {takes}"), Style::Dim)];
    let last = status.last_request.iter().chain(&status.recent_requests);
    let mut answers: Vec<&Answer> = Vec::new();
    for answer in last {
        if !answers.iter().any(|shown| shown.id == answer.id) && answers.len() < ANSWERS {
            answers.push(answer);
        }
    }
    for answer in answers {
        let reload = answer.reload.map(|reload| format!(", reload {reload}")).unwrap_or_default();
        let style = if answer.ok { Style::Green } else { Style::Red };
        let word = if answer.ok { "done" } else { "not done" };
        let line = Line::of(format!(" {:>4} ago  ", board.age(answer.at)), Style::Dim);
        lines.push(line.with(word, style).with(format!("  {}{reload}", answer.message), Style::Plain));
    }
    lines.push(Line::new());
    let switches = switches(opened);
    if switches.is_empty() {
        lines.push(Line::of(" its tools and skills are not told", Style::Dim));
        return (lines, None);
    }
    let mut focused = 0;
    let mut skills = false;
    for (place, switch) in switches.iter().enumerate() {
        if place == 0 || switch.is_skill != skills {
            skills = switch.is_skill;
            lines.push(Line::of(if skills { " skills" } else { " tools" }, Style::Bold));
        }
        if place == focus {
            focused = if place == 0 { 0 } else { lines.len() };
        }
        let (sign, style) = if switch.on { ("[on ]", Style::Green) } else { ("[off]", Style::Dim) };
        let line = Line::of(sign, style).with(format!(" {}", switch.name), Style::Plain);
        lines.push(mark(line.with(format!("  {}", switch.source), Style::Dim), place == focus));
    }
    (lines, Some(focused))
}
