//! `jig-session live explain`: what one captured screen is taken for, for bug reports and for tests.

use std::io::Read;

use jig_session_panes::classify::{Cursor, PaneObservation, classify};
use jig_session_panes::text;
use jig_session_schema::live::LiveExplain;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

/// No screen is larger.
const MOST: u64 = 1024 * 1024;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The pane's foreground command, as tmux prints #{pane_current_command}
    #[arg(long, value_name = "COMMAND", default_value = "")]
    command: String,
    /// The pane's title
    #[arg(long, value_name = "TITLE", default_value = "")]
    title: String,
    /// A full-screen program draws: #{alternate_on} is 1
    #[arg(long)]
    alternate: bool,
    /// The pane is dead: #{pane_dead} is 1
    #[arg(long)]
    dead: bool,
    /// Where the cursor stands, from 0,0: #{cursor_x},#{cursor_y}
    #[arg(long, value_name = "COL,ROW", value_parser = cursor)]
    cursor: Option<Cursor>,
    /// How many child processes the pane's shell has
    #[arg(long, value_name = "N")]
    shell_children: Option<usize>,
    /// The pane's width in columns; copied into the report
    #[arg(long, value_name = "COLUMNS")]
    width: Option<u32>,
    /// The pane's height in rows: of longer text only the lowest rows are looked at
    #[arg(long, value_name = "ROWS")]
    height: Option<u32>,
}

pub(super) fn run(args: &Args, app: &App) -> Outcome {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(MOST)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::new(Code::Io, format!("cannot read stdin: {error}")).errno(error.raw_os_error()))?;
    let screen = String::from_utf8_lossy(&bytes);
    let cut = args.height.map_or(&*screen, |height| lowest(&screen, height as usize));
    let above = screen[..screen.len() - cut.len()].matches('\n').count();
    let cursor = args.cursor.map(|cursor| Cursor { row: cursor.row.saturating_sub(above), ..cursor });
    let screen = cut;
    let pane = PaneObservation {
        command: &args.command,
        title: &args.title,
        dead: args.dead,
        alternate: args.alternate,
        cursor,
        shell_children: args.shell_children,
        processes: None,
        text: screen,
    };
    let found = classify(&pane);
    if app.json {
        let document = LiveExplain::new()
            .status(found.status)
            .reason(found.reason.to_owned())
            .agent(found.agent.map(|agent| agent.to_string()))
            .rule(found.rule.to_owned())
            .source(found.source)
            .composer(found.composer)
            .last_visible_line(text::last_line(screen))
            .width(args.width.map(u64::from))
            .height(args.height.map(u64::from));
        app.print_json(&document)?;
    } else {
        app.print(&format!(
            "status    {}\nreason    {}\nagent     {}\nrule      {}\nsource    {}\n",
            found.status,
            found.reason,
            found.agent.unwrap_or("none"),
            found.rule,
            found.source,
        ))?;
    }
    Ok(Exit::OK)
}

/// Reads `COL,ROW`.
fn cursor(text: &str) -> Result<Cursor, String> {
    let number = |text: &str| text.trim().parse::<usize>().ok();
    let place = text.split_once(',').and_then(|(column, row)| number(column).zip(number(row)));
    place
        .map(|(column, row)| Cursor { column, row })
        .ok_or_else(|| "must be a column and a row from 0, such as 10,23".to_owned())
}

/// The last `height` lines.
fn lowest(text: &str, height: usize) -> &str {
    let body = text.strip_suffix('\n').unwrap_or(text);
    match body.rmatch_indices('\n').nth(height.saturating_sub(1)) {
        Some((at, _)) if height > 0 => &text[at + 1..],
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::lowest;

    #[test]
    fn only_the_lowest_rows_are_kept() {
        assert_eq!(lowest("a\nb\nc\n", 2), "b\nc\n");
        assert_eq!(lowest("a\nb\nc", 1), "c");
        assert_eq!(lowest("a\nb\n", 5), "a\nb\n");
    }
}
