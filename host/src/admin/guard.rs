//! Who may ask: the token for everything that operators do; health and metrics are open.
//!
//! A page in an operator's browser can send requests to this listener, also under a name of its own that points here.
//! So a request with an Origin is refused, and so is a Host that is neither an IP address, nor localhost, nor named in
//! `admin-hosts`.
//! Wrong tokens are counted by address: an address that guesses is answered with 429. The right token always passes: it has
//! 256 bits, so refusing it would protect nothing.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::Arc,
};

use axum::{
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, StatusCode, Uri, header, uri::Authority};
use subtle::ConstantTimeEq;
use tokio::time::Instant;

use super::problem::Rejection;
use crate::{
    auth::guesses::{Allowance, Blocked, Guesses},
    limits::{OPERATOR_GUESSES_AT_ONCE, OPERATOR_GUESSES_PER_SECOND},
    secrets::SecretText,
};

/// Readable without the token: they name plugins and numbers, and probes have no token.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub struct Guard {
    token: SecretText,
    hosts: Vec<String>,
    guesses: Guesses,
}

impl Guard {
    /// `hosts`: lower case names besides localhost and IP addresses.
    pub fn new(token: SecretText, hosts: Vec<String>) -> Guard {
        let allowance = Allowance { at_once: OPERATOR_GUESSES_AT_ONCE, per_second: OPERATOR_GUESSES_PER_SECOND };
        Guard { token, hosts, guesses: Guesses::new(allowance) }
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap, peer: IpAddr) -> Result<(), Rejection> {
        if headers.contains_key(header::ORIGIN) {
            let hint = "Use the command `tenon`, or a program that sends no Origin header.";
            return Err(Rejection::new(StatusCode::FORBIDDEN, "from-a-browser", "Browsers are not served here.", hint));
        }
        if !self.knows_host(uri, headers) {
            let hint = "Use an IP address or localhost, or add the name to admin-hosts in plugins.toml.";
            let message = "The Host header names no host that this listener answers to.";
            return Err(Rejection::new(StatusCode::FORBIDDEN, "unknown-host", message, hint));
        }
        if OPEN.contains(&uri.path()) {
            return Ok(());
        }
        // Before anything is counted: a process at the same address must not lock operators out.
        if self.has_token(headers) {
            return Ok(());
        }
        if headers.contains_key(header::AUTHORIZATION)
            && let Some(blocked) = self.note_guess(peer)
        {
            return Err(too_many_guesses(blocked));
        }
        let hint = "Send `Authorization: Bearer` with the content of admin.token in the host's data folder.";
        Err(Rejection::new(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "The operators' token is missing or wrong.",
            hint,
        ))
    }

    /// Returns `Some` if the failure exceeds the allowance. Any other failure is answered with 401.
    fn note_guess(&self, peer: IpAddr) -> Option<Blocked> {
        let blocked = self.guesses.note_failure(peer, Instant::now())?;
        if blocked.is_report_due {
            tracing::warn!(%peer, "too many wrong operators' tokens: this address gets 429, one attempt a second is judged");
        }
        Some(blocked)
    }

    fn knows_host(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut named = headers.get_all(header::HOST).iter();
        let text = match (named.next(), named.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, _) => uri.authority().map(Authority::as_str),
            _ => None,
        };
        // "evil@localhost" names a user and a host: a Host header has no user.
        let text = text.filter(|text| !text.contains('@'));
        let Some(authority) = text.and_then(|text| text.parse::<Authority>().ok()) else { return false };
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare == "localhost" || bare.parse::<IpAddr>().is_ok() || self.hosts.contains(&host)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (given.next(), given.next()) else { return false };
        let token = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        token.is_some_and(|token| token.as_bytes().ct_eq(self.token.expose().as_bytes()).into())
    }
}

fn too_many_guesses(blocked: Blocked) -> Rejection {
    let hint = "Send the content of admin.token, which is never slowed; a wrong token is judged after the seconds in Retry-After.";
    let message = "This address has sent too many wrong operators' tokens.";
    Rejection::new(StatusCode::TOO_MANY_REQUESTS, "too-many-guesses", message, hint).retry_after(blocked)
}

/// The layer in front of every route. A request without a peer (in tests) counts as one of this machine.
pub async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<IpAddr>>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(peer)| *peer);
    match guard.check(request.uri(), request.headers(), peer) {
        Ok(()) => next.run(request).await,
        Err(rejection) => rejection.into_response(),
    }
}
