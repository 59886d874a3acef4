//! What every command's help and page say beyond its options: examples, documents, exit codes.
//!
//! The table is read where a person asks for it: a run that does its work never does.

use std::sync::LazyLock;

use clap::Command;
use jig_session_schema::formats::Format;
use jig_session_schema::shape::Side;
use serde_json::Value;

/// What is said of one command.
#[derive(Default)]
pub(crate) struct Page {
    /// Its words, without the program's name; empty for the program itself.
    pub(crate) path: &'static str,
    /// Lines to type, and what they do.
    pub(crate) examples: Vec<(&'static str, &'static str)>,
    /// The formats of what it prints with `--json`.
    pub(crate) formats: Vec<&'static str>,
    /// Exit codes besides the usual ones, or in their place.
    pub(crate) exits: Vec<(u8, &'static str)>,
}

/// Every command, in the order of the help.
pub(crate) static PAGES: LazyLock<Vec<Page>> = LazyLock::new(|| read(include_str!("pages.txt")));

/// The blocks of the table. A line of no known form says nothing; a test finds it.
fn read(text: &'static str) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("# jig-session") {
            pages.push(Page { path: command.trim(), ..Page::default() });
        }
        let Some(page) = pages.last_mut() else { continue };
        match line.split_once(' ') {
            Some(("json", format)) => page.formats.push(format),
            Some(("exit", rest)) => {
                let exit = rest.split_once(' ').and_then(|(code, what)| Some((code.parse().ok()?, what)));
                page.exits.extend(exit);
            }
            Some(("$", rest)) => page.examples.extend(rest.rsplit_once("  # ")),
            _ => {}
        }
    }
    pages
}

/// What a command's exit codes are if its page says nothing else.
const EXITS: [(u8, &str); 3] = [(0, "done"), (1, "it failed; stderr says why"), (2, "wrong usage")];

/// The page of a command, by its words without the program's name.
pub(crate) fn page(path: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.path == path)
}

/// The whole command line with examples in the help of each command.
pub(crate) fn documented(command: Command) -> Command {
    let mut command = command;
    // Commands are built when they are called: here all of them are.
    command.build();
    with_examples(command, "")
}

fn with_examples(mut command: Command, path: &str) -> Command {
    if let Some(page) = page(path) {
        let before = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
        command = command.after_help(before + &examples(page));
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names.iter().filter(|name| *name != "help") {
        let path = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(name, |sub| with_examples(sub, &path));
    }
    command
}

fn examples(page: &Page) -> String {
    let widest = page.examples.iter().map(|(line, _)| line.chars().count()).filter(|width| *width <= 46).max();
    let widest = widest.unwrap_or_default();
    let lines = page.examples.iter().map(|(line, what)| format!("  {line:widest$}  # {what}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// A command's exit codes, in their order.
pub(crate) fn exits(page: &Page) -> Vec<(u8, &'static str)> {
    let of_its_own = |code: u8| page.exits.iter().any(|(own, _)| *own == code);
    let mut all: Vec<_> = EXITS.into_iter().filter(|(code, _)| !of_its_own(*code)).collect();
    all.extend(&page.exits);
    all.sort_unstable();
    all
}

/// The fields of a document at its first level, and what they hold; none for a format of lines.
pub(crate) fn fields(format: &Format) -> Vec<(String, String)> {
    let schema = format.schema(Side::Reader);
    let properties = schema.get("properties").and_then(Value::as_object);
    let text = |field: &Value| field.get("description").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
    properties.into_iter().flatten().map(|(name, field)| (name.clone(), text(field))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_understood() {
        let text = include_str!("pages.txt");
        let lines = text.lines().skip_while(|line| !line.starts_with('#')).filter(|line| !line.is_empty()).count();
        let said = |page: &Page| 1 + page.formats.len() + page.exits.len() + page.examples.len();
        assert_eq!(PAGES.iter().map(said).sum::<usize>(), lines);
    }
}
