//! A URL that may be called, checked as far as possible without a lookup of its name. Pure.
//!
//! Invariants: a [`Target`] is http or https to a named host or an address, without user, password or fragment. Its
//! host is normalised as the URL standard requires, so that an address in hexadecimal, octal or percent-encoded form is
//! checked as the address that it is. The addresses of a name are checked when it is connected to.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use http::{HeaderValue, Uri};
use url::{Host, Url};

use super::address::{AddressError, AddressRule};
use crate::limits::OUTBOUND_URL_BYTES_MAX;

/// Schemes that are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    HttpsOnly,
    HttpOrHttps,
}

/// Why a URL cannot be a target. The messages are for the person who wrote the URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
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
    #[error("the address must not contain a query (?)")]
    Query,
    #[error("there is no port 0")]
    PortZero,
    #[error("the name of the host is not a full public name")]
    NotAFullName,
    #[error("the host is {0}, which may not be called")]
    Address(AddressError),
}

/// A checked URL, created only by [`check_url`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Target(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    tls: bool,
    host: TargetHost,
    port: u16,
    origin: Arc<str>,
    host_header: HeaderValue,
    path: Uri,
}

/// Host to connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TargetHost {
    Name(String),
    Address(IpAddr),
}

/// Checks a URL and returns a target.
pub fn check_url(text: &str, rule: &AddressRule, scheme: Scheme) -> Result<Target, UrlError> {
    if text.len() > OUTBOUND_URL_BYTES_MAX {
        return Err(UrlError::TooLong);
    }
    // The URL parser would silently drop some of these characters.
    if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return Err(UrlError::Blanks);
    }
    let authority = authority(text).ok_or(UrlError::NotAUrl)?;
    let url = Url::parse(text).map_err(|_| UrlError::NotAUrl)?;
    let tls = match (url.scheme(), scheme) {
        ("https", _) => true,
        ("http", Scheme::HttpOrHttps) => false,
        ("http", Scheme::HttpsOnly) => return Err(UrlError::HttpsRequired),
        _ => return Err(UrlError::WrongScheme),
    };
    if authority.contains('@') {
        return Err(UrlError::UserInfo);
    }
    if url.fragment().is_some() {
        return Err(UrlError::Fragment);
    }
    let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(UrlError::PortZero)?;
    let host = check_host(url.host().ok_or(UrlError::NotAUrl)?, rule)?;
    build(&url, tls, host, port).ok_or(UrlError::NotAUrl)
}

/// Returns the text between `//` and the path. The URL parser is more lenient: it accepts backslashes and any number of
/// slashes. Another program may find another host in such a URL.
fn authority(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    (!authority.is_empty() && !text.contains('\\')).then_some(authority)
}

fn check_host(host: Host<&str>, rule: &AddressRule) -> Result<TargetHost, UrlError> {
    let name = match host {
        Host::Ipv4(ip) => return check_address(ip.into(), rule),
        Host::Ipv6(ip) => return check_address(ip.into(), rule),
        Host::Domain(name) => name,
    };
    if name.is_empty() || name.len() > 253 || name.split('.').any(|label| label.is_empty() || label.len() > 63) {
        return Err(UrlError::NotAFullName);
    }
    if name == "localhost" || name.ends_with(".localhost") {
        check_address(Ipv4Addr::LOCALHOST.into(), rule)?;
    } else if !name.contains('.') && rule.allow.is_empty() {
        // The system resolver would append the domains of its own network.
        return Err(UrlError::NotAFullName);
    }
    Ok(TargetHost::Name(name.to_owned()))
}

fn check_address(ip: IpAddr, rule: &AddressRule) -> Result<TargetHost, UrlError> {
    rule.check(ip).map_err(UrlError::Address)?;
    Ok(TargetHost::Address(ip))
}

fn build(url: &Url, tls: bool, host: TargetHost, port: u16) -> Option<Target> {
    let host_text = url.host_str()?;
    let host_header = match url.port() {
        Some(port) => format!("{host_text}:{port}"),
        None => host_text.to_owned(),
    };
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let origin = format!("{}://{host_text}:{port}", url.scheme());
    Some(Target(Arc::new(Parts {
        tls,
        host,
        port,
        origin: origin.into(),
        host_header: HeaderValue::try_from(host_header).ok()?,
        path: Uri::try_from(path).ok()?,
    })))
}

impl Target {
    /// Returns scheme, host and port. They may be shown to people and identify reusable connections. Paths may contain
    /// secrets.
    pub fn origin(&self) -> &Arc<str> {
        &self.0.origin
    }

    pub fn is_https(&self) -> bool {
        self.0.tls
    }

    /// Returns true if requests to the target stay on this machine.
    pub fn is_loopback(&self) -> bool {
        match &self.0.host {
            TargetHost::Address(ip) => ip.to_canonical().is_loopback(),
            TargetHost::Name(name) => name == "localhost",
        }
    }

    pub(super) fn host(&self) -> &TargetHost {
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
