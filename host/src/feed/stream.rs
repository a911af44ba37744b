//! One stream: the stored feed up to its end, then what is committed, and back to the stored feed wherever it fell behind.
//!
//! Invariant: `at` is the number of the last event that was looked at; nothing at or before it is sent again, and nothing
//! after it is left out.

use std::{convert::Infallible, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::{
    sync::{
        broadcast::{self, error::RecvError},
        mpsc, watch,
    },
    time::{Instant, sleep_until, timeout_at},
};

use super::{Filter, live::Heard, wire};
use crate::{
    budget::{Budget, Charge},
    changes::scope::Scope,
    db::{
        Database, DbError,
        apply::{EventSeq, StoredEvent},
        feed::{FeedBounds, FeedPage},
    },
    limits::{
        STREAM_HEARTBEAT_MS, STREAM_LIFE_MS, STREAM_PAGE_BYTES, STREAM_PAGE_CHARGE_BYTES, STREAM_PAGE_ROWS,
        STREAM_PATIENCE_MS,
    },
    stop::told,
};

/// Of the stored feed.
const PAGE: FeedBounds = FeedBounds { rows: STREAM_PAGE_ROWS, looked_at: STREAM_PAGE_ROWS, bytes: STREAM_PAGE_BYTES };

pub struct Stream {
    pub database: Database,
    pub scope: Scope,
    pub filter: Filter,
    pub chunks: mpsc::Sender<Bytes>,
    pub news: broadcast::Receiver<Heard>,
    pub budget: Arc<Budget>,
}

/// Why a stream ends. Readers come back and go on where they were.
#[derive(Debug, thiserror::Error)]
enum End {
    #[error("its reader is gone")]
    Gone,
    #[error("its reader took nothing for too long")]
    Slow,
    #[error("its tenant has no memory left for it")]
    NoMemory,
    #[error("the host is stopping, or its time is over")]
    Over,
    #[error(transparent)]
    Database(#[from] DbError),
}

fn patience() -> Instant {
    Instant::now() + Duration::from_millis(STREAM_PATIENCE_MS)
}

impl Stream {
    pub async fn run(mut self, last_id: Option<String>, mut stopped: watch::Receiver<bool>) {
        let over = Instant::now() + Duration::from_millis(STREAM_LIFE_MS);
        let end = tokio::select! {
            end = self.serve(last_id) => end,
            () = sleep_until(over) => End::Over,
            () = told(&mut stopped) => End::Over,
        };
        let (plugin, tenant) = (&**self.scope.plugin(), &**self.scope.tenant());
        match end {
            End::Database(error) => tracing::warn!(plugin, tenant, %error, "a stream cannot read its feed"),
            End::Slow | End::NoMemory => tracing::info!(plugin, tenant, "a stream ends: {end}"),
            End::Gone | End::Over => {}
        }
    }

    async fn serve(&mut self, last_id: Option<String>) -> End {
        let Err(end) = self.follow(last_id).await;
        end
    }

    async fn follow(&mut self, last_id: Option<String>) -> Result<Infallible, End> {
        self.send(wire::hello()).await?;
        let mut at = self.begin(last_id).await?;
        loop {
            at = self.catch_up(at).await?;
            at = self.listen(at).await?;
        }
    }

    /// The number of the event to go on after.
    async fn begin(&mut self, last_id: Option<String>) -> Result<EventSeq, End> {
        let Some(id) = last_id else { return Ok(self.database.newest_event().await?) };
        match self.database.find_event(&self.scope, &id).await? {
            Some(seq) => Ok(seq),
            None => {
                let newest = self.database.newest_event().await?;
                self.send(wire::reset()).await?;
                Ok(newest)
            }
        }
    }

    /// The next page is read when the reader has received the previous one.
    async fn catch_up(&mut self, mut at: EventSeq) -> Result<EventSeq, End> {
        loop {
            let room = self.room().await?;
            let (page, charge) = self.read(at).await?;
            if !page.events.is_empty() {
                let chunk = wire::events(&page.events);
                drop(page.events);
                room.send(fitted(charge, chunk));
            }
            at = page.reached;
            if !page.more {
                return Ok(at);
            }
        }
    }

    /// A page, and a charge for its chunk. It is charged before it is read: a stream that waits for memory holds none.
    async fn read(&self, at: EventSeq) -> Result<(FeedPage, Charge), End> {
        let mut bytes = STREAM_PAGE_CHARGE_BYTES.min(self.budget.estimate_max());
        loop {
            let mut charge = self.charge(bytes).await?;
            let page = self.database.find_feed(&self.scope, at, &self.filter, PAGE).await?;
            let size = wire::size_of_all(&page.events) as u64;
            if size <= charge.bytes() || charge.grow_to(size) {
                return Ok((page, charge));
            }
            // A single large event: read again when there is room for it.
            bytes = size;
        }
    }

    /// Until something may have been missed.
    async fn listen(&mut self, mut at: EventSeq) -> Result<EventSeq, End> {
        loop {
            let quiet = Instant::now() + Duration::from_millis(STREAM_HEARTBEAT_MS);
            let heard = tokio::select! {
                heard = timeout_at(quiet, self.news.recv()) => heard,
                () = self.chunks.closed() => return Err(End::Gone),
            };
            match heard {
                Err(_quiet) => self.send(wire::heartbeat()).await?,
                Ok(Ok(Heard::Event(event))) if event.seq <= at => {}
                Ok(Ok(Heard::Event(event))) => {
                    self.show(&event).await?;
                    at = event.seq;
                }
                Ok(Ok(Heard::Gap) | Err(RecvError::Lagged(_))) => return Ok(at),
                Ok(Err(RecvError::Closed)) => return Err(End::Over),
            }
        }
    }

    async fn show(&self, event: &StoredEvent) -> Result<(), End> {
        if self.filter.shows(&event.event_type, &event.subject) {
            let room = self.room().await?;
            let charge = self.charge(wire::size(event) as u64).await?;
            room.send(fitted(charge, wire::event(event)));
        }
        Ok(())
    }

    async fn send(&self, chunk: Bytes) -> Result<(), End> {
        let room = self.room().await?;
        let charge = self.charge(chunk.len() as u64).await?;
        room.send(fitted(charge, chunk));
        Ok(())
    }

    /// A reader that takes nothing for too long is let go of.
    async fn room(&self) -> Result<mpsc::Permit<'_, Bytes>, End> {
        match timeout_at(patience(), self.chunks.reserve()).await {
            Ok(room) => room.map_err(|_closed| End::Gone),
            Err(_) => Err(End::Slow),
        }
    }

    async fn charge(&self, bytes: u64) -> Result<Charge, End> {
        self.budget.charge_stream(self.scope.tenant(), bytes, patience()).await.map_err(|_| End::NoMemory)
    }
}

/// The tenant pays for the chunk until the connection has taken it.
fn fitted(mut charge: Charge, chunk: Bytes) -> Bytes {
    charge.shrink_to(chunk.len() as u64);
    charge.attach(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        changes::testing::{Bench, scope},
        config::MemoryConfig,
        fair::Request,
        feed::live::Live,
    };

    #[tokio::test]
    async fn stream_that_waits_for_memory_has_read_nothing() {
        let bench = Bench::open().await;
        let budget = Budget::new(&MemoryConfig { budget_bytes: 64 << 20, tenant_percent: 50 });
        let scope = scope("acme/test");
        let all = budget.calls_limit() / 100 * 50;
        let _held = budget.charge_call(scope.tenant(), Request::of(all), patience()).await.unwrap();
        let news = Live::default().listen(&scope);
        let (chunks, _reader) = mpsc::channel(1);
        let database = bench.database.clone();
        let mut stream = Stream { database, scope, filter: Filter::default(), chunks, news, budget };
        tokio::time::pause();
        // To read an empty feed succeeds and needs no memory.
        let end = stream.catch_up(0).await;
        assert!(matches!(end, Err(End::NoMemory)), "{end:?}");
    }
}
