//! The routes and the calls, as HTTP sees them.

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;

use ::http::{Request, uri::PathAndQuery};
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use tokio::sync::mpsc;

use super::performing::{Ongoing, Performer};
use crate::{
    auth::Principal,
    config::PluginConfig,
    destinations,
    failure::Failure,
    feed::{Feeds, Filter},
    http::{self, HttpMetrics, Observed},
    limits::DESTINATION_ANSWER_BYTES_MAX,
    outbound::{Answer, BodyEnd},
    plugin::{
        call::Attachment,
        exchange::{Admitted, FeedWish, Reply},
        generation::Generation,
        registry::Registry,
        routes::{Mounted, RouteTable},
    },
};

/// What requests look into: one value, replaced as a whole at a swap.
pub type Table = RouteTable<Arc<Generation>>;

/// The table of everything that is to serve; every clash at once where it cannot.
pub fn build_table(serving: &[Arc<Generation>]) -> Result<Table, Vec<String>> {
    let mounted = serving.iter().map(|generation| Mounted {
        owner: generation.clone(),
        plugin: generation.plugin().clone(),
        number: generation.number(),
        manifest: generation.manifest.clone(),
        config: generation.config.clone(),
        wording: generation.wording.clone(),
    });
    RouteTable::build(mounted.collect()).map_err(|clashes| clashes.iter().map(ToString::to_string).collect())
}

/// The plugins of plugins.toml, served or not.
pub type Configured = Arc<ArcSwap<BTreeMap<Arc<str>, PluginConfig>>>;

pub struct Serving {
    pub performer: Performer,
    pub ongoing: Ongoing,
    pub configured: Configured,
    pub feeds: Feeds,
}

impl http::Calls for Serving {
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

    async fn call(&self, admitted: Admitted<Arc<Generation>>) -> Result<Reply, Failure> {
        if admitted.route.writes() {
            self.ongoing.perform(self.performer.clone(), admitted).await
        } else {
            self.performer.perform(admitted, &Attachment::default()).await
        }
    }

    fn stream(&self, feed: FeedWish, last_event_id: Option<String>) -> Option<mpsc::Receiver<Bytes>> {
        let filter = Filter { event_types: feed.event_types, subjects: feed.subjects };
        self.feeds.open(feed.scope, filter, last_event_id).ok()
    }
}

/// What the operator has named for a plugin that is served, as its running settings have it.
pub fn named_destinations(registry: Arc<Registry<Table>>) -> destinations::Named {
    Arc::new(move |plugin, name| {
        let table = registry.current();
        let mounted = table.mounted().iter().find(|mounted| &*mounted.plugin == plugin)?;
        mounted.config.destinations.get(name).cloned()
    })
}

/// How plugins call each other: as HTTP does, but for connection and credential.
pub fn visits(service: &Arc<http::Service<Serving>>, registry: Arc<Registry<Table>>) -> destinations::Visit {
    // The service holds what holds the visits.
    let service = Arc::downgrade(service);
    Box::new(move |from, neighbour, request| {
        let (service, registry) = (service.clone(), registry.clone());
        Box::pin(async move {
            let mount = {
                let table = registry.current();
                let mounted = table.mounted().iter().find(|mounted| mounted.plugin == neighbour.plugin)?;
                mounted.config.mount.trim_end_matches('/').to_owned()
            };
            let request = below(&mount, request)?;
            let caller = Principal::plugin((from.plugin(), from.tenant()), &neighbour.tenant);
            let response = service.upgrade()?.answer_caller(request, caller).await;
            let (head, body) = response.into_parts();
            // A stream has no end: nobody can wait for it.
            let body = Limited::new(body, DESTINATION_ANSWER_BYTES_MAX).collect().await;
            let (body, end) = match body {
                Ok(body) => (body.to_bytes(), BodyEnd::Whole),
                Err(_) => (Bytes::new(), BodyEnd::Cut),
            };
            Some(Answer { status: head.status, headers: head.headers, body, end, duration_ms: 0 })
        })
    })
}

fn below(mount: &str, request: Request<Full<Bytes>>) -> Option<Request<Full<Bytes>>> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    head.uri = format!("{mount}{path}").parse().ok()?;
    Some(Request::from_parts(head, body))
}

/// Requests are counted on the generation that answered them.
pub struct RequestMetrics;

impl HttpMetrics<Arc<Generation>> for RequestMetrics {
    fn observe(&self, owner: &Arc<Generation>, request: &Observed<'_>) {
        let operation = (!request.operation.is_empty()).then_some(request.operation);
        owner.metrics.observe(operation, request.status, request.seconds);
    }
}
