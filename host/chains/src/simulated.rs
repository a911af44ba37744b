//! Simulated blockchains: always there, quick, and as awkward as an operator wants them.
//!
//! All networks share one file, one writer and one clock, which is an argument. Blocks come by arithmetic (`timeline`) and
//! are filled when somebody asks (`blocks`); an empty block costs nothing and nothing runs in between.
//! Never in use by two processes at once. Faults are forgotten at the end of the process, the chains are not.
//!
//! - `networks`: which there are. `intake`: bytes to plans. `pool`, `draft`, `blocks`: plans to books. `books`, `store`: SQL.
//! - `submissions`: many at once in one transaction. `questions`: the trait. `controls`: faucet, blocks, reorganisations, faults.

mod blocks;
mod books;
mod controls;
mod draft;
mod intake;
mod networks;
mod plan;
mod pool;
mod questions;
mod store;
mod submissions;
mod timeline;

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
pub use controls::{Faults, Silence, Total};
pub use networks::Network;
#[cfg(test)]
pub(crate) use networks::all_facts;
pub use store::StoreError;

use self::{
    books::{Books, Pages},
    store::{count, int},
    submissions::Job,
    timeline::Timeline,
};
use crate::{Chain, Facts};

/// Milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// From block to block, on all networks.
    pub block_time_ms: u32,
    /// Test networks always have one.
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

/// What the networks share.
struct Shared {
    clock: Clock,
    writer: tokio::sync::Mutex<SqliteConnection>,
    readers: SqlitePool,
    queue: Mutex<VecDeque<Job>>,
}

/// One network: a `Chain`, and what an operator can do to it.
pub struct SimulatedChain {
    shared: Arc<Shared>,
    net: Arc<Net>,
}

struct Net {
    id: i64,
    facts: Facts,
    /// Where gifts come from: an address that nobody has a key for.
    faucet: String,
    timeline: Mutex<Timeline>,
    /// The highest block that anybody has seen, so that a clock that is set back takes none away.
    floor: AtomicU64,
    /// The lowest block that has to be filled; `u64::MAX`: none.
    due: AtomicU64,
    faults: Mutex<Faults>,
    changes: Notify,
}

impl Simulated {
    /// Makes the file where there is none.
    pub async fn open(path: &Path, options: &Options, clock: Clock) -> Result<Simulated, StoreError> {
        let (mut writer, readers) = store::open(path).await?;
        let now_ms = clock();
        let mut nets = Vec::new();
        let mut opening = writer.begin().await?;
        for (network, facts) in
            networks::all_facts(options.block_time_ms, |network| network == Network::Test || options.has_main_faucet)
        {
            nets.push((network, Arc::new(Net::open(&mut opening, facts, now_ms).await?)));
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

    /// "base", ….
    pub fn find(&self, blockchain: &str, network: Network) -> Option<&Arc<SimulatedChain>> {
        let is_it = |other: Network, chain: &SimulatedChain| other == network && chain.facts().blockchain == blockchain;
        self.chains.iter().find(|(other, chain)| is_it(*other, chain)).map(|(_, chain)| chain)
    }

    pub fn chains(&self) -> impl Iterator<Item = (Network, &Arc<SimulatedChain>)> {
        self.chains.iter().map(|(network, chain)| (*network, chain))
    }

    /// Folds the log into the file. Whatever is asked afterwards is `Unavailable`, or fails.
    pub async fn close(&self) -> Result<(), StoreError> {
        let mut writer = self.shared.writer.lock().await;
        self.shared.readers.close().await;
        sqlx::raw_sql("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *writer).await?;
        Ok(())
    }
}

impl Net {
    async fn open(connection: &mut SqliteConnection, facts: Facts, now_ms: u64) -> Result<Net, StoreError> {
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
        let due = Books { connection, net: id, pages: &mut Pages::default() }.next_ready().await?;
        Ok(Net {
            id,
            faucet: networks::made_up_address(facts.family, &format!("faucet/{name}")),
            facts,
            timeline: Mutex::new(timeline),
            floor: AtomicU64::new(count(highest.unwrap_or_default())),
            due: AtomicU64::new(due.unwrap_or(u64::MAX)),
            faults: Mutex::default(),
            changes: Notify::new(),
        })
    }

    /// The highest block there is. From here on it has been seen.
    fn head(&self, now_ms: u64) -> u64 {
        let height = self.timeline.lock().height(now_ms);
        self.floor.fetch_max(height, SeqCst).max(height)
    }

    /// The head for somebody who is about to change what waits for the next block. Whoever sees that block before it is
    /// written has to wait for the writer, whom the caller is: so nobody sees it empty.
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
