//! Where a broker is: `mqtts://[USER@]HOST[:PORT]/[PREFIX]`.

use crate::topic::is_part;

/// The prefix of all topics when an address names none.
pub(crate) const PREFIX: &str = "jig-session";

/// A broker and the prefix of the topics on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Whether the connection is encrypted and the broker proves who it is.
    pub tls: bool,
    /// The user's name, if the address holds one. A password never stands in an address.
    pub user: Option<String>,
    /// A host name or an IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What stands before every topic, without a slash at either end.
    pub prefix: String,
}

/// Why a text is no address of a broker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Another scheme, or none.
    #[error("{0:?} does not begin with mqtts:// or mqtt://")]
    Scheme(String),
    /// No host.
    #[error("{0:?} names no host")]
    Host(String),
    /// A port that is none.
    #[error("{0:?} is no port")]
    Port(String),
    /// A password in the address, where every listing of processes shows it.
    #[error("a password does not belong into the address")]
    Password,
    /// A prefix with a part that is no plain name.
    #[error("the prefix {0:?} has a part that is not of the letters A-Z, a-z, 0-9, '.', '_' and '-'")]
    Prefix(String),
    /// Unencrypted, to another machine.
    #[error("{0} is another machine, and mqtt:// is not encrypted")]
    Unencrypted(String),
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// When it names no broker.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let scheme = [("mqtts://", true), ("mqtt://", false)]
            .into_iter()
            .find_map(|(scheme, tls)| Some((text.strip_prefix(scheme)?, tls)));
        let (rest, tls) = scheme.ok_or_else(|| AddressError::Scheme(text.to_owned()))?;
        let (authority, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, _)) if user.contains(':') => return Err(AddressError::Password),
            Some((user, place)) => (Some(user.to_owned()).filter(|user| !user.is_empty()), place),
            None => (None, authority),
        };
        let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        if host.is_empty() {
            return Err(AddressError::Host(text.to_owned()));
        }
        let port = match port {
            None => [1883, 8883][usize::from(tls)],
            Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or(AddressError::Port(port.to_owned()))?,
        };
        let prefix = match prefix.trim_matches('/') {
            "" => PREFIX,
            prefix if prefix.split('/').all(is_part) => prefix,
            prefix => return Err(AddressError::Prefix(prefix.to_owned())),
        };
        Ok(Self { tls, user, host: host.to_owned(), port, prefix: prefix.to_owned() })
    }

    /// The address, if nothing is said in the clear to another machine; with `insecure` that is a person's own wish.
    ///
    /// # Errors
    /// When the connection would be unencrypted and the host is not this machine.
    pub fn allowed(self, insecure: bool) -> Result<Self, AddressError> {
        let ip = self.host.parse::<std::net::IpAddr>();
        let loopback = self.host == "localhost" || ip.is_ok_and(|ip| ip.is_loopback());
        if self.tls || loopback || insecure { Ok(self) } else { Err(AddressError::Unencrypted(self.host)) }
    }
}

impl std::fmt::Display for Address {
    /// Without the user: for messages.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.tls { "mqtts" } else { "mqtt" };
        let brackets = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{scheme}://{}{}{}:{}/{}", brackets.0, self.host, brackets.1, self.port, self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_defaults() {
        for (text, shown, user) in [
            ("mqtts://broker.example", "mqtts://broker.example:8883/jig-session", None),
            ("mqtt://127.0.0.1/", "mqtt://127.0.0.1:1883/jig-session", None),
            ("mqtts://ann@h:1/team/a/", "mqtts://h:1/team/a", Some("ann")),
            ("mqtt://[::1]:77/x", "mqtt://[::1]:77/x", None),
            ("mqtt://[::1]", "mqtt://[::1]:1883/jig-session", None),
        ] {
            let address = Address::parse(text).expect(text);
            assert_eq!((address.to_string().as_str(), address.user.as_deref()), (shown, user));
        }
    }

    #[test]
    fn what_names_no_broker_is_refused() {
        use AddressError::*;
        for (text, error) in [
            ("https://h", Scheme("https://h".into())),
            ("h:1883", Scheme("h:1883".into())),
            ("mqtt://", Host("mqtt://".into())),
            ("mqtt://:5/", Host("mqtt://:5/".into())),
            ("mqtt://h:0", Port("0".into())),
            ("mqtt://h:70000", Port("70000".into())),
            ("mqtts://a:secret@h", Password),
            ("mqtt://h/a/+/b", Prefix("a/+/b".into())),
            ("mqtt://h/#", Prefix("#".into())),
            ("mqtt://h/a//b", Prefix("a//b".into())),
        ] {
            assert_eq!(Address::parse(text), Err(error));
        }
    }

    #[test]
    fn nothing_goes_to_another_machine_in_the_clear() {
        let allowed = |text: &str, insecure| Address::parse(text).and_then(|address| address.allowed(insecure)).is_ok();
        for here in ["mqtt://localhost", "mqtt://127.0.0.9", "mqtt://[::1]", "mqtts://far"] {
            assert!(allowed(here, false), "{here}");
        }
        assert!(!allowed("mqtt://far", false) && !allowed("mqtt://127.0.0.1.example.org", false));
        assert!(allowed("mqtt://far", true));
    }
}
