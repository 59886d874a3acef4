//! The programs that tests use, by Debian package.

use std::process::Command;

use super::{Tally, missing};
use crate::run::{in_ci, run, say, variable};

/// A program the tests call, and the package that brings it.
const PROGRAMS: &[(&str, &str)] = &[
    ("tmux", "tmux"),
    ("strace", "strace"),
    ("git", "git"),
    ("python3", "python3"),
    ("node", "nodejs"),
    ("npm", "npm"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mkfs.xfs", "xfsprogs"),
    ("unshare", "util-linux"),
    ("faketime", "faketime"),
    ("ssh", "openssh-client"),
    ("sshd", "openssh-server"),
    ("mosquitto", "mosquitto"),
    ("mosquitto_pub", "mosquitto-clients"),
    ("nats-server", "nats-server"),
    ("openssl", "openssl"),
];

/// With `CI` set installs what is missing; elsewhere names it with the command.
pub(crate) fn install() -> anyhow::Result<Tally> {
    let mut found = Tally::default();
    let lacking = lacking();
    if !lacking.is_empty() && in_ci() {
        let packages: Vec<_> = lacking.iter().map(|(_, package)| *package).collect();
        apt_install(&packages)?;
    }
    let still = self::lacking();
    found.passed = PROGRAMS.len() - still.len();
    for (program, package) in still {
        missing(&mut found, format!("{program} is missing; install it with: apt-get install {package}"));
    }
    if found.failed.is_empty() && found.skipped.is_empty() {
        say("    all programs are there");
    }
    Ok(found)
}

/// Installs packages of the system; only where a run may.
pub(crate) fn apt_install(packages: &[&str]) -> anyhow::Result<()> {
    let apt = || {
        let mut command = Command::new("apt-get");
        // A server that comes with a package is not started: tests start their own.
        command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
        command
    };
    run(apt().args(["update", "--quiet"]), |line| line.starts_with("E:"))?;
    run(apt().args(["install", "--yes", "--quiet", "--no-install-recommends"]).args(packages), |line| {
        line.starts_with("E:")
    })?;
    Ok(())
}

fn lacking() -> Vec<&'static (&'static str, &'static str)> {
    let path = variable("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    PROGRAMS
        .iter()
        .filter(|(program, _)| !path.split(':').any(|dir| std::path::Path::new(dir).join(program).is_file()))
        .collect()
}
