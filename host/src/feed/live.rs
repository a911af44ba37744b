//! Forwards committed events to the streams of their tenant. After a gap, because a stream lags, notifications were
//! missed, or an event is large, the stream reads the stored feed again.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

use crate::{
    changes::scope::Scope,
    commit::committer::CommitNotification,
    db::apply::StoredEvent,
    limits::{STREAM_EVENT_BYTES_KEPT, STREAM_EVENTS_KEPT},
    shutdown::requested,
};

/// A notification for a stream.
#[derive(Clone, Debug)]
pub enum StreamNotification {
    Event(Arc<StoredEvent>),
    /// Events may have been missed, or an event is too large to forward.
    Gap,
}

#[derive(Default)]
pub struct Live {
    tenants: RwLock<HashMap<Scope, broadcast::Sender<StreamNotification>>>,
}

impl Live {
    /// Subscribes to the events of a tenant from now on.
    pub fn subscribe(&self, scope: &Scope) -> broadcast::Receiver<StreamNotification> {
        let mut tenants = self.tenants.write();
        tenants.retain(|known, sender| known == scope || sender.receiver_count() > 0);
        tenants.entry(scope.clone()).or_insert_with(|| broadcast::channel(STREAM_EVENTS_KEPT).0).subscribe()
    }

    pub async fn forward(
        self: Arc<Self>,
        mut notifications: broadcast::Receiver<Arc<CommitNotification>>,
        mut stopped: watch::Receiver<bool>,
    ) {
        loop {
            let received = tokio::select! {
                received = notifications.recv() => received,
                () = requested(&mut stopped) => return,
            };
            match received.as_deref() {
                Ok(CommitNotification::Durable(outgoing)) => {
                    let tenants = self.tenants.read();
                    for event in outgoing.events.iter().filter(|event| !event.is_test) {
                        if let Some(sender) = tenants.get(&event.scope) {
                            // A large event would stay in memory for the slowest stream, so each stream reads it later.
                            let notification = match event.body.len() <= STREAM_EVENT_BYTES_KEPT {
                                true => StreamNotification::Event(event.clone()),
                                false => StreamNotification::Gap,
                            };
                            // The last stream of the tenant may have ended.
                            let _ = sender.send(notification);
                        }
                    }
                }
                Ok(CommitNotification::Unknown) | Err(RecvError::Lagged(_)) => {
                    for sender in self.tenants.read().values() {
                        let _ = sender.send(StreamNotification::Gap);
                    }
                }
                Err(RecvError::Closed) => return,
            }
        }
    }
}
