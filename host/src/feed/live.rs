//! What is committed, passed on to the streams of its tenant. A stream that lags, or news that was missed, only means that
//! the stream reads the stored feed again.

use std::{collections::HashMap, sync::Arc};

use parking_lot::RwLock;
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

use crate::{
    changes::scope::Scope,
    commit::committer::News,
    db::apply::StoredEvent,
    limits::{STREAM_EVENT_BYTES_KEPT, STREAM_EVENTS_KEPT},
    stop::told,
};

/// What a stream hears.
#[derive(Clone, Debug)]
pub enum Heard {
    Event(Arc<StoredEvent>),
    /// Something may have been missed.
    Gap,
}

#[derive(Default)]
pub struct Live {
    tenants: RwLock<HashMap<Scope, broadcast::Sender<Heard>>>,
}

impl Live {
    /// From now on.
    pub fn listen(&self, scope: &Scope) -> broadcast::Receiver<Heard> {
        let mut tenants = self.tenants.write();
        tenants.retain(|known, sender| known == scope || sender.receiver_count() > 0);
        tenants.entry(scope.clone()).or_insert_with(|| broadcast::channel(STREAM_EVENTS_KEPT).0).subscribe()
    }

    pub async fn pass_on(
        self: Arc<Self>,
        mut news: broadcast::Receiver<Arc<News>>,
        mut stopped: watch::Receiver<bool>,
    ) {
        loop {
            let heard = tokio::select! {
                heard = news.recv() => heard,
                () = told(&mut stopped) => return,
            };
            match heard.as_deref() {
                Ok(News::Durable(outgoing)) => {
                    let tenants = self.tenants.read();
                    for event in outgoing.events.iter().filter(|event| !event.is_test) {
                        if let Some(sender) = tenants.get(&event.scope) {
                            // A large one would be kept for as long as the slowest stream: it is read when it is sent.
                            let heard = match event.body.len() <= STREAM_EVENT_BYTES_KEPT {
                                true => Heard::Event(event.clone()),
                                false => Heard::Gap,
                            };
                            // Nobody listens any more.
                            let _ = sender.send(heard);
                        }
                    }
                }
                Ok(News::Unknown) | Err(RecvError::Lagged(_)) => {
                    for sender in self.tenants.read().values() {
                        let _ = sender.send(Heard::Gap);
                    }
                }
                Err(RecvError::Closed) => return,
            }
        }
    }
}
