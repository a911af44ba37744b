//! Backend of the HTTP service: the route table, and the calls of plugins.

use std::sync::Arc;

use ::http::{Request, uri::PathAndQuery};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use tokio::sync::mpsc;

use super::performing::{DetachedCalls, Performer};
use crate::{
    auth::Principal,
    destinations,
    feed::{Feeds, Filter},
    host_error::HostError,
    http::{self, ObservedRequest, RequestObserver},
    limits::DESTINATION_RESPONSE_BYTES_MAX,
    outbound::{BodyEnd, OutboundResponse},
    plugin::{
        call::Attachment,
        exchange::{Admitted, CallResponse, StreamRequest},
        generation::Generation,
        registry::{Configured, Registry, Table},
        routes::{Mounted, RouteTable},
    },
};

/// Builds the route table of the serving generations. Returns all conflicts if they cannot serve together.
pub fn build_table(serving: &[Arc<Generation>]) -> Result<Table, Vec<String>> {
    let mounted = serving.iter().map(|generation| Mounted {
        owner: generation.clone(),
        plugin: generation.plugin().clone(),
        number: generation.number(),
        manifest: generation.manifest.clone(),
        config: generation.config.clone(),
        error_bodies: generation.error_bodies.clone(),
    });
    RouteTable::build(mounted.collect()).map_err(|conflicts| conflicts.iter().map(ToString::to_string).collect())
}

pub struct Serving {
    pub performer: Performer,
    pub detached_calls: DetachedCalls,
    pub configured: Configured,
    pub feeds: Feeds,
}

impl http::Backend for Serving {
    type Owner = Arc<Generation>;

    fn current(&self) -> Arc<Table> {
        self.performer.registry.current()
    }

    fn may_be_absent(&self, table: &Table, path: &str) -> bool {
        let configured = self.configured.load();
        let is_served = |plugin: &str| table.mounted().iter().any(|mounted| &*mounted.plugin == plugin);
        let absent = configured.iter().filter(|(plugin, _)| !is_served(plugin));
        let mounts: Vec<&str> = absent.map(|(_, section)| &*section.mount).collect();
        table.may_belong_below(path, &mounts)
    }

    async fn call(&self, admitted: Admitted<Arc<Generation>>) -> Result<CallResponse, HostError> {
        if admitted.route.writes() {
            self.detached_calls.perform(self.performer.clone(), admitted).await
        } else {
            self.performer.perform(admitted, &Attachment::default()).await
        }
    }

    fn stream(&self, feed: StreamRequest, last_event_id: Option<String>) -> Option<mpsc::Receiver<Bytes>> {
        let filter = Filter { event_types: feed.event_types, subjects: feed.subjects };
        self.feeds.open(feed.scope, filter, last_event_id).ok()
    }
}

/// Returns the lookup of destinations that the running settings of a serving plugin define.
pub fn operator_destinations(registry: Arc<Registry<Table>>) -> destinations::OperatorDestinations {
    Arc::new(move |plugin, name| {
        let table = registry.current();
        let mounted = table.find_plugin(plugin)?;
        mounted.config.destinations.get(name).cloned()
    })
}

/// Returns the handler of calls between plugins. It runs them like HTTP requests, but without a connection and a
/// credential.
pub fn plugin_call_handler(
    service: &Arc<http::Service<Serving>>,
    registry: Arc<Registry<Table>>,
) -> destinations::PluginCallHandler {
    // The service indirectly holds this handler: a strong reference would be a cycle.
    let service = Arc::downgrade(service);
    Box::new(move |from, target, request| {
        let (service, registry) = (service.clone(), registry.clone());
        Box::pin(async move {
            let mount = {
                let table = registry.current();
                let mounted = table.find_plugin(&target.plugin)?;
                mounted.config.mount.trim_end_matches('/').to_owned()
            };
            let request = prefix_path(&mount, request)?;
            let caller = Principal::plugin((from.plugin(), from.tenant()), &target.tenant);
            let response = service.upgrade()?.handle_internal(request, caller).await;
            let (head, body) = response.into_parts();
            // A body beyond the limit is dropped and reported as cut. The limit also bounds streams, which have no end.
            let body = Limited::new(body, DESTINATION_RESPONSE_BYTES_MAX).collect().await;
            let (body, end) = match body {
                Ok(body) => (body.to_bytes(), BodyEnd::Whole),
                Err(_) => (Bytes::new(), BodyEnd::Cut),
            };
            Some(OutboundResponse { status: head.status, headers: head.headers, body, end, duration_ms: 0 })
        })
    })
}

fn prefix_path(mount: &str, request: Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    head.uri = format!("{mount}{path}").parse().ok()?;
    Some(Request::from_parts(head, body))
}

/// Counts requests in the metrics of the generation that answered them.
pub struct RequestMetrics;

impl RequestObserver<Arc<Generation>> for RequestMetrics {
    fn observe(&self, owner: &Arc<Generation>, request: &ObservedRequest<'_>) {
        let operation = (!request.operation.is_empty()).then_some(request.operation);
        owner.metrics.observe(operation, request.status, request.seconds);
    }
}
