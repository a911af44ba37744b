//! Transactions that wait: which are taken in, which give way, which are tried next.
//!
//! Invariant: what a sender has reserved is the cost of all its transactions that wait.

use ethnum::U256;

use super::{
    books::{Books, Sender},
    intake::{Incoming, Refusal},
    plan::Plan,
    store::{StoreError, amount, blob, int},
};
use crate::Submission;

/// How far ahead of its next one the sequence of a transaction may be.
const GAP_MAX: u64 = 1_000;
/// Who replaces a transaction offers a tenth more.
const REPLACEMENT_PERCENT: u128 = 110;

/// What an operator wants of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    Fails,
    Sticks,
}

impl Fault {
    pub fn number(self) -> i64 {
        match self {
            Fault::None => 0,
            Fault::Fails => 1,
            Fault::Sticks => 2,
        }
    }

    pub fn of(number: i64) -> Fault {
        match number {
            1 => Fault::Fails,
            2 => Fault::Sticks,
            _ => Fault::None,
        }
    }
}

/// What a node has to say of a new transaction, before it is asked whether it is to fail.
pub(super) enum Verdict {
    /// Not known yet, and valid: it waits from now on.
    New,
    Known,
    Refused(Refusal),
}

impl Verdict {
    /// As things stand.
    pub fn refused(reason: impl Into<String>) -> Verdict {
        Verdict::Refused(Refusal::Now(reason.into()))
    }

    /// For good.
    pub fn void(reason: impl Into<String>) -> Verdict {
        Verdict::Refused(Refusal::Ever(reason.into()))
    }

    pub fn into_submission(self, hash: &str) -> Submission {
        match self {
            Verdict::New | Verdict::Known => Submission::Taken { hash: hash.to_owned() },
            Verdict::Refused(refusal) => refusal.into(),
        }
    }
}

/// One that waits at the place of another.
type Rival = (i64, Vec<u8>, Vec<u8>, Vec<u8>);

impl Books<'_> {
    /// Whether it is taken; a transaction that it replaces is gone then.
    pub async fn admit(&mut self, incoming: &Incoming) -> Result<Verdict, StoreError> {
        let mut sender = self.sender(&incoming.sender).await?;
        if let Some(sequence) = incoming.sequence {
            if sequence < sender.sequence {
                return Ok(Verdict::void(format!("the sequence is used: the next one is {}", sender.sequence)));
            }
            if sequence > sender.sequence.saturating_add(GAP_MAX) {
                return Ok(Verdict::refused(format!("the sequence is too far above {}", sender.sequence)));
            }
        }
        let rival = self.find_rival(incoming).await?;
        if let Some((_, price, tip, cost)) = &rival {
            let floor =
                |blob: &[u8]| Ok::<_, StoreError>(amount(blob)?.saturating_mul(REPLACEMENT_PERCENT.into()) / 100);
            if U256::from(incoming.price.0) < floor(price)? || U256::from(incoming.price.1) < floor(tip)? {
                return Ok(Verdict::refused("who replaces a transaction has to offer a tenth more"));
            }
            sender.reserved = sender.reserved.saturating_sub(amount(cost)?);
        }
        let coins = self.balance(&incoming.sender, None).await?;
        let reserved = sender.reserved.saturating_add(incoming.plan.cost);
        if coins < reserved {
            return Ok(Verdict::refused(format!("the sender has {coins} of the coin, and needs {reserved}")));
        }
        if let Some((id, ..)) = rival {
            self.drop_row(id).await?;
            self.set_sender(&incoming.sender, sender);
        }
        Ok(Verdict::New)
    }

    async fn find_rival(&mut self, incoming: &Incoming) -> Result<Option<Rival>, StoreError> {
        let Some(sequence) = incoming.sequence else { return Ok(None) };
        let rival = sqlx::query_as(
            "SELECT id, price, tip, cost FROM transactions WHERE net = ? AND sender = ? AND sequence = ? AND state = 0",
        )
        .bind(self.net)
        .bind(&incoming.sender)
        .bind(int(sequence))
        .fetch_optional(&mut *self.connection)
        .await?;
        Ok(rival)
    }

    /// `next`: the block to try it for. Where the network counts, one above the next sequence waits for those before.
    pub async fn add_waiting(&mut self, incoming: &Incoming, fault: Fault, next: u64) -> Result<(), StoreError> {
        let sender = self.sender(&incoming.sender).await?;
        let is_next = incoming.sequence.is_none_or(|sequence| sequence == sender.sequence);
        let ready = (is_next && fault != Fault::Sticks).then_some(int(next));
        let plan = serde_json::to_string(&incoming.plan).map_err(|_| StoreError::Broken("a plan"))?;
        sqlx::query(
            "INSERT INTO transactions (net, hash, sender, sequence, price, tip, cost, plan, fault, ready)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(self.net)
        .bind(&incoming.hash)
        .bind(&incoming.sender)
        .bind(incoming.sequence.map(int))
        .bind(blob(incoming.price.0.into()))
        .bind(blob(incoming.price.1.into()))
        .bind(blob(incoming.plan.cost))
        .bind(plan)
        .bind(fault.number())
        .bind(ready)
        .execute(&mut *self.connection)
        .await?;
        let reserved = sender.reserved.saturating_add(incoming.plan.cost);
        self.set_sender(&incoming.sender, Sender { reserved, ..sender });
        Ok(())
    }

    /// One of these bytes that waits or stands: its id, its plan where it waits.
    pub async fn find_known(&mut self, hash: &str) -> Result<Option<(i64, Option<Plan>)>, StoreError> {
        let row: Option<(i64, i64, String)> =
            sqlx::query_as("SELECT id, state, plan FROM transactions WHERE net = ? AND hash = ?")
                .bind(self.net)
                .bind(hash)
                .fetch_optional(&mut *self.connection)
                .await?;
        let Some((id, state, plan)) = row else { return Ok(None) };
        Ok(Some((id, if state == 0 { Some(read_plan(&plan)?) } else { None })))
    }

    /// Forgets one that waits.
    pub async fn drop_waiting(&mut self, id: i64, address: &str, cost: U256) -> Result<(), StoreError> {
        let sender = self.sender(address).await?;
        self.set_sender(address, Sender { reserved: sender.reserved.saturating_sub(cost), ..sender });
        self.drop_row(id).await
    }

    pub async fn drop_row(&mut self, id: i64) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM transactions WHERE id = ?").bind(id).execute(&mut *self.connection).await?;
        Ok(())
    }

    /// Everything that waits and is not stuck is tried again for this block.
    pub async fn try_all_waiting(&mut self, next: u64) -> Result<(), StoreError> {
        sqlx::query("UPDATE transactions SET ready = ? WHERE net = ? AND state = 0 AND fault <> 2")
            .bind(int(next))
            .bind(self.net)
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    /// What is stuck is stuck no longer.
    pub async fn release(&mut self, next: u64) -> Result<u64, StoreError> {
        let released =
            sqlx::query("UPDATE transactions SET fault = 0, ready = ? WHERE net = ? AND state = 0 AND fault = 2")
                .bind(int(next))
                .bind(self.net)
                .execute(&mut *self.connection)
                .await?;
        Ok(released.rows_affected())
    }

    /// The lowest block for which something is tried.
    pub async fn next_ready(&mut self) -> Result<Option<u64>, StoreError> {
        let (ready,): (Option<i64>,) =
            sqlx::query_as("SELECT min(ready) FROM transactions WHERE net = ? AND state = 0 AND ready IS NOT NULL")
                .bind(self.net)
                .fetch_one(&mut *self.connection)
                .await?;
        Ok(ready.map(super::store::count))
    }
}

pub(super) fn read_plan(json: &str) -> Result<Plan, StoreError> {
    serde_json::from_str(json).map_err(|_| StoreError::Broken("a plan"))
}
