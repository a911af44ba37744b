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
    budget::Budget,
    changes::scope::Scope,
    db::{
        Database, DbError,
        apply::{EventSeq, StoredEvent},
        feed::FeedBounds,
    },
    limits::{STREAM_HEARTBEAT_MS, STREAM_LIFE_MS, STREAM_PAGE_BYTES, STREAM_PAGE_ROWS, STREAM_PATIENCE_MS},
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
            let page = self.database.find_feed(&self.scope, at, &self.filter, PAGE).await?;
            if !page.events.is_empty() {
                room.send(self.charge(wire::events(&page.events)).await?);
            }
            at = page.reached;
            if !page.more {
                return Ok(at);
            }
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
            self.send(wire::event(event)).await?;
        }
        Ok(())
    }

    async fn send(&self, chunk: Bytes) -> Result<(), End> {
        let room = self.room().await?;
        room.send(self.charge(chunk).await?);
        Ok(())
    }

    /// A reader that takes nothing for too long is let go of.
    async fn room(&self) -> Result<mpsc::Permit<'_, Bytes>, End> {
        match timeout_at(patience(), self.chunks.reserve()).await {
            Ok(room) => room.map_err(|_closed| End::Gone),
            Err(_) => Err(End::Slow),
        }
    }

    /// The tenant pays for the chunk until the connection has taken it.
    async fn charge(&self, chunk: Bytes) -> Result<Bytes, End> {
        let payer = self.scope.tenant();
        let charge = self.budget.charge_stream(payer, chunk.len() as u64, patience()).await;
        charge.map(|charge| charge.attach(chunk)).map_err(|_| End::NoMemory)
    }
}
