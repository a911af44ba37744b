//! What an operator can do to a simulated network: give, mine, reorganise, disturb, add up.
//!
//! Faults live in memory. They never touch these controls themselves.

use std::{collections::BTreeMap, sync::atomic::Ordering::SeqCst};

use ethnum::U256;
use sqlx::SqliteConnection;

use super::{
    Orphans, SimulatedChain, blocks,
    books::Writing,
    pool::Fault,
    store::{StoreError, amount, int},
    submissions::{Gift, Work},
    timeline::Timeline,
};
use crate::{Chain, ChainError, Submission};

/// Blocks that a reorganisation may replace. Terms refer to a block below them, so that what is signed outlives it.
pub(super) const DEPTH_MAX: u64 = 200;
/// Blocks that may be mined at once.
const MINED_MAX: u64 = 100_000;

/// What is wrong with a network at the moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// So many of the next transactions fail in their block.
    pub fail_next: u32,
    /// So many of the next transactions wait until they are released.
    pub stick_next: u32,
    /// How long every question and submission takes.
    pub slow_ms: u64,
    pub silence: Silence,
}

/// A node that does not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Silence {
    #[default]
    Off,
    /// Nothing arrives there either.
    Lost,
    /// What is submitted is taken all the same.
    Taken,
}

impl Faults {
    pub(super) fn next(&mut self) -> Fault {
        for (count, fault) in [(&mut self.stick_next, Fault::Sticks), (&mut self.fail_next, Fault::Fails)] {
            if let Some(less) = count.checked_sub(1) {
                *count = less;
                return fault;
            }
        }
        Fault::None
    }
}

/// The sums of one asset: `held` and `burnt` are together what was `given`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub held: U256,
    pub burnt: U256,
    pub given: U256,
}

type SumOf = fn(&mut Total) -> &mut U256;

impl SimulatedChain {
    /// Any amount, out of nothing, in the next block.
    pub async fn give(&self, address: &str, token: Option<&str>, amount: U256) -> Result<Submission, ChainError> {
        let gift = self.gift(address, token, amount)?;
        self.shared.hand_in(&self.net, Work::Give(gift)).await
    }

    pub(super) fn gift(&self, address: &str, token: Option<&str>, amount: U256) -> Result<Gift, ChainError> {
        let token = token.map(|text| self.read_token(text)).transpose()?;
        Ok(Gift { key: None, recipient: self.read_address(address)?, token, amount })
    }

    /// So many blocks now. Returns the new height.
    pub async fn mine(&self, blocks: u64) -> Result<u64, ChainError> {
        if blocks > MINED_MAX {
            return Err(ChainError::TooMany { max: MINED_MAX });
        }
        let mut writer = self.shared.writer.lock().await;
        // From the height that was seen, where the clock was set back.
        let now_ms = (self.shared.clock)();
        let mut timeline = self.net.timeline.lock().clone();
        let behind = self.net.head(now_ms).saturating_sub(timeline.height(now_ms));
        timeline = timeline.moved(blocks.saturating_add(behind));
        self.write_mined(&mut writer, &timeline, now_ms).await?;
        Ok(timeline.height(now_ms))
    }

    async fn write_mined(
        &self,
        writer: &mut SqliteConnection,
        timeline: &Timeline,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let mut writing = Writing::begin(writer).await?;
        write_timeline(&mut writing.transaction, self.net.id, timeline).await?;
        let mut books = writing.books(self.net.id);
        blocks::advance(&mut books, timeline, timeline.height(now_ms), &self.net.faucet).await?;
        let due = books.next_ready().await?;
        writing.commit().await?;
        self.publish(timeline, due);
        Ok(())
    }

    /// Replaces the last `depth` blocks with others, empty ones. Returns how many transactions stood in them.
    pub async fn reorganise(&self, depth: u64, orphans: Orphans) -> Result<u64, ChainError> {
        if depth > DEPTH_MAX {
            return Err(ChainError::TooMany { max: DEPTH_MAX });
        }
        let mut writer = self.shared.writer.lock().await;
        Ok(self.write_reorganised(&mut writer, depth, orphans).await?)
    }

    async fn write_reorganised(
        &self,
        writer: &mut SqliteConnection,
        depth: u64,
        orphans: Orphans,
    ) -> Result<u64, StoreError> {
        let head = self.net.head_to_write(&self.shared.clock);
        // The first block is everybody's.
        let height = head.saturating_sub(depth);
        let mut timeline = self.net.timeline.lock().clone();
        let mut writing = Writing::begin(writer).await?;
        let mut books = writing.books(self.net.id);
        blocks::advance(&mut books, &timeline, head, &self.net.faucet).await?;
        let undone = blocks::undo(&mut books, height, orphans, (head.saturating_add(1), &self.net.faucet)).await?;
        if depth > 0 {
            timeline.forks.push(height.saturating_add(1));
            sqlx::query("INSERT INTO forks (net, height) VALUES (?, ?)")
                .bind(self.net.id)
                .bind(int(height.saturating_add(1)))
                .execute(&mut *books.connection)
                .await?;
        }
        let due = books.next_ready().await?;
        writing.commit().await?;
        self.publish(&timeline, due);
        Ok(undone)
    }

    /// Sets all faults at once; `Faults::default()` ends them. What is stuck stays stuck until it is released.
    pub fn set_faults(&self, faults: Faults) {
        *self.net.faults.lock() = faults;
    }

    pub fn faults(&self) -> Faults {
        self.net.faults.lock().clone()
    }

    /// What is stuck goes into the next block. Returns how many.
    pub async fn release(&self) -> Result<u64, ChainError> {
        self.net.faults.lock().stick_next = 0;
        let mut writer = self.shared.writer.lock().await;
        Ok(self.write_released(&mut writer).await?)
    }

    async fn write_released(&self, writer: &mut SqliteConnection) -> Result<u64, StoreError> {
        let head = self.net.head_to_write(&self.shared.clock);
        let mut writing = Writing::begin(writer).await?;
        let mut books = writing.books(self.net.id);
        self.net.fill(&mut books, head).await?;
        let released = books.release(head.saturating_add(1)).await?;
        let due = books.next_ready().await?;
        writing.commit().await?;
        let timeline = self.net.timeline.lock().clone();
        self.publish(&timeline, due);
        Ok(released)
    }

    fn publish(&self, timeline: &Timeline, due: Option<u64>) {
        *self.net.timeline.lock() = timeline.clone();
        self.net.due.store(due.unwrap_or(u64::MAX), SeqCst);
        self.net.changes.notify_waiters();
    }

    /// The sums of every asset that exists, by the token's address; "" is the coin. Reads everything.
    pub async fn totals(&self) -> Result<BTreeMap<String, Total>, ChainError> {
        self.advance().await?;
        Ok(self.read_totals().await?)
    }

    async fn read_totals(&self) -> Result<BTreeMap<String, Total>, StoreError> {
        let mut totals: BTreeMap<String, Total> = BTreeMap::new();
        let mut snapshot = self.shared.readers.begin().await?;
        let held = "SELECT token, amount FROM balances WHERE net = ?1 AND ?2 <> ''";
        let burnt = "SELECT '', fee FROM transactions WHERE net = ?1 AND block IS NOT NULL AND ?2 <> ''";
        let given = "SELECT token, amount FROM movements WHERE net = ?1 AND sender = ?2";
        let of: [(&'static str, SumOf); 3] =
            [(held, |total| &mut total.held), (burnt, |total| &mut total.burnt), (given, |total| &mut total.given)];
        for (sql, sum_of) in of {
            let rows: Vec<(String, Vec<u8>)> =
                sqlx::query_as(sql).bind(self.net.id).bind(&self.net.faucet).fetch_all(&mut *snapshot).await?;
            for (token, blob) in rows {
                let sum = sum_of(totals.entry(token).or_default());
                *sum = sum.saturating_add(amount(&blob)?);
            }
        }
        Ok(totals)
    }

    /// The network's name for operators: "base/simulated-test".
    pub fn name(&self) -> String {
        format!("{}/{}", self.facts().blockchain, self.facts().network)
    }
}

pub(super) async fn write_timeline(
    connection: &mut SqliteConnection,
    net: i64,
    timeline: &Timeline,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE networks SET base_height = ?, base_time_ms = ?, block_time_ms = ? WHERE net = ?")
        .bind(int(timeline.base_height))
        .bind(int(timeline.base_time_ms))
        .bind(int(timeline.block_time_ms))
        .bind(net)
        .execute(&mut *connection)
        .await?;
    Ok(())
}
