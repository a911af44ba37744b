//! Simulated blockchains: always available, fast, with faults that operators inject.
//!
//! All networks share one file, one writer and one clock, which is an argument. Block heights follow from the time
//! (`timeline`). The first query after a block is due fills it (`blocks`). Empty blocks cost nothing, and no task runs
//! in between.
//!
//! Only one process may use the file at a time. Faults are held in memory. The chains are persistent.
//!
//! - `networks`: the list of networks. `validation`: decodes bytes into plans. `pool`, `draft`, `blocks`: apply plans
//!   to the ledger. `ledger`, `store`: SQL.
//! - `submissions`: batches submissions into one transaction. `queries`: the trait implementation. `controls`: funding,
//!   blocks, reorganisations, faults.

mod blocks;
mod controls;
mod draft;
mod ledger;
mod networks;
mod plan;
mod pool;
mod queries;
mod store;
mod submissions;
mod timeline;
mod validation;

use std::{
    collections::VecDeque,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
};

use parking_lot::Mutex;
use sqlx::{Connection, SqliteConnection, SqlitePool};
use tokio::sync::Notify;

pub use blocks::Orphans;
pub use controls::{Faults, Outage, Total};
pub use networks::Network;
#[cfg(test)]
pub(crate) use networks::all_facts;
pub use store::StoreError;

use self::{
    ledger::{Ledger, LedgerCache},
    store::{count, int},
    submissions::Job,
    timeline::Timeline,
};
use crate::{Chain, Facts};

/// Milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Interval between blocks on all networks.
    pub block_time_ms: u32,
    /// Whether main networks have a faucet. Test networks always have one.
    pub has_main_faucet: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { block_time_ms: 250, has_main_faucet: false }
    }
}

/// The thirty networks of one file.
pub struct Simulated {
    shared: Arc<Shared>,
    chains: Vec<(Network, Arc<SimulatedChain>)>,
}

/// State shared by all networks.
struct Shared {
    clock: Clock,
    writer: tokio::sync::Mutex<SqliteConnection>,
    readers: SqlitePool,
    queue: Mutex<VecDeque<Job>>,
}

/// A simulated network: implements [`Chain`] and the operator's controls.
pub struct SimulatedChain {
    shared: Arc<Shared>,
    net: Arc<NetworkState>,
}

struct NetworkState {
    id: i64,
    facts: Facts,
    /// Sender of funding transactions: an address without a private key.
    faucet: String,
    timeline: Mutex<Timeline>,
    /// Highest height that this process has returned, at least the height of the last block with a transaction. A clock
    /// that is set back does not remove blocks up to this height.
    floor: AtomicU64,
    /// Lowest block that must be filled; `u64::MAX` for none.
    due: AtomicU64,
    faults: Mutex<Faults>,
    changes: Notify,
}

impl Simulated {
    /// Opens the file. Creates it if it is missing.
    pub async fn open(path: &Path, options: &Options, clock: Clock) -> Result<Simulated, StoreError> {
        let (mut writer, readers) = store::open(path).await?;
        let now_ms = clock();
        let mut nets = Vec::new();
        let mut opening = writer.begin().await?;
        for (network, facts) in
            networks::all_facts(options.block_time_ms, |network| network == Network::Test || options.has_main_faucet)
        {
            nets.push((network, Arc::new(NetworkState::open(&mut opening, facts, now_ms).await?)));
        }
        opening.commit().await?;
        let writer = tokio::sync::Mutex::new(writer);
        let shared = Arc::new(Shared { clock, writer, readers, queue: Mutex::default() });
        let chains = nets
            .into_iter()
            .map(|(network, net)| (network, Arc::new(SimulatedChain { shared: Arc::clone(&shared), net })));
        let chains = chains.collect();
        Ok(Simulated { shared, chains })
    }

    /// Finds a network by the name of its blockchain, for example "base".
    pub fn find(&self, blockchain: &str, network: Network) -> Option<&Arc<SimulatedChain>> {
        let matches =
            |other: Network, chain: &SimulatedChain| other == network && chain.facts().blockchain == blockchain;
        self.chains.iter().find(|(other, chain)| matches(*other, chain)).map(|(_, chain)| chain)
    }

    pub fn chains(&self) -> impl Iterator<Item = (Network, &Arc<SimulatedChain>)> {
        self.chains.iter().map(|(network, chain)| (*network, chain))
    }

    /// Closes the connections that read, and checkpoints the write-ahead log into the file. Later reads of the file
    /// fail.
    pub async fn close(&self) -> Result<(), StoreError> {
        let mut writer = self.shared.writer.lock().await;
        self.shared.readers.close().await;
        sqlx::raw_sql("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *writer).await?;
        Ok(())
    }
}

impl NetworkState {
    async fn open(connection: &mut SqliteConnection, facts: Facts, now_ms: u64) -> Result<NetworkState, StoreError> {
        let name = format!("{}/{}", facts.blockchain, facts.network);
        let block_time = i64::from(facts.block_time_ms.max(1));
        sqlx::query(
            "INSERT INTO networks (name, label, base_height, base_time_ms, block_time_ms) VALUES (?, ?, 0, ?, ?)
             ON CONFLICT DO NOTHING",
        )
        .bind(&name)
        .bind(format!("{name}/{now_ms}"))
        .bind(int(now_ms))
        .bind(block_time)
        .execute(&mut *connection)
        .await?;
        let (id, label, base_height, base_time_ms, block_time_ms): (i64, String, i64, i64, i64) =
            sqlx::query_as("SELECT net, label, base_height, base_time_ms, block_time_ms FROM networks WHERE name = ?")
                .bind(&name)
                .fetch_one(&mut *connection)
                .await?;
        let forks: Vec<(i64,)> =
            sqlx::query_as("SELECT height FROM forks WHERE net = ?").bind(id).fetch_all(&mut *connection).await?;
        let (highest,): (Option<i64>,) = sqlx::query_as("SELECT max(block) FROM transactions WHERE net = ?")
            .bind(id)
            .fetch_one(&mut *connection)
            .await?;
        let mut timeline = Timeline {
            label,
            base_height: count(base_height),
            base_time_ms: count(base_time_ms),
            block_time_ms: count(block_time_ms),
            forks: forks.into_iter().map(|(height,)| count(height)).collect(),
        };
        if block_time_ms != block_time {
            timeline = Timeline {
                base_height: timeline.height(now_ms),
                base_time_ms: now_ms,
                block_time_ms: count(block_time),
                ..timeline
            };
            controls::write_timeline(connection, id, &timeline).await?;
        }
        let due = Ledger { connection, net: id, cache: &mut LedgerCache::default() }.next_ready().await?;
        Ok(NetworkState {
            id,
            faucet: networks::derived_address(facts.family, &format!("faucet/{name}")),
            facts,
            timeline: Mutex::new(timeline),
            floor: AtomicU64::new(count(highest.unwrap_or_default())),
            due: AtomicU64::new(due.unwrap_or(u64::MAX)),
            faults: Mutex::default(),
            changes: Notify::new(),
        })
    }

    /// Returns the highest block and records that it was returned.
    fn head(&self, now_ms: u64) -> u64 {
        let height = self.timeline.lock().height(now_ms);
        self.floor.fetch_max(height, SeqCst).max(height)
    }

    /// Returns the head to a caller that is about to add transactions to the next block. The caller must hold the
    /// writer.
    ///
    /// Marks the next block as due before it returns. A reader that sees that block must wait for the writer, so no
    /// reader sees it empty.
    fn head_to_write(&self, clock: &Clock) -> u64 {
        let mut head = self.head(clock());
        loop {
            self.due.fetch_min(head.saturating_add(1), SeqCst);
            let now = self.head(clock());
            if now == head {
                return head;
            }
            head = now;
        }
    }
}
