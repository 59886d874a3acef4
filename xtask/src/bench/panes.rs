//! `live` against the two tmux calls that it needs.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

use super::Bench;
use super::measure::{Run, median, pair, process_cpu};
use super::report::Report;
use super::world::World;

/// Runs over which client and server CPU time is averaged: the server's is told in steps of 10 ms.
const CPU_RUNS: usize = 20;

/// A tmux server of its own, killed at the end.
struct Server {
    socket: String,
}

impl Server {
    fn start(world: &World, panes: usize) -> anyhow::Result<Self> {
        let server = Self { socket: world.root().join("tmux.sock").to_string_lossy().into_owned() };
        // Few windows of many panes would be too narrow: one window a pane, ten windows a session.
        for index in 0..panes {
            let session = format!("s{}", index / 10);
            let fill = "i=0; while [ $i -lt 40 ]; do echo \"line $i of some output that fills a screen\"; i=$((i+1)); done; exec sleep 3600";
            let args: Vec<&str> = if index % 10 == 0 {
                vec!["new-session", "-d", "-s", &session, "-x", "120", "-y", "40", fill]
            } else {
                vec!["new-window", "-d", "-t", &session, fill]
            };
            let output = server.command(&args).output().context("cannot run tmux")?;
            ensure!(output.status.success(), "tmux: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::thread::sleep(std::time::Duration::from_millis(500 + 5 * panes as u64));
        Ok(server)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null", "-u", "-S", &self.socket]).args(args).env_remove("TMUX").stdin(Stdio::null());
        command
    }

    fn text(&self, args: &[&str]) -> anyhow::Result<String> {
        Ok(String::from_utf8_lossy(&self.command(args).output()?.stdout).trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    if Command::new("tmux").arg("-V").output().is_err() {
        report.skip("panes", "tmux is not installed");
        return Ok(());
    }
    let mut costs = Vec::new();
    for (panes, times) in [(5, 10), (50, 5), (200, 2), (500, 1)] {
        let world = World::new("panes", None)?;
        let server = Server::start(&world, panes)?;
        let ids = server.text(&["list-panes", "-a", "-F", "#{pane_id}"])?;
        let batch: String = ids
            .lines()
            .map(|id| {
                format!(
                    "display-message -p -t '{id}' '@{id} #{{pane_dead}} #{{alternate_on}}'\ncapture-pane -p -t '{id}'\n"
                )
            })
            .collect();
        let format = "#{pane_id},#{pane_dead},#{pane_dead_status},#{pane_active},#{alternate_on},#{pane_pid},\
                      #{window_index},#{pane_index};#{n:session_name}:#{session_name}#{n:pane_current_command}:\
                      #{pane_current_command}#{n:pane_current_path}:#{pane_current_path}#{n:pane_start_path}:\
                      #{pane_start_path}#{n:pane_title}:#{pane_title}";
        let ours = Run::new(|| bench.programs.jig(&world, &["live", "-S", &server.socket, "--json"]));
        let list = Run::new(|| server.command(&["list-panes", "-a", "-F", format]));
        let capture = Run::new(|| server.command(&["source-file", "-"])).input(batch);
        // Two pairs of the same rounds: the raw calls one after the other are the sum of both.
        let first = pair(&ours, &list, bench.rounds, times)?;
        let second = pair(&ours, &capture, bench.rounds, times)?;
        let ratios = (0..bench.rounds).map(|round| {
            let ours = (first.ours[round].wall + second.ours[round].wall) / 2.0;
            ours / (first.base[round].wall + second.base[round].wall)
        });
        let ratio = median(ratios);
        report.at_most("panes", &format!("live of {panes} against the two raw calls, wall"), ratio, "x", 1.5);
        costs.push(median(first.ours.iter().map(|cost| cost.wall)));
        if panes == 200 {
            let pid: u32 = server.text(&["display-message", "-p", "#{pid}"])?.parse().context("the server's pid")?;
            let before = process_cpu(pid)?;
            let client = ours.cost(CPU_RUNS)?;
            let server_cpu = (process_cpu(pid)? - before) / CPU_RUNS as f64;
            let all = (client.cpu + server_cpu) * 1000.0;
            report.at_most("panes", "live of 200, CPU of client and server", all, "ms", 100.0);
        }
    }
    if let [.., two_hundred, five_hundred] = costs.as_slice() {
        report.at_most("panes", "500 panes against 200, wall", five_hundred / two_hundred, "x", 3.0);
    }
    Ok(())
}
