//! `jig-session fleet`: this machine's sessions through a broker, for others to see.

use std::path::PathBuf;

use crate::app::App;
#[cfg(not(feature = "fleet"))]
use crate::broker::missing;
use crate::failure::Outcome;

#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand, Debug)]
#[command(defer = true)]
enum Action {
    /// Share this machine's sessions until it is stopped: statuses only, and of them a short list of fields
    Share(ShareArgs),
    /// Print what starts sharing at login: a systemd user unit, or a launchd agent on macOS
    Service(ShareArgs),
    /// Write the page that shows the fleet in a browser or on a phone: one file that speaks to the broker alone
    Page(PageArgs),
}

#[derive(clap::Args, Debug)]
struct PageArgs {
    /// The folder to write index.html into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The broker's WebSocket listener: wss://HOST[:PORT][/PATH]; the page can connect to nothing else
    #[arg(long, value_name = "URL")]
    broker: String,
    /// What stands before the topics, as in the address that machines share to
    #[arg(long, value_name = "PREFIX")]
    prefix: Option<String>,
    /// Allow ws:// to another machine: everybody on the way can read the password
    #[arg(long)]
    insecure: bool,
}

#[derive(clap::Args, Debug)]
struct ShareArgs {
    /// The broker: mqtts://[USER@]HOST[:PORT]/[PREFIX]; the configuration's when left out
    #[arg(long, value_name = "URL")]
    to: Option<String>,
    /// This machine's name; the broker's user when there is one, else the host's name
    #[arg(long = "as", value_name = "MACHINE")]
    name: Option<String>,
    /// Share the sessions' names too
    #[arg(long)]
    names: bool,
    /// Share the whole paths of their folders too, not only the last part
    #[arg(long)]
    paths: bool,
    /// Allow mqtt:// to another machine: everybody on the way can read and change what is sent
    #[arg(long)]
    insecure: bool,
    /// The broker's user; JIG_FLEET_USER goes before it
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// A file that holds the password; JIG_FLEET_PASSWORD goes before it
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// The certificates of authorities that the broker is proved by, as PEM; the system's when left out
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Our own certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key of our own certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
}

#[cfg(not(feature = "fleet"))]
pub(crate) fn run(_args: &Args, _app: &App) -> Outcome {
    Err(missing())
}

#[cfg(feature = "fleet")]
pub(crate) use with::run;

#[cfg(feature = "fleet")]
mod with {
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    use jig_session_fleet::{
        PageError, ShareError, Sharing, Source, Told, launchd_plist, machine_name, share, systemd_unit,
    };
    use jig_session_schema::row::Row;
    use jig_session_schema::time::Timestamp;
    use jig_session_settings::ConfigFile;
    use serde_json::Value;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

    use super::{Action, App, Args, Outcome, PageArgs, ShareArgs};
    use crate::broker::Broker;
    use crate::broker::with::{configured, machine_id, unusable};
    use crate::failure::{Code, Exit, Failure};
    use crate::follow::Follow;
    use crate::view;

    pub(crate) fn run(args: &Args, app: &App) -> Outcome {
        match &args.action {
            Action::Share(args) => sharing(args, app),
            Action::Service(args) => service(args, app),
            Action::Page(args) => page(args, app),
        }
    }

    fn broker(args: &ShareArgs, app: &App) -> Result<Broker, Failure> {
        let mut words = configured(app)?;
        let path = |path: &std::path::PathBuf| path.to_string_lossy().into_owned();
        for (name, value) in [
            ("url", args.to.clone()),
            ("user", args.user.clone()),
            ("passwordFile", args.password_file.as_ref().map(path)),
            ("ca", args.ca.as_ref().map(path)),
            ("cert", args.cert.as_ref().map(path)),
            ("key", args.key.as_ref().map(path)),
        ] {
            words.extend(value.map(|value| (name.to_owned(), Value::String(value))));
        }
        let insecure = args.insecure || words.get("insecure").and_then(Value::as_bool).unwrap_or(false);
        match words.get("url").and_then(Value::as_str) {
            Some(url) => Broker::of(app, url, insecure, &words),
            None => Err(Failure::new(Code::Usage, "no broker is named").hint("name it: --to mqtts://HOST/")),
        }
    }

    fn name(args: &ShareArgs, broker: &Broker) -> String {
        let user = broker.access.user.clone().or_else(|| broker.address.user.clone());
        let host = || machine_name(&rustix::system::uname().nodename().to_string_lossy());
        args.name.clone().or(user).unwrap_or_else(host)
    }

    fn sharing(args: &ShareArgs, app: &App) -> Outcome {
        view::note_ignored(app);
        let broker = broker(args, app)?;
        let name = name(args, &broker);
        let ended = Arc::new(AtomicBool::new(false));
        let mut sessions = Sessions { follow: Follow::new(app), ended: Arc::clone(&ended), app };
        for signal in [SIGTERM, SIGINT, SIGHUP] {
            let (ended, nudge) = (Arc::clone(&ended), sessions.follow.nudge());
            watch_for(signal, move || {
                ended.store(true, Ordering::SeqCst);
                nudge.now();
            })?;
        }
        let sharing = Sharing { names: args.names, paths: args.paths };
        let id = machine_id(app);
        let mut tell = |told| match told {
            Told::Connected(1) => app.note(&format!("{name}: 1 session shared at {}", broker.address)),
            Told::Connected(count) => app.note(&format!("{name}: {count} sessions shared at {}", broker.address)),
            Told::Lost(why) => app.note(&format!("{}: {why}; trying again", broker.address)),
        };
        let machine = (name.as_str(), id.as_str(), env!("CARGO_PKG_VERSION"));
        match share(&broker.address, &broker.access, machine, sharing, &mut sessions, &mut tell) {
            Ok(()) => Ok(Exit::OK),
            Err(ShareError::Connect(error)) => Err(unusable(error)),
            Err(error @ ShareError::Name(_)) => {
                Err(Failure::new(Code::Usage, error.to_string()).hint("choose one: --as NAME"))
            }
            Err(error @ ShareError::Taken(_)) => {
                Err(Failure::new(Code::Refused, error.to_string()).hint("choose another name: --as NAME"))
            }
        }
    }

    /// Calls `then` at each arrival of a signal.
    fn watch_for(signal: i32, then: impl Fn() + Send + 'static) -> Result<(), Failure> {
        let io = |error: std::io::Error| Failure::new(Code::Io, error.to_string());
        let mut signals = signal_hook::iterator::Signals::new([signal]).map_err(io)?;
        std::thread::spawn(move || signals.forever().for_each(|_| then()));
        Ok(())
    }

    struct Sessions<'a> {
        follow: Follow<'a>,
        ended: Arc<AtomicBool>,
        app: &'a App,
    }

    impl Source for Sessions<'_> {
        fn rows(&mut self) -> Option<Vec<Row>> {
            Some(self.follow.look().ok()?.into_listed(false).0)
        }

        fn wait(&self, limit: Duration) {
            self.follow.wait(Instant::now().checked_add(limit));
        }

        fn nudge(&self) -> Box<dyn Fn() + Send> {
            let nudge = self.follow.nudge();
            Box::new(move || nudge.now())
        }

        fn now(&self) -> Timestamp {
            self.app.now()
        }

        fn has_ended(&self) -> bool {
            self.ended.load(Ordering::SeqCst)
        }
    }

    fn service(args: &ShareArgs, app: &App) -> Outcome {
        let broker = broker(args, app)?;
        let program = std::env::current_exe().unwrap_or_else(|_| "jig-session".into());
        let mut words = vec!["fleet".to_owned(), "share".to_owned()];
        let path = |path: &std::path::PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let named = [
            ("--to", args.to.clone()),
            ("--as", Some(name(args, &broker))),
            ("--user", args.user.clone()),
            ("--password-file", args.password_file.as_ref().map(|file| path(file).to_string_lossy().into_owned())),
            ("--ca", args.ca.as_ref().map(|file| path(file).to_string_lossy().into_owned())),
            ("--cert", args.cert.as_ref().map(|file| path(file).to_string_lossy().into_owned())),
            ("--key", args.key.as_ref().map(|file| path(file).to_string_lossy().into_owned())),
        ];
        for (option, value) in named {
            words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
        }
        for (option, wanted) in [("--names", args.names), ("--paths", args.paths), ("--insecure", args.insecure)] {
            words.extend(wanted.then(|| option.to_owned()));
        }
        let form = if cfg!(target_os = "macos") { launchd_plist } else { systemd_unit };
        app.print(&form(&program.to_string_lossy(), &words))?;
        Ok(Exit::OK)
    }

    fn page(args: &PageArgs, app: &App) -> Outcome {
        let made = jig_session_fleet::page(&args.broker, args.prefix.as_deref(), args.insecure).map_err(|error| {
            let failure = Failure::new(Code::Usage, error.to_string());
            if matches!(error, PageError::Unencrypted(_)) {
                failure.hint("use wss://, or say --insecure")
            } else {
                failure
            }
        })?;
        let path = args.out.join("index.html");
        let io = |error: String| Failure::new(Code::Io, error).path(&path);
        let file = ConfigFile::read(&path).map_err(|error| io(error.to_string()))?;
        if file.text().is_some_and(|text| !jig_session_fleet::is_page(text)) {
            let failure = Failure::new(Code::Refused, "there is another page, which stays as it is").path(&path);
            return Err(failure.hint("choose another folder: --out DIR"));
        }
        file.replace(&made).map_err(|error| io(error.to_string()))?;
        if file.text().is_none() {
            // It holds no secret, and a web server reads it as another user.
            let readable = std::fs::Permissions::from_mode(0o644);
            std::fs::set_permissions(&path, readable).map_err(|error| io(error.to_string()))?;
        }
        app.print(&format!("{}\n", path.display()))?;
        Ok(Exit::OK)
    }
}
