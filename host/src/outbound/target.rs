//! An address that may be called, checked as far as that is possible without looking up its name. Pure.
//!
//! Invariants: a [`Target`] is http or https to a named host or an address, and carries no user, password or fragment; its
//! host is spelled as the URL standard spells it, so that an address written in hex, octal or percents is judged as what
//! it is. What a name stands for is judged when it is connected to.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use http::{HeaderValue, Uri};
use url::{Host, Url};

use super::address::{AddressRule, Forbidden};
use crate::limits::OUTBOUND_URL_BYTES_MAX;

/// Which schemes will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    HttpsOnly,
    HttpToo,
}

/// Why an address cannot be a target. The words are for whoever wrote it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefusal {
    #[error("the address is longer than {OUTBOUND_URL_BYTES_MAX} bytes")]
    TooLong,
    #[error("the address holds blanks or control characters")]
    Blanks,
    #[error("this is not an address of the form https://host/path")]
    NotAUrl,
    #[error("the address has to begin with https://")]
    HttpsRequired,
    #[error("the address has to begin with https:// or http://")]
    WrongScheme,
    #[error("the address must not hold a user or a password")]
    UserInfo,
    #[error("the address must not hold a fragment (#)")]
    Fragment,
    #[error("the address must not hold a query (?)")]
    Query,
    #[error("there is no port 0")]
    PortZero,
    #[error("the name of the host is not a full public name")]
    NotAFullName,
    #[error("the host is {0}, which may not be called")]
    Address(Forbidden),
}

/// Made by [`check_url`] only. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Target(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    tls: bool,
    host: Where,
    port: u16,
    place: Arc<str>,
    host_header: HeaderValue,
    path: Uri,
}

/// Where to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Name(String),
    Address(IpAddr),
}

/// Turns what somebody wrote into a target, or says what is wrong with it.
pub fn check_url(text: &str, rule: &AddressRule, scheme: Scheme) -> Result<Target, UrlRefusal> {
    if text.len() > OUTBOUND_URL_BYTES_MAX {
        return Err(UrlRefusal::TooLong);
    }
    // The parser would silently drop some of them.
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(UrlRefusal::Blanks);
    }
    let authority = authority(text).ok_or(UrlRefusal::NotAUrl)?;
    let url = Url::parse(text).map_err(|_| UrlRefusal::NotAUrl)?;
    let tls = match (url.scheme(), scheme) {
        ("https", _) => true,
        ("http", Scheme::HttpToo) => false,
        ("http", Scheme::HttpsOnly) => return Err(UrlRefusal::HttpsRequired),
        _ => return Err(UrlRefusal::WrongScheme),
    };
    if authority.contains('@') {
        return Err(UrlRefusal::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(UrlRefusal::Fragment);
    }
    let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(UrlRefusal::PortZero)?;
    let host = check_host(url.host().ok_or(UrlRefusal::NotAUrl)?, rule)?;
    build(&url, tls, host, port).ok_or(UrlRefusal::NotAUrl)
}

/// What stands between `//` and the path. The parser is more generous: it takes backslashes for slashes, and any number of
/// them, none included; whoever checked such an address elsewhere may have seen another host in it.
fn authority(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    (!authority.is_empty() && !text.contains('\\')).then_some(authority)
}

fn check_host(host: Host<&str>, rule: &AddressRule) -> Result<Where, UrlRefusal> {
    let name = match host {
        Host::Ipv4(ip) => return check_address(ip.into(), rule),
        Host::Ipv6(ip) => return check_address(ip.into(), rule),
        Host::Domain(name) => name,
    };
    if name.is_empty() || name.len() > 253 || name.split('.').any(|label| label.is_empty() || label.len() > 63) {
        return Err(UrlRefusal::NotAFullName);
    }
    if name == "localhost" || name.ends_with(".localhost") {
        check_address(Ipv4Addr::LOCALHOST.into(), rule)?;
    } else if !name.contains('.') && rule.allow.is_empty() {
        // The system would complete it with the domains of its own network.
        return Err(UrlRefusal::NotAFullName);
    }
    Ok(Where::Name(name.to_owned()))
}

fn check_address(ip: IpAddr, rule: &AddressRule) -> Result<Where, UrlRefusal> {
    rule.judge(ip).map_err(UrlRefusal::Address)?;
    Ok(Where::Address(ip))
}

fn build(url: &Url, tls: bool, host: Where, port: u16) -> Option<Target> {
    let host_text = url.host_str()?;
    let host_header = match url.port() {
        Some(port) => format!("{host_text}:{port}"),
        None => host_text.to_owned(),
    };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let place = format!("{}://{host_text}:{port}", url.scheme());
    Some(Target(Arc::new(Parts {
        tls,
        host,
        port,
        place: place.into(),
        host_header: HeaderValue::try_from(host_header).ok()?,
        path: Uri::try_from(path).ok()?,
    })))
}

impl Target {
    /// Scheme, host and port: what a person may see, and what connections are kept for. Paths hold secrets.
    pub fn place(&self) -> &Arc<str> {
        &self.0.place
    }

    pub fn is_https(&self) -> bool {
        self.0.tls
    }

    /// Whether what is sent there stays on this machine.
    pub fn is_loopback(&self) -> bool {
        match &self.0.host {
            Where::Address(ip) => ip.to_canonical().is_loopback(),
            Where::Name(name) => name == "localhost",
        }
    }

    pub(super) fn host(&self) -> &Where {
        &self.0.host
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port
    }

    pub(super) fn host_header(&self) -> &HeaderValue {
        &self.0.host_header
    }

    pub(super) fn path(&self) -> &Uri {
        &self.0.path
    }
}
