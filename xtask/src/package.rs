//! `cargo xtask release-check packages`: what can be built here of a release, in `target/packages`: the static program, the Debian
//! package, the npm packages and the bundle of schemas. Each is tried as its reader would: started in an empty root,
//! installed and removed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

use crate::run::{cargo, root, run, say, target};
use crate::test::Tally;
use crate::tools;

/// The target that is built here. The others of `dist-workspace.toml` are not: musl, arm64 and macOS need their own
/// toolchains.
const TARGET: &str = "x86_64-unknown-linux-gnu";
const NAME: &str = "jig-session";

/// Builds and tries everything.
pub(crate) fn check() -> anyhow::Result<Tally> {
    let place = fresh(&target().join("packages"))?;
    let mut found = Tally::default();
    let program = static_program()?;
    let size = fs::metadata(&program).context("the program was not built")?.len();
    say(&format!("    static program: {} KiB", size / 1024));
    alone(&program, &mut found)?;
    first_minutes(&program, &mut found)?;
    debian(&program, &place, &mut found)?;
    npm_program(&program, &place, &mut found)?;
    npm_plugins(&place, &mut found)?;
    schemas(&program, &place, &mut found)?;
    sums(&place)?;
    Ok(found)
}

/// The program without any library of the system.
fn static_program() -> anyhow::Result<PathBuf> {
    let folder = target().join("static");
    let mut command = cargo(&["build", "--quiet", "--locked", "--profile", "dist", "--target", TARGET, "-p", NAME]);
    command.args(["--features", "fleet"]);
    command.env("CARGO_TARGET_DIR", &folder).env("RUSTFLAGS", "-C target-feature=+crt-static");
    done(&mut command)?;
    Ok(folder.join(TARGET).join("dist").join(NAME))
}

/// In a root that holds nothing else, it starts, publishes and reads.
fn alone(program: &Path, found: &mut Tally) -> anyhow::Result<()> {
    let root = fresh(&target().join("empty-root"))?;
    fs::copy(program, root.join(NAME)).context("cannot copy the program")?;
    for args in [&["--version"][..], &["ls", "--json"], &["schema", "status.v1"], &["doctor"]] {
        let mut command = Command::new("chroot");
        command.arg(&root).arg(format!("/{NAME}")).args(args);
        // PATH is for finding chroot; in that root there is nothing to find.
        command.env_clear().env("HOME", "/home").env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let ran = run(&mut command, |_| false)?;
        if ran.lines.iter().any(|line| line.contains("Operation not permitted")) {
            found.skipped.push("the program in an empty root: chroot needs root".to_owned());
            return Ok(());
        }
        // `doctor` names what is missing there, and that is no crash.
        let ended = ran.status.success() || (args == ["doctor"] && ran.status.code() == Some(1));
        found.check(ended, format!("in an empty root, {} ended with {}", args.join(" "), ran.status));
    }
    Ok(())
}

/// A new user's first ten minutes with nothing but the program.
fn first_minutes(program: &Path, found: &mut Tally) -> anyhow::Result<()> {
    let mut suite = Command::new("python3");
    let ran = run(suite.arg(root().join("tests/first_minutes/run.py")).arg(program), |_| true)?;
    found.skipped.extend(ran.lines.iter().filter_map(|line| line.strip_prefix("SKIPPED ")).map(str::to_owned));
    found.passed += ran.lines.iter().filter(|line| line.starts_with("ok ")).count();
    found.check(ran.status.success(), "a new user's first ten minutes: see above");
    Ok(())
}

/// The version of the workspace.
fn version() -> anyhow::Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).context("cannot read Cargo.toml")?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line.context("Cargo.toml names no version")?.trim_matches('"').to_owned())
}

/// The Debian package: made, installed into a root of its own, run there, removed.
fn debian(program: &Path, place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    if run(Command::new("dpkg-deb").arg("--version"), |_| false).is_err() {
        found.skipped.push("the Debian package: dpkg-deb is missing (apt-get install dpkg)".to_owned());
        return Ok(());
    }
    let version = version()?;
    let tree = fresh(&target().join("deb"))?;
    let install = |from: &Path, to: &str, mode: u32| -> anyhow::Result<()> {
        let to = tree.join(to);
        fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        fs::copy(from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        fs::set_permissions(&to, fs::Permissions::from_mode(mode))?;
        Ok(())
    };
    install(program, "usr/bin/jig-session", 0o755)?;
    for (from, to) in [
        ("README.md", "usr/share/doc/jig-session/README.md"),
        ("CHANGELOG.md", "usr/share/doc/jig-session/changelog"),
        ("LICENSE-MIT", "usr/share/doc/jig-session/copyright"),
    ] {
        install(&root().join(from), to, 0o644)?;
    }
    let size = fs::metadata(program)?.len() / 1024;
    let control = format!(
        "Package: jig-session\nVersion: {version}\nArchitecture: amd64\nMaintainer: the jig-session developers <jig-session@localhost>\nInstalled-Size: {size}\nSection: utils\nPriority: optional\nSuggests: tmux\nHomepage: https://github.com/jig-session/jig-session\nDescription: which coding-agent sessions live, and which one waits for you\n One small file a session, no daemon: jig-session lists the sessions of coding\n agents, follows them, and lets them send mail and claim paths.\n"
    );
    fs::create_dir_all(tree.join("DEBIAN"))?;
    fs::write(tree.join("DEBIAN/control"), control)?;
    let deb = place.join(format!("{NAME}_{version}_amd64.deb"));
    done(Command::new("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&deb))?;

    let root = fresh(&target().join("deb-root"))?;
    for folder in ["var/lib/dpkg/info", "var/lib/dpkg/updates"] {
        fs::create_dir_all(root.join(folder))?;
    }
    fs::write(root.join("var/lib/dpkg/status"), "")?;
    let dpkg = |args: &[&str]| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", root.display())).args(["--force-not-root", "--force-script-chrootless"]);
        command.args(args);
        command
    };
    done(&mut dpkg(&["--install", &deb.to_string_lossy()]))?;
    let installed = root.join("usr/bin/jig-session");
    let ran = run(Command::new(&installed).arg("--version"), |_| false)?;
    found.check(ran.status.success() && ran.lines[0].ends_with(&version), "the program of the Debian package runs");
    done(&mut dpkg(&["--purge", NAME]))?;
    found.check(!installed.exists(), "the Debian package leaves no program behind");
    found.check(!root.join("usr/share/doc/jig-session").exists(), "the Debian package leaves no page behind");
    Ok(())
}

/// npm: one package with a dependency a platform that npm picks by system and processor, and no script that runs at
/// the installation.
fn npm_program(program: &Path, place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    if run(Command::new("npm").arg("--version"), |_| false).is_err() {
        found.skipped.push("the npm package: npm is missing".to_owned());
        return Ok(());
    }
    let version = version()?;
    let work = fresh(&target().join("npm-package"))?;
    let about = |name: &str, more: Value| {
        let mut package = json!({
            "name": name, "version": version, "license": "MIT OR Apache-2.0",
            "description": "Which coding-agent sessions live, what they do, and which one waits for you",
            "repository": { "type": "git", "url": "git+https://github.com/jig-session/jig-session.git" },
        });
        if let (Some(package), Value::Object(more)) = (package.as_object_mut(), more) {
            package.extend(more);
        }
        package
    };
    let platforms = [
        ("linux-x64", "linux", "x64"),
        ("linux-arm64", "linux", "arm64"),
        ("darwin-x64", "darwin", "x64"),
        ("darwin-arm64", "darwin", "arm64"),
    ];
    let optional: Value = platforms
        .iter()
        .map(|(name, ..)| (format!("@jig-session/{name}"), Value::from(version.clone())))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let main = work.join("jig-session");
    write_json(
        &main.join("package.json"),
        &about(NAME, json!({ "bin": { NAME: "run.js" }, "files": ["run.js"], "optionalDependencies": optional })),
    )?;
    fs::write(main.join("run.js"), RUN_JS)?;
    fs::copy(root().join("README.md"), main.join("README.md"))?;
    // Only this machine's platform has a program here; the others are made by the release.
    let (name, os, cpu) = platforms[0];
    let one = work.join(name);
    write_json(
        &one.join("package.json"),
        &about(&format!("@jig-session/{name}"), json!({ "os": [os], "cpu": [cpu], "files": [NAME] })),
    )?;
    fs::copy(program, one.join(NAME))?;
    fs::set_permissions(one.join(NAME), fs::Permissions::from_mode(0o755))?;
    let mut tarballs = Vec::new();
    for folder in [&one, &main] {
        tarballs.push(pack(folder, place)?);
    }
    let user = fresh(&target().join("npm-user"))?;
    fs::write(user.join("package.json"), "{ \"private\": true }\n")?;
    let mut install = Command::new("npm");
    // The other platforms' packages are in no registry: they are optional, and npm goes on without them.
    install
        .args(["install", "--silent", "--no-audit", "--no-fund", "--offline", "--prefix"])
        .arg(&user)
        .args(&tarballs);
    done(&mut install)?;
    let ran = run(Command::new(user.join("node_modules/.bin/jig-session")).arg("--version"), |_| false)?;
    let says = ran.lines.first().is_some_and(|line| line.ends_with(&version));
    found.check(ran.status.success() && says, format!("the npm package runs: {:?}", ran.lines));
    let scripts = fs::read_to_string(main.join("package.json"))?.contains("\"scripts\"");
    found.check(!scripts, "the npm package has no script of its own");
    Ok(())
}

/// Starts the program of this platform's package and ends as it ends.
const RUN_JS: &str = r#"#!/usr/bin/env node
const { spawnSync } = require("node:child_process");
const name = `@jig-session/${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/jig-session`);
} catch {
  console.error(`jig-session: there is no program for ${process.platform} on ${process.arch} (${name} is not installed); build it with: cargo install jig-session`);
  process.exit(1);
}
const { status, signal, error } = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (error) {
  console.error(`jig-session: cannot start ${program}: ${error.message}`);
  process.exit(1);
}
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
"#;

/// The packages that OpenCode and Pi load.
fn npm_plugins(place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    for name in ["opencode", "pi"] {
        let tarball = pack(&root().join("plugins").join(name), place)?;
        found.check(tarball.is_file(), format!("the npm package of the plugin for {name}"));
    }
    Ok(())
}

/// `npm pack`; gives the archive.
fn pack(folder: &Path, place: &Path) -> anyhow::Result<PathBuf> {
    let ran =
        done(Command::new("npm").args(["pack", "--silent", "--pack-destination"]).arg(place).current_dir(folder))?;
    let name = ran.iter().rev().find(|line| line.ends_with(".tgz")).context("npm pack named no archive")?;
    Ok(place.join(name.trim()))
}

/// The bundle of schemas that readers vendor, with the version it is of.
fn schemas(program: &Path, place: &Path, found: &mut Tally) -> anyhow::Result<()> {
    let version = version()?;
    let name = format!("{NAME}-schemas-{version}");
    let bundle = fresh(&target().join("bundle"))?.join(&name);
    done(Command::new(program).args(["schema", "--all"]).arg(&bundle))?;
    done(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mtime=@0", "-czf"])
            .arg(place.join(format!("{name}.tar.gz")))
            .arg("-C")
            .arg(bundle.parent().context("the bundle lies in a folder")?)
            .arg(&name),
    )?;
    found.check(bundle.join("VERSION").is_file(), "the bundle of schemas says its version");
    Ok(())
}

fn sums(place: &Path) -> anyhow::Result<()> {
    let mut names: Vec<String> = fs::read_dir(place)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name != "SHA256SUMS")
        .collect();
    names.sort();
    let lines = done(Command::new("sha256sum").args(&names).current_dir(place))?;
    fs::write(place.join("SHA256SUMS"), lines.join("\n") + "\n").context("cannot write SHA256SUMS")
}

/// An empty folder.
fn fresh(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder.to_owned())
}

fn write_json(path: &Path, value: &Value) -> anyhow::Result<()> {
    fs::create_dir_all(path.parent().context("a file lies in a folder")?)?;
    fs::write(path, format!("{value:#}\n")).with_context(|| format!("cannot write {}", path.display()))
}

/// The lines of a command that ended well.
fn done(command: &mut Command) -> anyhow::Result<Vec<String>> {
    tools::done(command, run)
}
