//! One request, from its head to its answer: id, route, admission, call, words for what failed.
//!
//! What has no route is answered before anybody is authenticated: an address that is unknown, a method or version that
//! is not served says nothing about data, and it is all in the OpenAPI document anyway.

use std::{
    net::{IpAddr, Ipv4Addr},
    sync::{Arc, atomic::AtomicU64},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version, header, request};
use http_body_util::Full;
use hyper::body::Body as HttpBody;
use tokio::time::Instant;
use tracing::Instrument;

use super::{
    Body, Calls, Clock, ConnectionCounts, HttpMetrics, Observed,
    activity::Patience,
    admission::anonymous_caller,
    answer::{Outlet, build_response, stream, take_body_away},
    body_memory::{AnonymousBodies, BodyMemory},
    content::discard_rest,
    cors::Cors,
    dropped::DroppedHeaders,
    framing::check_framing,
    origin::{Origins, Peer, Wire},
    pages,
    rates::{Rate, Rates},
    refused::Refused,
    request_ids::{RequestIds, X_REQUEST_ID},
    trace,
};
use crate::{
    auth::{
        Keys, Principal,
        guesses::{Allowance, Guesses, network},
        oauth::OAuth,
    },
    budget::{Budget, Charge},
    config::{Environment, HttpConfig},
    failure::Failure,
    fair::NotGranted,
    limits::{HTTP2_REQUEST_BYTES, KEY_GUESSES_AT_ONCE, KEY_GUESSES_PER_SECOND},
    plugin::{
        exchange::{Answer, Reply},
        routes::{Found, Mounted, Route, RouteTable},
        wording::Wording,
    },
};

/// Of the server as a whole (`OPTIONS *`).
const EVERY_METHOD: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const PAGE_METHODS: &str = "GET, HEAD, OPTIONS";
const TOKEN_METHODS: &str = "POST, OPTIONS";

/// What a service is made of.
pub struct Parts<C: Calls> {
    pub calls: C,
    pub keys: Arc<Keys>,
    pub oauth: Arc<OAuth>,
    pub metrics: Arc<dyn HttpMetrics<C::Owner>>,
    pub clock: Clock,
    pub settings: HttpConfig,
    pub budget: Arc<Budget>,
    /// Percentage of the limit of bodies of callers without a key that one address may hold.
    pub tenant_percent: u64,
    pub connections: Arc<ConnectionCounts>,
    /// In production live keys are only good where nobody can read them on the way.
    pub environment: Environment,
    /// Beginning of absolute links: "https://api.example.com".
    pub link_base: Option<String>,
    /// True if each request gets a line of the access log.
    pub access_log: bool,
}

/// Answers requests. Shared by all connections; never fails.
pub struct Service<C: Calls> {
    pub(super) calls: C,
    pub(super) keys: Arc<Keys>,
    pub(super) oauth: Arc<OAuth>,
    pub(super) clock: Clock,
    pub(super) settings: HttpConfig,
    pub(super) budget: Arc<Budget>,
    pub(super) connections: Arc<ConnectionCounts>,
    pub(super) environment: Environment,
    pub(super) link_base: Option<String>,
    access_log: bool,
    /// When it was last told that a live key came over plain HTTP.
    pub(super) exposure_told_at: AtomicU64,
    pub(super) origins: Origins,
    pub(super) rates: Rates,
    pub(super) guesses: Guesses,
    dropped_headers: DroppedHeaders,
    pub(super) anonymous: Arc<Principal>,
    pub(super) anonymous_bodies: AnonymousBodies,
    metrics: Arc<dyn HttpMetrics<C::Owner>>,
    cors: Cors,
    request_ids: RequestIds,
    general: Wording,
}

/// In the extensions of an answer that no plugin was called for: the address whose pace it takes.
#[derive(Clone, Copy)]
pub(super) struct Uncalled(pub IpAddr);

/// What is known of a request while it is answered.
pub(super) struct Course<G> {
    pub request_id: Arc<str>,
    pub began: Instant,
    pub peer: Peer,
    pub rate: Option<Rate>,
    /// Who calls, where the host itself knows.
    pub caller: Option<Arc<Principal>>,
    /// Tenant of the request, once that is known.
    pub tenant: Option<Arc<str>>,
    mounted: Option<Arc<Mounted<G>>>,
    route: Option<Arc<Route>>,
    /// True once a plugin was called and had room: the call is charged to its tenant or address.
    is_called: bool,
}

/// Where a request goes.
enum Direction<G> {
    Routed(Routed<G>),
    /// To the token endpoint of the host itself.
    Token,
    /// There was no route, so nobody needs to be asked.
    Answered(Response<Body>),
}

/// A request that has a route.
pub(super) struct Routed<G> {
    pub mounted: Arc<Mounted<G>>,
    pub route: Arc<Route>,
    pub parameters: Vec<(String, String)>,
}

impl<C: Calls> Service<C> {
    pub fn new(parts: Parts<C>) -> Service<C> {
        Service {
            calls: parts.calls,
            keys: parts.keys,
            oauth: parts.oauth,
            clock: parts.clock,
            origins: Origins::new(parts.settings.trusted_proxies.clone()),
            cors: Cors::new(parts.settings.cors_origins.clone()),
            settings: parts.settings,
            anonymous_bodies: AnonymousBodies::new(bodies_limit(&parts.budget), parts.tenant_percent),
            budget: parts.budget,
            connections: parts.connections,
            environment: parts.environment,
            link_base: parts.link_base,
            access_log: parts.access_log,
            exposure_told_at: AtomicU64::new(0),
            rates: Rates::default(),
            guesses: Guesses::new(Allowance { at_once: KEY_GUESSES_AT_ONCE, per_second: KEY_GUESSES_PER_SECOND }),
            dropped_headers: DroppedHeaders::default(),
            anonymous: Arc::new(Principal::anonymous()),
            metrics: parts.metrics,
            request_ids: RequestIds::new(),
            general: Wording::general(),
        }
    }

    /// Returns the limits for slow senders and readers.
    pub(super) fn patience(&self) -> Patience {
        Patience::of(&self.settings)
    }

    /// Charges a stream of a crowded connection to the address of its peer, whose key is not known yet. It never waits: a
    /// stream that waits costs memory, too.
    pub(super) async fn charge_stream(&self, headers: &HeaderMap, peer: Peer) -> Result<BodyMemory, NotGranted> {
        let payer = anonymous_caller(self.origins.client_address(peer.address, headers));
        let amount = (&payer, HTTP2_REQUEST_BYTES);
        BodyMemory::take(&self.budget, Some(&self.anonymous_bodies), amount, Instant::now()).await
    }

    pub(super) async fn answer<B>(&self, request: Request<B>, peer: Peer) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let span = trace::span(request.headers());
        self.answer_traced(request, peer, None).instrument(span).await
    }

    /// A request that came over no connection: of another plugin of this host.
    pub async fn answer_caller(&self, request: Request<Full<Bytes>>, caller: Principal) -> Response<Body> {
        let span = trace::span(request.headers());
        let peer = Peer { address: Ipv4Addr::LOCALHOST.into(), wire: Wire::Plain };
        self.answer_traced(request, peer, Some(Arc::new(caller))).instrument(span).await
    }

    async fn answer_traced<B>(&self, request: Request<B>, peer: Peer, caller: Option<Arc<Principal>>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let (head, mut body) = request.into_parts();
        let mut course = Course {
            request_id: self.request_ids.choose(&head.headers, (self.clock)()),
            began: Instant::now(),
            peer,
            rate: None,
            caller,
            tenant: None,
            mounted: None,
            route: None,
            is_called: false,
        };
        let direction = self.find_route(&head, &mut course);
        let mut response = match (check_framing(&head), direction) {
            (Err(refused), _) => self.word(refused, &head, &course),
            (Ok(()), Direction::Routed(routed)) => self.serve_route(&head, &mut body, routed, &mut course).await,
            (Ok(()), Direction::Token) => self.answer_token(&head, &mut body, &course).await,
            (Ok(()), Direction::Answered(response)) => response,
        };
        self.finish(&head, &course, &mut response);
        discard_rest(&head, &mut body).await;
        if !course.is_called && course.caller.is_none() {
            let address = self.origins.client_address(peer.address, &head.headers);
            response.extensions_mut().insert(Uncalled(network(address)));
        }
        response
    }

    /// The route, or the answer where there is none. The table is let go of here: a long call must not keep the
    /// generations of other plugins alive.
    fn find_route(&self, head: &request::Parts, course: &mut Course<C::Owner>) -> Direction<C::Owner> {
        if head.method == Method::OPTIONS && head.uri.path() == "*" {
            return Direction::Answered(answer_options(HeaderValue::from_static(EVERY_METHOD)));
        }
        let table = self.calls.current();
        let (owner, failure, allow) = match table.find(&head.method, head.uri.path()) {
            Found::Route { owner, route, parameters } => {
                course.mounted = Some(Arc::clone(owner));
                course.route = Some(Arc::clone(route));
                let (mounted, route) = (Arc::clone(owner), Arc::clone(route));
                return Direction::Routed(Routed { mounted, route, parameters });
            }
            Found::Options { owner, allow } => {
                course.mounted = Some(Arc::clone(owner));
                return Direction::Answered(answer_options(allow.clone()));
            }
            Found::MethodNotAllowed { owner, allow } => (Some(owner), Failure::MethodNotAllowed, Some(allow.clone())),
            Found::UnsupportedVersion { .. } if self.calls.may_be_absent(&table, head.uri.path()) => {
                return Direction::Answered(self.word(absent(), head, course));
            }
            Found::UnsupportedVersion { owner } => (Some(owner), Failure::UnsupportedVersion, None),
            Found::NotFound { .. } if self.is_token_request(head) => return Direction::Token,
            Found::NotFound { owner } => match self.find_page(&table, head, course) {
                Some(page) => return Direction::Answered(page),
                // The general error body: the plugin of the path is not known.
                None if self.calls.may_be_absent(&table, head.uri.path()) => {
                    return Direction::Answered(self.word(absent(), head, course));
                }
                None => (owner, Failure::NotFound, None),
            },
        };
        course.mounted = owner.map(Arc::clone);
        let mut refused = Refused::new(failure, "there is no such route");
        if let Some(allow) = allow {
            refused = refused.with_header(header::ALLOW, allow);
        }
        Direction::Answered(self.word(refused, head, course))
    }

    fn find_page(
        &self,
        table: &RouteTable<C::Owner>,
        head: &request::Parts,
        course: &Course<C::Owner>,
    ) -> Option<Response<Body>> {
        let path = head.uri.path();
        let (page, methods) = match self.is_token_path(head) {
            true => (None, TOKEN_METHODS),
            false => {
                let document = self.find_document(table, path).map(pages::Page::Document);
                (Some(document.or_else(|| pages::Page::of(table, path))?), PAGE_METHODS)
            }
        };
        if head.method == Method::OPTIONS {
            return Some(answer_options(HeaderValue::from_static(methods)));
        }
        match page.filter(|_| head.method == Method::GET || head.method == Method::HEAD) {
            Some(page) => Some(page.render(table, head, self.link_base.as_deref().unwrap_or_default())),
            None => {
                let refused = Refused::new(Failure::MethodNotAllowed, "a page of the host has no such method")
                    .with_header(header::ALLOW, HeaderValue::from_static(methods));
                Some(self.word(refused, head, course))
            }
        }
    }

    async fn serve_route<B>(
        &self,
        head: &request::Parts,
        body: &mut B,
        routed: Routed<C::Owner>,
        course: &mut Course<C::Owner>,
    ) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let admitted = match self.admit(head, body, routed, course).await {
            Ok(admitted) => admitted,
            Err(refused) => return self.word(refused, head, course),
        };
        course.is_called = true;
        let failure = match self.calls.call(admitted).await {
            Ok(Reply::Feed(feed)) => match self.calls.stream(feed, last_event_id(head)) {
                Some(chunks) => return stream(chunks),
                None => Failure::Unavailable,
            },
            Ok(Reply::Whole(answer, charge)) => match self.build_response(answer, outlet(charge, head), course) {
                Ok(response) => return response,
                Err(why) => {
                    let (plugin, generation) = course.owner();
                    tracing::warn!(
                        plugin,
                        generation,
                        request_id = &*course.request_id,
                        why,
                        "an answer cannot be sent"
                    );
                    Failure::PluginFailed
                }
            },
            Err(failure) => {
                // No payer is charged for a call without room. Its answer takes the pace of the address.
                course.is_called = failure != Failure::Unavailable;
                failure
            }
        };
        self.render(Refused::new(failure, "the call failed"), head, course)
    }

    fn build_response(
        &self,
        answer: Answer,
        outlet: Outlet,
        course: &Course<C::Owner>,
    ) -> Result<Response<Body>, &'static str> {
        let mounted = course.mounted.as_ref();
        let origin_headers = mounted.map_or(&[][..], |mounted| &mounted.config.origin_headers);
        build_response(answer, outlet, origin_headers, |name| {
            mounted.into_iter().for_each(|mounted| self.dropped_headers.log(&mounted.plugin, name));
        })
    }

    fn word(&self, refused: Refused, head: &request::Parts, course: &Course<C::Owner>) -> Response<Body> {
        log_refused(&refused, course);
        self.render(refused, head, course)
    }

    fn render(&self, refused: Refused, head: &request::Parts, course: &Course<C::Owner>) -> Response<Body> {
        let wording = course.mounted.as_ref().map_or(&self.general, |mounted| &mounted.wording);
        let mut response = wording.word(refused.failure, &course.request_id).map(Body::from);
        if let Some(status) = refused.status {
            *response.status_mut() = status;
        }
        for (name, value) in refused.headers {
            // In the place of what the words have: `WWW-Authenticate` of a token says more than that of a key.
            response.headers_mut().insert(name, value);
        }
        // HTTP/2 ends the stream by itself, and forbids the header.
        if refused.close && head.version < Version::HTTP_2 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn finish(&self, head: &request::Parts, course: &Course<C::Owner>, response: &mut Response<Body>) {
        if let Some(rate) = &course.rate {
            rate.add_headers(response.headers_mut());
        }
        if let Ok(request_id) = HeaderValue::from_str(&course.request_id) {
            response.headers_mut().insert(X_REQUEST_ID, request_id);
        }
        // Even a 404 may be kept by a cache that was not told; a plugin may say otherwise.
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if course.route.as_ref().is_some_and(|route| route.declared.key_parameter.is_some()) {
            // Its address is a credential, which no other server needs to read.
            let kept = HeaderValue::from_static("no-referrer");
            response.headers_mut().entry(header::REFERRER_POLICY).or_insert(kept);
        }
        self.cors.add_headers(head, response.headers_mut());
        if head.method == Method::HEAD {
            take_body_away(response);
        }
        self.observe(head, course, response);
    }

    fn observe(&self, head: &request::Parts, course: &Course<C::Owner>, response: &Response<Body>) {
        let seconds = course.began.elapsed().as_secs_f64();
        let operation = course.route.as_ref().map_or("", |route| route.declared.operation.as_str());
        let (plugin, generation) = course.owner();
        let (request_id, method, status) = (&*course.request_id, &head.method, response.status().as_u16());
        // As it is declared: what stands in the one that was asked for may be nobody else's business.
        let path = course.route.as_ref().map_or("", |route| route.declared.path.as_str());
        tracing::debug!(request_id, %method, path, plugin, generation, operation, status, seconds, "request");
        if self.access_log {
            let peer = self.origins.client_address(course.peer.address, &head.headers);
            let tenant = course.tenant.as_deref().unwrap_or_default();
            // The length of a stream is not known yet.
            let bytes = response.body().size_hint().exact();
            tracing::info!(
                target: trace::ACCESS_TARGET,
                %method, path, status, seconds, bytes, request_id, plugin, operation, tenant, %peer, "request"
            );
        }
        if let Some(mounted) = &course.mounted {
            self.metrics.observe(&mounted.owner, &Observed { plugin, generation, operation, status, seconds });
        }
    }
}

impl<G> Course<G> {
    /// Name and generation for the log; empty and 0 where no plugin is concerned.
    fn owner(&self) -> (&str, u64) {
        self.mounted.as_ref().map_or(("", 0), |mounted| (&*mounted.plugin, mounted.number))
    }
}

/// Logs a refused request. Metrics count such requests; at a higher level one caller could fill the log.
fn log_refused<G>(refused: &Refused, course: &Course<G>) {
    let (plugin, generation) = course.owner();
    let (request_id, failure, why) = (&*course.request_id, refused.failure.name(), refused.why);
    tracing::debug!(plugin, generation, request_id, failure, why, "request refused");
}

/// Bytes that all bodies may have together.
fn bodies_limit(budget: &Budget) -> u64 {
    budget.readings().iter().filter(|reading| reading.kind == "bodies").map(|reading| reading.limit).sum()
}

/// A path that may belong to a plugin that does not serve.
fn absent() -> Refused {
    Refused::new(Failure::Unavailable, "a plugin whose path this may be does not serve")
}

fn outlet(charge: Option<Charge>, head: &request::Parts) -> Outlet {
    Outlet { charge, version: head.version }
}

/// Where a stream goes on.
fn last_event_id(head: &request::Parts) -> Option<String> {
    head.headers.get("last-event-id")?.to_str().ok().filter(|id| !id.is_empty()).map(str::to_owned)
}

fn answer_options(allow: HeaderValue) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::ALLOW, allow);
    response
}
