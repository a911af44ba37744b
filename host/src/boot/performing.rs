//! The calls of requests. Those that write outlive their callers.
//!
//! Invariants: a call of a writing route whose first run has begun is performed to its end, whether its caller still
//! waits or not; a caller that goes away before that takes its call with it. A host that stops waits for these calls,
//! and ends those that take too long.

use std::{mem, pin::Pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    task::{JoinError, JoinSet},
    time::{Instant, timeout_at},
};
use tracing::{Instrument, Span};

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

/// The writing calls whose callers have gone away. Cheap to clone.
#[derive(Clone, Default)]
pub struct Ongoing(Arc<Mutex<Detached>>);

#[derive(Default)]
struct Detached {
    tasks: JoinSet<()>,
    is_closed: bool,
}

type Performing = Pin<Box<dyn Future<Output = Result<Reply, Failure>> + Send>>;

/// A call as its caller holds it. One that has begun goes on in a task of its own when this is dropped.
struct Attached<'a> {
    ongoing: &'a Ongoing,
    attachment: Arc<Attachment>,
    /// Absent once it has ended.
    call: Option<Performing>,
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take()
            && !self.attachment.abandon()
            && !std::thread::panicking()
        {
            self.ongoing.detach(call);
        }
    }
}

impl Ongoing {
    /// Performs a call of a writing route. Dropping the future drops a call that has not begun, and no other.
    pub async fn perform(&self, performer: Performer, admitted: Admitted<Arc<Generation>>) -> Result<Reply, Failure> {
        let attachment = Arc::new(Attachment::default());
        let shared = attachment.clone();
        let call: Performing = Box::pin(async move { performer.perform(admitted, &shared).await });
        let mut attached = Attached { ongoing: self, attachment, call: Some(call) };
        let reply = match &mut attached.call {
            Some(call) => call.await,
            None => Err(Failure::PluginFailed),
        };
        attached.call = None;
        reply
    }

    fn detach(&self, call: Performing) {
        let Ok(runtime) = Handle::try_current() else { return };
        let call = call.instrument(Span::current());
        let mut detached = self.0.lock();
        while let Some(ended) = detached.tasks.try_join_next() {
            note_panic(ended);
        }
        if detached.is_closed {
            // Dropping the call may drop values whose `drop` comes here as well.
            drop(detached);
            drop(call);
        } else {
            detached.tasks.spawn_on(
                async move {
                    // Nobody receives its reply.
                    let _ = call.await;
                },
                &runtime,
            );
        }
    }

    /// Returns when no call runs. Ends those that run at this time. Returns whether all have ended by themselves.
    pub async fn end(&self, until: Instant) -> bool {
        let mut running = JoinSet::new();
        let in_time = loop {
            if running.is_empty() {
                running = mem::take(&mut self.0.lock().tasks);
            }
            match timeout_at(until, running.join_next()).await {
                Ok(Some(ended)) => note_panic(ended),
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        let mut late = {
            let mut detached = self.0.lock();
            detached.is_closed = true;
            mem::take(&mut detached.tasks)
        };
        running.shutdown().await;
        late.shutdown().await;
        in_time
    }
}

fn note_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!("the task of a call failed: {error}");
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
                        return Err(self.calls.give_up(&admitted, attachment).await);
                    }
                    break Admitted { mounted: owner.clone(), route: route.clone(), parameters, ..admitted };
                }
                _ => {}
            }
            if !matches!(timeout_at(patience, publications.changed()).await, Ok(Ok(()))) {
                tracing::error!(plugin = &*plugin, generation = before, "no generation here fits the data");
                return Err(self.calls.give_up(&admitted, attachment).await);
            }
        };
        match self.calls.perform(&again, attachment).await {
            Ok(reply) => Ok(reply),
            Err(Ended::Failed(failure) | Ended::Broken(failure)) => Err(failure),
            Err(Ended::Outdated) => Err(self.calls.give_up(&again, attachment).await),
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
        let manifest: crate::manifest::Manifest = serde_json::from_value(manifest).unwrap();
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

    /// A call that runs until this is dropped, as a handle that is closed then.
    fn endless() -> (Performing, tokio::sync::oneshot::Receiver<()>) {
        let (held, dropped) = tokio::sync::oneshot::channel::<()>();
        let call = async move {
            let _held = held;
            std::future::pending().await
        };
        (Box::pin(call), dropped)
    }

    fn attach(ongoing: &Ongoing, call: Performing) -> Attached<'_> {
        Attached { ongoing, attachment: Arc::default(), call: Some(call) }
    }

    #[tokio::test(start_paused = true)]
    async fn call_that_takes_too_long_is_ended_by_a_stop() {
        let ongoing = Ongoing::default();
        let (call, dropped) = endless();
        let attached = attach(&ongoing, call);
        assert!(attached.attachment.begin());
        drop(attached);
        assert!(!ongoing.end(Instant::now() + Duration::from_secs(1)).await);
        assert!(dropped.await.is_err());
        let (late, dropped) = endless();
        ongoing.detach(late);
        assert!(dropped.await.is_err(), "nothing begins after the end");
    }

    #[tokio::test(start_paused = true)]
    async fn stop_waits_for_a_call_whose_caller_has_gone() {
        let ongoing = Ongoing::default();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let call = async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let _ = ended.send(());
            Err(Failure::Unavailable)
        };
        let attached = attach(&ongoing, Box::pin(call));
        assert!(attached.attachment.begin());
        drop(attached);
        assert!(ongoing.end(Instant::now() + Duration::from_secs(1)).await);
        assert!(has_ended.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn call_that_has_not_begun_ends_with_its_caller() {
        let ongoing = Ongoing::default();
        let (call, dropped) = endless();
        drop(attach(&ongoing, call));
        assert!(dropped.await.is_err());
        assert!(ongoing.end(Instant::now()).await);
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
