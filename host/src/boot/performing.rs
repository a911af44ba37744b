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
        routes::Found,
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

    /// Waits until no call runs, or until this time. Returns whether all have ended.
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
