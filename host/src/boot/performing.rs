//! The calls of requests, and the tasks in which those that write outlive their callers.
//!
//! Invariants: a call of a writing route whose first run has begun is performed to its end, whether its caller still waits or
//! not; a caller that goes away before that takes its call with it. A host that stops waits for these calls.

#![expect(clippy::disallowed_methods, reason = "one task for each writing call; `Ongoing::ended` waits for them")]

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::watch,
    task::JoinHandle,
    time::{Instant, timeout_at},
};
use tracing::Instrument;

use super::serving::Table;
use crate::{
    failure::Failure,
    limits::PUBLISH_WAIT_MS,
    plugin::{
        call::{Attachment, Calls, Ended},
        exchange::{Admitted, Reply},
        generation::Generation,
        registry::Registry,
        routes::{Found, Mounted, Route},
    },
};

/// Performs a call on the generation that it belongs to. Cheap to clone.
#[derive(Clone)]
pub struct Performer {
    pub registry: Arc<Registry<Table>>,
    pub calls: Arc<Calls>,
}

/// The writing calls that run now. Cheap to clone.
#[derive(Clone)]
pub struct Ongoing(Arc<watch::Sender<()>>);

/// A call in its task, as its caller holds it.
struct Attached {
    task: JoinHandle<Result<Reply, Failure>>,
    attachment: Arc<Attachment>,
}

impl Drop for Attached {
    fn drop(&mut self) {
        if self.attachment.abandon() {
            self.task.abort();
        }
    }
}

impl Ongoing {
    pub fn new() -> Ongoing {
        Ongoing(Arc::new(watch::Sender::new(())))
    }

    /// Performs a call in a task of its own. Dropping the future drops a call that has not begun, and no other.
    pub async fn perform(&self, performer: Performer, admitted: Admitted<Arc<Generation>>) -> Result<Reply, Failure> {
        let attachment = Arc::new(Attachment::default());
        let (running, shared, request_id) = (self.0.subscribe(), attachment.clone(), admitted.request_id.clone());
        let work = async move {
            let reply = performer.perform(admitted, &shared).await;
            drop(running);
            reply
        };
        let mut attached = Attached { task: tokio::spawn(work.in_current_span()), attachment };
        match (&mut attached.task).await {
            Ok(reply) => reply,
            Err(error) => {
                tracing::error!(request_id = &*request_id, "the task of a call failed: {error}");
                Err(Failure::PluginFailed)
            }
        }
    }

    /// Returns when no call runs, or at this time. Says whether all have ended.
    pub async fn ended(&self, until: Instant) -> bool {
        timeout_at(until, self.0.closed()).await.is_ok()
    }
}

impl Performer {
    pub async fn perform(
        &self,
        admitted: Admitted<Arc<Generation>>,
        attachment: &Attachment,
    ) -> Result<Reply, Failure> {
        match self.calls.perform(&admitted, attachment).await {
            Ok(answer) => Ok(answer),
            Err(Ended::Failed(failure) | Ended::Broken(failure)) => Err(failure),
            Err(Ended::Outdated) => self.perform_on_newest(admitted, attachment).await,
        }
    }

    /// A call that began before a swap and meets data of the other side of it: it belongs to the generation that serves
    /// now, or will in a moment.
    async fn perform_on_newest(
        &self,
        admitted: Admitted<Arc<Generation>>,
        attachment: &Attachment,
    ) -> Result<Reply, Failure> {
        let (plugin, before) = (admitted.mounted.plugin.clone(), admitted.mounted.number);
        let patience = admitted.deadline.min(Instant::now() + Duration::from_millis(PUBLISH_WAIT_MS));
        let mut publications = self.registry.publications();
        let again = loop {
            let table = self.registry.current();
            match table.find(&admitted.method, &admitted.path) {
                Found::Route { owner, route, parameters } if owner.number != before && owner.plugin == plugin => {
                    if !requires_no_more((owner, route), (&admitted.mounted, &admitted.route)) {
                        tracing::info!(plugin = &*plugin, "a request was not admitted for what its route now requires");
                        return Err(self.calls.give_up(&admitted).await);
                    }
                    break Admitted { mounted: owner.clone(), route: route.clone(), parameters, ..admitted };
                }
                _ => {}
            }
            if !matches!(timeout_at(patience, publications.changed()).await, Ok(Ok(()))) {
                tracing::error!(plugin = &*plugin, generation = before, "no generation here fits the data");
                return Err(self.calls.give_up(&admitted).await);
            }
        };
        match self.calls.perform(&again, attachment).await {
            Ok(reply) => Ok(reply),
            Err(Ended::Failed(failure) | Ended::Broken(failure)) => Err(failure),
            Err(Ended::Outdated) => Err(self.calls.give_up(&again).await),
        }
    }
}

/// Whether a request that was admitted under one declaration of its route needs no other check under the newest one.
fn requires_no_more<G>((owner, route): (&Mounted<G>, &Route), (before, was): (&Mounted<G>, &Route)) -> bool {
    let (accepts, accepted) = (&owner.manifest.authentication, &before.manifest.authentication);
    let (route, was) = (&route.declared, &was.declared);
    let admits_caller = (accepts.oauth || !accepted.oauth)
        && (accepts.api_keys || !accepted.api_keys)
        && (accepts.tokens || !accepted.tokens)
        && (route.open || !was.open)
        && route.key_parameter == was.key_parameter
        && route.scopes.iter().all(|scope| was.scopes.contains(scope));
    let admits_body = was.media_types.iter().all(|media_type| route.media_types.contains(media_type))
        && match (route.body_bytes_max, was.body_bytes_max) {
            (Some(now), Some(before)) => now >= before,
            (now, before) => now == before,
        };
    admits_caller && admits_body
}

#[cfg(test)]
mod tests {
    use http::Method;
    use serde_json::{Value, json};

    use super::*;
    use crate::plugin::{guest, routes::RouteTable, wording::Wording};

    fn table(authentication: Value, mut route: Value) -> RouteTable<()> {
        let mut manifest = guest::manifest("1.0.0");
        manifest["authentication"] = authentication;
        for (name, value) in [("operation", "create"), ("method", "POST"), ("path", "/v1/things")] {
            route[name] = json!(value);
        }
        manifest["routes"] = json!([route]);
        let manifest: crate::plugin::manifest::Manifest = serde_json::from_value(manifest).unwrap();
        let mounted = Mounted {
            owner: (),
            plugin: "notes".into(),
            number: 1,
            wording: Arc::new(Wording::compile(&manifest).unwrap()),
            manifest: Arc::new(manifest),
            config: Arc::new(guest::config(&[])),
        };
        RouteTable::build(vec![mounted]).unwrap()
    }

    fn is_admitted((now, route): (Value, Value), (before, was): (Value, Value)) -> bool {
        let (now, before) = (table(now, route), table(before, was));
        let find = |table: &RouteTable<()>| match table.find(&Method::POST, "/v1/things") {
            Found::Route { owner, route, .. } => (owner.clone(), route.clone()),
            other => panic!("{other:?}"),
        };
        let ((owner, route), (before, was)) = (find(&now), find(&before));
        requires_no_more((&owner, &route), (&before, &was))
    }

    #[test]
    fn request_is_not_performed_on_a_route_that_requires_more_than_was_checked() {
        let same = || json!({});
        for (now, was) in [
            (json!({"scopes": ["admin"]}), json!({})),
            (json!({}), json!({"open": true})),
            (json!({}), json!({"media-types": ["text/csv"]})),
            (json!({"body-bytes-max": 10}), json!({})),
            (json!({"body-bytes-max": 10}), json!({"body-bytes-max": 11})),
        ] {
            assert!(!is_admitted((same(), now.clone()), (same(), was.clone())), "{now} after {was}");
            assert!(is_admitted((same(), was.clone()), (same(), was.clone())), "{was}");
        }
        assert!(!is_admitted((json!({"oauth": true, "api-keys": false}), same()), (same(), same())));
        assert!(is_admitted((json!({"oauth": true}), same()), (same(), same())));
        assert!(is_admitted((same(), json!({"open": true})), (same(), json!({"scopes": ["admin"]}))));
    }
}
