//! One stream: the stored feed up to its end, then what is committed, and back to the stored feed wherever it fell behind.
//!
//! Invariant: `at` is the number of the last event that was looked at; nothing at or before it is sent again, and nothing
//! after it is left out.

use std::{
    convert::Infallible,
    ops::ControlFlow::{self, Break, Continue},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use tokio::{
    sync::{
        broadcast::{
            self,
            error::{RecvError, TryRecvError},
        },
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
    fair::pace::Pacer,
    limits::{
        STREAM_BYTES_PER_US, STREAM_CHUNK_US, STREAM_HEARTBEAT_MS, STREAM_LIFE_MS, STREAM_PAGE_BYTES,
        STREAM_PAGE_CHARGE_BYTES, STREAM_PAGE_ROWS, STREAM_PATIENCE_MS,
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
    pub pacer: Arc<Pacer>,
    /// When the stream sends a heartbeat, unless it sends a chunk before. Events that the filter leaves out do not postpone it.
    pub heartbeat_at: Instant,
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
            if self.heartbeat_at <= Instant::now() {
                self.send_heartbeat().await?;
            }
            let room = self.room().await?;
            // It counts as a full page: to read it costs as much, whether the filter shows its events or not.
            self.pacer.wait(STREAM_CHUNK_US).await;
            self.pacer.count(STREAM_PAGE_BYTES as u64 / STREAM_BYTES_PER_US);
            let (page, charge) = self.read(at).await?;
            if !page.events.is_empty() {
                let chunk = wire::events(&page.events);
                drop(page.events);
                room.send(fitted(charge, chunk));
                self.heartbeat_at = next_heartbeat();
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
            let heard = tokio::select! {
                heard = timeout_at(self.heartbeat_at, self.news.recv()) => heard,
                () = self.chunks.closed() => return Err(End::Gone),
            };
            match heard {
                Err(_quiet) => self.send_heartbeat().await?,
                Ok(Ok(Heard::Event(event))) if event.seq <= at => {}
                Ok(Ok(Heard::Event(event))) if !self.shows(&event) => at = event.seq,
                Ok(Ok(Heard::Event(event))) => match self.show(event).await? {
                    Continue(reached) => at = reached,
                    Break(reached) => return Ok(reached),
                },
                Ok(Ok(Heard::Gap) | Err(RecvError::Lagged(_))) => return Ok(at),
                Ok(Err(RecvError::Closed)) => return Err(End::Over),
            }
        }
    }

    fn shows(&self, event: &StoredEvent) -> bool {
        self.filter.shows(&event.event_type, &event.subject)
    }

    /// Sends an event together with those that arrive while it waits. Breaks if others may have been missed.
    async fn show(&mut self, event: Arc<StoredEvent>) -> Result<ControlFlow<EventSeq, EventSeq>, End> {
        let room = self.room().await?;
        self.pacer.wait(STREAM_CHUNK_US).await;
        let mut charge = self.charge(wire::size(&event) as u64).await?;
        let (events, reached) = self.gather(event, &mut charge);
        let chunk = wire::events(&events);
        self.pacer.count(chunk.len() as u64 / STREAM_BYTES_PER_US);
        room.send(fitted(charge, chunk));
        self.heartbeat_at = next_heartbeat();
        Ok(reached)
    }

    /// Adds the events that have arrived, up to the size of a page. Events without memory are read again from the stored feed.
    fn gather(
        &mut self,
        first: Arc<StoredEvent>,
        charge: &mut Charge,
    ) -> (Vec<Arc<StoredEvent>>, ControlFlow<EventSeq, EventSeq>) {
        let (mut at, mut bytes, mut events) = (first.seq, wire::size(&first), vec![first]);
        while bytes < STREAM_PAGE_BYTES {
            match self.news.try_recv() {
                Ok(Heard::Event(event)) if event.seq <= at => {}
                Ok(Heard::Event(event)) if !self.shows(&event) => at = event.seq,
                Ok(Heard::Event(event)) => {
                    bytes += wire::size(&event);
                    if !charge.grow_to(bytes as u64) {
                        return (events, Break(at));
                    }
                    at = event.seq;
                    events.push(event);
                }
                Ok(Heard::Gap) | Err(TryRecvError::Lagged(_)) => return (events, Break(at)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        (events, Continue(at))
    }

    async fn send_heartbeat(&mut self) -> Result<(), End> {
        self.pacer.wait(STREAM_CHUNK_US).await;
        self.send(wire::heartbeat()).await?;
        self.heartbeat_at = next_heartbeat();
        Ok(())
    }

    async fn send(&self, chunk: Bytes) -> Result<(), End> {
        let room = self.room().await?;
        let charge = self.charge(chunk.len() as u64).await?;
        room.send(fitted(charge, chunk));
        Ok(())
    }

    /// A reader that takes nothing for too long is let go of.
    async fn room(&self) -> Result<mpsc::OwnedPermit<Bytes>, End> {
        match timeout_at(patience(), self.chunks.clone().reserve_owned()).await {
            Ok(room) => room.map_err(|_closed| End::Gone),
            Err(_) => Err(End::Slow),
        }
    }

    async fn charge(&self, bytes: u64) -> Result<Charge, End> {
        self.budget.charge_stream(self.scope.tenant(), bytes, patience()).await.map_err(|_| End::NoMemory)
    }
}

pub fn next_heartbeat() -> Instant {
    Instant::now() + Duration::from_millis(STREAM_HEARTBEAT_MS)
}

/// The tenant pays for the chunk until the connection has taken it.
fn fitted(mut charge: Charge, chunk: Bytes) -> Bytes {
    charge.shrink_to(chunk.len() as u64);
    charge.attach(chunk)
}

#[cfg(test)]
mod tests;
