//! The state of queues that only the running scheduler has, for operators.

use std::{collections::HashMap, time::Duration};

use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use super::schedule::{QueueView, Scheduler};
use crate::{db::apply::QueueId, limits::QUEUE_VIEWS_WAIT_MS};

/// Requests views from the engine. Cheap to clone.
#[derive(Clone)]
pub struct QueueViews(mpsc::Sender<ViewRequest>);

/// A request to the engine for the views of some queues.
pub struct ViewRequest {
    queues: Vec<QueueId>,
    reply: oneshot::Sender<HashMap<QueueId, QueueView>>,
}

impl QueueViews {
    pub fn new() -> (QueueViews, mpsc::Receiver<ViewRequest>) {
        let (sender, requests) = mpsc::channel(1);
        (QueueViews(sender), requests)
    }

    /// Returns the views of those queues that are open. Returns an empty map if the engine does not reply in time,
    /// because it waits for the database or has ended.
    pub async fn find(&self, queues: Vec<QueueId>) -> HashMap<QueueId, QueueView> {
        let (reply, views) = oneshot::channel();
        let exchange = async {
            self.0.send(ViewRequest { queues, reply }).await.ok()?;
            views.await.ok()
        };
        timeout(Duration::from_millis(QUEUE_VIEWS_WAIT_MS), exchange).await.ok().flatten().unwrap_or_default()
    }
}

impl ViewRequest {
    pub fn reply(self, scheduler: &Scheduler) {
        let view = |queue: QueueId| Some((queue, scheduler.view(queue)?));
        // The caller may have given up.
        let _ = self.reply.send(self.queues.into_iter().filter_map(view).collect());
    }
}
