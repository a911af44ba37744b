//! Settings that suit development but are dangerous or incomplete in production. Some are rejected, others cause a
//! warning.
//!
//! A setting is rejected if it lets a test tenant reach a listener of this host. It causes a warning if the danger
//! depends on the network around the host or on its tenants, which the file does not describe.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ipnet::IpNet;

use super::{Config, Environment, keys, mistakes::Mistakes, section::Located};

/// Listeners of this host.
#[derive(Clone, Copy, Debug)]
pub struct OwnAddresses {
    pub environment: Environment,
    pub listen: SocketAddr,
    pub admin_listen: SocketAddr,
}

impl OwnAddresses {
    fn is_production(&self) -> bool {
        self.environment == Environment::Production
    }

    /// Warns if the operators' listener accepts connections on all addresses: it uses plain HTTP, which exposes its
    /// token.
    pub fn check_admin_listen(&self, mistakes: &Mistakes<'_>) {
        if self.is_production() && self.admin_listen.ip().is_unspecified() {
            mistakes.warn(format!(
                "`{}` is {}: the operators' listener accepts connections on all addresses of this machine, over plain HTTP. Bind it to \
                 127.0.0.1 or to an address that only operators reach.",
                keys::ADMIN_LISTEN.name,
                self.admin_listen
            ));
        }
    }

    /// Checks a network of `outbound.allow-test`.
    pub fn check_test(&self, mistakes: &Mistakes<'_>, given: &Located<String>, network: &IpNet) {
        let (key, text) = (keys::ALLOW_TEST.name, &given.value);
        match self.find_covered(network) {
            _ if !self.is_production() => {}
            Some(own) => mistakes.at(
                &given.span,
                format!(
                    "`outbound.{key}`: \"{text}\" covers {own}, where this host listens: in production webhooks of test \
                     tenants must not reach it. Remove it, or set a network without that address."
                ),
            ),
            None => mistakes.warn_at(
                &given.span,
                format!(
                    "`outbound.{key}` is for development: in production every holder of a test key can cause calls into \"{text}\", and \
                     reads the first bytes of each response."
                ),
            ),
        }
    }

    /// Warns of a network of `outbound.allow-live` that covers this host.
    pub fn check_live(&self, mistakes: &Mistakes<'_>, given: &Located<String>, network: &IpNet) {
        if let Some(own) = self.find_covered(network).filter(|_| self.is_production()) {
            let (key, text) = (keys::ALLOW_LIVE.name, &given.value);
            let text = format!(
                "`outbound.{key}`: \"{text}\" covers {own}, where this host listens: calls of live tenants may reach other \
                 programs there."
            );
            mistakes.warn_at(&given.span, text);
        }
    }

    /// Returns the first listener of this host in the network. A listener on all addresses is reached over loopback at
    /// least.
    fn find_covered(&self, network: &IpNet) -> Option<SocketAddr> {
        let is_covered = |own: &SocketAddr| match own.ip() {
            address if address.is_unspecified() => {
                network.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)) || network.contains(&IpAddr::V6(Ipv6Addr::LOCALHOST))
            }
            address => network.contains(&address) || network.contains(&address.to_canonical()),
        };
        [self.admin_listen, self.listen].into_iter().find(is_covered)
    }
}

/// Warns if no base URL for links is set: plugins that create links are then not loaded.
pub fn check_links(config: &Config, mistakes: &Mistakes<'_>) {
    let is_named = config.public_url.is_some() || config.oauth.issuer.is_some();
    if config.environment == Environment::Production && !is_named && !config.plugins.is_empty() {
        mistakes.warn(format!(
            "`{}` is missing: in production a plugin that creates absolute links is not loaded without it.",
            keys::PUBLIC_URL.name
        ));
    }
}

/// Warns if requests from other machines can only arrive over plain HTTP: live keys are then rejected.
pub fn check_listen(config: &Config, mistakes: &Mistakes<'_>) {
    let is_local = config.listen.ip().to_canonical().is_loopback();
    let is_encrypted = config.http.tls.is_some() || !config.http.trusted_proxies.is_empty();
    if config.environment == Environment::Production && !is_local && !is_encrypted {
        mistakes.warn(format!(
            "`{}` is {}, which is reached over plain HTTP, and no proxy is trusted: live keys from other machines are rejected. \
             Set `http.{}` and `http.{}`, or `http.{}`.",
            keys::LISTEN.name,
            config.listen,
            keys::TLS_CERTIFICATE.name,
            keys::TLS_KEY.name,
            keys::TRUSTED_PROXIES.name
        ));
    }
}
