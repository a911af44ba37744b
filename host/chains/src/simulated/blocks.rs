//! Blocks: includes waiting transactions, and reverts them when the chain is reorganised.
//!
//! Blocks are filled lazily: a read first fills all blocks up to the head.
//! Invariant: reverting all blocks above a height, the newest first, restores the ledger as it was at that height.

use std::collections::VecDeque;

use ethnum::U256;
use sqlx::{FromRow, Row, sqlite::SqliteRow};

use super::{
    draft::{Outcome, try_plan},
    ledger::{Ledger, Sender},
    plan::Plan,
    pool::{Fault, read_plan},
    store::{StoreError, amount, blob, int},
    timeline::Timeline,
};
use crate::Movement;

/// A waiting transaction.
#[derive(Clone)]
struct Waiting {
    id: i64,
    hash: String,
    sender: String,
    sequence: Option<i64>,
    plan: String,
    fault: i64,
}

/// A transaction in a block.
struct Included {
    id: i64,
    sender: String,
    cost: Vec<u8>,
    fee: Vec<u8>,
}

impl FromRow<'_, SqliteRow> for Waiting {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Waiting> {
        Ok(Waiting {
            id: row.try_get("id")?,
            hash: row.try_get("hash")?,
            sender: row.try_get("sender")?,
            sequence: row.try_get("sequence")?,
            plan: row.try_get("plan")?,
            fault: row.try_get("fault")?,
        })
    }
}

impl FromRow<'_, SqliteRow> for Included {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Included> {
        Ok(Included {
            id: row.try_get("id")?,
            sender: row.try_get("sender")?,
            cost: row.try_get("cost")?,
            fee: row.try_get("fee")?,
        })
    }
}

/// The block that is being filled.
#[derive(Clone, Copy)]
struct OpenBlock {
    height: u64,
    time_ms: u64,
    transactions: i64,
    movements: i64,
}

/// The fate of the transactions of replaced blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    /// They wait for the next block again.
    Return,
    /// They are deleted.
    Drop,
}

/// Fills all blocks up to `head`. Returns whether one of them includes a transaction.
pub(super) async fn advance(
    ledger: &mut Ledger<'_>,
    timeline: &Timeline,
    head: u64,
    faucet: &str,
) -> Result<bool, StoreError> {
    let mut has_included = false;
    while let Some(height) = ledger.next_ready().await?.filter(|height| *height <= head) {
        let time_ms = timeline.time_ms(height);
        let mut block = OpenBlock { height, time_ms, transactions: 0, movements: 0 };
        let mut queue: VecDeque<Waiting> = read_ready(ledger, height).await?.into();
        while let Some(waiting) = queue.pop_front() {
            if include(ledger, &waiting, &mut block, faucet).await? {
                has_included = true;
                if let Some(next) = successor(ledger, &waiting).await? {
                    queue.retain(|other| other.id != next.id);
                    queue.push_front(next);
                }
            }
        }
    }
    Ok(has_included)
}

/// Reads the transactions scheduled for `height`. Has no LIMIT: a transaction that is not read now would miss its
/// block.
async fn read_ready(ledger: &mut Ledger<'_>, height: u64) -> Result<Vec<Waiting>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT id, hash, sender, sequence, plan, fault FROM transactions
         WHERE net = ? AND state = 0 AND ready <= ? ORDER BY id",
    )
    .bind(ledger.net)
    .bind(int(height))
    .fetch_all(&mut *ledger.connection)
    .await?;
    Ok(rows)
}

/// Finds the sender's next transaction, which may be included in the same block.
async fn successor(ledger: &mut Ledger<'_>, waiting: &Waiting) -> Result<Option<Waiting>, StoreError> {
    let Some(sequence) = waiting.sequence else { return Ok(None) };
    let row = sqlx::query_as(
        "SELECT id, hash, sender, sequence, plan, fault FROM transactions
         WHERE net = ? AND sender = ? AND sequence = ? AND state = 0 AND fault <> 2",
    )
    .bind(ledger.net)
    .bind(&waiting.sender)
    .bind(sequence.saturating_add(1))
    .fetch_optional(&mut *ledger.connection)
    .await?;
    Ok(row)
}

/// Tries to include a transaction in the block. Returns `false` if it was deferred or dropped.
async fn include(
    ledger: &mut Ledger<'_>,
    waiting: &Waiting,
    block: &mut OpenBlock,
    faucet: &str,
) -> Result<bool, StoreError> {
    let plan = read_plan(&waiting.plan)?;
    let sender = ledger.sender(&waiting.sender).await?;
    let next = int(sender.sequence);
    if plan.is_expired(block.height, block.time_ms) || waiting.sequence.is_some_and(|sequence| sequence < next) {
        ledger.drop_waiting(waiting.id, &waiting.sender, plan.cost).await?;
        return Ok(false);
    }
    let coins = ledger.balance(&waiting.sender, None).await?;
    if coins < plan.cost || waiting.sequence.is_some_and(|sequence| sequence > next) {
        defer(ledger, waiting.id).await?;
        return Ok(false);
    }
    let fails = Fault::of(waiting.fault) == Fault::Fails;
    let outcome = try_plan(ledger, (&waiting.sender, coins), &plan, fails, faucet).await?;
    let sender =
        Sender { sequence: sender.sequence.saturating_add(1), reserved: sender.reserved.saturating_sub(plan.cost) };
    ledger.set_sender(&waiting.sender, sender);
    write_outcome(ledger, waiting, &outcome, block).await?;
    Ok(true)
}

/// Unschedules a transaction until its sender's state changes.
async fn defer(ledger: &mut Ledger<'_>, id: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE transactions SET ready = NULL WHERE id = ?").bind(id).execute(&mut *ledger.connection).await?;
    Ok(())
}

async fn write_outcome(
    ledger: &mut Ledger<'_>,
    waiting: &Waiting,
    outcome: &Outcome,
    block: &mut OpenBlock,
) -> Result<(), StoreError> {
    for ((address, token), held) in &outcome.balances {
        ledger.set_balance(address, token.as_deref(), *held);
    }
    for (account, owner, token) in &outcome.opened {
        ledger.add_account(account, (owner, token), waiting.id).await?;
    }
    for movement in &outcome.movements {
        write_movement(ledger, waiting, movement, block).await?;
        if movement.token.is_none() {
            retry_waiting(ledger, &movement.recipient, block.height.saturating_add(1)).await?;
        }
    }
    sqlx::query("UPDATE transactions SET state = ?, block = ?, place = ?, fee = ?, ready = NULL WHERE id = ?")
        .bind(if outcome.done { 1 } else { 2 })
        .bind(int(block.height))
        .bind(block.transactions)
        .bind(blob(outcome.fee))
        .bind(waiting.id)
        .execute(&mut *ledger.connection)
        .await?;
    block.transactions += 1;
    Ok(())
}

async fn write_movement(
    ledger: &mut Ledger<'_>,
    waiting: &Waiting,
    movement: &Movement,
    block: &mut OpenBlock,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO movements (net, block, place, id, hash, position, sender, recipient, token, amount)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(ledger.net)
    .bind(int(block.height))
    .bind(block.movements)
    .bind(waiting.id)
    .bind(&waiting.hash)
    .bind(movement.position)
    .bind(&movement.sender)
    .bind(&movement.recipient)
    .bind(movement.token.as_deref().unwrap_or_default())
    .bind(blob(movement.amount))
    .execute(&mut *ledger.connection)
    .await?;
    block.movements += 1;
    Ok(())
}

/// Schedules the unscheduled transactions of `address` for block `height`, because its balance has grown.
async fn retry_waiting(ledger: &mut Ledger<'_>, address: &str, height: u64) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE transactions SET ready = ? WHERE net = ? AND sender = ? AND state = 0 AND ready IS NULL AND fault <> 2",
    )
    .bind(int(height))
    .bind(ledger.net)
    .bind(address)
    .execute(&mut *ledger.connection)
    .await?;
    Ok(())
}

/// Reverts all transactions in blocks above `height`, and returns their number. Schedules all waiting transactions that
/// are not stuck for block `next`.
pub(super) async fn revert_blocks(
    ledger: &mut Ledger<'_>,
    height: u64,
    orphans: Orphans,
    (next, faucet): (u64, &str),
) -> Result<u64, StoreError> {
    let rows: Vec<Included> = sqlx::query_as(
        "SELECT id, sender, cost, fee FROM transactions WHERE net = ? AND block > ? ORDER BY block DESC, place DESC",
    )
    .bind(ledger.net)
    .bind(int(height))
    .fetch_all(&mut *ledger.connection)
    .await?;
    for row in &rows {
        revert(ledger, row, orphans, faucet).await?;
    }
    ledger.try_all_waiting(next).await?;
    Ok(rows.len() as u64)
}

async fn revert(ledger: &mut Ledger<'_>, row: &Included, orphans: Orphans, faucet: &str) -> Result<(), StoreError> {
    // Credits the fee first: it was burnt between the movements, and reverting a movement may need it.
    let (fee, cost) = (amount(&row.fee)?, amount(&row.cost)?);
    change(ledger, &row.sender, None, |held| held.checked_add(fee)).await?;
    for (sender, recipient, token, moved) in movements_reversed(ledger, row.id).await? {
        change(ledger, &recipient, token.as_deref(), |held| held.checked_sub(moved)).await?;
        if sender != faucet {
            change(ledger, &sender, token.as_deref(), |held| held.checked_add(moved)).await?;
        }
    }
    ledger.drop_accounts_of(row.id).await?;
    sqlx::query("DELETE FROM movements WHERE id = ?").bind(row.id).execute(&mut *ledger.connection).await?;
    let mut sender = ledger.sender(&row.sender).await?;
    sender.sequence = sender.sequence.saturating_sub(1);
    if orphans == Orphans::Return {
        sender.reserved = sender.reserved.saturating_add(cost);
        sqlx::query("UPDATE transactions SET state = 0, block = NULL, place = NULL, fee = NULL WHERE id = ?")
            .bind(row.id)
            .execute(&mut *ledger.connection)
            .await?;
    } else {
        let delete = "DELETE FROM wishes WHERE net = ?1 AND hash = (SELECT hash FROM transactions WHERE id = ?2)";
        sqlx::query(delete).bind(ledger.net).bind(row.id).execute(&mut *ledger.connection).await?;
        ledger.drop_row(row.id).await?;
    }
    ledger.set_sender(&row.sender, sender);
    Ok(())
}

/// Reads the movements of a transaction in reverse order: sender, recipient, token, amount.
async fn movements_reversed(
    ledger: &mut Ledger<'_>,
    id: i64,
) -> Result<Vec<(String, String, Option<String>, U256)>, StoreError> {
    let rows: Vec<(String, String, String, Vec<u8>)> =
        sqlx::query_as("SELECT sender, recipient, token, amount FROM movements WHERE id = ? ORDER BY position DESC")
            .bind(id)
            .fetch_all(&mut *ledger.connection)
            .await?;
    let read = |(sender, recipient, token, blob): (String, String, String, Vec<u8>)| {
        Ok((sender, recipient, Some(token).filter(|token| !token.is_empty()), amount(&blob)?))
    };
    rows.into_iter().map(read).collect()
}

async fn change(
    ledger: &mut Ledger<'_>,
    address: &str,
    token: Option<&str>,
    by: impl FnOnce(U256) -> Option<U256>,
) -> Result<(), StoreError> {
    let held = ledger.balance(address, token).await?;
    let now = by(held).ok_or(StoreError::Broken("a balance"))?;
    ledger.set_balance(address, token, now);
    Ok(())
}

/// Returns whether a waiting transaction can no longer be included after this head.
pub(super) fn is_expired(plan: &Plan, timeline: &Timeline, head: u64) -> bool {
    let next = head.saturating_add(1);
    plan.is_expired(next, timeline.time_ms(next))
}
