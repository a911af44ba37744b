//! Blocks: transactions that wait are put into them, and taken out again where the chain is reorganised.
//!
//! Blocks are made late: when somebody asks, all that should stand by then is put into the blocks where it belongs.
//! Invariant: undoing all blocks above a height, the newest first, brings back the books as they were at that height.

use std::collections::VecDeque;

use ethnum::U256;
use sqlx::{FromRow, Row, sqlite::SqliteRow};

use super::{
    books::{Books, Sender},
    draft::{Outcome, try_plan},
    plan::Plan,
    pool::{Fault, read_plan},
    store::{StoreError, amount, blob, int},
    timeline::Timeline,
};
use crate::Movement;

/// One that waits.
#[derive(Clone)]
struct Waiting {
    id: i64,
    hash: String,
    sender: String,
    sequence: Option<i64>,
    plan: String,
    fault: i64,
}

/// One that stands in a block.
struct Standing {
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

impl FromRow<'_, SqliteRow> for Standing {
    fn from_row(row: &SqliteRow) -> sqlx::Result<Standing> {
        Ok(Standing {
            id: row.try_get("id")?,
            sender: row.try_get("sender")?,
            cost: row.try_get("cost")?,
            fee: row.try_get("fee")?,
        })
    }
}

/// The block that is being filled.
#[derive(Clone, Copy)]
struct Filling {
    height: u64,
    time_ms: u64,
    transactions: i64,
    movements: i64,
}

/// What becomes of the transactions of blocks that are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphans {
    /// They wait for the next block.
    Return,
    /// Nobody has heard of them.
    Drop,
}

/// Makes all blocks up to `head`. Returns whether one of them holds something.
pub(super) async fn advance(
    books: &mut Books<'_>,
    timeline: &Timeline,
    head: u64,
    faucet: &str,
) -> Result<bool, StoreError> {
    let mut is_something = false;
    while let Some(height) = books.next_ready().await?.filter(|height| *height <= head) {
        let time_ms = timeline.time_ms(height);
        let mut filling = Filling { height, time_ms, transactions: 0, movements: 0 };
        let mut queue: VecDeque<Waiting> = waiting_for(books, height).await?.into();
        while let Some(waiting) = queue.pop_front() {
            if put_in(books, &waiting, &mut filling, faucet).await? {
                is_something = true;
                if let Some(next) = successor(books, &waiting).await? {
                    queue.retain(|other| other.id != next.id);
                    queue.push_front(next);
                }
            }
        }
    }
    Ok(is_something)
}

/// No LIMIT: what is not read now would not stand in its block.
async fn waiting_for(books: &mut Books<'_>, height: u64) -> Result<Vec<Waiting>, StoreError> {
    let rows = sqlx::query_as(
        "SELECT id, hash, sender, sequence, plan, fault FROM transactions
         WHERE net = ? AND state = 0 AND ready <= ? ORDER BY id",
    )
    .bind(books.net)
    .bind(int(height))
    .fetch_all(&mut *books.connection)
    .await?;
    Ok(rows)
}

/// The same sender's next one, which may stand in the same block.
async fn successor(books: &mut Books<'_>, waiting: &Waiting) -> Result<Option<Waiting>, StoreError> {
    let Some(sequence) = waiting.sequence else { return Ok(None) };
    let row = sqlx::query_as(
        "SELECT id, hash, sender, sequence, plan, fault FROM transactions
         WHERE net = ? AND sender = ? AND sequence = ? AND state = 0 AND fault <> 2",
    )
    .bind(books.net)
    .bind(&waiting.sender)
    .bind(sequence.saturating_add(1))
    .fetch_optional(&mut *books.connection)
    .await?;
    Ok(row)
}

/// Whether it stands in this block now. Otherwise it waits for something else, or is gone.
async fn put_in(
    books: &mut Books<'_>,
    waiting: &Waiting,
    filling: &mut Filling,
    faucet: &str,
) -> Result<bool, StoreError> {
    let plan = read_plan(&waiting.plan)?;
    let sender = books.sender(&waiting.sender).await?;
    let next = int(sender.sequence);
    if plan.is_over(filling.height, filling.time_ms) || waiting.sequence.is_some_and(|sequence| sequence < next) {
        books.drop_waiting(waiting.id, &waiting.sender, plan.cost).await?;
        return Ok(false);
    }
    let coins = books.balance(&waiting.sender, None).await?;
    if coins < plan.cost || waiting.sequence.is_some_and(|sequence| sequence > next) {
        set_aside(books, waiting.id).await?;
        return Ok(false);
    }
    let fails = Fault::of(waiting.fault) == Fault::Fails;
    let outcome = try_plan(books, (&waiting.sender, coins), &plan, fails, faucet).await?;
    let sender =
        Sender { sequence: sender.sequence.saturating_add(1), reserved: sender.reserved.saturating_sub(plan.cost) };
    books.set_sender(&waiting.sender, sender);
    write_outcome(books, waiting, &outcome, filling).await?;
    Ok(true)
}

/// Until something happens to its sender.
async fn set_aside(books: &mut Books<'_>, id: i64) -> Result<(), StoreError> {
    sqlx::query("UPDATE transactions SET ready = NULL WHERE id = ?").bind(id).execute(&mut *books.connection).await?;
    Ok(())
}

async fn write_outcome(
    books: &mut Books<'_>,
    waiting: &Waiting,
    outcome: &Outcome,
    filling: &mut Filling,
) -> Result<(), StoreError> {
    for ((address, token), held) in &outcome.balances {
        books.set_balance(address, token.as_deref(), *held);
    }
    for (account, owner, token) in &outcome.opened {
        books.add_account(account, (owner, token), waiting.id).await?;
    }
    for movement in &outcome.movements {
        write_movement(books, waiting, movement, filling).await?;
        if movement.token.is_none() {
            wake(books, &movement.recipient, filling.height.saturating_add(1)).await?;
        }
    }
    sqlx::query("UPDATE transactions SET state = ?, block = ?, place = ?, fee = ?, ready = NULL WHERE id = ?")
        .bind(if outcome.done { 1 } else { 2 })
        .bind(int(filling.height))
        .bind(filling.transactions)
        .bind(blob(outcome.fee))
        .bind(waiting.id)
        .execute(&mut *books.connection)
        .await?;
    filling.transactions += 1;
    Ok(())
}

async fn write_movement(
    books: &mut Books<'_>,
    waiting: &Waiting,
    movement: &Movement,
    filling: &mut Filling,
) -> Result<(), StoreError> {
    sqlx::query(
        "INSERT INTO movements (net, block, place, id, hash, position, sender, recipient, token, amount)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(books.net)
    .bind(int(filling.height))
    .bind(filling.movements)
    .bind(waiting.id)
    .bind(&waiting.hash)
    .bind(movement.position)
    .bind(&movement.sender)
    .bind(&movement.recipient)
    .bind(movement.token.as_deref().unwrap_or_default())
    .bind(blob(movement.amount))
    .execute(&mut *books.connection)
    .await?;
    filling.movements += 1;
    Ok(())
}

/// What this sender could not pay it may be able to pay in the next block.
async fn wake(books: &mut Books<'_>, address: &str, height: u64) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE transactions SET ready = ? WHERE net = ? AND sender = ? AND state = 0 AND ready IS NULL AND fault <> 2",
    )
    .bind(int(height))
    .bind(books.net)
    .bind(address)
    .execute(&mut *books.connection)
    .await?;
    Ok(())
}

/// Takes everything out of the blocks above `height`. What returns is tried for `next`.
pub(super) async fn undo(
    books: &mut Books<'_>,
    height: u64,
    orphans: Orphans,
    (next, faucet): (u64, &str),
) -> Result<u64, StoreError> {
    let rows: Vec<Standing> = sqlx::query_as(
        "SELECT id, sender, cost, fee FROM transactions WHERE net = ? AND block > ? ORDER BY block DESC, place DESC",
    )
    .bind(books.net)
    .bind(int(height))
    .fetch_all(&mut *books.connection)
    .await?;
    for row in &rows {
        take_out(books, row, orphans, faucet).await?;
    }
    books.try_all_waiting(next).await?;
    Ok(rows.len() as u64)
}

async fn take_out(books: &mut Books<'_>, row: &Standing, orphans: Orphans, faucet: &str) -> Result<(), StoreError> {
    // First what was burnt: it was taken in between, and what was moved may rest on it.
    let (fee, cost) = (amount(&row.fee)?, amount(&row.cost)?);
    change(books, &row.sender, None, |held| held.checked_add(fee)).await?;
    for (sender, recipient, token, moved) in moved_by(books, row.id).await? {
        change(books, &recipient, token.as_deref(), |held| held.checked_sub(moved)).await?;
        if sender != faucet {
            change(books, &sender, token.as_deref(), |held| held.checked_add(moved)).await?;
        }
    }
    books.drop_accounts_of(row.id).await?;
    sqlx::query("DELETE FROM movements WHERE id = ?").bind(row.id).execute(&mut *books.connection).await?;
    let mut sender = books.sender(&row.sender).await?;
    sender.sequence = sender.sequence.saturating_sub(1);
    if orphans == Orphans::Return {
        sender.reserved = sender.reserved.saturating_add(cost);
        sqlx::query("UPDATE transactions SET state = 0, block = NULL, place = NULL, fee = NULL WHERE id = ?")
            .bind(row.id)
            .execute(&mut *books.connection)
            .await?;
    } else {
        let wish = "DELETE FROM wishes WHERE net = ?1 AND hash = (SELECT hash FROM transactions WHERE id = ?2)";
        sqlx::query(wish).bind(books.net).bind(row.id).execute(&mut *books.connection).await?;
        books.drop_row(row.id).await?;
    }
    books.set_sender(&row.sender, sender);
    Ok(())
}

/// Sender, recipient, token, amount: the last first.
async fn moved_by(books: &mut Books<'_>, id: i64) -> Result<Vec<(String, String, Option<String>, U256)>, StoreError> {
    let rows: Vec<(String, String, String, Vec<u8>)> =
        sqlx::query_as("SELECT sender, recipient, token, amount FROM movements WHERE id = ? ORDER BY position DESC")
            .bind(id)
            .fetch_all(&mut *books.connection)
            .await?;
    let read = |(sender, recipient, token, blob): (String, String, String, Vec<u8>)| {
        Ok((sender, recipient, Some(token).filter(|token| !token.is_empty()), amount(&blob)?))
    };
    rows.into_iter().map(read).collect()
}

async fn change(
    books: &mut Books<'_>,
    address: &str,
    token: Option<&str>,
    by: impl FnOnce(U256) -> Option<U256>,
) -> Result<(), StoreError> {
    let held = books.balance(address, token).await?;
    let now = by(held).ok_or(StoreError::Broken("a balance"))?;
    books.set_balance(address, token, now);
    Ok(())
}

/// Whether one that waits will never stand in a block after this head.
pub(super) fn is_over(plan: &Plan, timeline: &Timeline, head: u64) -> bool {
    let next = head.saturating_add(1);
    plan.is_over(next, timeline.time_ms(next))
}
