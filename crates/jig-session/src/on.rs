//! `--on HOST`: what other machines say of their sessions, beside this one's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jig_session_atomic::PrivateDir;
use jig_session_publish::setup;
use jig_session_remote::{Answer, Fleet, Host, Ssh, ask, hosts};
use jig_session_schema::documents::Ls;
use jig_session_schema::row::{Problem, ProblemReason, Row};
use serde_json::Value;

use crate::app::App;
use crate::failure::{Code, Failure};

/// How long a host may take for an answer; ssh itself gives up on a connection after the half of it.
const LIMIT: Duration = Duration::from_secs(10);

// No doc comment: clap prints that of a flattened struct as the help of the command.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct OnArgs {
    /// Also the sessions of these hosts, asked through ssh; all: the hosts of the configuration
    #[arg(long, value_name = "HOST")]
    on: Vec<String>,
}

/// The hosts that are asked, and the way to them.
pub(crate) struct On {
    hosts: Vec<Host>,
    ssh: Ssh,
}

impl OnArgs {
    /// The hosts that are asked; `None` when no other machine is. Nothing leaves this machine otherwise.
    ///
    /// # Errors
    /// When a name is none of a host, or `all` stands for none.
    pub(crate) fn open(&self, app: &App) -> Result<Option<On>, Failure> {
        if self.on.is_empty() {
            return Ok(None);
        }
        let config = app.places().config;
        let hosts = hosts(self.on.iter().map(String::as_str), &configured(app)?).map_err(|error| {
            let hint = format!("name them: --on far, or \"hosts\": [\"far\"] in {}", config.display());
            Failure::new(Code::Usage, error.to_string()).hint(hint)
        })?;
        Ok(Some(On { hosts, ssh: Ssh::new(sockets(app).as_ref().map(PrivateDir::path)) }))
    }
}

/// `hosts` of the configuration.
fn configured(app: &App) -> Result<Vec<String>, Failure> {
    let places = app.places();
    let wrong = |why: String| {
        let failure = Failure::new(Code::Io, format!("cannot read {}: {why}", places.config.display()));
        failure.path(&places.config).hint("\"hosts\" is a list of names, as ssh takes them")
    };
    let Some(bytes) = setup::configuration(&places).map_err(|problem| wrong(problem.to_string()))? else {
        return Ok(Vec::new());
    };
    let config: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let names = match &config["hosts"] {
        Value::Null => return Ok(Vec::new()),
        Value::Array(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>(),
        _ => None,
    };
    names.ok_or_else(|| wrong("\"hosts\" is no list of names".to_owned()))
}

/// The folder of the sockets through which connections are shared.
fn sockets(app: &App) -> Option<PrivateDir> {
    let runtime = app.var("XDG_RUNTIME_DIR").filter(|folder| folder.starts_with('/'));
    let folder =
        runtime.map_or_else(|| app.places().state_dir.join("ssh"), |folder| Path::new(folder).join("jig-session"));
    // Without one each call connects anew.
    PrivateDir::open(folder).ok()
}

impl On {
    /// Asks every host for what its `jig-session` prints for these words.
    pub(crate) fn ask(&self, words: &[&str]) -> Vec<(&Host, Answer)> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        self.hosts.iter().zip(ask(&self.ssh, &self.hosts, &words, LIMIT)).collect()
    }

    /// The rows and problems of every host.
    pub(crate) fn ls(&self, all: bool) -> (Vec<Row>, Vec<Problem>) {
        let (mut rows, mut problems) = (Vec::new(), Vec::new());
        let words = if all { &["ls", "--json", "--all"][..] } else { &["ls", "--json"] };
        for (host, answer) in self.ask(words) {
            let read = answer.map_err(|none| none.problem).and_then(|bytes| {
                Ls::read(&bytes).map_err(|error| unreadable(host, error.reason(), &error.to_string()))
            });
            match read {
                Ok(read) => {
                    let own = || Some(host.name().to_owned());
                    rows.extend(read.value.sessions.into_iter().map(|row| row.host(own())));
                    problems.extend(read.value.problems.into_iter().map(|problem| problem.host(own())));
                }
                Err(problem) => problems.push(problem),
            }
        }
        (rows, problems)
    }

    /// Follows every host, from now on.
    pub(crate) fn follow(self, all: bool, wake: impl Fn() + Send + Sync + 'static) -> Fleet {
        Fleet::start(&self.ssh, self.hosts, all, Arc::new(jig_session_liveness::clock::wall), Arc::new(wake))
    }

    /// How long a first answer may take.
    pub(crate) fn limit() -> Duration {
        LIMIT
    }
}

/// The problem of a host whose answer this program cannot read.
pub(crate) fn unreadable(host: &Host, reason: &str, why: &str) -> Problem {
    let reason = if reason == "unsupported" { ProblemReason::UNSUPPORTED } else { ProblemReason::UNREACHABLE };
    let problem = Problem::new().host(Some(host.name().to_owned())).reason(reason);
    problem.message(format!("its jig-session answers what this one cannot read: {why}"))
}

/// The problems of hosts as lines of their own.
pub(crate) fn lines<'a>(problems: impl IntoIterator<Item = &'a Problem>) -> String {
    let of_hosts = problems.into_iter().filter(|problem| problem.path.is_none());
    let line = |problem: &Problem| {
        let host = problem.host.as_deref().unwrap_or_default();
        let text = format!("{host}: {}: {}", problem.reason, problem.message);
        jig_session_view::sanitise::clean(&text).into_owned() + "\n"
    };
    of_hosts.map(line).collect()
}
