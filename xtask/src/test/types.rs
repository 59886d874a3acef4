//! Types for other languages: the generators that docs/readers.md names make them of our schemas, and a small reader
//! that uses them passes the strict checks of its language.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context;

use super::{Tally, missing};
use crate::run::{root, run, target};
use crate::tools::{NODE, PYTHON, npm, python_venv};

/// The formats that the readers use.
const FORMATS: [&str; 4] = ["status", "watch", "event", "bridge"];

pub(crate) fn check() -> anyhow::Result<Tally> {
    let mut found = Tally::default();
    let place = target().join("types");
    let readers = root().join("tests/readers/types");
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    for name in ["reader.ts", "reader.py", "reader.go"] {
        fs::copy(readers.join(name), place.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    match npm(NODE) {
        Ok(modules) => node(&modules.join(".bin"), &place, &mut found)?,
        Err(error) => missing(&mut found, format!("the generators from npm: {error:#}")),
    }
    match python_venv("py", PYTHON) {
        Ok(python) => {
            let programs = python.parent().context("a program lies in a folder")?;
            python_types(programs, &place, &mut found)?;
            go(programs, &place, &mut found)?;
        }
        Err(error) => missing(&mut found, format!("the generators from PyPI: {error:#}")),
    }
    Ok(found)
}

fn schema(format: &str) -> String {
    root().join(format!("schemas/writer/{format}.v1.schema.json")).to_string_lossy().into_owned()
}

fn node(programs: &Path, place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    for format in FORMATS {
        let output = format!("{format}.d.ts");
        passes(Command::new(programs.join("json2ts")).args(["-i", &schema(format), "-o", &output]), place, found)?;
    }
    let strict = ["--strict", "--noEmit", "--target", "es2022", "reader.ts"];
    passes(Command::new(programs.join("tsc")).args(strict), place, found)?;
    let args = ["--lang", "go", "--src-lang", "schema", "--top-level", "WatchLine", "-o", "watch.go"];
    passes(Command::new(programs.join("quicktype")).args(args).arg(schema("watch")), place, found)
}

fn python_types(programs: &Path, place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    let mut generate = Command::new(programs.join("datamodel-codegen"));
    generate.args(["--input-file-type", "jsonschema", "--output-model-type", "typing.TypedDict"]);
    generate.args(["--target-python-version", "3.11", "--output", "watch.py", "--input", &schema("watch")]);
    passes(&mut generate, place, found)?;
    passes(Command::new(programs.join("mypy")).args(["--strict", "reader.py"]), place, found)
}

fn go(programs: &Path, place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    let mut build = Command::new(programs.join("go"));
    build.args(["build", "-o", "reader", "reader.go", "watch.go"]);
    build.env("GOCACHE", place.join("go-cache")).env("GOFLAGS", "-mod=mod").env("GOTOOLCHAIN", "local");
    passes(&mut build, place, found)?;
    let lines = root().join("schemas/examples/watch/v1/valid");
    // Every example is a line that the generated types read.
    for entry in fs::read_dir(&lines).with_context(|| format!("cannot list {}", lines.display()))? {
        let text = fs::read_to_string(entry?.path())?.split_whitespace().collect::<Vec<_>>().join(" ");
        fs::write(place.join("line"), format!("{text}\n"))?;
        let mut reader = Command::new("sh");
        reader.args(["-c", "./reader < line"]);
        passes(&mut reader, place, found)?;
    }
    Ok(())
}

/// One command that must end well.
fn passes(command: &mut Command, place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    let ran = run(command.current_dir(place), |_| false)?;
    let name = format!("{:?}", command.get_program());
    found.check(ran.status.success(), format!("{name} {:?}: {}", command.get_args().next(), ran.lines.join(" | ")));
    Ok(())
}
