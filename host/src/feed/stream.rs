//! A stream: the stored feed up to its end, then committed events, and the stored feed again after each gap.
//!
//! Invariant: `at` is the number of the last examined event. No event at or before it is sent again, and no event after
//! it is left out.

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

use super::{Filter, live::StreamNotification, wire};
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
        STREAM_BYTES_PER_US, STREAM_CHUNK_US, STREAM_HEARTBEAT_MS, STREAM_LIFETIME_MS, STREAM_PAGE_BYTES,
        STREAM_PAGE_CHARGE_BYTES, STREAM_PAGE_ROWS, STREAM_STALL_MS,
    },
    shutdown::requested,
};

/// The limits of a page of the stored feed.
const PAGE: FeedBounds = FeedBounds { rows: STREAM_PAGE_ROWS, examined: STREAM_PAGE_ROWS, bytes: STREAM_PAGE_BYTES };

pub struct Stream {
    pub database: Database,
    pub scope: Scope,
    pub filter: Filter,
    pub chunks: mpsc::Sender<Bytes>,
    pub notifications: broadcast::Receiver<StreamNotification>,
    pub budget: Arc<Budget>,
    pub pacer: Arc<Pacer>,
    /// The time of the next heartbeat. A chunk of events or a heartbeat postpones it. Events that the filter excludes
    /// do not postpone it.
    pub heartbeat_at: Instant,
}

/// The reason why a stream ends. Readers reconnect and resume.
#[derive(Debug, thiserror::Error)]
enum StreamEnd {
    #[error("the reader has disconnected")]
    Gone,
    #[error("the reader read nothing for too long")]
    Slow,
    #[error("the tenant has no memory left for the stream")]
    NoMemory,
    #[error("the host is stopping, or the lifetime of the stream has ended")]
    Expired,
    #[error(transparent)]
    Database(#[from] DbError),
}

fn stall_deadline() -> Instant {
    Instant::now() + Duration::from_millis(STREAM_STALL_MS)
}

impl Stream {
    pub async fn run(mut self, last_id: Option<String>, mut stopped: watch::Receiver<bool>) {
        let expires_at = Instant::now() + Duration::from_millis(STREAM_LIFETIME_MS);
        let end = tokio::select! {
            end = self.serve(last_id) => end,
            () = sleep_until(expires_at) => StreamEnd::Expired,
            () = requested(&mut stopped) => StreamEnd::Expired,
        };
        let (plugin, tenant) = (&**self.scope.plugin(), &**self.scope.tenant());
        match end {
            StreamEnd::Database(error) => tracing::warn!(plugin, tenant, %error, "failed to read the feed of a stream"),
            StreamEnd::Slow | StreamEnd::NoMemory => tracing::info!(plugin, tenant, "closing a stream: {end}"),
            StreamEnd::Gone | StreamEnd::Expired => {}
        }
    }

    async fn serve(&mut self, last_id: Option<String>) -> StreamEnd {
        let Err(end) = self.follow(last_id).await;
        end
    }

    async fn follow(&mut self, last_id: Option<String>) -> Result<Infallible, StreamEnd> {
        self.send(wire::preamble()).await?;
        let mut at = self.begin(last_id).await?;
        loop {
            at = self.catch_up(at).await?;
            at = self.follow_live(at).await?;
        }
    }

    /// Returns the number of the event after which the stream begins.
    async fn begin(&mut self, last_id: Option<String>) -> Result<EventSeq, StreamEnd> {
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

    /// Sends the stored feed up to its end. Reads a page after the reader has received the previous one.
    async fn catch_up(&mut self, mut at: EventSeq) -> Result<EventSeq, StreamEnd> {
        loop {
            if self.heartbeat_at <= Instant::now() {
                self.send_heartbeat().await?;
            }
            let permit = self.permit().await?;
            // Counts as a full page, because reading costs the same whether the events match the filter or not.
            self.pacer.wait(STREAM_CHUNK_US).await;
            self.pacer.count(STREAM_PAGE_BYTES as u64 / STREAM_BYTES_PER_US);
            let (page, charge) = self.read(at).await?;
            if !page.events.is_empty() {
                let chunk = wire::events(&page.events);
                drop(page.events);
                permit.send(attach_charge(charge, chunk));
                self.heartbeat_at = next_heartbeat();
            }
            at = page.last_seq;
            if !page.has_more {
                return Ok(at);
            }
        }
    }

    /// Reads a page and charges its chunk. The charge precedes the read, so a stream that waits for memory holds none.
    async fn read(&self, at: EventSeq) -> Result<(FeedPage, Charge), StreamEnd> {
        let mut bytes = STREAM_PAGE_CHARGE_BYTES.min(self.budget.estimate_max());
        loop {
            let mut charge = self.charge(bytes).await?;
            let page = self.database.find_feed(&self.scope, at, &self.filter, PAGE).await?;
            let size = wire::size_of_all(&page.events) as u64;
            if size <= charge.bytes() || charge.grow_to(size) {
                return Ok((page, charge));
            }
            // A single large event is read again when there is memory for it.
            bytes = size;
        }
    }

    /// Sends events as they are committed. Returns when events may have been missed.
    async fn follow_live(&mut self, mut at: EventSeq) -> Result<EventSeq, StreamEnd> {
        loop {
            let received = tokio::select! {
                received = timeout_at(self.heartbeat_at, self.notifications.recv()) => received,
                () = self.chunks.closed() => return Err(StreamEnd::Gone),
            };
            match received {
                Err(_quiet) => self.send_heartbeat().await?,
                Ok(Ok(StreamNotification::Event(event))) if event.seq <= at => {}
                Ok(Ok(StreamNotification::Event(event))) if !self.matches(&event) => at = event.seq,
                Ok(Ok(StreamNotification::Event(event))) => match self.send_event(event).await? {
                    Continue(last_seq) => at = last_seq,
                    Break(last_seq) => return Ok(last_seq),
                },
                Ok(Ok(StreamNotification::Gap) | Err(RecvError::Lagged(_))) => return Ok(at),
                Ok(Err(RecvError::Closed)) => return Err(StreamEnd::Expired),
            }
        }
    }

    fn matches(&self, event: &StoredEvent) -> bool {
        self.filter.matches(&event.event_type, &event.subject)
    }

    /// Sends an event together with those that arrive while it waits. Breaks if others may have been missed.
    async fn send_event(&mut self, event: Arc<StoredEvent>) -> Result<ControlFlow<EventSeq, EventSeq>, StreamEnd> {
        let permit = self.permit().await?;
        self.pacer.wait(STREAM_CHUNK_US).await;
        let mut charge = self.charge(wire::size(&event) as u64).await?;
        let (events, last_seq) = self.gather(event, &mut charge);
        let chunk = wire::events(&events);
        self.pacer.count(chunk.len() as u64 / STREAM_BYTES_PER_US);
        permit.send(attach_charge(charge, chunk));
        self.heartbeat_at = next_heartbeat();
        Ok(last_seq)
    }

    /// Adds the events that have arrived, up to the size of a page. Events for which there is no memory are read again
    /// from the stored feed.
    fn gather(
        &mut self,
        first: Arc<StoredEvent>,
        charge: &mut Charge,
    ) -> (Vec<Arc<StoredEvent>>, ControlFlow<EventSeq, EventSeq>) {
        let (mut at, mut bytes, mut events) = (first.seq, wire::size(&first), vec![first]);
        while bytes < STREAM_PAGE_BYTES {
            match self.notifications.try_recv() {
                Ok(StreamNotification::Event(event)) if event.seq <= at => {}
                Ok(StreamNotification::Event(event)) if !self.matches(&event) => at = event.seq,
                Ok(StreamNotification::Event(event)) => {
                    bytes += wire::size(&event);
                    if !charge.grow_to(bytes as u64) {
                        return (events, Break(at));
                    }
                    at = event.seq;
                    events.push(event);
                }
                Ok(StreamNotification::Gap) | Err(TryRecvError::Lagged(_)) => return (events, Break(at)),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        (events, Continue(at))
    }

    async fn send_heartbeat(&mut self) -> Result<(), StreamEnd> {
        self.pacer.wait(STREAM_CHUNK_US).await;
        self.send(wire::heartbeat()).await?;
        self.heartbeat_at = next_heartbeat();
        Ok(())
    }

    async fn send(&self, chunk: Bytes) -> Result<(), StreamEnd> {
        let permit = self.permit().await?;
        let charge = self.charge(chunk.len() as u64).await?;
        permit.send(attach_charge(charge, chunk));
        Ok(())
    }

    /// Waits until the reader accepts another chunk. Ends the stream if the reader reads nothing for too long.
    async fn permit(&self) -> Result<mpsc::OwnedPermit<Bytes>, StreamEnd> {
        match timeout_at(stall_deadline(), self.chunks.clone().reserve_owned()).await {
            Ok(permit) => permit.map_err(|_closed| StreamEnd::Gone),
            Err(_) => Err(StreamEnd::Slow),
        }
    }

    async fn charge(&self, bytes: u64) -> Result<Charge, StreamEnd> {
        self.budget.charge_stream(self.scope.tenant(), bytes, stall_deadline()).await.map_err(|_| StreamEnd::NoMemory)
    }
}

pub fn next_heartbeat() -> Instant {
    Instant::now() + Duration::from_millis(STREAM_HEARTBEAT_MS)
}

/// Shrinks the charge to the chunk and attaches it. The charge ends when the connection has sent the chunk.
fn attach_charge(mut charge: Charge, chunk: Bytes) -> Bytes {
    charge.shrink_to(chunk.len() as u64);
    charge.attach(chunk)
}

#[cfg(test)]
mod tests;
