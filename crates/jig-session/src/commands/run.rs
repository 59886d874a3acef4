//! `jig-session run`: any program in a terminal of its own, and what it reports of itself published.

use std::ffi::OsString;
use std::process::ExitCode;

use jig_session_publish::log::Log;
use jig_session_publish::{Now, setup};
use jig_session_run::{Ending, Host, Spec, Stage};
use jig_session_schema::places::Places;
use jig_session_schema::status::AgentName;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::app::App;
use crate::failure::{Code, Exit, Failure, Outcome};

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The agent's name; if omitted, derived from the program or reported by it
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Exit codes of a program that could not be started, as shells have them.
const NOT_FOUND: u8 = 127;
const NOT_EXECUTABLE: u8 = 126;

/// The processes of a run that is under way: their command line is ours, and their name the program's.
pub(crate) fn stage(args: &[OsString]) -> Option<ExitCode> {
    let (spec, stage) = Spec::of_stage(args.get(1..)?)?;
    let app = App::new(false, Some(false));
    Some(match ended(&spec, stage, &app) {
        Ok(Exit(code)) => ExitCode::from(code),
        Err(failure) => {
            app.note(&failure.to_string());
            ExitCode::from(failure.code.exit())
        }
    })
}

pub(crate) fn run(args: &Args, app: &App) -> Outcome {
    let agent = match &args.agent {
        None => None,
        Some(name) => Some(AgentName::new(name.as_str()).filter(|_| !name.is_empty()).ok_or_else(|| {
            Failure::new(Code::Usage, "the agent's name is empty or longer than 128 characters")
                .hint("name it: --agent claude")
        })?),
    };
    let mut words = args.program.iter().cloned();
    let program = words.next().filter(|program| !program.is_empty());
    let program = program.ok_or_else(|| Failure::new(Code::Usage, "no program was named"))?;
    ended(&Spec { agent, program, arguments: words.collect() }, Stage::Begin, app)
}

/// Runs it, and ends as the program did.
fn ended(spec: &Spec, stage: Stage, app: &App) -> Outcome {
    let ending = jig_session_run::run(spec, stage, host(app)).map_err(|error| {
        let errno = error.raw_os_error();
        Failure::new(Code::Io, format!("cannot make a terminal for the program: {error}")).errno(errno)
    })?;
    match ending {
        Ending::Code(code) => Ok(Exit(code)),
        Ending::Signal(signal) => Ok(Exit(die_of(signal))),
        Ending::NotStarted { errno } => {
            let why = std::io::Error::from_raw_os_error(errno);
            let program = spec.program.to_string_lossy();
            let missing = errno == rustix::io::Errno::NOENT.raw_os_error();
            let why = if missing { "no such program".to_owned() } else { why.to_string() };
            app.note(&format!("jig-session: cannot run {program}: {why}"));
            Ok(Exit(if missing { NOT_FOUND } else { NOT_EXECUTABLE }))
        }
    }
}

/// Ends this process by the signal that ended the program, without a second core file.
fn die_of(signal: i32) -> u8 {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let _ = setrlimit(Resource::Core, none);
    // Comes back only for a signal that ends nothing here.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    u8::try_from(128 + signal).unwrap_or(1)
}

fn host(app: &App) -> Host {
    let environment = app.environment();
    let places = Places::of(&environment);
    let log = Log::new(&places, "run");
    Host {
        clock: Now::read,
        publisher: Box::new(move |agent, mode| setup::publisher(&environment, agent, mode)),
        sessions: places.sessions.clone(),
        log: Box::new(move |message| log.write("io", message)),
        within: app.var(jig_session_run::SESSION_VARIABLE).map(str::to_owned),
        gpg_tty: app.var("GPG_TTY").is_some(),
    }
}
