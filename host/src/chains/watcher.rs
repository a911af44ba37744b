//! The loop around one network: reads what is new, tells it, and waits until something may have moved.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tenon_chains::{Chain, ChainError, Submission, Transaction, Transfer, TransferQuestion, chain::HASHES_MAX};
use tokio::{sync::watch, time::sleep};

use super::{
    Parts, Side,
    asking::Asking,
    book::{Book, Page},
    dropping::Dropping,
    is_of,
    reading::{self, Telling},
    tell::tell,
};
use crate::{
    changes::{chain::Following, scope::Scope},
    clock::Moves,
    db::{DbError, chains::ChainCursor},
    limits::{CHAIN_CURSOR_BLOCKS, CHAIN_FRESH_BLOCKS, CHAIN_PAUSE_MS, CHAIN_RESCAN_BLOCKS, CHAIN_TRANSFERS_MAX},
    stop::told,
};

pub(super) struct Watcher {
    parts: Parts,
    side: Side,
    chain: Arc<dyn Chain>,
    book: Book,
    moves: Moves,
    /// Up to here everything was read.
    read: Option<ChainCursor>,
    /// As the database has it.
    written: u64,
    asking: Asking,
    dropping: Dropping,
    /// What could not be told.
    owed: Vec<(Scope, Telling)>,
}

/// Why a look came to nothing.
#[derive(Debug, thiserror::Error)]
enum Blind {
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Database(#[from] DbError),
}

impl Watcher {
    pub async fn open(parts: &Parts, side: Side, chain: Arc<dyn Chain>, book: Book) -> Result<Watcher, DbError> {
        let read = parts.database.find_chain_cursor(&name(&*chain)).await?;
        let written = read.as_ref().map_or(0, |cursor| cursor.height);
        let moves = parts.clock.moves();
        Ok(Watcher {
            parts: parts.clone(),
            side,
            chain,
            book,
            moves,
            read,
            written,
            asking: Asking::default(),
            dropping: Dropping::default(),
            owed: Vec::new(),
        })
    }

    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        let chain = self.chain.clone();
        let noted = self.page(|page| page.changed.clone());
        loop {
            let changed = chain.changed();
            let pause_ms = match self.look().await {
                Ok(()) if !self.owed.is_empty() => Some(CHAIN_PAUSE_MS),
                // Confirmations come with time.
                Ok(()) => self.page(|page| !page.notes.is_at_rest()).then_some(chain.facts().block_time_ms.into()),
                Err(blind) => {
                    tracing::warn!(network = name(&*chain), "a blockchain cannot be read: {blind}");
                    Some(CHAIN_PAUSE_MS)
                }
            };
            tokio::select! {
                biased;
                () = told(&mut stopped) => return,
                () = changed => {}
                () = noted.notified() => {}
                () = self.moves.next() => {}
                () = sleep(Duration::from_millis(pause_ms.unwrap_or_default())), if pause_ms.is_some() => {}
            }
        }
    }

    async fn look(&mut self) -> Result<(), Blind> {
        let head = self.chain.head().await?;
        let from = self.first_unread(head.height).await?;
        let mut told = std::mem::take(&mut self.owed);
        let height = head.height;
        let fresh = self.page(|page| std::mem::take(&mut page.fresh));
        let result = self.read(&mut told, (from, height), &fresh).await;
        if result.is_err() {
            self.page(|page| page.fresh.extend(fresh));
        }
        let (told_some, owed) = (!told.is_empty(), tell(&self.parts, &self.book, told).await);
        self.owed = owed;
        result?;
        self.follow_up(height).await?;
        let cursor = ChainCursor { height, hash: head.hash };
        if self.owed.is_empty() && (told_some || height.abs_diff(self.written) >= CHAIN_CURSOR_BLOCKS) {
            self.parts.database.put_chain_cursor(&name(&*self.chain), &cursor).await?;
            self.written = height;
        }
        self.read = Some(cursor);
        Ok(())
    }

    /// Where the network has taken another turn, what was read since is read again. A network that was never read begins
    /// with its next block.
    async fn first_unread(&mut self, height: u64) -> Result<u64, ChainError> {
        let Some(read) = &self.read else { return Ok(height.saturating_add(1)) };
        if self.chain.find_block(read.height).await?.is_some_and(|block| block.hash == read.hash) {
            return Ok(read.height.saturating_add(1));
        }
        self.asking.forget();
        self.dropping.forget();
        Ok(read.height.saturating_sub(CHAIN_RESCAN_BLOCKS))
    }

    /// New blocks for everybody, and the last ones once more for who came only now.
    async fn read(
        &self,
        told: &mut Vec<(Scope, Telling)>,
        (from, height): (u64, u64),
        fresh: &[String],
    ) -> Result<(), ChainError> {
        if !self.page(|page| page.notes.watched.is_empty()) {
            self.read_blocks(told, (from, height), None).await?;
        }
        for some in fresh.chunks(tenon_chains::chain::ADDRESSES_MAX) {
            let since = height.saturating_sub(CHAIN_FRESH_BLOCKS);
            self.read_blocks(told, (since, height), Some(some.to_vec())).await?;
        }
        Ok(())
    }

    async fn read_blocks(
        &self,
        told: &mut Vec<(Scope, Telling)>,
        (from, to): (u64, u64),
        recipients: Option<Vec<String>>,
    ) -> Result<(), ChainError> {
        let mut question = TransferQuestion { from, to, recipients, after: None, limit: CHAIN_TRANSFERS_MAX };
        if from > to {
            return Ok(());
        }
        loop {
            let page = self.chain.transfers(&question).await?;
            told.extend(self.arrivals(&page.transfers, to));
            question.after = page.next;
            if question.after.is_none() {
                return Ok(());
            }
        }
    }

    fn arrivals(&self, transfers: &[Transfer], height: u64) -> Vec<(Scope, Telling)> {
        let blockchain = &self.chain.facts().blockchain;
        let told = self.page(|page| reading::arrivals(blockchain, &page.notes, transfers, height));
        told.into_iter().filter(|(scope, _)| is_of(scope, self.side)).collect()
    }

    /// What has become of what is open.
    async fn follow_up(&mut self, height: u64) -> Result<(), ChainError> {
        let hashes = self.page(|page| self.asking.hashes(&page.notes, height));
        for some in hashes.chunks(HASHES_MAX) {
            let found = self.chain.find_transactions(some).await?;
            let found: HashMap<String, Option<Transaction>> = some.iter().cloned().zip(found).collect();
            let told = self.page(|page| reading::progress(&page.notes, &found, height));
            let lost = self.page(|page| self.asking.lost(&page.notes, &found, height));
            self.book.with(self.side, &self.chain.facts().blockchain, |page| {
                self.asking.note(&page.notes, &found, height);
                self.dropping.keep(&page.notes, &found);
            });
            self.owed.extend(tell(&self.parts, &self.book, told).await);
            self.send_again(lost, height).await?;
        }
        self.book.with(self.side, &self.chain.facts().blockchain, |page| self.asking.end(&page.notes));
        Ok(())
    }

    /// What no node has any more. Who follows what never comes back is told.
    async fn send_again(&mut self, lost: Vec<(Scope, Arc<Following>)>, height: u64) -> Result<(), ChainError> {
        let mut dropped = Vec::new();
        for (scope, following) in lost {
            let Some(raw) = &following.raw else { continue };
            let said = self.chain.submit(raw).await?;
            if let Submission::Refused { reason } | Submission::Void { reason } = &said {
                tracing::debug!(
                    network = name(&*self.chain),
                    "a transaction that was lost is not taken again: {reason}"
                );
            }
            let Some(telling) = self.dropping.note((&scope, &following), said, height) else { continue };
            tracing::warn!(network = name(&*self.chain), hash = following.hash, "a transaction is dropped for good");
            dropped.push((scope, telling));
        }
        // What cannot be told is not owed: it is found again with the next block, unless it has come back.
        tell(&self.parts, &self.book, dropped).await;
        Ok(())
    }

    fn page<T>(&self, look: impl FnOnce(&mut Page) -> T) -> T {
        self.book.with(self.side, &self.chain.facts().blockchain, look)
    }
}

/// "simulated-test/base"
fn name(chain: &dyn Chain) -> String {
    let facts = chain.facts();
    format!("{}/{}", facts.network, facts.blockchain)
}
