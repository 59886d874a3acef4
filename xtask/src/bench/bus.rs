//! The bus's commands against a program that does nothing.

use std::cell::Cell;
use std::process::Command;

use anyhow::ensure;

use super::measure::{Run, What, memory_folder, pair};
use super::report::Report;
use super::world::{Sleepers, World};
use super::{Bench, peak};

/// Runs that are averaged in a round.
const TIMES: usize = 20;

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let nothing = Run::new(|| Command::new("/bin/true"));
    let sleepers = Sleepers::start(20)?;
    let call = |world: &World, who: &str, args: &[&str]| -> Command {
        let mut command = bench.programs.jig(world, &["bus", "--as", who]);
        command.args(args);
        command
    };
    let done = |mut command: Command| -> anyhow::Result<()> {
        let output = command.output()?;
        ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    };
    let join = |world: &World, index: usize| -> anyhow::Result<()> {
        let (id, label, pid) = (format!("s-{index}"), format!("member{index}"), sleepers.pid(index).to_string());
        done(call(world, &id, &["join", &label, "--id", &id, "--pid", &pid]))
    };

    let busy = World::new("bus", memory_folder())?;
    for index in 0..20 {
        join(&busy, index)?;
        for claim in 0..5 {
            done(call(&busy, &format!("s-{index}"), &["claim", &format!("src/m{index}/f{claim}.rs")]))?;
        }
    }
    let status = Run::new(|| call(&busy, "s-0", &["status", "--json"]));
    let ratio = pair(&status, &nothing, bench.rounds, TIMES)?;
    report.ratio("bus", "status of 20 members and 100 claims", &ratio, What::Cpu, 6.0);
    report.at_most("bus", "memory of status", peak(&call(&busy, "s-0", &["status", "--json"]))?, "MiB", 6.0);

    let two = World::new("two", memory_folder())?;
    join(&two, 0)?;
    join(&two, 1)?;
    let drain = || -> anyhow::Result<()> {
        call(&two, "s-1", &["inbox", "--limit", "50", "--json"]).output()?;
        Ok(())
    };
    let sent = Cell::new(0);
    let send = Run::new(|| {
        sent.set(sent.get() + 1);
        call(&two, "s-0", &["send", "member1", &format!("message {}", sent.get())])
    })
    .before(|| if sent.get() % 40 == 0 { drain() } else { Ok(()) });
    let ratio = pair(&send, &nothing, bench.rounds, TIMES)?;
    report.ratio("bus", "send between two", &ratio, What::Cpu, 4.0);

    let claim = Run::new(|| call(&two, "s-0", &["claim", "a.rs", "b.rs", "c.rs"]))
        .before(|| call(&two, "s-0", &["release", "--all"]).output().map(drop).map_err(Into::into));
    let ratio = pair(&claim, &nothing, bench.rounds, TIMES)?;
    report.ratio("bus", "claim of 3 paths", &ratio, What::Cpu, 5.0);
    done(call(&two, "s-0", &["release", "--all"]))?;

    let inbox = Run::new(|| call(&two, "s-1", &["inbox", "--json"])).before(|| {
        drain()?;
        for message in 0..20 {
            sent.set(sent.get() + 1);
            done(call(&two, "s-0", &["send", "member1", &format!("mail {message} {}", sent.get())]))?;
        }
        Ok(())
    });
    let ratio = pair(&inbox, &nothing, bench.rounds.min(5), 5)?;
    report.ratio("bus", "inbox of 20", &ratio, What::Cpu, 6.0);

    let path = two.work().join("a.rs");
    let payload = serde_json::json!({
        "session_id": "s-1", "hook_event_name": "PreToolUse", "tool_name": "Edit", "cwd": two.work(),
        "tool_input": { "file_path": path, "old_string": "a", "new_string": "b" },
    });
    let guard = Run::new(|| bench.programs.jig(&two, &["bus", "guard", "claude"])).input(payload.to_string());
    let ratio = pair(&guard, &nothing, bench.rounds, TIMES)?;
    report.ratio("bus", "guard with nothing held", &ratio, What::Cpu, 2.5);
    Ok(())
}
