//! A request, from its head to its response: id, route, admission, call, error body.
//!
//! Requests without a route, except token requests, are answered before authentication. An unknown path, method or
//! version reveals nothing about data, and the OpenAPI document lists the valid ones anyway.

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
    Backend, Body, Clock, ConnectionCounts, ObservedRequest, RequestObserver,
    activity::ProgressLimits,
    admission::anonymous_caller,
    body_memory::{AnonymousBodies, BodyMemory},
    content::discard_rest,
    cors::Cors,
    dropped::DroppedHeaders,
    error::RequestError,
    framing::check_framing,
    origin::{Origins, Peer, Transport},
    pages,
    rates::{Rate, Rates},
    request_ids::{RequestIds, X_REQUEST_ID},
    response::{SendOptions, build_response, event_stream, strip_body},
    trace,
};
use crate::{
    auth::{
        Keys, Principal,
        guess_limiter::{Allowance, GuessLimiter, network},
        oauth::OAuth,
    },
    budget::{Budget, Charge},
    config::{Environment, HttpConfig},
    fair::AcquireError,
    host_error::HostError,
    limits::{HTTP2_REQUEST_BYTES, KEY_GUESSES_AT_ONCE, KEY_GUESSES_PER_SECOND},
    plugin::{
        error_bodies::ErrorBodies,
        exchange::{Answer, CallResponse},
        routes::{Mounted, Route, RouteMatch, RouteTable},
    },
};

/// Allowed methods of the server as a whole (`OPTIONS *`).
const EVERY_METHOD: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
const PAGE_METHODS: &str = "GET, HEAD, OPTIONS";
const TOKEN_METHODS: &str = "POST, OPTIONS";

/// Dependencies and settings of a service.
pub struct ServiceParts<C: Backend> {
    pub backend: C,
    pub keys: Arc<Keys>,
    pub oauth: Arc<OAuth>,
    pub metrics: Arc<dyn RequestObserver<C::Owner>>,
    pub clock: Clock,
    pub settings: HttpConfig,
    pub budget: Arc<Budget>,
    /// Percentage that one address may hold of the limit for bodies of callers without a key.
    pub tenant_percent: u64,
    pub connections: Arc<ConnectionCounts>,
    /// In production, live keys are accepted only over a private transport.
    pub environment: Environment,
    /// Prefix of absolute links: "https://api.example.com".
    pub link_base: Option<String>,
    /// True if each request gets a line of the access log.
    pub access_log: bool,
}

/// Handles requests. Shared by all connections. Never fails.
pub struct Service<C: Backend> {
    pub(super) backend: C,
    pub(super) keys: Arc<Keys>,
    pub(super) oauth: Arc<OAuth>,
    pub(super) clock: Clock,
    pub(super) settings: HttpConfig,
    pub(super) budget: Arc<Budget>,
    pub(super) connections: Arc<ConnectionCounts>,
    pub(super) environment: Environment,
    pub(super) link_base: Option<String>,
    access_log: bool,
    /// Time of the last log line about a live key over plain HTTP.
    pub(super) exposure_logged_at: AtomicU64,
    pub(super) origins: Origins,
    pub(super) rates: Rates,
    pub(super) guesses: GuessLimiter,
    dropped_headers: DroppedHeaders,
    pub(super) anonymous: Arc<Principal>,
    pub(super) anonymous_bodies: AnonymousBodies,
    metrics: Arc<dyn RequestObserver<C::Owner>>,
    cors: Cors,
    request_ids: RequestIds,
    general_errors: ErrorBodies,
}

/// Extension of a response that belongs to no charged call: the address whose pace it counts against.
#[derive(Clone, Copy)]
pub(super) struct PacedAddress(pub IpAddr);

/// State of one request while it is handled.
pub(super) struct RequestContext<G> {
    pub request_id: Arc<str>,
    pub began: Instant,
    pub peer: Peer,
    pub rate: Option<Rate>,
    /// The calling plugin, for a call from a plugin of this host.
    pub caller: Option<Arc<Principal>>,
    /// Tenant of the request, once it is authenticated.
    pub tenant: Option<Arc<str>>,
    mounted: Option<Arc<Mounted<G>>>,
    route: Option<Arc<Route>>,
    /// True if a plugin was called and did not fail with `Unavailable`, so that the call is charged to its tenant or
    /// address.
    is_charged: bool,
}

/// How a request is handled.
enum Handling<G> {
    Routed(Routed<G>),
    /// By the host's own token endpoint.
    TokenEndpoint,
    /// Without a route: the response is complete and needs no authentication.
    Respond(Response<Body>),
}

/// A request that has a route.
pub(super) struct Routed<G> {
    pub mounted: Arc<Mounted<G>>,
    pub route: Arc<Route>,
    pub parameters: Vec<(String, String)>,
}

impl<C: Backend> Service<C> {
    pub fn new(parts: ServiceParts<C>) -> Service<C> {
        Service {
            backend: parts.backend,
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
            exposure_logged_at: AtomicU64::new(0),
            rates: Rates::default(),
            guesses: GuessLimiter::new(Allowance { at_once: KEY_GUESSES_AT_ONCE, per_second: KEY_GUESSES_PER_SECOND }),
            dropped_headers: DroppedHeaders::default(),
            anonymous: Arc::new(Principal::anonymous()),
            metrics: parts.metrics,
            request_ids: RequestIds::new(),
            general_errors: ErrorBodies::generic(),
        }
    }

    /// Returns the minimum progress of slow senders and readers.
    pub(super) fn progress_limits(&self) -> ProgressLimits {
        ProgressLimits::of(&self.settings)
    }

    /// Charges a stream to the address of its client, because its key is not known yet. Never waits, since a waiting
    /// stream costs memory as well.
    pub(super) async fn charge_stream(&self, headers: &HeaderMap, peer: Peer) -> Result<BodyMemory, AcquireError> {
        let party = anonymous_caller(self.origins.client_address(peer.address, headers));
        let amount = (&party, HTTP2_REQUEST_BYTES);
        BodyMemory::take(&self.budget, Some(&self.anonymous_bodies), amount, Instant::now()).await
    }

    pub(super) async fn handle<B>(&self, request: Request<B>, peer: Peer) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let span = trace::span(request.headers());
        self.handle_traced(request, peer, None).instrument(span).await
    }

    /// Handles a request of another plugin of this host, which has no connection.
    pub async fn handle_internal(&self, request: Request<Full<Bytes>>, caller: Principal) -> Response<Body> {
        let span = trace::span(request.headers());
        let peer = Peer { address: Ipv4Addr::LOCALHOST.into(), transport: Transport::Plain };
        self.handle_traced(request, peer, Some(Arc::new(caller))).instrument(span).await
    }

    async fn handle_traced<B>(&self, request: Request<B>, peer: Peer, caller: Option<Arc<Principal>>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let (head, mut body) = request.into_parts();
        let mut context = RequestContext {
            request_id: self.request_ids.choose(&head.headers, (self.clock)()),
            began: Instant::now(),
            peer,
            rate: None,
            caller,
            tenant: None,
            mounted: None,
            route: None,
            is_charged: false,
        };
        let handling = self.find_route(&head, &mut context);
        let mut response = match (check_framing(&head), handling) {
            (Err(error), _) => self.reject(error, &head, &context),
            (Ok(()), Handling::Routed(routed)) => self.handle_route(&head, &mut body, routed, &mut context).await,
            (Ok(()), Handling::TokenEndpoint) => self.handle_token_request(&head, &mut body, &context).await,
            (Ok(()), Handling::Respond(response)) => response,
        };
        self.finish(&head, &context, &mut response);
        discard_rest(&head, &mut body).await;
        if !context.is_charged && context.caller.is_none() {
            let address = self.origins.client_address(peer.address, &head.headers);
            response.extensions_mut().insert(PacedAddress(network(address)));
        }
        response
    }

    /// Finds the route or the token endpoint, or builds the response to any other request. Drops the route table on
    /// return, since a long call must not keep the generations of other plugins alive.
    fn find_route(&self, head: &request::Parts, context: &mut RequestContext<C::Owner>) -> Handling<C::Owner> {
        if head.method == Method::OPTIONS && head.uri.path() == "*" {
            return Handling::Respond(options_response(HeaderValue::from_static(EVERY_METHOD)));
        }
        let table = self.backend.current();
        let (owner, kind, allow) = match table.find(&head.method, head.uri.path()) {
            RouteMatch::Route { owner, route, parameters } => {
                context.mounted = Some(Arc::clone(owner));
                context.route = Some(Arc::clone(route));
                let (mounted, route) = (Arc::clone(owner), Arc::clone(route));
                return Handling::Routed(Routed { mounted, route, parameters });
            }
            RouteMatch::Options { owner, allow } => {
                context.mounted = Some(Arc::clone(owner));
                return Handling::Respond(options_response(allow.clone()));
            }
            RouteMatch::MethodNotAllowed { owner, allow } => {
                (Some(owner), HostError::MethodNotAllowed, Some(allow.clone()))
            }
            RouteMatch::UnsupportedVersion { .. } if self.backend.may_be_absent(&table, head.uri.path()) => {
                return Handling::Respond(self.reject(absent(), head, context));
            }
            RouteMatch::UnsupportedVersion { owner } => (Some(owner), HostError::UnsupportedVersion, None),
            RouteMatch::NotFound { .. } if self.is_token_request(head) => return Handling::TokenEndpoint,
            RouteMatch::NotFound { owner } => match self.find_page(&table, head, context) {
                Some(page) => return Handling::Respond(page),
                // The general error body, because the plugin of the path is not known.
                None if self.backend.may_be_absent(&table, head.uri.path()) => {
                    return Handling::Respond(self.reject(absent(), head, context));
                }
                None => (owner, HostError::NotFound, None),
            },
        };
        context.mounted = owner.map(Arc::clone);
        let mut error = RequestError::new(kind, "no such route");
        if let Some(allow) = allow {
            error = error.with_header(header::ALLOW, allow);
        }
        Handling::Respond(self.reject(error, head, context))
    }

    fn find_page(
        &self,
        table: &RouteTable<C::Owner>,
        head: &request::Parts,
        context: &RequestContext<C::Owner>,
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
            return Some(options_response(HeaderValue::from_static(methods)));
        }
        match page.filter(|_| head.method == Method::GET || head.method == Method::HEAD) {
            Some(page) => Some(page.render(table, head, self.link_base.as_deref().unwrap_or_default())),
            None => {
                let error = RequestError::new(HostError::MethodNotAllowed, "the page does not support the method")
                    .with_header(header::ALLOW, HeaderValue::from_static(methods));
                Some(self.reject(error, head, context))
            }
        }
    }

    async fn handle_route<B>(
        &self,
        head: &request::Parts,
        body: &mut B,
        routed: Routed<C::Owner>,
        context: &mut RequestContext<C::Owner>,
    ) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Unpin,
    {
        let admitted = match self.admit(head, body, routed, context).await {
            Ok(admitted) => admitted,
            Err(error) => return self.reject(error, head, context),
        };
        context.is_charged = true;
        let kind = match self.backend.call(admitted).await {
            Ok(CallResponse::Stream(request)) => match self.backend.stream(request, last_event_id(head)) {
                Some(chunks) => return event_stream(chunks),
                None => HostError::Unavailable,
            },
            Ok(CallResponse::Whole(answer, charge)) => {
                match self.build_response(answer, send_options(charge, head), context) {
                    Ok(response) => return response,
                    Err(reason) => {
                        let (plugin, generation) = context.owner();
                        tracing::warn!(
                            plugin,
                            generation,
                            request_id = &*context.request_id,
                            reason,
                            "failed to send an answer"
                        );
                        HostError::PluginFailed
                    }
                }
            }
            Err(kind) => {
                // A call may fail with `Unavailable` before it is charged to a party. Its response therefore counts
                // against the pace of the address.
                context.is_charged = kind != HostError::Unavailable;
                kind
            }
        };
        self.render_error(RequestError::new(kind, "the call failed"), head, context)
    }

    fn build_response(
        &self,
        answer: Answer,
        send_options: SendOptions,
        context: &RequestContext<C::Owner>,
    ) -> Result<Response<Body>, &'static str> {
        let mounted = context.mounted.as_ref();
        let origin_headers = mounted.map_or(&[][..], |mounted| &mounted.config.origin_headers);
        build_response(answer, send_options, origin_headers, |name| {
            mounted.into_iter().for_each(|mounted| self.dropped_headers.log(&mounted.plugin, name));
        })
    }

    fn reject(&self, error: RequestError, head: &request::Parts, context: &RequestContext<C::Owner>) -> Response<Body> {
        log_rejected(&error, context);
        self.render_error(error, head, context)
    }

    fn render_error(
        &self,
        error: RequestError,
        head: &request::Parts,
        context: &RequestContext<C::Owner>,
    ) -> Response<Body> {
        let error_bodies = context.mounted.as_ref().map_or(&self.general_errors, |mounted| &mounted.error_bodies);
        let mut response = error_bodies.render(error.kind, &context.request_id).map(Body::from);
        if let Some(status) = error.status {
            *response.status_mut() = status;
        }
        for (name, value) in error.headers {
            // Replaces headers of the error body: `WWW-Authenticate` of a token is more specific than that of a key.
            response.headers_mut().insert(name, value);
        }
        // HTTP/2 ends the stream itself and forbids the header.
        if error.close && head.version < Version::HTTP_2 {
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }

    fn finish(&self, head: &request::Parts, context: &RequestContext<C::Owner>, response: &mut Response<Body>) {
        if let Some(rate) = &context.rate {
            rate.add_headers(response.headers_mut());
        }
        if let Ok(request_id) = HeaderValue::from_str(&context.request_id) {
            response.headers_mut().insert(X_REQUEST_ID, request_id);
        }
        // Caches may store any response without this header, even a 404. A plugin may override it.
        response.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        if context.route.as_ref().is_some_and(|route| route.declared.key_parameter.is_some()) {
            // The path contains a credential, which must not reach other servers.
            let no_referrer = HeaderValue::from_static("no-referrer");
            response.headers_mut().entry(header::REFERRER_POLICY).or_insert(no_referrer);
        }
        self.cors.add_headers(head, response.headers_mut());
        if head.method == Method::HEAD {
            strip_body(response);
        }
        self.observe(head, context, response);
    }

    fn observe(&self, head: &request::Parts, context: &RequestContext<C::Owner>, response: &Response<Body>) {
        let seconds = context.began.elapsed().as_secs_f64();
        let operation = context.route.as_ref().map_or("", |route| route.declared.operation.as_str());
        let (plugin, generation) = context.owner();
        let (request_id, method, status) = (&*context.request_id, &head.method, response.status().as_u16());
        // The declared pattern, since the requested path may contain private data.
        let path = context.route.as_ref().map_or("", |route| route.declared.path.as_str());
        tracing::debug!(request_id, %method, path, plugin, generation, operation, status, seconds, "request");
        if self.access_log {
            let peer = self.origins.client_address(context.peer.address, &head.headers);
            let tenant = context.tenant.as_deref().unwrap_or_default();
            // A stream has no known length.
            let bytes = response.body().size_hint().exact();
            tracing::info!(
                target: trace::ACCESS_TARGET,
                %method, path, status, seconds, bytes, request_id, plugin, operation, tenant, %peer, "request"
            );
        }
        if let Some(mounted) = &context.mounted {
            self.metrics.observe(&mounted.owner, &ObservedRequest { plugin, generation, operation, status, seconds });
        }
    }
}

impl<G> RequestContext<G> {
    /// Returns the plugin and generation for the log, empty and 0 without a plugin.
    fn owner(&self) -> (&str, u64) {
        self.mounted.as_ref().map_or(("", 0), |mounted| (&*mounted.plugin, mounted.number))
    }
}

/// Logs a rejected request at debug level. Metrics count such requests, and one caller could fill the log at a higher
/// level.
fn log_rejected<G>(error: &RequestError, context: &RequestContext<G>) {
    let (plugin, generation) = context.owner();
    let (request_id, error, reason) = (&*context.request_id, error.kind.name(), error.reason);
    tracing::debug!(plugin, generation, request_id, error, reason, "rejected a request");
}

/// Returns the limit of all request bodies together, in bytes.
fn bodies_limit(budget: &Budget) -> u64 {
    budget.readings().iter().filter(|reading| reading.kind == "bodies").map(|reading| reading.limit).sum()
}

/// Returns the error for a path that may belong to a plugin that does not serve.
fn absent() -> RequestError {
    RequestError::new(HostError::Unavailable, "the plugin that may own the path does not serve")
}

fn send_options(charge: Option<Charge>, head: &request::Parts) -> SendOptions {
    SendOptions { charge, version: head.version }
}

/// Returns the event id after which a stream resumes.
fn last_event_id(head: &request::Parts) -> Option<String> {
    head.headers.get("last-event-id")?.to_str().ok().filter(|id| !id.is_empty()).map(str::to_owned)
}

fn options_response(allow: HeaderValue) -> Response<Body> {
    let mut response = Response::new(Body::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response.headers_mut().insert(header::ALLOW, allow);
    response
}
