//! Waiting transactions: admission, replacement, and the blocks that they are tried for.
//!
//! Invariant: a sender's reserved amount is the cost of all its waiting transactions.

use ethnum::U256;

use super::{
    ledger::{Ledger, Sender},
    plan::Plan,
    store::{StoreError, amount, blob, int},
    validation::{Incoming, SubmissionError},
};
use crate::Submission;

/// Maximum distance between a transaction's sequence and the sender's next sequence.
const GAP_MAX: u64 = 1_000;
/// A replacement must offer at least this percentage of the price of the replaced transaction.
const REPLACEMENT_PERCENT: u128 = 110;

/// Fault that is injected into a transaction.
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

/// Result of admitting a submitted transaction.
pub(super) enum Admission {
    /// Valid and new: it is added to the waiting transactions.
    New,
    /// Already waiting or in a block.
    Known,
    Error(SubmissionError),
}

impl Admission {
    /// Returns the admission of a transaction that is not valid at present.
    pub fn rejected(reason: impl Into<String>) -> Admission {
        Admission::Error(SubmissionError::Rejected(reason.into()))
    }

    /// Returns the admission of a transaction that is permanently invalid.
    pub fn invalid(reason: impl Into<String>) -> Admission {
        Admission::Error(SubmissionError::Invalid(reason.into()))
    }

    pub fn into_submission(self, hash: &str) -> Submission {
        match self {
            Admission::New | Admission::Known => Submission::Accepted { hash: hash.to_owned() },
            Admission::Error(error) => error.into(),
        }
    }
}

/// A waiting transaction with the same sender and sequence as a new one: id, price, tip, cost.
type Replaced = (i64, Vec<u8>, Vec<u8>, Vec<u8>);

impl Ledger<'_> {
    /// Checks a new transaction against the sender's state. If it is admitted, deletes the transaction that it
    /// replaces.
    pub async fn admit(&mut self, incoming: &Incoming) -> Result<Admission, StoreError> {
        let mut sender = self.sender(&incoming.sender).await?;
        if let Some(sequence) = incoming.sequence {
            if sequence < sender.sequence {
                return Ok(Admission::invalid(format!("the sequence is used: the next one is {}", sender.sequence)));
            }
            if sequence > sender.sequence.saturating_add(GAP_MAX) {
                return Ok(Admission::rejected(format!("the sequence is too far above {}", sender.sequence)));
            }
        }
        let replaced = self.find_replaced(incoming).await?;
        if let Some((_, price, tip, cost)) = &replaced {
            let (price, tip) = (replacement_price(amount(price)?), replacement_price(amount(tip)?));
            if U256::from(incoming.price.0) < price || U256::from(incoming.price.1) < tip {
                return Ok(Admission::rejected("a replacement must offer at least a tenth more"));
            }
            sender.reserved = sender.reserved.saturating_sub(amount(cost)?);
        }
        let coins = self.balance(&incoming.sender, None).await?;
        let reserved = sender.reserved.saturating_add(incoming.plan.cost);
        if coins < reserved {
            return Ok(Admission::rejected(format!("the sender has {coins} of the coin, and needs {reserved}")));
        }
        if let Some((id, ..)) = replaced {
            self.drop_row(id).await?;
            self.set_sender(&incoming.sender, sender);
        }
        Ok(Admission::New)
    }

    async fn find_replaced(&mut self, incoming: &Incoming) -> Result<Option<Replaced>, StoreError> {
        let Some(sequence) = incoming.sequence else { return Ok(None) };
        let replaced = sqlx::query_as(
            "SELECT id, price, tip, cost FROM transactions WHERE net = ? AND sender = ? AND sequence = ? AND state = 0",
        )
        .bind(self.net)
        .bind(&incoming.sender)
        .bind(int(sequence))
        .fetch_optional(&mut *self.connection)
        .await?;
        Ok(replaced)
    }

    /// Adds a transaction that is tried for block `next`. A stuck transaction is not tried until it is released. On a
    /// network that counts sequences, a transaction with a later sequence waits for the transactions before it.
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

    /// Finds a transaction by hash. Returns its id, and its plan if it waits.
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

    /// Deletes a waiting transaction and releases its reserved amount.
    pub async fn drop_waiting(&mut self, id: i64, address: &str, cost: U256) -> Result<(), StoreError> {
        let sender = self.sender(address).await?;
        self.set_sender(address, Sender { reserved: sender.reserved.saturating_sub(cost), ..sender });
        self.drop_row(id).await
    }

    pub async fn drop_row(&mut self, id: i64) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM transactions WHERE id = ?").bind(id).execute(&mut *self.connection).await?;
        Ok(())
    }

    /// Schedules all waiting transactions that are not stuck for block `next`.
    pub async fn try_all_waiting(&mut self, next: u64) -> Result<(), StoreError> {
        sqlx::query("UPDATE transactions SET ready = ? WHERE net = ? AND state = 0 AND fault <> 2")
            .bind(int(next))
            .bind(self.net)
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    /// Releases stuck transactions for block `next`. Returns their number.
    pub async fn release(&mut self, next: u64) -> Result<u64, StoreError> {
        let released =
            sqlx::query("UPDATE transactions SET fault = 0, ready = ? WHERE net = ? AND state = 0 AND fault = 2")
                .bind(int(next))
                .bind(self.net)
                .execute(&mut *self.connection)
                .await?;
        Ok(released.rows_affected())
    }

    /// Returns the lowest block that a transaction is scheduled for.
    pub async fn next_ready(&mut self) -> Result<Option<u64>, StoreError> {
        let (ready,): (Option<i64>,) =
            sqlx::query_as("SELECT min(ready) FROM transactions WHERE net = ? AND state = 0 AND ready IS NOT NULL")
                .bind(self.net)
                .fetch_one(&mut *self.connection)
                .await?;
        Ok(ready.map(super::store::count))
    }
}

/// Returns the lowest price that may replace `price`, rounded up.
fn replacement_price(price: U256) -> U256 {
    price.saturating_mul(REPLACEMENT_PERCENT.into()).saturating_add(U256::new(99)) / 100
}

pub(super) fn read_plan(json: &str) -> Result<Plan, StoreError> {
    serde_json::from_str(json).map_err(|_| StoreError::Broken("a plan"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacement_of_a_small_price_must_offer_more() {
        let floors = [0, 1, 3, 10, 11, 100].map(|price| replacement_price(U256::new(price)));
        assert_eq!(floors, [0, 2, 4, 11, 13, 110].map(U256::new));
    }
}
