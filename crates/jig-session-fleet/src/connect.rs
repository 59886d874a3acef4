//! The way to a broker: credentials, certificates, and pauses between two attempts.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::time::Duration;

use rumqttc::{MqttOptions, TlsConfiguration, Transport};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::address::Address;

/// How long a broker waits for a word before it says that the machine is gone: one and a half times this.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// How long a connection may take to come about, in seconds.
const CONNECTION_SECONDS: u64 = 10;
/// What a broker may send in one packet, in bytes. Its own limit should be far below: see the documentation.
const INCOMING_BYTES: usize = 8 << 20;
/// What we send in one packet.
const OUTGOING_BYTES: usize = 256 << 10;
/// Messages that are under way at once.
const IN_FLIGHT: u16 = 64;
/// The first pause after a connection is lost; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// No pause is longer, before chance makes it up to half as long again.
const LONGEST_PAUSE: Duration = Duration::from_secs(40);

/// Who we are to a broker, and how it proves who it is.
#[derive(Clone, Default)]
pub struct Access {
    /// The user's name; the address may hold it too.
    pub user: Option<String>,
    /// The user's password.
    pub password: Option<String>,
    /// Certificates, as PEM, of which one must have signed the broker's; the system's where there are none.
    pub authorities: Option<Vec<u8>>,
    /// Our own certificate and its key, as PEM.
    pub client: Option<(Vec<u8>, Vec<u8>)>,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Why no connection can be tried.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The certificates of authorities hold none.
    #[error("no certificate of an authority can be read: {0}")]
    Authorities(String),
    /// Our own certificate or key cannot be used.
    #[error("the client's certificate or key cannot be used: {0}")]
    Client(String),
}

/// What a connection is made of.
pub(crate) fn options(address: &Address, access: &Access, client: &str) -> Result<MqttOptions, ConnectError> {
    let mut options = MqttOptions::new(client, &address.host, address.port);
    options.set_keep_alive(KEEP_ALIVE).set_clean_session(true).set_inflight(IN_FLIGHT);
    options.set_max_packet_size(INCOMING_BYTES, OUTGOING_BYTES);
    if let Some(user) = access.user.as_ref().or(address.user.as_ref()) {
        options.set_credentials(user, access.password.as_deref().unwrap_or_default());
    }
    if address.tls {
        let config = TlsConfiguration::Rustls(Arc::new(tls(access)?));
        options.set_transport(Transport::tls_with_config(config));
    }
    Ok(options)
}

/// The limits of the network under a connection.
pub(crate) fn network() -> rumqttc::NetworkOptions {
    let mut network = rumqttc::NetworkOptions::new();
    network.set_connection_timeout(CONNECTION_SECONDS).set_tcp_nodelay(true);
    network
}

fn tls(access: &Access) -> Result<ClientConfig, ConnectError> {
    let mut roots = RootCertStore::empty();
    match &access.authorities {
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(pem) {
                let certificate = certificate.map_err(|error| ConnectError::Authorities(error.to_string()))?;
                roots.add(certificate).map_err(|error| ConnectError::Authorities(error.to_string()))?;
            }
        }
        None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
    }
    if roots.is_empty() {
        return Err(ConnectError::Authorities("there is none".to_owned()));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = |error: &dyn std::fmt::Display| ConnectError::Client(error.to_string());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| client(&error))?
        .with_root_certificates(roots);
    match &access.client {
        None => Ok(config.with_no_client_auth()),
        Some((certificate, key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
            let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| client(&error))?;
            config.with_client_auth_cert(chain.map_err(|error| client(&error))?, key).map_err(|error| client(&error))
        }
    }
}

/// The pauses between attempts: each twice as long as the one before, and none the same for two machines, so that a
/// broker that comes back is not met by all at once.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    failed: u32,
}

impl Pauses {
    /// A connection came about.
    pub(crate) fn connected(&mut self) {
        self.failed = 0;
    }

    /// How long to wait before the next attempt.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failed.min(16)).min(LONGEST_PAUSE);
        self.failed = self.failed.saturating_add(1);
        let chance = RandomState::new().build_hasher().finish() % 1000;
        pause / 2 + pause.mul_f64(chance as f64 / 1000.0)
    }
}

/// What a client of ours is called: no two may be.
pub(crate) fn client_id(role: &str) -> String {
    format!("jig-{role}-{:016x}", RandomState::new().build_hasher().finish())
}

/// Why a connection is lost, for people.
pub(crate) fn words(error: &rumqttc::ConnectionError) -> String {
    use rumqttc::ConnectReturnCode::{BadUserNamePassword, NotAuthorized};
    use rumqttc::ConnectionError::{ConnectionRefused, Io, NetworkTimeout};
    match error {
        ConnectionRefused(BadUserNamePassword | NotAuthorized) => "it refuses this user or password".to_owned(),
        ConnectionRefused(code) => format!("it refuses the connection: {code:?}"),
        NetworkTimeout => "it does not answer".to_owned(),
        Io(error) => error.to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_differ() {
        let mut pauses = Pauses::default();
        for failed in 0..20_u32 {
            let whole = FIRST_PAUSE.saturating_mul(1 << failed.min(16)).min(LONGEST_PAUSE);
            let pause = pauses.next();
            assert!(pause >= whole / 2 && pause <= whole * 3 / 2, "{failed}: {pause:?}");
        }
        pauses.connected();
        assert!(pauses.next() <= FIRST_PAUSE * 3 / 2);
        assert_ne!(client_id("x"), client_id("x"));
    }

    #[test]
    fn certificates_that_are_none_are_named() {
        let address = Address::parse("mqtts://h").expect("an address");
        let access = Access { authorities: Some(b"no pem".to_vec()), ..Access::default() };
        let error = options(&address, &access, "x").expect_err("no certificate");
        assert_eq!(error.to_string(), "no certificate of an authority can be read: there is none");
        assert!(!format!("{:?}", Access { password: Some("hush".into()), ..Access::default() }).contains("hush"));
    }
}
