//! `--fleet`: the sessions of other machines that share them through a broker.

#[cfg(feature = "fleet")]
pub(crate) use jig_session_fleet::Follower;

use crate::app::App;
use crate::failure::{Code, Failure};

// No doc comment: clap prints that of a flattened struct as the help of the command.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct FleetArgs {
    /// Also the sessions that other machines share through this broker; the configuration's when no URL is given
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    fleet: Option<String>,
}

impl FleetArgs {
    /// The broker that is meant; `None` when none is.
    ///
    /// # Errors
    /// When there is none, or what is said of it cannot be used.
    pub(crate) fn open(&self, app: &App) -> Result<Option<Broker>, Failure> {
        self.fleet.as_ref().map(|url| Broker::open(app, Some(url.as_str()).filter(|url| !url.is_empty()))).transpose()
    }
}

/// What a program without the feature says.
#[cfg(not(feature = "fleet"))]
pub(crate) fn missing() -> Failure {
    Failure::new(Code::Usage, "this jig-session was built without the fleet")
        .hint("cargo install jig-session --features fleet, or take a release's program")
}

#[cfg(not(feature = "fleet"))]
pub(crate) use without::{Broker, Follower};

/// There is no broker without the feature, and so nothing of one can be made.
#[cfg(not(feature = "fleet"))]
mod without {
    use std::time::Duration;

    use jig_session_remote::FleetLook;

    use super::{App, Failure, missing};

    pub(crate) enum Broker {}

    impl Broker {
        pub(crate) fn open(_app: &App, _url: Option<&str>) -> Result<Self, Failure> {
            Err(missing())
        }

        pub(crate) fn follow(self, _app: &App, _wake: impl Fn() + Send + 'static) -> Result<Follower, Failure> {
            match self {}
        }
    }

    pub(crate) enum Follower {}

    impl Follower {
        pub(crate) fn look(&self) -> FleetLook {
            match *self {}
        }

        pub(crate) fn settle(&self, _limit: Duration) {
            match *self {}
        }
    }
}

#[cfg(feature = "fleet")]
pub(crate) use with::Broker;

#[cfg(feature = "fleet")]
pub(crate) mod with {
    use std::path::{Path, PathBuf};

    use jig_session_atomic::read_file;
    use jig_session_fleet::{Access, Address, ConnectError, Follower};
    use jig_session_publish::setup;
    use jig_session_schema::names;
    use serde_json::{Map, Value};

    use super::{App, Code, Failure};

    /// A certificate, a key or a password is no longer.
    const SECRET_BYTES: usize = 1 << 20;

    /// A broker and who we are to it.
    pub(crate) struct Broker {
        pub(crate) address: Address,
        pub(crate) access: Access,
    }

    impl Broker {
        /// The broker of an address, or of the configuration, whose other words are for both.
        ///
        /// # Errors
        /// When there is no address, or something of it cannot be used.
        pub(crate) fn open(app: &App, url: Option<&str>) -> Result<Self, Failure> {
            let config = configured(app)?;
            let text = |name: &str| config.get(name).and_then(Value::as_str);
            let url = url.or(text("url")).ok_or_else(|| {
                let hint = format!(
                    "name it: --fleet mqtts://HOST/, or \"fleet\": \"mqtts://HOST/\" in {}",
                    app.places().config.display()
                );
                Failure::new(Code::Usage, "no broker is named").hint(hint)
            })?;
            let insecure = config.get("insecure").and_then(Value::as_bool).unwrap_or(false);
            Self::of(app, url, insecure, &config)
        }

        /// The broker of an address, by the words of the configuration or of the command line.
        pub(crate) fn of(app: &App, url: &str, insecure: bool, words: &Map<String, Value>) -> Result<Self, Failure> {
            let address = Address::parse(url).and_then(|address| address.allowed(insecure)).map_err(|error| {
                let hint = match error {
                    jig_session_fleet::AddressError::Unencrypted(_) => "use mqtts://, or say --insecure",
                    jig_session_fleet::AddressError::Password => "put it into JIG_FLEET_PASSWORD or a file",
                    _ => "a broker's address is mqtts://[USER@]HOST[:PORT]/[PREFIX]; write --fleet=URL before a name",
                };
                Failure::new(Code::Usage, error.to_string()).hint(hint)
            })?;
            let text = |name: &str| words.get(name).and_then(Value::as_str);
            let file = |name: &str| text(name).map(|path| secret(app, Path::new(path))).transpose();
            let password = match app.var("JIG_FLEET_PASSWORD") {
                Some(password) => Some(password.to_owned()),
                None => file("passwordFile")?.map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned()),
            };
            let user = app.var("JIG_FLEET_USER").or_else(|| text("user")).map(str::to_owned);
            let client = file("cert")?.zip(file("key")?);
            Ok(Self { address, access: Access { user, password, authorities: file("ca")?, client } })
        }

        /// Follows it from now on.
        pub(crate) fn follow(self, app: &App, wake: impl Fn() + Send + 'static) -> Result<Follower, Failure> {
            let clock = jig_session_liveness::clock::wall;
            Follower::start(&self.address, &self.access, Some(machine_id(app)), clock, wake).map_err(unusable)
        }
    }

    pub(crate) fn unusable(error: ConnectError) -> Failure {
        Failure::new(Code::Usage, error.to_string()).hint("\"ca\", \"cert\" and \"key\" name PEM files")
    }

    /// `fleet` of the configuration: an address, or an object with `url` and the other words.
    pub(crate) fn configured(app: &App) -> Result<Map<String, Value>, Failure> {
        let places = app.places();
        let wrong = |why: String| {
            let failure = Failure::new(Code::Io, format!("cannot read {}: {why}", places.config.display()));
            failure.path(&places.config).hint("\"fleet\" is a broker's address, or an object with \"url\"")
        };
        let Some(bytes) = setup::configuration(&places).map_err(|problem| wrong(problem.to_string()))? else {
            return Ok(Map::new());
        };
        let mut config: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        match config["fleet"].take() {
            Value::Null => Ok(Map::new()),
            Value::String(url) => Ok(Map::from_iter([("url".to_owned(), Value::String(url))])),
            Value::Object(words) => Ok(words),
            _ => Err(wrong("\"fleet\" is neither a text nor an object".to_owned())),
        }
    }

    fn secret(app: &App, path: &Path) -> Result<Vec<u8>, Failure> {
        let path = match path.strip_prefix("~") {
            Ok(rest) => app.places().home.join(rest),
            Err(_) => PathBuf::from(path),
        };
        read_file(&path, SECRET_BYTES).map(|file| file.bytes).map_err(|problem| Failure::cannot_read(&path, &problem))
    }

    /// What tells this machine and user from others of the same name, and nothing else.
    pub(crate) fn machine_id(app: &App) -> String {
        let machine = ["/etc/machine-id", "/var/lib/dbus/machine-id"].into_iter().find_map(|path| {
            let bytes = read_file(path, 4096).ok()?.bytes;
            Some(String::from_utf8_lossy(&bytes).trim().to_owned()).filter(|id| !id.is_empty())
        });
        let machine = machine.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned());
        let folder = app.places().state_dir.display().to_string();
        names::hash16(&format!("jig-session fleet\n{machine}\n{folder}"))
    }
}
