//! `cargo xtask page [--check]`: the page of the fleet, one file, made of its TypeScript, of types of our schemas and of
//! MQTT.js; and its tests in a headless Chromium against a real broker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::e2e::{fleet_program, install};
use crate::run::{in_ci, root, run, say, target, variable};
use crate::test::packages::apt_install;
use crate::test::{Tally, missing, whole};
use crate::tools::{NODE, PYTHON, done, npm, python_venv};

/// Where the page's sources lie.
const SOURCES: &str = "crates/jig-session-fleet/page";
/// The page, below its sources.
const PAGE: &str = "dist/index.html";
/// The formats that the page reads.
const FORMATS: [&str; 2] = ["fleet", "fleet-machine"];
/// Names of Chromium, the first that is there is taken.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Writes the page, or with `--check` says whether it is what its sources give, or with `--pictures` tries it and draws
/// what the documentation shows of it.
pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    let check = match args {
        [] => false,
        [flag] if flag == "--check" => true,
        [flag] if flag == "--pictures" => {
            let found = suite(Some(&root().join("docs/pictures")))?;
            found.failed.iter().for_each(|line| say(line));
            return Ok(if found.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        _ => anyhow::bail!("unknown arguments {args:?}; known: --check, --pictures"),
    };
    let made = made()?;
    let file = root().join(SOURCES).join(PAGE);
    if fs::read_to_string(&file).is_ok_and(|found| found == made) {
        say(&format!("page: {} bytes, as its sources give it", made.len()));
    } else if check {
        say(&format!("stale: {SOURCES}/{PAGE}"));
        say("mend it with: cargo xtask page");
        return Ok(ExitCode::FAILURE);
    } else {
        fs::write(&file, made).with_context(|| format!("cannot write {}", file.display()))?;
        say(&format!("written: {SOURCES}/{PAGE}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The folder that the page is made in, with its packages.
fn workshop() -> anyhow::Result<PathBuf> {
    // Packages for other systems stand in the lock file, and a registry may not have them: no `npm ci`.
    install("the page's packages", &root().join(SOURCES), &target().join("page"), "install")
}

/// The page as its sources give it: typed against the schemas, bundled, in one file.
fn made() -> anyhow::Result<String> {
    let place = workshop()?;
    let tools = npm(NODE)?.join(".bin");
    let sources = place.join("src");
    if sources.exists() {
        fs::remove_dir_all(&sources).with_context(|| format!("cannot empty {}", sources.display()))?;
    }
    fs::create_dir_all(&sources).with_context(|| format!("cannot make {}", sources.display()))?;
    let from = root().join(SOURCES);
    for entry in fs::read_dir(from.join("src")).context("the page has no sources")? {
        let entry = entry?;
        fs::copy(entry.path(), sources.join(entry.file_name())).context("cannot copy the page's sources")?;
    }
    for name in ["tsconfig.json", "build.mjs"] {
        fs::copy(from.join(name), place.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    for format in FORMATS {
        let schema = root().join(format!("schemas/writer/{format}.v1.schema.json"));
        let types = sources.join(format!("{format}-types.d.ts"));
        done(Command::new(tools.join("json2ts")).arg("-i").arg(schema).arg("-o").arg(types), run)?;
    }
    let typed = run(Command::new(tools.join("tsc")).arg("-p").arg(&place), |_| true)?;
    anyhow::ensure!(typed.status.success(), "the page's types do not fit: {}", typed.lines.join(" | "));
    let built = Command::new("node").arg(place.join("build.mjs")).args([&place, &place]).output()?;
    let why = String::from_utf8_lossy(&built.stderr);
    anyhow::ensure!(built.status.success(), "the page cannot be built: {why}");
    String::from_utf8(built.stdout).context("the page is no text")
}

/// The step of the test command: the page is as its sources give it, and works.
pub(crate) fn step() -> anyhow::Result<Tally> {
    let mut found = Tally::default();
    match made() {
        Ok(made) => {
            let kept = fs::read_to_string(root().join(SOURCES).join(PAGE)).unwrap_or_default();
            found.check(kept == made, format!("{SOURCES}/{PAGE} is old: cargo xtask page"));
        }
        Err(error) => missing(&mut found, format!("the page's tools: {error:#}")),
    }
    match python_venv("py", PYTHON) {
        Ok(python) => {
            let mut example = Command::new(python);
            example.arg(root().join("tests/page/home_assistant.py"));
            found.add(whole("the example for Home Assistant", example)?);
        }
        Err(error) => missing(&mut found, format!("the example for Home Assistant: {error:#}")),
    }
    if let Some(why) = unavailable()? {
        missing(&mut found, format!("the page in a browser: {why}"));
        return Ok(found);
    }
    found.add(suite(None)?);
    Ok(found)
}

/// Runs the tests in the browser; with a folder its pictures are written there.
fn suite(pictures: Option<&Path>) -> anyhow::Result<Tally> {
    let mut node = Command::new("node");
    node.arg(root().join("tests/page/run.mjs"));
    node.arg("--program").arg(fleet_program("debug")?).arg("--modules").arg(target().join("page"));
    if let Some(folder) = pictures {
        node.arg("--pictures").arg(folder);
    }
    whole("the page in a browser", node)
}

/// Whether a program is installed, one of the system's administrator too.
pub(crate) fn there(name: &str) -> bool {
    let path = variable("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').any(|dir| Path::new(dir).join(name).is_file())
}

/// Why the page cannot be tried here; in CI what is missing is installed first.
fn unavailable() -> anyhow::Result<Option<String>> {
    let lacking = || {
        let mut lacking = Vec::new();
        lacking.extend((!BROWSERS.iter().any(|name| there(name))).then_some("chromium"));
        lacking.extend((!there("mosquitto")).then_some("mosquitto"));
        lacking
    };
    if !lacking().is_empty() && in_ci() {
        apt_install(&lacking())?;
    }
    let still = lacking();
    Ok((!still.is_empty()).then(|| format!("missing; install it with: apt-get install {}", still.join(" "))))
}
