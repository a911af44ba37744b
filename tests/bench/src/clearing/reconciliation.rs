//! Payments of both sides, read from their databases. After all payments have ended, each must have ended once, with
//! the same result on both sides, and the balances must match.
//!
//! Valid results at hub and bank: completed and completed; rejected and rejected; timed out at the hub, and at the
//! bank either no payment or a response that the hub no longer accepted, which the bank lists as undelivered.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use anyhow::{Context, bail, ensure};
use sqlx::{AssertSqlSafe, Connection as _, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use super::Pair;

/// Payment on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PaymentState {
    state: String,
    /// Delivery state of the message that this side must deliver: the hub's completion, the bank's response.
    delivery: String,
    minor: i64,
}

/// Sums of the balances of the bank's accounts by the first part of the account name, and the number of transfers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct BankTotals {
    customers: i64,
    held: i64,
    all: i64,
    transfers: i64,
}

/// Number of payments by result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultCounts {
    pub completed: u64,
    pub rejected: u64,
    /// Payments that timed out, including those in `undelivered`.
    pub timed_out: u64,
    /// Payments that timed out and whose response is undelivered at the bank.
    pub undelivered: u64,
}

pub struct Reconciliation {
    hub: HashMap<String, PaymentState>,
    bank: HashMap<String, PaymentState>,
    totals: BankTotals,
}

impl Reconciliation {
    pub async fn read(pair: &Pair) -> anyhow::Result<Reconciliation> {
        Reconciliation::read_files(&pair.hub.program.database_file(), &pair.bank.program.database_file()).await
    }

    async fn read_files(hub: &Path, bank: &Path) -> anyhow::Result<Reconciliation> {
        let (mut hub, mut bank) = (open(hub).await?, open(bank).await?);
        check_events(&mut hub).await.context("events of the hub")?;
        check_events(&mut bank).await.context("events of the bank")?;
        let reconciliation = Reconciliation {
            hub: read_payments(&mut hub, "clearing_outbound", "delivery").await?,
            bank: read_payments(&mut bank, "clearing_inbound", "response").await?,
            totals: read_totals(&mut bank).await?,
        };
        hub.close().await?;
        bank.close().await?;
        Ok(reconciliation)
    }

    /// Returns true if no payment is in progress on either side.
    pub fn is_idle(&self) -> bool {
        let has_ended = |payment: &PaymentState| {
            let is_pending = matches!(payment.state.as_str(), "received" | "processing");
            !is_pending && payment.delivery != "underway"
        };
        self.hub.values().chain(self.bank.values()).all(has_ended)
            && !self.hub.values().any(|payment| payment.state == "approved")
    }

    /// Checks that the hub has exactly the acknowledged payments, then calls [`Self::check_results`]. The first
    /// violated invariant is the error.
    pub fn check(&self, acknowledged: impl Iterator<Item = String>) -> anyhow::Result<ResultCounts> {
        let acknowledged: HashSet<String> = acknowledged.collect();
        let missing = acknowledged.iter().find(|uetr| !self.hub.contains_key(*uetr));
        ensure!(missing.is_none(), "{missing:?} was acknowledged, and is missing at the hub");
        let unacknowledged = self.hub.keys().find(|uetr| !acknowledged.contains(*uetr));
        ensure!(unacknowledged.is_none(), "{unacknowledged:?} exists at the hub, and was not acknowledged");
        self.check_results()
    }

    /// Checks the results of all payments and the balances of the bank. The first violated invariant is the error.
    pub fn check_results(&self) -> anyhow::Result<ResultCounts> {
        let unknown = self.bank.keys().find(|uetr| !self.hub.contains_key(*uetr));
        ensure!(unknown.is_none(), "{unknown:?} exists at the bank, and not at the hub");
        let mut results = ResultCounts::default();
        let (mut completed, mut held, mut approved) = (0, 0, 0);
        for (uetr, hub) in &self.hub {
            let bank = self.bank.get(uetr);
            results.add(hub, bank).with_context(|| format!("{uetr}: at the hub {hub:?}, at the bank {bank:?}"))?;
            completed += if hub.state == "completed" { hub.minor } else { 0 };
            if let Some(bank) = bank.filter(|bank| bank.state == "approved") {
                (held, approved) = (held + bank.minor, approved + 1);
            }
        }
        let BankTotals { customers, held: held_at_bank, all, transfers } = &self.totals;
        ensure!(*all == 0, "the balances of the bank sum up to {all}");
        ensure!(*customers == completed, "customers got {customers}, and the hub settled {completed}");
        ensure!(*held_at_bank == held, "{held_at_bank} are held, for approved payments of {held}");
        let expected = i64::try_from(2 * results.completed)? + approved;
        ensure!(*transfers == expected, "{transfers} postings instead of {expected}");
        Ok(results)
    }

    /// Describes the progress, for error messages.
    pub fn progress(&self) -> String {
        let mut counted: HashMap<(&str, &str, &str), usize> = HashMap::new();
        for (side, entries) in [("hub", &self.hub), ("bank", &self.bank)] {
            for entry in entries.values() {
                *counted.entry((side, &entry.state, &entry.delivery)).or_default() += 1;
            }
        }
        format!("{counted:?}")
    }
}

impl ResultCounts {
    fn add(&mut self, hub: &PaymentState, bank: Option<&PaymentState>) -> anyhow::Result<()> {
        ensure!(bank.is_none_or(|bank| bank.minor == hub.minor), "the amounts differ");
        let at_bank = bank.map(|bank| (bank.state.as_str(), bank.delivery.as_str()));
        match (hub.state.as_str(), at_bank) {
            ("completed", Some(("completed", "delivered"))) => {
                ensure!(hub.delivery == "delivered", "the completion is not recorded as delivered");
                self.completed += 1;
            }
            ("rejected", Some(("rejected", "delivered"))) => self.rejected += 1,
            ("timed_out", None) => self.timed_out += 1,
            ("timed_out", Some(("approved" | "rejected", "undelivered"))) => {
                (self.timed_out, self.undelivered) = (self.timed_out + 1, self.undelivered + 1);
            }
            _ => bail!("the results do not match"),
        }
        Ok(())
    }
}

async fn open(file: &Path) -> anyhow::Result<SqliteConnection> {
    Ok(SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(file).read_only(true)).await?)
}

async fn read_payments(
    connection: &mut SqliteConnection,
    table: &str,
    delivery: &str,
) -> anyhow::Result<HashMap<String, PaymentState>> {
    let query = format!(
        "SELECT id, json_extract(body, '$.transaction.state'), json_extract(body, '$.transaction.{delivery}'), \
         CAST(round(json_extract(body, '$.transaction.message.bank_settlement_amount_value') * 100) AS INTEGER), \
         (SELECT max(n) FROM (SELECT count(*) AS n FROM json_each(body, '$.transaction.history') AS line \
          WHERE json_extract(line.value, '$.to') IS NOT NULL GROUP BY json_extract(line.value, '$.to'))) \
         FROM \"{table}\""
    );
    let mut payments = HashMap::new();
    for row in sqlx::query(AssertSqlSafe(query)).fetch_all(connection).await? {
        let uetr: String = row.try_get(0)?;
        let entered: i64 = row.try_get(4)?;
        ensure!(entered == 1, "{uetr} entered a state {entered} times");
        let entry = PaymentState { state: row.try_get(1)?, delivery: row.try_get(2)?, minor: row.try_get(3)? };
        payments.insert(uetr, entry);
    }
    Ok(payments)
}

async fn read_totals(connection: &mut SqliteConnection) -> anyhow::Result<BankTotals> {
    let query = "SELECT coalesce(sum(CAST(amount AS INTEGER)) FILTER (WHERE account LIKE 'customer/%'), 0), \
                 coalesce(sum(CAST(amount AS INTEGER)) FILTER (WHERE account LIKE 'held/%'), 0), \
                 coalesce(sum(CAST(amount AS INTEGER)), 0), (SELECT count(*) FROM transfers) FROM balances";
    let row = sqlx::query(query).fetch_one(connection).await?;
    Ok(BankTotals {
        customers: row.try_get(0)?,
        held: row.try_get(1)?,
        all: row.try_get(2)?,
        transfers: row.try_get(3)?,
    })
}

/// Checks that no event was emitted twice for a payment.
async fn check_events(connection: &mut SqliteConnection) -> anyhow::Result<()> {
    let query = "SELECT type, subject, count(*) FROM events GROUP BY type, subject HAVING count(*) > 1 LIMIT 1";
    if let Some(row) = sqlx::query(query).fetch_optional(connection).await? {
        let (kind, uetr, count): (String, String, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        bail!("{kind} was emitted {count} times for {uetr}");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
