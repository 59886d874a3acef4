//! The page for a phone or a browser: one file that speaks to one broker, by WebSocket.

use crate::address::PREFIX;
use crate::topic::is_part;

/// The page as `cargo xtask page` builds it: the broker and the prefix are marks.
const PAGE: &str = include_str!("../page/dist/index.html");
/// What every page of ours holds, to tell it from another file of that name.
const GENERATOR: &str = "<meta name=\"generator\" content=\"jig-session fleet page\">";

/// Why no page can be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// No address of a WebSocket.
    #[error("{0:?} is no address of a broker's WebSocket: wss://HOST[:PORT][/PATH]")]
    Address(String),
    /// A user in the address, which everybody who gets the page would read.
    #[error("the page names no user and no password: who opens it types them")]
    User,
    /// An IPv6 address.
    #[error("{0}: the policy of a page cannot name an IPv6 address; give the broker a name")]
    Ipv6(String),
    /// Unencrypted, to another machine.
    #[error("{0} is another machine, and ws:// is not encrypted")]
    Unencrypted(String),
    /// A prefix with a part that is no plain name.
    #[error("the prefix {0:?} has a part that is not of the letters A-Z, a-z, 0-9, '.', '_' and '-'")]
    Prefix(String),
}

/// The page for the broker whose WebSocket listener is at `broker`, as one HTML document. Its policy lets it connect to
/// that address and nowhere else; `prefix` stands before the topics, `None` for the one that addresses without one have.
///
/// # Errors
/// When the broker or the prefix cannot stand in a page, or the connection would be unencrypted to another machine and
/// `insecure` does not say that this is wished.
pub fn page(broker: &str, prefix: Option<&str>, insecure: bool) -> Result<String, PageError> {
    let broker = web_address(broker, insecure)?;
    let prefix = prefix.map_or(PREFIX, |prefix| prefix.trim_matches('/'));
    if !prefix.split('/').all(is_part) {
        return Err(PageError::Prefix(prefix.to_owned()));
    }
    Ok(PAGE.replace("@BROKER@", broker).replace("@PREFIX@", prefix))
}

/// Whether a text is a page that [`page`] made.
#[must_use]
pub fn is_page(text: &str) -> bool {
    text.contains(GENERATOR)
}

/// The address, if it is one and made of characters that mean nothing in HTML or in a policy.
fn web_address(text: &str, insecure: bool) -> Result<&str, PageError> {
    let wrong = || PageError::Address(text.to_owned());
    let (scheme, rest) = text.split_once("://").ok_or_else(wrong)?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    if authority.contains('@') {
        return Err(PageError::User);
    }
    if authority.starts_with('[') {
        return Err(PageError::Ipv6(text.to_owned()));
    }
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let plain = |text: &str, also: &[u8]| text.bytes().all(|b| b.is_ascii_alphanumeric() || also.contains(&b));
    let port_ok = port.is_none_or(|port| plain(port, b"") && port.parse::<u16>().is_ok_and(|port| port != 0));
    if !matches!(scheme, "ws" | "wss") || host.is_empty() || !plain(host, b".-") || !port_ok || !plain(path, b"/._~-") {
        return Err(wrong());
    }
    let here = host == "localhost" || host.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.is_loopback());
    if scheme == "ws" && !here && !insecure {
        return Err(PageError::Unencrypted(host.to_owned()));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_names_its_broker_and_nothing_is_left_open() {
        assert_eq!((PAGE.matches("@BROKER@").count(), PAGE.matches("@PREFIX@").count()), (2, 1));
        let page = page("wss://broker.example:8884/mqtt", Some("team/a/"), false).expect("a page");
        assert!(page.contains("connect-src wss://broker.example:8884/mqtt;"));
        assert!(page.contains("<meta name=\"prefix\" content=\"team/a\">"));
        assert!(is_page(&page) && !is_page("<html></html>"));
        assert!(!page.contains("@BROKER@") && !page.contains("@PREFIX@"));
        let policy = page.split("Content-Security-Policy\" content=\"").nth(1).and_then(|rest| rest.split('"').next());
        let policy = policy.expect("a policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains('@'), "{policy}");
    }

    #[test]
    fn what_cannot_stand_in_a_page_is_refused() {
        use PageError::*;
        let address = |text: &str| Address(text.to_owned());
        for (text, error) in [
            ("mqtts://h", address("mqtts://h")),
            ("https://h", address("https://h")),
            ("h:8884", address("h:8884")),
            ("wss://", address("wss://")),
            ("wss://h:0", address("wss://h:0")),
            ("wss://h:+1", address("wss://h:+1")),
            ("wss://h/; script-src *", address("wss://h/; script-src *")),
            ("wss://h/\"><script>", address("wss://h/\"><script>")),
            ("wss://*/mqtt", address("wss://*/mqtt")),
            ("wss://h/mqtt?a=b", address("wss://h/mqtt?a=b")),
            ("wss://ann:word@h/", User),
            ("wss://[::1]:9001/", Ipv6("wss://[::1]:9001/".to_owned())),
            ("ws://h/", Unencrypted("h".to_owned())),
            ("ws://127.0.0.1.example.org/", Unencrypted("127.0.0.1.example.org".to_owned())),
        ] {
            assert_eq!(page(text, None, false), Err(error));
        }
        assert_eq!(page("wss://h", Some("a/+"), false), Err(Prefix("a/+".to_owned())));
        for good in ["wss://h", "wss://h:8884", "wss://h/a/b-c_d.e~f", "ws://127.0.0.1:9001/mqtt", "ws://localhost"] {
            assert!(page(good, None, false).is_ok(), "{good}");
        }
        assert!(page("ws://h/", None, true).is_ok());
    }
}
