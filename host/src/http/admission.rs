//! What a routed request must pass before a plugin sees it: credential, way, rate, scopes, key of idempotency, body.
//!
//! In this order: who is it, how did it come, how often, may it, is it well formed, what does it carry. The body is read
//! last, so a caller without a key cannot make the host read anything.

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
    Calls,
    content::{BodyLimits, read_content},
    query::parse_query,
    refused::Refused,
    service::{Course, Routed, Service},
};
use crate::manifest::Authentication;
use crate::{
    auth::{
        self, Denied, Principal, PrincipalKind,
        credential::{Places, find_credential, hide_parameter, is_bearer, strip_credential},
        key::kind_of_text,
        oauth::OAuth,
    },
    budget::Payer,
    changes::credential::CredentialKind,
    config::Environment,
    failure::Failure,
    limits::{IDEMPOTENCY_KEY_CHARACTERS_MAX, PLAIN_HTTP_TOLD_MS},
    outbound::{HopsRefusal, read_hops},
    plugin::{
        exchange::Admitted,
        routes::{ContextValue, Mounted, Route},
    },
};

/// A request that follows from too many others is part of a loop.
fn check_hops(headers: &HeaderMap) -> Result<u8, Refused> {
    read_hops(headers).map_err(|refusal| match refusal {
        HopsRefusal::TooMany => Refused::new(Failure::LoopDetected, "too many hosts called each other before"),
        HopsRefusal::Malformed => Refused::new(Failure::MalformedRequest, "a count of hops that is no number"),
    })
}

impl<C: Calls> Service<C> {
    pub(super) async fn admit<B>(
        &self,
        head: &request::Parts,
        body: &mut B,
        routed: Routed<C::Owner>,
        course: &mut Course<C::Owner>,
    ) -> Result<Admitted<C::Owner>, Refused>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let Routed { mounted, route, mut parameters } = routed;
        let raw_query = head.uri.query().unwrap_or("");
        let places = places(&mounted.manifest.authentication);
        let mut path = head.uri.path().to_owned();
        let principal = match (&course.caller, &route.declared.key_parameter) {
            (Some(caller), _) => Arc::clone(caller),
            (None, None) => self.authenticate(head, (&mounted, &route), places, course).await?,
            (None, Some(name)) => {
                let principal = self.authenticate_link(&mounted, name, &parameters).await?;
                path = hide_parameter(&path, &route.declared.path, name, &principal.subject);
                let hidden = parameters.iter_mut().filter(|(known, _)| known == name);
                hidden.for_each(|(_, value)| *value = principal.subject.to_string());
                principal
            }
        };
        course.tenant = Some(Arc::clone(&principal.tenant)).filter(|tenant| !tenant.is_empty());
        self.check_wire(head, &principal, course)?;
        self.check_rate(head, &mounted, &principal, course)?;
        let hops = check_hops(&head.headers)?;
        if !principal.may(&route.declared.scopes) {
            return Err(lacking_scope(&mounted, &route));
        }
        let idempotency_key = if route.writes() { read_idempotency_key(&head.headers)? } else { None };
        let raw_query = strip_credential(raw_query, places).into_owned();
        let query = parse_query(&raw_query)
            .ok_or_else(|| Refused::new(Failure::MalformedRequest, "the query is not UTF-8 or too long"))?;
        let context = self.context(head, &mounted, &route, course, idempotency_key.as_deref());
        let deadline_ms = route.declared.deadline_ms.unwrap_or(mounted.config.limits.deadline_ms);
        let payer = self.payer(head, &principal, course);
        let limits = BodyLimits {
            bytes_max: route.declared.body_bytes_max.unwrap_or(self.settings.body_bytes_max),
            until: course.began + Duration::from_millis(self.settings.body_timeout_ms),
            media_types: &route.declared.media_types,
            budget: &self.budget,
            payer: &payer,
            patience: self.patience(),
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
            payer,
            body_charge,
            principal,
            request_id: Arc::clone(&course.request_id),
            context,
            idempotency_key,
            hops,
            deadline: course.began + Duration::from_millis(deadline_ms),
            mounted,
            route,
        })
    }

    /// An open route needs no credential, but one that is shown must be good: a caller is never anonymous by mistake.
    async fn authenticate(
        &self,
        head: &request::Parts,
        (mounted, route): (&Mounted<C::Owner>, &Route),
        places: Places<'_>,
        course: &Course<C::Owner>,
    ) -> Result<Arc<Principal>, Refused> {
        let judged = match find_credential(&head.headers, head.uri.query().unwrap_or(""), places) {
            Ok(Some(text)) => self.judge(&text, head, mounted).await,
            Ok(None) if route.declared.open => Ok(Arc::clone(&self.anonymous)),
            Ok(None) => Err(Denied::Missing),
            Err(denied) => Err(denied),
        };
        judged.map_err(|denied| {
            if let Some(refused) = self.note_guess(head, course, &denied) {
                return refused;
            }
            let challenge = challenge(&denied, mounted);
            challenge.into_iter().fold(denied.into(), |refused: Refused, challenge| {
                refused.with_header(header::WWW_AUTHENTICATE, challenge)
            })
        })
    }

    /// A wrong credential beyond what one address may send. A right one is never counted, and never slowed.
    fn note_guess(&self, head: &request::Parts, course: &Course<C::Owner>, denied: &Denied) -> Option<Refused> {
        if !matches!(denied, Denied::Unknown | Denied::Malformed | Denied::Token(_)) {
            return None;
        }
        let address = self.origins.client_address(course.peer.address, &head.headers);
        let blocked = self.guesses.note_failure(address, Instant::now())?;
        if blocked.is_report_due {
            tracing::warn!(%address, "too many wrong keys and tokens: further ones from this address get 429");
        }
        let refused = Refused::new(Failure::RateLimited, "too many wrong keys and tokens");
        Some(refused.with_header(header::RETRY_AFTER, HeaderValue::from(blocked.retry_after_seconds)))
    }

    /// A token in the path is the whole address of what it opens: one that opens nothing is an address of nothing.
    async fn authenticate_link(
        &self,
        mounted: &Mounted<C::Owner>,
        name: &str,
        parameters: &[(String, String)],
    ) -> Result<Arc<Principal>, Refused> {
        let text = parameters.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value.as_str());
        let judged = self.keys.authenticate_token(text, &mounted.plugin, (self.clock)()).await;
        judged.map_err(|denied| match denied {
            Denied::Store(_) => denied.into(),
            _ => Refused::new(Failure::NotFound, "the token in the path opens nothing"),
        })
    }

    /// A token of OAuth counts in `Authorization: Bearer` alone; the other places are for keys.
    async fn judge(
        &self,
        text: &str,
        head: &request::Parts,
        mounted: &Mounted<C::Owner>,
    ) -> Result<Arc<Principal>, Denied> {
        let (takes, now) = (&mounted.manifest.authentication, (self.clock)());
        if takes.oauth && OAuth::is_token(text) && is_bearer(&head.headers) {
            return self.oauth.authenticate(text, &mounted.plugin, now).await;
        }
        // A link that somebody was given must not open more than what it leads to.
        let is_taken = match kind_of_text(text) {
            Some(CredentialKind::Token) => takes.tokens,
            _ => takes.api_keys,
        };
        if !is_taken {
            return Err(Denied::Malformed);
        }
        self.keys.authenticate(text, &mounted.plugin, now).await
    }

    /// A key to live data that travelled in the open may be somebody else's by now: it opens nothing that way.
    fn check_wire(
        &self,
        head: &request::Parts,
        principal: &Principal,
        course: &Course<C::Owner>,
    ) -> Result<(), Refused> {
        if !self.is_exposed(head, principal.environment, course) {
            return Ok(());
        }
        self.tell_exposure(&principal.subject, course);
        Err(Refused::new(Failure::Forbidden, "a live key over plain HTTP"))
    }

    pub(super) fn is_exposed(&self, head: &request::Parts, environment: &str, course: &Course<C::Owner>) -> bool {
        course.caller.is_none()
            && self.environment == Environment::Production
            && environment == auth::Environment::Live.name()
            && !self.origins.is_private(course.peer, &head.headers)
    }

    pub(super) fn tell_exposure(&self, subject: &str, course: &Course<C::Owner>) {
        let (now, told_at) = ((self.clock)(), self.exposure_told_at.load(Ordering::Relaxed));
        let due = now.saturating_sub(told_at) >= PLAIN_HTTP_TOLD_MS;
        if due && self.exposure_told_at.compare_exchange(told_at, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            tracing::warn!(
                request_id = &*course.request_id,
                key = subject,
                peer = %course.peer.address,
                "a live key came over plain HTTP and was refused: it could be read on its way. Serve TLS \
                 (http.tls-certificate and http.tls-key), or name the proxy that does in http.trusted-proxies and let it \
                 send X-Forwarded-Proto: https; then give its owner another key and revoke this one"
            );
        }
    }

    /// A caller without a key pays for itself by its address.
    fn payer(&self, head: &request::Parts, principal: &Principal, course: &Course<C::Owner>) -> Payer {
        match principal.tenant.is_empty() {
            true => anonymous_caller(self.origins.client_address(course.peer.address, &head.headers)),
            false => principal.tenant.clone(),
        }
    }

    fn check_rate(
        &self,
        head: &request::Parts,
        mounted: &Mounted<C::Owner>,
        principal: &Principal,
        course: &mut Course<C::Owner>,
    ) -> Result<(), Refused> {
        let limits = &mounted.config.limits;
        if limits.rate_per_second == 0 {
            return Ok(());
        }
        let caller = match principal.kind {
            PrincipalKind::Anonymous => {
                anonymous_caller(self.origins.client_address(course.peer.address, &head.headers))
            }
            // Other tenants have plugins of this name, and clients of this name at other issuers.
            PrincipalKind::Plugin | PrincipalKind::OAuthClient => {
                format!("{} {}", principal.subject, principal.tenant).into()
            }
            _ => Arc::clone(&principal.subject),
        };
        course.rate = self.rates.check(&mounted.plugin, limits, &caller);
        match course.rate.and_then(|rate| rate.retry_after_seconds) {
            Some(_) => Err(Refused::new(Failure::RateLimited, "too many requests")),
            None => Ok(()),
        }
    }

    fn context(
        &self,
        head: &request::Parts,
        mounted: &Mounted<C::Owner>,
        route: &Route,
        course: &Course<C::Owner>,
        idempotency_key: Option<&str>,
    ) -> Vec<(String, String)> {
        let value = |wanted: &ContextValue| {
            let value = match wanted {
                ContextValue::BaseUrl => {
                    let mount = mounted.config.mount.trim_end_matches('/');
                    self.link_base.as_ref().map(|base| format!("{base}{mount}"))
                }
                ContextValue::ClientAddress => {
                    Some(self.origins.client_address(course.peer.address, &head.headers).to_string())
                }
                ContextValue::IdempotencyKey => idempotency_key.map(str::to_owned),
            };
            value.map(|value| (wanted.name().to_owned(), value))
        };
        route.context.iter().filter_map(value).collect()
    }
}

fn places(authentication: &Authentication) -> Places<'_> {
    Places {
        basic_user: authentication.basic_user,
        header: authentication.header.as_deref(),
        query: authentication.query.as_deref(),
    }
}

/// What RFC 6750 (3) wants beside a 401, of an interface that takes tokens. Never says why one was refused.
fn challenge<G>(denied: &Denied, mounted: &Mounted<G>) -> Option<HeaderValue> {
    let error = match denied {
        _ if !mounted.manifest.authentication.oauth => return None,
        Denied::Store(_) => return None,
        Denied::Missing => "",
        Denied::Ambiguous => ", error=\"invalid_request\"",
        _ => ", error=\"invalid_token\"",
    };
    HeaderValue::try_from(format!("Bearer realm=\"{}\"{error}", mounted.plugin)).ok()
}

fn lacking_scope<G>(mounted: &Mounted<G>, route: &Route) -> Refused {
    let refused = Refused::new(Failure::Forbidden, "the key or token lacks a scope");
    if !mounted.manifest.authentication.oauth {
        return refused;
    }
    let (realm, scope) = (&mounted.plugin, route.declared.scopes.join(" "));
    let challenge = format!("Bearer realm=\"{realm}\", error=\"insufficient_scope\", scope=\"{scope}\"");
    match HeaderValue::try_from(challenge) {
        Ok(challenge) => refused.with_header(header::WWW_AUTHENTICATE, challenge),
        Err(_) => refused,
    }
}

/// One network of IPv6 is one caller: it holds more addresses than could ever be counted.
pub(super) fn anonymous_caller(address: IpAddr) -> Arc<str> {
    match address {
        IpAddr::V4(address) => Arc::from(format!("ip:{address}")),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Arc::from(format!("ip:{a:x}:{b:x}:{c:x}:{d:x}::/64"))
        }
    }
}

fn read_idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Refused> {
    let mut values = headers.get_all("idempotency-key").iter();
    let (Some(value), more) = (values.next(), values.next()) else { return Ok(None) };
    let text = value.to_str().unwrap_or("");
    let sound =
        (1..=IDEMPOTENCY_KEY_CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    if sound && more.is_none() {
        return Ok(Some(text.to_owned()));
    }
    Err(Refused::new(Failure::MalformedRequest, "the Idempotency-Key is not 1 to 255 visible characters"))
}

/// Values that are not text are handed on as well as they can be read.
fn pick_headers(headers: &HeaderMap, route: &Route) -> Vec<(String, String)> {
    let mut picked = Vec::new();
    for name in &route.headers {
        for value in headers.get_all(name) {
            picked.push((name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        }
    }
    picked
}
