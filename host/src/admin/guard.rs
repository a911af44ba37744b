//! Authentication of the operators' listener. Operator requests need the token. Health and metrics are open.
//!
//! A page in an operator's browser can send requests to this listener, even through a DNS name of the page's own that
//! resolves to it (DNS rebinding). The guard therefore rejects requests with an Origin header, and requests whose Host
//! is neither an IP address, nor localhost, nor listed in `admin-hosts`.
//!
//! The guard counts wrong tokens by address, and an address with too many gets 429. A correct token always passes: it
//! has 256 bits, so rejecting it would not prevent guessing.

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

use super::AdminError;
use crate::{
    auth::guess_limiter::{Allowance, Blocked, GuessLimiter},
    limits::{OPERATOR_GUESSES_AT_ONCE, OPERATOR_GUESSES_PER_SECOND},
    secrets::SecretText,
};

/// Paths that need no token, because probes have none. They expose plugin names, numbers, and the reasons why the host
/// is not ready.
const OPEN_PATHS: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

pub struct Guard {
    token: SecretText,
    hosts: Vec<String>,
    guesses: GuessLimiter,
}

impl Guard {
    /// Creates a guard. `hosts` are lower-case names that are accepted besides localhost and IP addresses.
    pub fn new(token: SecretText, hosts: Vec<String>) -> Guard {
        let allowance = Allowance { at_once: OPERATOR_GUESSES_AT_ONCE, per_second: OPERATOR_GUESSES_PER_SECOND };
        Guard { token, hosts, guesses: GuessLimiter::new(allowance) }
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap, peer: IpAddr) -> Result<(), AdminError> {
        if headers.contains_key(header::ORIGIN) {
            let hint = "Use the command `tenon`, or a program that sends no Origin header.";
            return Err(AdminError::new(
                StatusCode::FORBIDDEN,
                "from-a-browser",
                "Requests from browsers are rejected.",
                hint,
            ));
        }
        if !self.names_accepted_host(uri, headers) {
            let hint = "Use an IP address or localhost, or add the name to admin-hosts in plugins.toml.";
            let message = "The Host header does not name an accepted host.";
            return Err(AdminError::new(StatusCode::FORBIDDEN, "unknown-host", message, hint));
        }
        if OPEN_PATHS.contains(&uri.path()) {
            return Ok(());
        }
        // The token is checked before guesses are counted: a process at the same address must not lock operators out.
        if self.has_token(headers) {
            return Ok(());
        }
        if headers.contains_key(header::AUTHORIZATION)
            && let Some(blocked) = self.note_guess(peer)
        {
            return Err(too_many_guesses(blocked));
        }
        let hint = "Send `Authorization: Bearer` with the content of admin.token in the host's data folder.";
        Err(AdminError::new(
            StatusCode::UNAUTHORIZED,
            "unauthenticated",
            "The operators' token is missing or wrong.",
            hint,
        ))
    }

    /// Counts a wrong token. Returns `None` if the address is within its allowance, so that the response is 401.
    fn note_guess(&self, peer: IpAddr) -> Option<Blocked> {
        let blocked = self.guesses.record_failure(peer, Instant::now())?;
        if blocked.is_report_due {
            tracing::warn!(%peer, "rejecting wrong operator tokens from this address with 429; one attempt per second is checked");
        }
        Some(blocked)
    }

    /// Returns true if the host names of the request are accepted: the name in the Host header, and the name in a
    /// request target in absolute form.
    fn names_accepted_host(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(header::HOST).iter();
        let target = uri.authority().map(Authority::as_str);
        match (hosts.next(), hosts.next(), target) {
            (Some(host), None, target) => {
                host.to_str().is_ok_and(|host| self.accepts(host)) && target.is_none_or(|target| self.accepts(target))
            }
            (None, _, Some(target)) => self.accepts(target),
            _ => false,
        }
    }

    fn accepts(&self, host: &str) -> bool {
        // A Host header has no user part. "evil@localhost" would parse as a user and a host.
        let Some(authority) = host.parse::<Authority>().ok().filter(|_| !host.contains('@')) else { return false };
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        bare == "localhost" || bare.parse::<IpAddr>().is_ok() || self.hosts.contains(&host)
    }

    fn has_token(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return false };
        let token = value.to_str().ok().and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        token.is_some_and(|token| token.as_bytes().ct_eq(self.token.expose().as_bytes()).into())
    }
}

fn too_many_guesses(blocked: Blocked) -> AdminError {
    let hint = "Send the content of admin.token: a correct token is always accepted. Other tokens are checked again after Retry-After.";
    let message = "This address sent too many wrong operator tokens.";
    AdminError::new(StatusCode::TOO_MANY_REQUESTS, "too-many-guesses", message, hint).retry_after(blocked)
}

/// Passes a request on if the guard accepts it. Middleware in front of every route. A request without a peer address
/// (in tests) counts as local.
pub async fn admit(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let peer = request.extensions().get::<ConnectInfo<IpAddr>>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |ConnectInfo(peer)| *peer);
    match guard.check(request.uri(), request.headers(), peer) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}
