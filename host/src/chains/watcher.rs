//! The loop of one network: reads new blocks, reports events, and waits for changes.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tenon_chains::{Chain, ChainError, Submission, Transaction, Transfer, TransferQuery, chain::HASHES_MAX};
use tokio::{sync::watch, time::sleep};

use super::{
    NetworkKind, Parts, belongs_to,
    dropping::DropTracker,
    events::{self, ChainEvent},
    note_cache::{NetworkEntry, NoteCache},
    polling::PollSchedule,
    reporting::report,
};
use crate::{
    changes::{chain::Following, scope::Scope},
    clock::Moves,
    db::{DbError, chains::ChainCursor},
    limits::{CHAIN_CURSOR_BLOCKS, CHAIN_FRESH_BLOCKS, CHAIN_PAUSE_MS, CHAIN_RESCAN_BLOCKS, CHAIN_TRANSFERS_MAX},
    shutdown::requested,
};

pub(super) struct Watcher {
    parts: Parts,
    kind: NetworkKind,
    chain: Arc<dyn Chain>,
    cache: NoteCache,
    moves: Moves,
    /// The last block that was read completely.
    read: Option<ChainCursor>,
    /// Height of the cursor in the database.
    written: u64,
    schedule: PollSchedule,
    drop_tracker: DropTracker,
    /// Events whose report failed.
    unreported: Vec<(Scope, ChainEvent)>,
}

/// Why a poll failed.
#[derive(Debug, thiserror::Error)]
enum PollError {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl Watcher {
    pub async fn open(
        parts: &Parts,
        kind: NetworkKind,
        chain: Arc<dyn Chain>,
        cache: NoteCache,
    ) -> Result<Watcher, DbError> {
        let read = parts.database.find_chain_cursor(&name(&*chain)).await?;
        let written = read.as_ref().map_or(0, |cursor| cursor.height);
        let moves = parts.clock.moves();
        Ok(Watcher {
            parts: parts.clone(),
            kind,
            chain,
            cache,
            moves,
            read,
            written,
            schedule: PollSchedule::default(),
            drop_tracker: DropTracker::default(),
            unreported: Vec::new(),
        })
    }

    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let chain = self.chain.clone();
        let notes_changed = self.with_notes(|entry| entry.changed.clone());
        loop {
            let changed = chain.changed();
            let pause_ms = match self.poll().await {
                Ok(()) if !self.unreported.is_empty() => Some(CHAIN_PAUSE_MS),
                // Confirmations grow with time.
                Ok(()) => self.with_notes(|entry| !entry.notes.is_idle()).then_some(chain.facts().block_time_ms.into()),
                Err(error) => {
                    tracing::warn!(network = name(&*chain), "failed to read a blockchain: {error}");
                    Some(CHAIN_PAUSE_MS)
                }
            };
            tokio::select! {
                biased;
                () = requested(&mut stopped) => return,
                () = changed => {}
                () = notes_changed.notified() => {}
                () = self.moves.next() => {}
                () = sleep(Duration::from_millis(pause_ms.unwrap_or_default())), if pause_ms.is_some() => {}
            }
        }
    }

    async fn poll(&mut self) -> Result<(), PollError> {
        let head = self.chain.head().await?;
        let from = self.first_unread(head.height).await?;
        let mut events = std::mem::take(&mut self.unreported);
        let height = head.height;
        let new_addresses = self.with_notes(|entry| std::mem::take(&mut entry.new_addresses));
        let result = self.read(&mut events, (from, height), &new_addresses).await;
        if result.is_err() {
            self.with_notes(|entry| entry.new_addresses.extend(new_addresses));
        }
        let (has_events, unreported) = (!events.is_empty(), report(&self.parts, &self.cache, events).await);
        self.unreported = unreported;
        result?;
        self.follow_up(height).await?;
        let cursor = ChainCursor { height, hash: head.hash };
        if self.unreported.is_empty() && (has_events || height.abs_diff(self.written) >= CHAIN_CURSOR_BLOCKS) {
            self.parts.database.put_chain_cursor(&name(&*self.chain), &cursor).await?;
            self.written = height;
        }
        self.read = Some(cursor);
        Ok(())
    }

    /// Returns the first block to read.
    ///
    /// After a reorganisation the last blocks are read again. A network that was never read starts with its next block.
    async fn first_unread(&mut self, height: u64) -> Result<u64, ChainError> {
        let Some(read) = &self.read else { return Ok(height.saturating_add(1)) };
        if self.chain.find_block(read.height).await?.is_some_and(|block| block.hash == read.hash) {
            return Ok(read.height.saturating_add(1));
        }
        self.schedule.reset();
        self.drop_tracker.reset();
        Ok(read.height.saturating_sub(CHAIN_RESCAN_BLOCKS))
    }

    /// Reads new blocks for all watched addresses, and the last blocks again for addresses that are newly watched.
    async fn read(
        &self,
        events: &mut Vec<(Scope, ChainEvent)>,
        (from, height): (u64, u64),
        new_addresses: &[String],
    ) -> Result<(), ChainError> {
        if !self.with_notes(|entry| entry.notes.watched.is_empty()) {
            self.read_blocks(events, (from, height), None).await?;
        }
        for some in new_addresses.chunks(tenon_chains::chain::ADDRESSES_MAX) {
            let since = height.saturating_sub(CHAIN_FRESH_BLOCKS);
            self.read_blocks(events, (since, height), Some(some.to_vec())).await?;
        }
        Ok(())
    }

    async fn read_blocks(
        &self,
        events: &mut Vec<(Scope, ChainEvent)>,
        (from, to): (u64, u64),
        recipients: Option<Vec<String>>,
    ) -> Result<(), ChainError> {
        let mut query = TransferQuery { from, to, recipients, after: None, limit: CHAIN_TRANSFERS_MAX };
        if from > to {
            return Ok(());
        }
        loop {
            let page = self.chain.transfers(&query).await?;
            events.extend(self.arrivals(&page.transfers, to));
            query.after = page.next;
            if query.after.is_none() {
                return Ok(());
            }
        }
    }

    fn arrivals(&self, transfers: &[Transfer], height: u64) -> Vec<(Scope, ChainEvent)> {
        let blockchain = &self.chain.facts().blockchain;
        let events = self.with_notes(|entry| events::arrivals(blockchain, &entry.notes, transfers, height));
        events.into_iter().filter(|(scope, _)| belongs_to(scope, self.kind)).collect()
    }

    /// Looks up the due transactions and reports their progress.
    async fn follow_up(&mut self, height: u64) -> Result<(), ChainError> {
        let hashes = self.with_notes(|entry| self.schedule.due_hashes(&entry.notes, height));
        for some in hashes.chunks(HASHES_MAX) {
            let found = self.chain.find_transactions(some).await?;
            let found: HashMap<String, Option<Transaction>> = some.iter().cloned().zip(found).collect();
            let events = self.with_notes(|entry| events::progress(&entry.notes, &found, height));
            let lost = self.with_notes(|entry| self.schedule.lost(&entry.notes, &found, height));
            self.cache.with(self.kind, &self.chain.facts().blockchain, |entry| {
                self.schedule.record(&entry.notes, &found, height);
                self.drop_tracker.retain(&entry.notes, &found);
            });
            self.unreported.extend(report(&self.parts, &self.cache, events).await);
            self.submit_again(lost, height).await?;
        }
        self.cache.with(self.kind, &self.chain.facts().blockchain, |entry| self.schedule.finish(&entry.notes));
        Ok(())
    }

    /// Submits the lost transactions again. Reports those that are dropped.
    async fn submit_again(&mut self, lost: Vec<(Scope, Arc<Following>)>, height: u64) -> Result<(), ChainError> {
        let mut dropped = Vec::new();
        for (scope, following) in lost {
            let Some(raw) = &following.raw else { continue };
            let submission = self.chain.submit(raw).await?;
            if let Submission::Rejected { reason } | Submission::Invalid { reason } = &submission {
                tracing::debug!(network = name(&*self.chain), "a lost transaction was not accepted again: {reason}");
            }
            let Some(event) = self.drop_tracker.record((&scope, &following), submission, height) else { continue };
            tracing::warn!(
                network = name(&*self.chain),
                hash = following.hash,
                "a transaction was dropped permanently"
            );
            dropped.push((scope, event));
        }
        // An event whose report fails is not kept: the next block yields it again, unless the transaction came back.
        report(&self.parts, &self.cache, dropped).await;
        Ok(())
    }

    fn with_notes<T>(&self, access: impl FnOnce(&mut NetworkEntry) -> T) -> T {
        self.cache.with(self.kind, &self.chain.facts().blockchain, access)
    }
}

/// Returns the name of the network, for example "simulated-test/base".
fn name(chain: &dyn Chain) -> String {
    let facts = chain.facts();
    format!("{}/{}", facts.network, facts.blockchain)
}
