//! `jig-session validate`: whether files are what they should be.

use std::io::Read;
use std::path::{Path, PathBuf};

use jig_session_atomic::{Reason, read_file};
use jig_session_schema::documents::{Finding, Validate, ValidatedFile};
use jig_session_schema::formats::Format;
use jig_session_schema::json;
use jig_session_schema::limits::LINE_BYTES;
use jig_session_schema::read::ReadError;

use super::schema::named;
use crate::app::App;
use crate::failure::{Exit, Outcome};
use jig_session_view::sanitise::clean;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The files; - is stdin
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// The format, such as status.v1; detected from the fields if omitted
    #[arg(long)]
    format: Option<String>,
    /// Also report what readers tolerate but writers must not produce
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let given = args.format.as_deref().map(named).transpose()?;
    let files: Vec<ValidatedFile> = args.files.iter().map(|path| validate(path, given, args.strict)).collect();
    let ok = files.iter().all(|file| file.ok);
    if app.json {
        app.print_json(&Validate::new().files(files))?;
    } else {
        app.print(&files.iter().map(text).collect::<String>())?;
    }
    Ok(if ok { Exit::OK } else { Exit::FINDINGS })
}

fn text(file: &ValidatedFile) -> String {
    let format = file.format.as_deref().unwrap_or("no known format");
    let word = if file.ok { "ok" } else { "invalid" };
    // Names and texts of a file are its writer's: control characters are replaced, not obeyed.
    let mut out = format!("{word}  {}  {format}\n", clean(&file.path));
    for finding in &file.problems {
        let place = if finding.pointer.is_empty() { "the document" } else { finding.pointer.as_str() };
        out.push_str(&format!("  {} {}\n", clean(place), clean(&finding.message)));
    }
    out
}

fn validate(path: &Path, given: Option<&'static Format>, strict: bool) -> ValidatedFile {
    let result = ValidatedFile::new().path(path.to_string_lossy().into_owned());
    let bytes = match content(path) {
        Ok(bytes) => bytes,
        Err(message) => return result.problems(vec![finding("", message)]),
    };
    let (format, problems) = judge(&bytes, given, strict);
    result.format(format.map(|format| format.name.to_owned())).ok(problems.is_empty()).problems(problems)
}

/// A document is bounded; a file of lines may be longer, so the bound here is a generous one.
const FILE_BYTES: usize = 64 << 20;

fn content(path: &Path) -> Result<Vec<u8>, String> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        return match std::io::stdin().lock().take(FILE_BYTES as u64 + 1).read_to_end(&mut bytes) {
            Ok(count) if count > FILE_BYTES => Err(format!("is larger than {FILE_BYTES} bytes")),
            Ok(_) => Ok(bytes),
            Err(error) => Err(format!("cannot be read: {error}")),
        };
    }
    read_file(path, FILE_BYTES).map(|read| read.bytes).map_err(|problem| match problem.reason {
        Reason::NotARegularFile => "is not a regular file".into(),
        Reason::TooLarge => format!("is larger than {FILE_BYTES} bytes"),
        _ => format!("cannot be read: {problem}"),
    })
}

/// The format of a file's bytes, and what is wrong with them.
fn judge(bytes: &[u8], given: Option<&'static Format>, strict: bool) -> (Option<&'static Format>, Vec<Finding>) {
    if given.is_some_and(|format| format.lines) {
        return (given, lines(bytes, given, strict));
    }
    match json::parse(bytes) {
        Ok(value) => match given.or_else(|| Format::of(&value)) {
            Some(format) => match format.fits(bytes) {
                Ok(()) => (Some(format), document(format, value, strict)),
                Err(error) => (Some(format), refused(&error)),
            },
            None => (None, vec![finding("", "is of no known format: give one with --format".into())]),
        },
        // More than one line, each an object: a file of lines.
        Err(error) => {
            let first = bytes.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
            let told = first.and_then(|line| json::parse(line).ok()).as_ref().and_then(Format::of);
            let format = given.or(told).filter(|format| format.lines);
            match format {
                Some(format) => (Some(format), lines(bytes, Some(format), strict)),
                None => (given, refused(&error)),
            }
        }
    }
}

fn lines(bytes: &[u8], format: Option<&'static Format>, strict: bool) -> Vec<Finding> {
    let mut out = Vec::new();
    for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let found = match json::parse(line) {
            _ if line.len() > LINE_BYTES => vec![finding("", format!("is longer than {LINE_BYTES} bytes"))],
            Ok(value) => format.map(|format| document(format, value, strict)).unwrap_or_default(),
            Err(error) => refused(&error),
        };
        out.extend(found.into_iter().map(|found| {
            let pointer =
                format!("line {}{}{}", index + 1, if found.pointer.is_empty() { "" } else { " " }, found.pointer);
            found.pointer(pointer)
        }));
    }
    out
}

fn document(format: &Format, value: serde_json::Value, strict: bool) -> Vec<Finding> {
    let written = if strict { format.as_written(value.clone()) } else { None };
    match format.check(value.clone()) {
        Ok(problems) if problems.is_empty() => {
            let Some(written) = written else { return Vec::new() };
            let mut found = differences(&value, &written, String::new());
            for problem in format.check_writer(value).unwrap_or_default() {
                if found.iter().all(|known| known.pointer != problem.pointer) {
                    found.push(finding(&problem.pointer, problem.message));
                }
            }
            found
        }
        Ok(problems) => problems.into_iter().map(|problem| finding(&problem.pointer, problem.message)).collect(),
        Err(error) => refused(&error),
    }
}

/// Where a document differs from what our own writer would make of it: what is left out, or spelled otherwise.
fn differences(found: &serde_json::Value, written: &serde_json::Value, at: String) -> Vec<Finding> {
    use serde_json::Value;
    match (found, written) {
        (Value::Object(found), Value::Object(written)) => {
            let mut out = Vec::new();
            for (key, value) in written {
                let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                match found.get(key) {
                    Some(inner) => out.extend(differences(inner, value, at)),
                    None => out.push(finding(&at, "is left out, a writer always writes it".into())),
                }
            }
            for key in found.keys().filter(|key| !written.contains_key(*key)) {
                out.push(finding(&format!("{at}/{key}"), "is written without a value, a writer leaves it out".into()));
            }
            out
        }
        (Value::Array(found), Value::Array(written)) => {
            let pairs = found.iter().zip(written).enumerate();
            pairs.flat_map(|(index, (found, written))| differences(found, written, format!("{at}/{index}"))).collect()
        }
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => Vec::new(),
        _ if found == written => Vec::new(),
        _ => vec![finding(&at, format!("is not as a writer spells it: {written}"))],
    }
}

fn refused(error: &ReadError) -> Vec<Finding> {
    match error {
        ReadError::Unparsable { problems, .. } if !problems.is_empty() => {
            problems.iter().map(|problem| finding(&problem.pointer, problem.message.clone())).collect()
        }
        ReadError::TooLarge { limit } => vec![finding("", format!("is larger than {limit} bytes"))],
        other => vec![finding("", other.to_string())],
    }
}

fn finding(pointer: &str, message: String) -> Finding {
    Finding::new().pointer(pointer.to_owned()).message(message)
}
