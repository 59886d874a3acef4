//! Sessions of other machines: a real sshd on loopback, killed and begun again, and one whose program is an older one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::board;
use crate::common::{Running, TestEnvironment, eventually, finish, install_program, private_dir, program, skipped};
use crate::panes::tmux;

/// Where Debian and others put the server; it wants to be called by its whole path.
const SSHD: [&str; 3] = ["/usr/sbin/sshd", "/usr/bin/sshd", "/usr/local/sbin/sshd"];

/// Another machine: a home of its own behind an sshd of its own.
struct Far {
    env: TestEnvironment,
    sshd: PathBuf,
    port: u16,
    server: Option<Child>,
}

impl Far {
    /// Starts a server that runs what lies in `far.env`'s `bin`; none, and one line on stderr, where that cannot be.
    fn start(test: &str, near: &TestEnvironment) -> Option<Self> {
        let Some(sshd) = SSHD.iter().map(PathBuf::from).find(|path| path.is_file()) else {
            skipped(test, "sshd (Debian: openssh-server) is not installed");
            return None;
        };
        let env = TestEnvironment::new();
        let root = env.root().to_owned();
        private_dir(&root.join("bin"));
        install_program(&program(), &root.join("bin/jig-session"));
        for key in ["host", "user"] {
            let mut keygen = env.command("ssh-keygen");
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(root.join(key));
            finish(keygen, b"").exits(0);
        }
        // A root's server wants the folder that its service would make.
        if rustix::process::geteuid().is_root() && fs::create_dir_all("/run/sshd").is_err() {
            skipped(test, "/run/sshd cannot be made");
            return None;
        }
        let mut far = Self { env, sshd, port: free_port(), server: None };
        far.configure(near);
        far.begin();
        if far.server.as_mut().is_some_and(|server| server.try_wait().is_ok_and(|end| end.is_some())) {
            skipped(test, "sshd does not start here");
            return None;
        }
        Some(far)
    }

    /// The server's configuration, and the ssh of the machine here: the system's, with a configuration of its own.
    fn configure(&self, near: &TestEnvironment) {
        let (root, port) = (self.env.root().display(), self.port);
        let config = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {root}/host\nAuthorizedKeysFile {root}/user.pub\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
             MaxStartups 100\nSetEnv JIG_STATE_DIR={root}/home/.local/state/jig PI_KING_STATUS_DIR={root}/home/king \
             PATH={root}/bin:/usr/bin:/bin\n"
        );
        fs::write(self.env.root().join("sshd_config"), config).unwrap();
        let key = fs::read_to_string(self.env.root().join("host.pub")).unwrap();
        fs::write(self.env.root().join("known"), format!("[127.0.0.1]:{port} {key}")).unwrap();
        let mut id = self.env.command("id");
        id.arg("-un");
        let user = finish(id, b"").stdout;
        let host = |names: &str, port: u16, known: &str| {
            format!(
                "Host {names}\n  HostName 127.0.0.1\n  Port {port}\n  User {}\n  IdentityFile {root}/user\n  IdentitiesOnly yes\n  \
                 UserKnownHostsFile {known}\n  GlobalKnownHostsFile {root}/none\n  LogLevel ERROR\n",
                user.trim()
            )
        };
        let known = format!("{root}/known");
        let hosts = host("far", port, &known)
            + &host("nowhere", free_port(), &known)
            + &host("stranger", port, &format!("{root}/unknown"));
        let folder = private_dir(&near.root().join("bin"));
        let config = near.root().join("ssh_config");
        fs::write(&config, hosts).unwrap();
        let called = near.root().join("called");
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> {}\nPATH=/usr/bin:/bin; exec ssh -F {} \"$@\"\n",
            called.display(),
            config.display()
        );
        fs::write(near.root().join("ssh"), script).unwrap();
        install_program(&near.root().join("ssh"), &folder.join("ssh"));
        let path = std::env::var("PATH").unwrap_or_default();
        near.set("PATH", format!("{}:{path}", folder.display()));
    }

    fn begin(&mut self) {
        let mut command = self.env.command(&self.sshd);
        command.args(["-D", "-e", "-f"]).arg(self.env.root().join("sshd_config"));
        let log = fs::File::create(self.env.root().join("sshd.log")).unwrap();
        let server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.server = Some(server);
        let port = self.port;
        let server = self.server.as_mut().unwrap();
        eventually("sshd listens", || {
            let ended = server.try_wait().is_ok_and(|end| end.is_some());
            (ended || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()).then_some(())
        });
    }

    /// Kills the server and what it has started for its connections.
    fn kill(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        // Before it dies: afterwards they are nobody's children.
        let mut all = children(server.id());
        all.extend(all.clone().into_iter().flat_map(children));
        let _ = server.kill();
        for pid in all {
            let _ = Command::new("kill").arg("-KILL").arg(pid.to_string()).stderr(Stdio::null()).status();
        }
        let _ = server.wait();
    }

    /// Another program in place of the one over there.
    fn install(&self, script: &str) {
        let path = self.env.root().join("older");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        install_program(&path, &self.env.root().join("bin/jig-session"));
    }
}

impl Drop for Far {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Children of a process that lives.
fn children(of: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let parent = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse::<u32>().ok())
    };
    pids.filter(|pid| parent(pid) == Some(of)).collect()
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn calls(near: &TestEnvironment) -> usize {
    let text = fs::read_to_string(near.root().join("called")).unwrap_or_default();
    text.lines().filter(|line| line.contains("jig-session")).count()
}

fn ids(document: &Value) -> Vec<(Value, Value)> {
    let rows = document["sessions"].as_array().unwrap();
    let mut ids: Vec<_> = rows.iter().map(|row| (row["host"].clone(), row["session"].clone())).collect();
    ids.sort_by_key(|pair| format!("{pair:?}"));
    ids
}

#[test]
fn another_machine_s_sessions_are_listed_beside_those_here_and_take_no_id_of_theirs() {
    let near = TestEnvironment::new();
    let test = "another_machine_s_sessions_are_listed_beside_those_here_and_take_no_id_of_theirs";
    let Some(far) = Far::start(test, &near) else { return };
    let _here = near.live("s-same", |document| document["name"] = "here".into());
    let _there = far.env.live("s-same", |document| {
        document["name"] = "there".into();
        document["state"] = "busy".into();
    });
    let _other = far.env.live("s-other", |document| document["name"] = "it's there".into());
    near.jig(&["ls", "--json"]).exits(0);
    assert_eq!(calls(&near), 0, "nobody asked for another machine");

    let both = near.jig(&["ls", "--json", "--on", "far"]).exits(0).json();
    let expected = [("far", "s-other"), ("far", "s-same")].map(|(host, id)| (json!(host), json!(id)));
    assert_eq!(ids(&both)[0], (Value::Null, json!("s-same")));
    assert_eq!(ids(&both)[1..], expected);
    assert_eq!(both["problems"], json!([]));
    assert!(both["sessions"].as_array().unwrap().iter().all(|row| row["verdict"] == "alive"), "{both}");
    let busy = near.jig(&["ls", "--json", "--on", "far", "--state", "busy"]).exits(0).json();
    assert_eq!(ids(&busy), [(json!("far"), json!("s-same"))]);
    let text = near.jig(&["ls", "--on", "far"]).exits(0).stdout;
    assert!(text.contains("HOST") && text.lines().any(|line| line.contains("far") && line.contains("there")), "{text}");

    // An id of this machine means this machine, until another one is asked too.
    assert_eq!(near.jig(&["show", "s-same", "--json"]).exits(0).json()["session"]["name"], "here");
    let two = near.jig(&["show", "s-same", "--on", "far", "--json"]).exits(4).error();
    assert_eq!(two["error"]["candidates"], json!(["s-same", "s-same on far"]));
    let theirs = near.jig(&["show", "it's there", "--on", "far", "--json"]).exits(0).json();
    assert_eq!((&theirs["session"]["host"], &theirs["document"]["session"]), (&json!("far"), &json!("s-other")));
    assert_eq!(near.jig(&["show", "s-none", "--on", "far"]).code, 4);
    assert_eq!(near.jig(&["wait", "s-other", "--timeout", "0"]).code, 4, "no id of another machine is known here");
}

#[test]
fn a_machine_that_does_not_answer_is_a_line_and_never_a_question() {
    let near = TestEnvironment::new();
    let test = "a_machine_that_does_not_answer_is_a_line_and_never_a_question";
    let Some(far) = Far::start(test, &near) else { return };
    let _here = near.live("s-1", |_| ());
    let list = near.jig(&["ls", "--json", "--on", "nowhere,stranger"]).exits(0).json();
    assert_eq!(ids(&list), [(Value::Null, json!("s-1"))]);
    let problems = list["problems"].as_array().unwrap();
    let hosts: Vec<_> = problems.iter().map(|problem| (&problem["host"], &problem["reason"])).collect();
    assert_eq!(hosts, [(&json!("nowhere"), &json!("unreachable")), (&json!("stranger"), &json!("unreachable"))]);
    assert!(problems[0]["message"].as_str().unwrap().contains("refused"), "{list}");
    // Its key is not known, and nobody is asked whether it is right.
    assert!(problems[1]["message"].as_str().unwrap().contains("verification failed"), "{list}");
    let text = near.jig(&["ls", "--on", "nowhere"]).exits(0).stdout;
    assert!(text.lines().any(|line| line.starts_with("nowhere: unreachable: ")), "{text}");
    let live = near.jig(&["live", "--json", "--on", "nowhere", "-L", "none-such"]);
    assert!(live.code == 1 && live.stderr.contains("nowhere: unreachable: "), "{live:?}");
    for on in ["-oProxyCommand=id", "", "a b", "all"] {
        let refused = near.jig(&["ls", &format!("--on={on}")]).exits(2);
        assert!(refused.stderr.contains("--on"), "{}", refused.stderr);
    }
    let config = private_dir(&near.home().join(".config/jig"));
    fs::write(config.join("config.json"), r#"{ "hosts": ["far"] }"#).unwrap();
    let before = calls(&near);
    near.jig(&["ls"]).exits(0);
    assert_eq!(calls(&near), before, "hosts of the configuration are asked with --on all only");
    let _there = far.env.live("s-2", |_| ());
    let all = near.jig(&["ls", "--json", "--on", "all"]).exits(0).json();
    assert_eq!(ids(&all), [(Value::Null, json!("s-1")), (json!("far"), json!("s-2"))]);
}

#[test]
fn an_older_program_over_there_is_read_as_far_as_it_goes() {
    let near = TestEnvironment::new();
    let test = "an_older_program_over_there_is_read_as_far_as_it_goes";
    let Some(far) = Far::start(test, &near) else { return };
    let row =
        r#"{"session":"s-old","cwd":"/w","state":"busy","verdict":"alive","source":"jig","path":"/s/s-old.json"}"#;
    far.install(&format!(
        "case $1 in ls) echo '{{\"schema\":1,\"at\":\"2026-01-01T00:00:00Z\",\"sessions\":[{row}]}}';;\n\
         *) echo \"error: unrecognized subcommand '$1'\" >&2; exit 2;; esac"
    ));
    let list = near.jig(&["ls", "--json", "--on", "far"]).exits(0).json();
    assert_eq!(ids(&list), [(json!("far"), json!("s-old"))]);
    let watch = near.start(&["watch", "--json", "--on", "far"]);
    let problem = watch.json_line();
    assert_eq!((&problem["change"], &problem["problem"]["reason"]), (&json!("problem"), &json!("unreachable")));
    assert!(problem["problem"]["message"].as_str().unwrap().contains("older"), "{problem}");
    assert_eq!(watch.json_line()["change"], "ready");
    far.install("echo '{\"schema\":2,\"at\":\"2026-01-01T00:00:00Z\",\"rows\":[]}'");
    let list = near.jig(&["ls", "--json", "--on", "far"]).exits(0).json();
    assert_eq!(list["problems"][0]["reason"], "unsupported");
    fs::remove_file(far.env.root().join("bin/jig-session")).unwrap();
    let list = near.jig(&["ls", "--json", "--on", "far"]).exits(0).json();
    assert!(list["problems"][0]["message"].as_str().unwrap().contains("not installed"), "{list}");
}

/// The next line of a watch, in few words: what, of which session, its verdict.
fn next(watch: &Running) -> (String, String, String) {
    let line = watch.json_line();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = &line["session"];
    (text(&line["change"]), text(&row["session"]), text(&row["verdict"]))
}

fn told(change: &str, session: &str, verdict: &str) -> (String, String, String) {
    (change.to_owned(), session.to_owned(), verdict.to_owned())
}

#[test]
fn a_lost_machine_s_sessions_stay_as_last_seen_and_come_back() {
    let near = TestEnvironment::new();
    let test = "a_lost_machine_s_sessions_stay_as_last_seen_and_come_back";
    let Some(mut far) = Far::start(test, &near) else { return };
    let _here = near.live("s-here", |_| ());
    let stays = far.env.live("s-stays", |_| ());
    let goes = far.env.live("s-goes", |_| ());
    let watch = near.start(&["watch", "--json", "--on", "far"]);
    assert_eq!(next(&watch), told("added", "s-here", "alive"));
    let mut both = [next(&watch).1, next(&watch).1];
    both.sort();
    assert_eq!(both, ["s-goes", "s-stays"]);
    assert_eq!(next(&watch).0, "ready");

    far.kill();
    let lost = [next(&watch), next(&watch), next(&watch)];
    let mut rows: Vec<_> = lost.iter().filter(|line| line.0 == "changed").cloned().collect();
    rows.sort();
    assert_eq!(rows, [told("changed", "s-goes", "unknown"), told("changed", "s-stays", "unknown")], "{lost:?}");
    assert!(lost.iter().any(|line| line.0 == "problem"), "{lost:?}");
    fs::remove_file(&goes.path).unwrap();
    far.begin();
    let mut back = Vec::new();
    let wanted = [told("changed", "s-stays", "alive"), told("removed", "s-goes", "unknown")];
    while !wanted.iter().all(|line| back.contains(line)) {
        back.push(next(&watch));
    }
    assert!(stays.path.exists());

    // The program over there ends with the watch here.
    let pids = || -> Vec<u32> { all_watches(far.env.root()) };
    eventually("a watch over there", || (!pids().is_empty()).then_some(()));
    drop(watch);
    eventually("no watch over there", || pids().is_empty().then_some(()));
}

/// The processes of a `jig-session` below this folder.
fn all_watches(root: &Path) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let program = root.join("bin/jig-session");
    pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program)).collect()
}

#[test]
fn what_was_there_when_a_machine_came_is_no_notice() {
    let near = TestEnvironment::new();
    let test = "what_was_there_when_a_machine_came_is_no_notice";
    let Some(far) = Far::start(test, &near) else { return };
    let asks = |document: &mut Value| {
        document["attention"] = json!({ "reason": "approval", "since": document["stateAt"] });
        document["state"] = "busy".into();
    };
    let mut there = far.env.live("s-1", asks);
    let out = near.root().join("told");
    let script = format!("echo \"$JIG_CHANGE $JIG_HOST $JIG_SESSION\" >> {}", out.display());
    let watch = near.start(&[
        "watch",
        "--json",
        "--on",
        "far",
        "--exec",
        &script,
        "--debounce",
        "0s",
        "--for",
        "settled,added,attention",
    ]);
    assert_eq!(next(&watch), told("added", "s-1", "alive"));
    assert_eq!(next(&watch).0, "ready");
    there.rewrite(|document| {
        document["attention"] = Value::Null;
        document["state"] = "idle".into();
    });
    let told = eventually("the command", || fs::read_to_string(&out).ok().filter(|text| !text.is_empty()));
    assert_eq!(told, "settled far s-1\n");
}

/// A board over there in a terminal here, and a board here that asks for machines, one of which does not answer.
#[test]
fn a_board_works_through_ssh_and_names_a_machine_that_does_not_answer() {
    let test = "a_board_works_through_ssh_and_names_a_machine_that_does_not_answer";
    let Some(tmux) = tmux::start(test) else { return };
    let near = &tmux.env;
    let Some(far) = Far::start(test, near) else { return };
    let _there = far.env.live("s-there", |document| document["name"] = "there".into());
    let _here = near.live("s-here", |document| document["name"] = "here".into());
    let ssh = near.root().join("bin/ssh").display().to_string();
    let pane = board::shell(&tmux, &near.work(), (100, 24));
    board::types(&tmux, &pane, &format!("{ssh} -tt far jig-session board"));
    board::until(&tmux, &pane, "it is drawn over there", |screen| {
        screen.contains("[Sessions]") && screen.contains("there") && !screen.contains("s-here")
    });
    tmux.run(&["resize-window", "-t", &pane, "-x", "60", "-y", "16"]);
    board::press(&tmux, &pane, &["?"]);
    board::until(&tmux, &pane, "its keys work at the new size", |screen| {
        screen.contains("Everywhere") && screen.trim_end().lines().count() == 16
    });
    board::press(&tmux, &pane, &["q", "q"]);
    board::until(&tmux, &pane, "the shell is back", |screen| screen.trim_end().ends_with("ready>"));
    tmux.until(&pane, "#{alternate_on}", "0");

    tmux.run(&["resize-window", "-t", &pane, "-x", "100", "-y", "24"]);
    board::types(&tmux, &pane, &format!("clear; {} board --on far,nowhere", program().display()));
    board::until(&tmux, &pane, "both machines are listed, and the third is named", |screen| {
        let line = |words: &[&str]| screen.lines().any(|line| words.iter().all(|word| line.contains(word)));
        line(&["here"]) && line(&["there", "far"]) && line(&["nowhere: ", "refused"])
    });
}
