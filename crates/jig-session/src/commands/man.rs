//! `jig-session man`: the manual page of each command, with its documents and exit codes.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use jig_session_schema::formats::Format;

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};
use crate::manual::{self, Page};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The command, such as bus join; the program itself when left out
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, app: &App, command: Command) -> Outcome {
    let command = manual::documented(command);
    match &args.out {
        Some(folder) => write_all(folder, &command, "")?,
        None => {
            let path = args.command.join(" ");
            let found = args.command.iter().try_fold(&command, |command, word| command.find_subcommand(word));
            let found = found.ok_or_else(|| {
                let failure = Failure::new(Code::NotFound, format!("no command {path:?}"));
                failure.hint("jig-session --help lists the commands")
            })?;
            app.print(&page(found, &path).map_err(|error| Failure::new(Code::Io, error.to_string()))?)?;
        }
    }
    Ok(Exit::OK)
}

fn write_all(folder: &Path, command: &Command, path: &str) -> Result<(), Failure> {
    let file = folder.join(format!("{}.1", title(path)));
    let written = page(command, path).and_then(|text| std::fs::write(&file, text));
    written.map_err(|error| {
        let failure = Failure::new(Code::Io, format!("cannot write {}: {error}", file.display()));
        failure.path(&file).errno(error.raw_os_error())
    })?;
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let below = if path.is_empty() { sub.get_name().to_owned() } else { format!("{path} {}", sub.get_name()) };
        write_all(folder, sub, &below)?;
    }
    Ok(())
}

/// The page's name: `jig-session-bus-join`.
fn title(path: &str) -> String {
    let words = path.split(' ').filter(|word| !word.is_empty());
    words.fold("jig-session".to_owned(), |title, word| format!("{title}-{word}"))
}

fn page(command: &Command, path: &str) -> std::io::Result<String> {
    // A page names the command as it is typed.
    let typed = if path.is_empty() { "jig-session".to_owned() } else { format!("jig-session {path}") };
    let examples = command.get_after_help().map(ToString::to_string);
    let shown = command.clone().after_help("").display_name(title(path)).bin_name(typed);
    let man = Man::new(shown).title(title(path)).section("1");
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.get_subcommands().next().is_some() {
        man.render_subcommands_section(&mut out)?;
    }
    let mut rest = Roff::new();
    if let Some(page) = manual::page(path) {
        documents(&mut rest, page);
        rest.control("SH", ["EXIT STATUS"]);
        for (code, what) in manual::exits(page) {
            rest.control("TP", []);
            rest.text([bold(code.to_string())]);
            rest.text([roman(what)]);
        }
    }
    if let Some(examples) = examples {
        rest.control("SH", ["EXAMPLES"]);
        rest.control("nf", []);
        for line in examples.lines().filter(|line| *line != "Examples:") {
            rest.text([roman(line.trim_start())]);
        }
        rest.control("fi", []);
    }
    rest.to_writer(&mut out)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn documents(roff: &mut Roff, page: &Page) {
    for format in page.formats.iter().filter_map(|name| Format::named(name)) {
        roff.control("SH", ["JSON"]);
        let about = if format.lines { "one object a line" } else { "one document" };
        roff.text([roman(format!("With --json: {about} of the format ")), bold(format.name), roman(".")]);
        for (name, what) in manual::fields(format) {
            roff.control("TP", []);
            roff.text([bold(name)]);
            roff.text([roman(what)]);
        }
        roff.control("PP", []);
        roff.text([roman(format!("All of it: jig-session schema {}", format.name))]);
    }
}
