//! Runs the calls of requests. Calls of writing routes outlive their callers.
//!
//! Invariants: once the first run of a call of a writing route has begun, the call completes even if its caller
//! disconnects. If the caller disconnects earlier, the call is dropped. A stopping host waits for these calls, up to a
//! deadline.

use std::{mem, pin::Pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    runtime::Handle,
    task::{JoinError, JoinSet},
    time::{Instant, timeout_at},
};
use tracing::{Instrument, Span};

use crate::{
    host_error::HostError,
    limits::PUBLISH_WAIT_MS,
    plugin::{
        call::{Attachment, CallError, Calls},
        exchange::{Admitted, CallResponse},
        generation::Generation,
        registry::{Registry, Table},
        routes::{Mounted, Route, RouteMatch},
    },
};

/// Runs a call on the generation that admitted it. Cheap to clone.
#[derive(Clone)]
pub struct Performer {
    pub registry: Arc<Registry<Table>>,
    pub calls: Arc<Calls>,
}

/// The running calls of writing routes whose callers have disconnected. Cheap to clone.
#[derive(Clone, Default)]
pub struct DetachedCalls(Arc<Mutex<DetachedTasks>>);

#[derive(Default)]
struct DetachedTasks {
    tasks: JoinSet<()>,
    is_closed: bool,
}

type CallFuture = Pin<Box<dyn Future<Output = Result<CallResponse, HostError>> + Send>>;

/// A call whose caller is connected. If it is dropped after the call has begun, the call continues in a separate task.
struct AttachedCall<'a> {
    detached_calls: &'a DetachedCalls,
    attachment: Arc<Attachment>,
    /// `None` once the call has ended.
    call: Option<CallFuture>,
}

impl Drop for AttachedCall<'_> {
    fn drop(&mut self) {
        if let Some(call) = self.call.take()
            && !self.attachment.abandon()
            && !std::thread::panicking()
        {
            self.detached_calls.detach(call);
        }
    }
}

impl DetachedCalls {
    /// Runs a call of a writing route. Dropping the future drops the call only if it has not begun.
    pub async fn perform(
        &self,
        performer: Performer,
        admitted: Admitted<Arc<Generation>>,
    ) -> Result<CallResponse, HostError> {
        let attachment = Arc::new(Attachment::default());
        let shared = attachment.clone();
        let call: CallFuture = Box::pin(async move { performer.perform(admitted, &shared).await });
        let mut attached = AttachedCall { detached_calls: self, attachment, call: Some(call) };
        let response = match &mut attached.call {
            Some(call) => call.await,
            None => Err(HostError::PluginFailed),
        };
        attached.call = None;
        response
    }

    fn detach(&self, call: CallFuture) {
        let Ok(runtime) = Handle::try_current() else { return };
        let call = call.instrument(Span::current());
        let mut detached = self.0.lock();
        while let Some(result) = detached.tasks.try_join_next() {
            log_panic(result);
        }
        if detached.is_closed {
            // The lock is released first: dropping the call may drop an `AttachedCall`, which locks as well.
            drop(detached);
            drop(call);
        } else {
            detached.tasks.spawn_on(
                async move {
                    // The caller has disconnected, so the response is dropped.
                    let _ = call.await;
                },
                &runtime,
            );
        }
    }

    /// Waits for all calls, and aborts those that still run at the deadline. Returns true if all completed in time.
    pub async fn end(&self, until: Instant) -> bool {
        let mut running = JoinSet::new();
        let in_time = loop {
            if running.is_empty() {
                running = mem::take(&mut self.0.lock().tasks);
            }
            match timeout_at(until, running.join_next()).await {
                Ok(Some(result)) => log_panic(result),
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

fn log_panic(result: Result<(), JoinError>) {
    if let Err(error) = result {
        tracing::error!("the task of a call failed: {error}");
    }
}

impl Performer {
    pub async fn perform(
        &self,
        admitted: Admitted<Arc<Generation>>,
        attachment: &Attachment,
    ) -> Result<CallResponse, HostError> {
        match self.calls.perform(&admitted, attachment).await {
            Ok(response) => Ok(response),
            Err(CallError::Failed(failure) | CallError::Broken(failure)) => Err(failure),
            Err(CallError::Outdated) => self.perform_on_newest(admitted, attachment).await,
        }
    }

    /// Runs a call again on the newest generation. Its own generation is outdated: the call began before a swap and
    /// read data that the newer generation wrote. Waits for the publication of that generation if necessary.
    async fn perform_on_newest(
        &self,
        admitted: Admitted<Arc<Generation>>,
        attachment: &Attachment,
    ) -> Result<CallResponse, HostError> {
        let (plugin, before) = (admitted.mounted.plugin.clone(), admitted.mounted.number);
        let deadline = admitted.deadline.min(Instant::now() + Duration::from_millis(PUBLISH_WAIT_MS));
        let mut publications = self.registry.publications();
        let again = loop {
            let table = self.registry.current();
            match table.find(&admitted.method, &admitted.path) {
                RouteMatch::Route { owner, route, parameters } if owner.number != before && owner.plugin == plugin => {
                    if !is_still_admitted((owner, route), (&admitted.mounted, &admitted.route)) {
                        tracing::info!(plugin = &*plugin, "rejected a request: its route requires more since a swap");
                        return Err(self.calls.give_up(&admitted, attachment).await);
                    }
                    break Admitted { mounted: owner.clone(), route: route.clone(), parameters, ..admitted };
                }
                _ => {}
            }
            if !matches!(timeout_at(deadline, publications.changed()).await, Ok(Ok(()))) {
                tracing::error!(plugin = &*plugin, generation = before, "no generation on this host matches the data");
                return Err(self.calls.give_up(&admitted, attachment).await);
            }
        };
        match self.calls.perform(&again, attachment).await {
            Ok(response) => Ok(response),
            Err(CallError::Failed(failure) | CallError::Broken(failure)) => Err(failure),
            Err(CallError::Outdated) => Err(self.calls.give_up(&again, attachment).await),
        }
    }
}

/// Returns true if every request that was admitted under one declaration of its route passes all checks of the newest
/// declaration.
fn is_still_admitted<G>((owner, route): (&Mounted<G>, &Route), (before, was): (&Mounted<G>, &Route)) -> bool {
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
    use crate::plugin::{error_bodies::ErrorBodies, guest, routes::RouteTable};

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
            error_bodies: Arc::new(ErrorBodies::compile(&manifest).unwrap()),
            manifest: Arc::new(manifest),
            config: Arc::new(guest::config(&[])),
        };
        RouteTable::build(vec![mounted]).unwrap()
    }

    fn is_admitted((now, route): (Value, Value), (before, was): (Value, Value)) -> bool {
        let (now, before) = (table(now, route), table(before, was));
        let find = |table: &RouteTable<()>| match table.find(&Method::POST, "/v1/things") {
            RouteMatch::Route { owner, route, .. } => (owner.clone(), route.clone()),
            other => panic!("{other:?}"),
        };
        let ((owner, route), (before, was)) = (find(&now), find(&before));
        is_still_admitted((&owner, &route), (&before, &was))
    }

    /// Returns a call that never completes, and a receiver that reports an error when the call is dropped.
    fn endless_call() -> (CallFuture, tokio::sync::oneshot::Receiver<()>) {
        let (guard, dropped) = tokio::sync::oneshot::channel::<()>();
        let call = async move {
            let _guard = guard;
            std::future::pending().await
        };
        (Box::pin(call), dropped)
    }

    fn attach(detached_calls: &DetachedCalls, call: CallFuture) -> AttachedCall<'_> {
        AttachedCall { detached_calls, attachment: Arc::default(), call: Some(call) }
    }

    #[tokio::test(start_paused = true)]
    async fn stop_aborts_calls_that_take_too_long() {
        let detached_calls = DetachedCalls::default();
        let (call, dropped) = endless_call();
        let attached = attach(&detached_calls, call);
        assert!(attached.attachment.begin());
        drop(attached);
        assert!(!detached_calls.end(Instant::now() + Duration::from_secs(1)).await);
        assert!(dropped.await.is_err());
        let (late, dropped) = endless_call();
        detached_calls.detach(late);
        assert!(dropped.await.is_err(), "no call runs after the end");
    }

    #[tokio::test(start_paused = true)]
    async fn stop_waits_for_calls_whose_caller_has_disconnected() {
        let detached_calls = DetachedCalls::default();
        let (ended, has_ended) = tokio::sync::oneshot::channel();
        let call = async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let _ = ended.send(());
            Err(HostError::Unavailable)
        };
        let attached = attach(&detached_calls, Box::pin(call));
        assert!(attached.attachment.begin());
        drop(attached);
        assert!(detached_calls.end(Instant::now() + Duration::from_secs(1)).await);
        assert!(has_ended.await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn call_that_has_not_begun_is_dropped_with_its_caller() {
        let detached_calls = DetachedCalls::default();
        let (call, dropped) = endless_call();
        drop(attach(&detached_calls, call));
        assert!(dropped.await.is_err());
        assert!(detached_calls.end(Instant::now()).await);
    }

    #[test]
    fn request_is_rejected_if_the_newest_route_requires_more_than_was_checked() {
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
