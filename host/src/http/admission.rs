//! Checks that a routed request must pass before a plugin receives it.
//!
//! The checks run in this order: credential, transport, rate, hops, scopes, idempotency key, query, body. The body is
//! read last, so that no memory is used for the body of a request that another check rejects.

use std::{
    net::IpAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, header, request};
use hyper::body::Body;
use tokio::time::Instant;

use super::{
    Backend,
    content::{BodyLimits, read_content},
    error::RequestError,
    query::parse_query,
    service::{RequestContext, Routed, Service},
};
use crate::{
    auth::{
        self, CredentialError, Principal, PrincipalKind,
        credential::{CredentialSources, find_credential, hide_parameter, is_bearer, strip_credential},
        key::credential_kind,
        oauth::OAuth,
    },
    budget::Party,
    changes::credential::CredentialKind,
    config::Environment,
    host_error::HostError,
    limits::{IDEMPOTENCY_KEY_CHARACTERS_MAX, PLAIN_HTTP_LOG_INTERVAL_MS},
    manifest::Authentication,
    outbound::{HopsError, read_hops},
    plugin::{
        exchange::Admitted,
        routes::{ContextValue, Mounted, Route},
    },
};

/// Returns the hop count of a request. A request with too many hops is part of a loop.
fn check_hops(headers: &HeaderMap) -> Result<u8, RequestError> {
    read_hops(headers).map_err(|error| match error {
        HopsError::TooMany => RequestError::new(HostError::LoopDetected, "too many hops"),
        HopsError::Malformed => RequestError::new(HostError::MalformedRequest, "the hop count must be a number"),
    })
}

impl<C: Backend> Service<C> {
    pub(super) async fn admit<B>(
        &self,
        head: &request::Parts,
        body: &mut B,
        routed: Routed<C::Owner>,
        context: &mut RequestContext<C::Owner>,
    ) -> Result<Admitted<C::Owner>, RequestError>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let Routed { mounted, route, mut parameters } = routed;
        let raw_query = head.uri.query().unwrap_or("");
        let sources = sources(&mounted.manifest.authentication);
        let mut path = head.uri.path().to_owned();
        let principal = match (&context.caller, &route.declared.key_parameter) {
            (Some(caller), _) => Arc::clone(caller),
            (None, None) => self.authenticate(head, (&mounted, &route), sources, context).await?,
            (None, Some(name)) => {
                let principal = self.authenticate_link(&mounted, name, &parameters).await?;
                path = hide_parameter(&path, &route.declared.path, name, &principal.subject);
                let hidden = parameters.iter_mut().filter(|(parameter, _)| parameter == name);
                hidden.for_each(|(_, value)| *value = principal.subject.to_string());
                principal
            }
        };
        context.tenant = Some(Arc::clone(&principal.tenant)).filter(|tenant| !tenant.is_empty());
        self.check_transport(head, &principal, context)?;
        self.check_rate(head, &mounted, &principal, context)?;
        let hops = check_hops(&head.headers)?;
        if !principal.has_scopes(&route.declared.scopes) {
            return Err(missing_scope(&mounted, &route));
        }
        let idempotency_key = if route.writes() { read_idempotency_key(&head.headers)? } else { None };
        let raw_query = strip_credential(raw_query, sources).into_owned();
        let query = parse_query(&raw_query)
            .ok_or_else(|| RequestError::new(HostError::MalformedRequest, "the query is not UTF-8 or too long"))?;
        let context_values = self.context_values(head, &mounted, &route, context, idempotency_key.as_deref());
        let deadline_ms = route.declared.deadline_ms.unwrap_or(mounted.config.limits.deadline_ms);
        let party = self.party(head, &principal, context);
        let limits = BodyLimits {
            bytes_max: route.declared.body_bytes_max.unwrap_or(self.settings.body_bytes_max),
            until: context.began + Duration::from_millis(self.settings.body_timeout_ms),
            media_types: &route.declared.media_types,
            budget: &self.budget,
            party: &party,
            progress_limits: self.progress_limits(),
            anonymous: principal.tenant.is_empty().then_some(&self.anonymous_bodies),
        };
        let (content, body_charge) = read_content(head, body, limits).await?;
        Ok(Admitted {
            method: if head.method == Method::HEAD { Method::GET } else { head.method.clone() },
            path,
            parameters,
            query,
            raw_query,
            headers: pick_headers(&head.headers, &route),
            content,
            party,
            body_charge,
            principal,
            request_id: Arc::clone(&context.request_id),
            context: context_values,
            idempotency_key,
            hops,
            deadline: context.began + Duration::from_millis(deadline_ms),
            mounted,
            route,
        })
    }

    /// Authenticates a request. An open route needs no credential, but one that is sent must be valid, so that a caller
    /// is never anonymous by mistake.
    async fn authenticate(
        &self,
        head: &request::Parts,
        (mounted, route): (&Mounted<C::Owner>, &Route),
        sources: CredentialSources<'_>,
        context: &RequestContext<C::Owner>,
    ) -> Result<Arc<Principal>, RequestError> {
        let result = match find_credential(&head.headers, head.uri.query().unwrap_or(""), sources) {
            Ok(Some(text)) => self.verify(&text, head, mounted).await,
            Ok(None) if route.declared.open => Ok(Arc::clone(&self.anonymous)),
            Ok(None) => Err(CredentialError::Missing),
            Err(error) => Err(error),
        };
        result.map_err(|error| {
            if let Some(error) = self.count_guess(head, context, &error) {
                return error;
            }
            let challenge = challenge(&error, mounted);
            challenge.into_iter().fold(error.into(), |error: RequestError, challenge| {
                error.with_header(header::WWW_AUTHENTICATE, challenge)
            })
        })
    }

    /// Counts a wrong credential. Returns an error if the address exceeds its allowance. A valid credential is never
    /// counted and never slowed down.
    fn count_guess(
        &self,
        head: &request::Parts,
        context: &RequestContext<C::Owner>,
        error: &CredentialError,
    ) -> Option<RequestError> {
        if !matches!(error, CredentialError::Unknown | CredentialError::Malformed | CredentialError::Token(_)) {
            return None;
        }
        let address = self.origins.client_address(context.peer.address, &head.headers);
        let blocked = self.guesses.record_failure(address, Instant::now())?;
        if blocked.is_report_due {
            tracing::warn!(%address, "too many wrong keys and tokens: further ones from this address get 429");
        }
        let error = RequestError::new(HostError::RateLimited, "too many wrong keys and tokens");
        Some(error.with_header(header::RETRY_AFTER, HeaderValue::from(blocked.retry_after_seconds)))
    }

    /// Authenticates the token of a path. An invalid token is answered with 404, because the token is the whole address
    /// of the resource.
    async fn authenticate_link(
        &self,
        mounted: &Mounted<C::Owner>,
        name: &str,
        parameters: &[(String, String)],
    ) -> Result<Arc<Principal>, RequestError> {
        let text = parameters.iter().find(|(parameter, _)| parameter == name).map_or("", |(_, value)| value.as_str());
        let result = self.keys.authenticate_token(text, &mounted.plugin, (self.clock)()).await;
        result.map_err(|error| match error {
            CredentialError::Store(_) => error.into(),
            _ => RequestError::new(HostError::NotFound, "the token in the path is unknown"),
        })
    }

    /// Verifies a credential. An OAuth token is accepted in `Authorization: Bearer` alone. The other places are for
    /// keys.
    async fn verify(
        &self,
        text: &str,
        head: &request::Parts,
        mounted: &Mounted<C::Owner>,
    ) -> Result<Arc<Principal>, CredentialError> {
        let (authentication, now) = (&mounted.manifest.authentication, (self.clock)());
        if authentication.oauth && OAuth::is_token(text) && is_bearer(&head.headers) {
            return self.oauth.authenticate(text, &mounted.plugin, now).await;
        }
        // A token is accepted outside of the paths of `key-parameter` routes only if the interface allows it.
        let is_accepted = match credential_kind(text) {
            Some(CredentialKind::Token) => authentication.tokens,
            _ => authentication.api_keys,
        };
        if !is_accepted {
            return Err(CredentialError::Malformed);
        }
        self.keys.authenticate(text, &mounted.plugin, now).await
    }

    /// Rejects a live key over plain HTTP to a host in production, since a third party may have read it.
    fn check_transport(
        &self,
        head: &request::Parts,
        principal: &Principal,
        context: &RequestContext<C::Owner>,
    ) -> Result<(), RequestError> {
        if !self.is_exposed(head, principal.environment, context) {
            return Ok(());
        }
        self.log_exposure(&principal.subject, context);
        Err(RequestError::new(HostError::Forbidden, "a live key over plain HTTP"))
    }

    pub(super) fn is_exposed(
        &self,
        head: &request::Parts,
        environment: &str,
        context: &RequestContext<C::Owner>,
    ) -> bool {
        context.caller.is_none()
            && self.environment == Environment::Production
            && environment == auth::Environment::Live.name()
            && !self.origins.is_private(context.peer, &head.headers)
    }

    pub(super) fn log_exposure(&self, subject: &str, context: &RequestContext<C::Owner>) {
        let (now, logged_at) = ((self.clock)(), self.exposure_logged_at.load(Ordering::Relaxed));
        let is_due = now.saturating_sub(logged_at) >= PLAIN_HTTP_LOG_INTERVAL_MS;
        if is_due
            && self.exposure_logged_at.compare_exchange(logged_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        {
            tracing::warn!(
                request_id = &*context.request_id,
                key = subject,
                peer = %context.peer.address,
                "rejected a live key over plain HTTP, where a third party could read it. Serve TLS \
                 (http.tls-certificate and http.tls-key), or add the proxy that does to http.trusted-proxies and make \
                 it send X-Forwarded-Proto: https. Then replace this key and revoke it"
            );
        }
    }

    /// Returns the party: the tenant, or the address of a caller without a key.
    fn party(&self, head: &request::Parts, principal: &Principal, context: &RequestContext<C::Owner>) -> Party {
        match principal.tenant.is_empty() {
            true => anonymous_caller(self.origins.client_address(context.peer.address, &head.headers)),
            false => principal.tenant.clone(),
        }
    }

    fn check_rate(
        &self,
        head: &request::Parts,
        mounted: &Mounted<C::Owner>,
        principal: &Principal,
        context: &mut RequestContext<C::Owner>,
    ) -> Result<(), RequestError> {
        let limits = &mounted.config.limits;
        if limits.rate_per_second == 0 {
            return Ok(());
        }
        let caller = match principal.kind {
            PrincipalKind::Anonymous => {
                anonymous_caller(self.origins.client_address(context.peer.address, &head.headers))
            }
            // The subject alone is ambiguous: other tenants may have a plugin or a client of the same name.
            PrincipalKind::Plugin | PrincipalKind::OAuthClient => {
                format!("{} {}", principal.subject, principal.tenant).into()
            }
            _ => Arc::clone(&principal.subject),
        };
        context.rate = self.rates.check(&mounted.plugin, limits, &caller);
        match context.rate.and_then(|rate| rate.retry_after_seconds) {
            Some(_) => Err(RequestError::new(HostError::RateLimited, "too many requests")),
            None => Ok(()),
        }
    }

    fn context_values(
        &self,
        head: &request::Parts,
        mounted: &Mounted<C::Owner>,
        route: &Route,
        context: &RequestContext<C::Owner>,
        idempotency_key: Option<&str>,
    ) -> Vec<(String, String)> {
        let value = |value_kind: &ContextValue| {
            let value = match value_kind {
                ContextValue::BaseUrl => {
                    let mount = mounted.config.mount.trim_end_matches('/');
                    self.link_base.as_ref().map(|base| format!("{base}{mount}"))
                }
                ContextValue::ClientAddress => {
                    Some(self.origins.client_address(context.peer.address, &head.headers).to_string())
                }
                ContextValue::IdempotencyKey => idempotency_key.map(str::to_owned),
            };
            value.map(|value| (value_kind.name().to_owned(), value))
        };
        route.context.iter().filter_map(value).collect()
    }
}

fn sources(authentication: &Authentication) -> CredentialSources<'_> {
    CredentialSources {
        basic_user: authentication.basic_user,
        header: authentication.header.as_deref(),
        query: authentication.query.as_deref(),
    }
}

/// Returns the challenge that RFC 6750 (3) requires for a 401 of an interface that accepts OAuth tokens. It contains an
/// error code of the RFC, but never the reason.
fn challenge<G>(error: &CredentialError, mounted: &Mounted<G>) -> Option<HeaderValue> {
    let error = match error {
        _ if !mounted.manifest.authentication.oauth => return None,
        CredentialError::Store(_) => return None,
        CredentialError::Missing => "",
        CredentialError::Ambiguous => ", error=\"invalid_request\"",
        _ => ", error=\"invalid_token\"",
    };
    HeaderValue::try_from(format!("Bearer realm=\"{}\"{error}", mounted.plugin)).ok()
}

fn missing_scope<G>(mounted: &Mounted<G>, route: &Route) -> RequestError {
    let error = RequestError::new(HostError::Forbidden, "the key or token lacks a scope");
    if !mounted.manifest.authentication.oauth {
        return error;
    }
    let (realm, scope) = (&mounted.plugin, route.declared.scopes.join(" "));
    let challenge = format!("Bearer realm=\"{realm}\", error=\"insufficient_scope\", scope=\"{scope}\"");
    match HeaderValue::try_from(challenge) {
        Ok(challenge) => error.with_header(header::WWW_AUTHENTICATE, challenge),
        Err(_) => error,
    }
}

/// Returns the name of an anonymous caller. An IPv6 /64 network is one caller, because it has more addresses than can
/// be counted.
pub(super) fn anonymous_caller(address: IpAddr) -> Arc<str> {
    match address {
        IpAddr::V4(address) => Arc::from(format!("ip:{address}")),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Arc::from(format!("ip:{a:x}:{b:x}:{c:x}:{d:x}::/64"))
        }
    }
}

/// Returns the idempotency key, if the request has one.
fn read_idempotency_key(headers: &HeaderMap) -> Result<Option<String>, RequestError> {
    let mut values = headers.get_all("idempotency-key").iter();
    let (Some(value), more) = (values.next(), values.next()) else { return Ok(None) };
    let text = value.to_str().unwrap_or("");
    let is_valid =
        (1..=IDEMPOTENCY_KEY_CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    if is_valid && more.is_none() {
        return Ok(Some(text.to_owned()));
    }
    Err(RequestError::new(HostError::MalformedRequest, "the Idempotency-Key must be 1 to 255 visible characters"))
}

/// Returns the headers that the route declares. Invalid UTF-8 is replaced.
fn pick_headers(headers: &HeaderMap, route: &Route) -> Vec<(String, String)> {
    let mut picked = Vec::new();
    for name in &route.headers {
        for value in headers.get_all(name) {
            picked.push((name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        }
    }
    picked
}
