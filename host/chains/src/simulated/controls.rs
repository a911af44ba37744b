//! Operator controls of a simulated network: funding, mining, reorganisations, faults and totals.
//!
//! Faults are held in memory. They do not affect the controls themselves.

use std::{collections::BTreeMap, sync::atomic::Ordering::SeqCst};

use ethnum::U256;
use sqlx::SqliteConnection;

use super::{
    Orphans, SimulatedChain, blocks,
    ledger::WriteTransaction,
    pool::Fault,
    store::{StoreError, amount, int},
    submissions::{Funding, Operation},
    timeline::Timeline,
};
use crate::{Chain, ChainError, Submission};

/// Maximum number of blocks that a reorganisation replaces. Terms refer to a block below them, so that signed
/// transactions stay valid after a reorganisation.
pub(super) const DEPTH_MAX: u64 = 200;
/// Maximum number of blocks that are mined at once.
const MINED_MAX: u64 = 100_000;

/// Faults that are injected into a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Number of next transactions that fail in their block.
    pub fail_next: u32,
    /// Number of next transactions that wait until they are released.
    pub stick_next: u32,
    /// Delay of every query, submission and faucet request.
    pub slow_ms: u64,
    pub outage: Outage,
}

/// Timeouts of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outage {
    #[default]
    Off,
    /// Requests time out and submissions are lost.
    RequestsLost,
    /// Requests time out, but submissions are accepted.
    ResponsesLost,
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

/// Totals of one asset. Invariant: `held` + `burnt` = `issued`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Total {
    pub held: U256,
    pub burnt: U256,
    pub issued: U256,
}

type SumOf = fn(&mut Total) -> &mut U256;

impl SimulatedChain {
    /// Creates any amount and transfers it to the address in the next block.
    pub async fn fund(&self, address: &str, token: Option<&str>, amount: U256) -> Result<Submission, ChainError> {
        let funding = self.funding(address, token, amount)?;
        self.shared.execute(&self.net, Operation::Fund(funding)).await
    }

    pub(super) fn funding(&self, address: &str, token: Option<&str>, amount: U256) -> Result<Funding, ChainError> {
        let token = token.map(|text| self.read_token(text)).transpose()?;
        Ok(Funding { key: None, recipient: self.read_address(address)?, token, amount })
    }

    /// Mines this many blocks now. Returns the new height.
    pub async fn mine(&self, blocks: u64) -> Result<u64, ChainError> {
        if blocks > MINED_MAX {
            return Err(ChainError::TooMany { max: MINED_MAX });
        }
        let mut writer = self.shared.writer.lock().await;
        // If the clock was set back, mining continues from the highest height that was returned.
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
        let mut write = WriteTransaction::begin(writer).await?;
        write_timeline(&mut write.transaction, self.net.id, timeline).await?;
        let mut ledger = write.ledger(self.net.id);
        blocks::advance(&mut ledger, timeline, timeline.height(now_ms), &self.net.faucet).await?;
        let due = ledger.next_ready().await?;
        write.commit().await?;
        self.publish(timeline, due);
        Ok(())
    }

    /// Replaces the last `depth` blocks with empty ones. Returns the number of transactions that were in them.
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
        // Block 0 is never replaced.
        let height = head.saturating_sub(depth);
        let mut timeline = self.net.timeline.lock().clone();
        let mut write = WriteTransaction::begin(writer).await?;
        let mut ledger = write.ledger(self.net.id);
        blocks::advance(&mut ledger, &timeline, head, &self.net.faucet).await?;
        let undone =
            blocks::revert_blocks(&mut ledger, height, orphans, (head.saturating_add(1), &self.net.faucet)).await?;
        if depth > 0 {
            timeline.forks.push(height.saturating_add(1));
            sqlx::query("INSERT INTO forks (net, height) VALUES (?, ?)")
                .bind(self.net.id)
                .bind(int(height.saturating_add(1)))
                .execute(&mut *ledger.connection)
                .await?;
        }
        let due = ledger.next_ready().await?;
        write.commit().await?;
        self.publish(&timeline, due);
        Ok(undone)
    }

    /// Sets all faults. `Faults::default()` ends them. Stuck transactions stay stuck until they are released.
    pub fn set_faults(&self, faults: Faults) {
        *self.net.faults.lock() = faults;
    }

    pub fn faults(&self) -> Faults {
        self.net.faults.lock().clone()
    }

    /// Releases all stuck transactions into the next block, and makes no further ones stuck. Returns their number.
    pub async fn release(&self) -> Result<u64, ChainError> {
        self.net.faults.lock().stick_next = 0;
        let mut writer = self.shared.writer.lock().await;
        Ok(self.write_released(&mut writer).await?)
    }

    async fn write_released(&self, writer: &mut SqliteConnection) -> Result<u64, StoreError> {
        let head = self.net.head_to_write(&self.shared.clock);
        let mut write = WriteTransaction::begin(writer).await?;
        let mut ledger = write.ledger(self.net.id);
        self.net.fill(&mut ledger, head).await?;
        let released = ledger.release(head.saturating_add(1)).await?;
        let due = ledger.next_ready().await?;
        write.commit().await?;
        let timeline = self.net.timeline.lock().clone();
        self.publish(&timeline, due);
        Ok(released)
    }

    fn publish(&self, timeline: &Timeline, due: Option<u64>) {
        *self.net.timeline.lock() = timeline.clone();
        self.net.due.store(due.unwrap_or(u64::MAX), SeqCst);
        self.net.changes.notify_waiters();
    }

    /// Returns the totals of every asset by the token's address. The key "" is the coin. Scans the whole network.
    pub async fn totals(&self) -> Result<BTreeMap<String, Total>, ChainError> {
        self.advance().await?;
        Ok(self.read_totals().await?)
    }

    async fn read_totals(&self) -> Result<BTreeMap<String, Total>, StoreError> {
        let mut totals: BTreeMap<String, Total> = BTreeMap::new();
        let mut snapshot = self.shared.readers.begin().await?;
        let held = "SELECT token, amount FROM balances WHERE net = ?1 AND ?2 <> ''";
        let burnt = "SELECT '', fee FROM transactions WHERE net = ?1 AND block IS NOT NULL AND ?2 <> ''";
        let issued = "SELECT token, amount FROM movements WHERE net = ?1 AND sender = ?2";
        let sums: [(&'static str, SumOf); 3] =
            [(held, |total| &mut total.held), (burnt, |total| &mut total.burnt), (issued, |total| &mut total.issued)];
        for (sql, sum_of) in sums {
            let rows: Vec<(String, Vec<u8>)> =
                sqlx::query_as(sql).bind(self.net.id).bind(&self.net.faucet).fetch_all(&mut *snapshot).await?;
            for (token, blob) in rows {
                let sum = sum_of(totals.entry(token).or_default());
                *sum = sum.saturating_add(amount(&blob)?);
            }
        }
        Ok(totals)
    }

    /// Returns the network's name for operators, for example "base/simulated-test".
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
