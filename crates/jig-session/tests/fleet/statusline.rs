//! The status line of a real tmux server, and what a hostile name can do there: nothing.

use serde_json::json;

use crate::common::{now_ms, program, timestamp};
use crate::panes::tmux;

#[test]
fn tmux_shows_the_line_and_runs_nothing_of_a_name() {
    let Some(outer) = tmux::start("tmux_shows_the_line_and_runs_nothing_of_a_name") else { return };
    let env = &outer.env;
    let pwned = env.root().join("pwned");
    let hostile = format!("#(touch {}) #[fg=blue]#{{pid}} ##(x) 50% #7 %H", pwned.display());
    let _live = env.live("s-1", |document| {
        document["name"] = hostile.clone().into();
        document["state"] = "busy".into();
        document["attention"] = json!({ "reason": "approval", "since": timestamp(now_ms() - 65_000) });
    });
    let config = env.root().join("inner.conf");
    let line = format!("#({} statusline --format tmux)", program().display());
    let options = [
        "set -g status-left ''",
        "set -g status-right-length 90",
        "set -g status-interval 1",
        "set -g window-status-current-format ''",
    ];
    std::fs::write(&config, format!("{}\nset -g status-right \"{line}\"\n", options.join("\n"))).unwrap();
    let socket = env.root().join("inner");
    let attach = format!(
        "env -u TMUX TERM=screen tmux -u -f {} -S {} new-session -s inner 'exec cat'",
        config.display(),
        socket.display()
    );
    let pane = outer.new_session("bar", &env.work(), &attach);
    // Only the beginning of a name is shown: 24 columns.
    outer.shows(&pane, "1 needs you: ＃(touch");
    outer.shows(&pane, "approval 1m");
    let shown = outer.run(&["capture-pane", "-p", "-t", &pane]);
    assert!(!pwned.exists(), "{shown}");
    for name in ["#[fg=blue]x", "##[fg=blue]x", "#{pid}", "#S", "%H:%M", "a #7 50% b"] {
        let mut document = crate::common::status_document("s-1", _live.pid());
        document["name"] = name.into();
        document["attention"] = json!({ "reason": "question", "since": timestamp(now_ms()) });
        env.write_status("s-1", &document);
        let looks = name.replace("#[", "＃[").replace("##", "＃＃").replace("#＃", "＃＃").replace("#{", "＃{");
        let looks = looks.replace("#S", "＃S").replace("%H", "％H").replace("%M", "％M");
        outer.shows(&pane, &format!("1 needs you: {looks} question"));
    }
    let mut kill = env.command("tmux");
    let _ = kill.arg("-S").arg(&socket).arg("kill-server").status();
}
