//! What both sides have of every payment, read from their databases when nothing is under way any more: each has reached
//! its end once, on both sides the same one, and the money is where it says.
//!
//! Allowed ends, hub and bank: completed and completed; rejected and rejected; timed out, and at the bank nothing, or a
//! response that the hub took no more, which the bank lists as undelivered.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use anyhow::{Context, bail, ensure};
use sqlx::{AssertSqlSafe, Connection as _, Row, SqliteConnection, sqlite::SqliteConnectOptions};

use super::Pair;

/// One side of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    state: String,
    /// How far the message got that this side must deliver: the hub's completion, the bank's response.
    delivery: String,
    minor: i64,
}

/// Sums of the accounts of the bank, by the first part of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sums {
    customers: i64,
    held: i64,
    all: i64,
    transfers: i64,
}

/// How many payments came to what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    pub completed: u64,
    pub rejected: u64,
    /// Of these, `listed` stand at the bank as undelivered.
    pub timed_out: u64,
    pub listed: u64,
}

pub struct Books {
    hub: HashMap<String, Entry>,
    bank: HashMap<String, Entry>,
    sums: Sums,
}

impl Books {
    pub async fn read(pair: &Pair) -> anyhow::Result<Books> {
        Books::read_files(&pair.hub.program.database_file(), &pair.bank.program.database_file()).await
    }

    async fn read_files(hub: &Path, bank: &Path) -> anyhow::Result<Books> {
        let (mut hub, mut bank) = (open(hub).await?, open(bank).await?);
        check_events(&mut hub).await.context("events of the hub")?;
        check_events(&mut bank).await.context("events of the bank")?;
        let books = Books {
            hub: read_payments(&mut hub, "clearing_outbound", "delivery").await?,
            bank: read_payments(&mut bank, "clearing_inbound", "response").await?,
            sums: read_sums(&mut bank).await?,
        };
        hub.close().await?;
        bank.close().await?;
        Ok(books)
    }

    /// Whether nothing is under way on either side.
    pub fn are_still(&self) -> bool {
        let is_still = |entry: &Entry| {
            let is_waiting = matches!(entry.state.as_str(), "received" | "processing");
            !is_waiting && entry.delivery != "underway"
        };
        self.hub.values().chain(self.bank.values()).all(is_still)
            && !self.hub.values().any(|entry| entry.state == "approved")
    }

    /// Of exactly the payments that were acknowledged; the first thing that does not hold is the error.
    pub fn check(&self, acknowledged: impl Iterator<Item = String>) -> anyhow::Result<Ends> {
        let acknowledged: HashSet<String> = acknowledged.collect();
        let missing = acknowledged.iter().find(|uetr| !self.hub.contains_key(*uetr));
        ensure!(missing.is_none(), "{missing:?} was acknowledged, and the hub does not know it");
        let foreign = self.hub.keys().find(|uetr| !acknowledged.contains(*uetr));
        ensure!(foreign.is_none(), "{foreign:?} is known to the hub, and nobody was told so");
        self.check_ends()
    }

    /// Of all payments that the hub has.
    pub fn check_ends(&self) -> anyhow::Result<Ends> {
        let unknown = self.bank.keys().find(|uetr| !self.hub.contains_key(*uetr));
        ensure!(unknown.is_none(), "{unknown:?} is known to the bank, and not to the hub");
        let mut ends = Ends::default();
        let (mut completed, mut held, mut approved) = (0, 0, 0);
        for (uetr, hub) in &self.hub {
            let bank = self.bank.get(uetr);
            ends.add(hub, bank).with_context(|| format!("{uetr}: at the hub {hub:?}, at the bank {bank:?}"))?;
            completed += if hub.state == "completed" { hub.minor } else { 0 };
            if let Some(bank) = bank.filter(|bank| bank.state == "approved") {
                (held, approved) = (held + bank.minor, approved + 1);
            }
        }
        let Sums { customers, held: really_held, all, transfers } = &self.sums;
        ensure!(*all == 0, "the books of the bank sum up to {all}");
        ensure!(*customers == completed, "customers got {customers}, and the hub had {completed} settled");
        ensure!(*really_held == held, "{really_held} are held, for approved payments of {held}");
        let wanted = i64::try_from(2 * ends.completed)? + approved;
        ensure!(*transfers == wanted, "{transfers} postings where there should be {wanted}");
        Ok(ends)
    }

    /// For an error: how far it has come.
    pub fn in_words(&self) -> String {
        let mut counted: HashMap<(&str, &str, &str), usize> = HashMap::new();
        for (side, entries) in [("hub", &self.hub), ("bank", &self.bank)] {
            for entry in entries.values() {
                *counted.entry((side, &entry.state, &entry.delivery)).or_default() += 1;
            }
        }
        format!("{counted:?}")
    }
}

impl Ends {
    fn add(&mut self, hub: &Entry, bank: Option<&Entry>) -> anyhow::Result<()> {
        ensure!(bank.is_none_or(|bank| bank.minor == hub.minor), "the amounts differ");
        let at_bank = bank.map(|bank| (bank.state.as_str(), bank.delivery.as_str()));
        match (hub.state.as_str(), at_bank) {
            ("completed", Some(("completed", "delivered"))) => {
                ensure!(hub.delivery == "delivered", "the completion is not noted as delivered");
                self.completed += 1;
            }
            ("rejected", Some(("rejected", "delivered"))) => self.rejected += 1,
            ("timed_out", None) => self.timed_out += 1,
            ("timed_out", Some(("approved" | "rejected", "undelivered"))) => {
                (self.timed_out, self.listed) = (self.timed_out + 1, self.listed + 1);
            }
            _ => bail!("the ends do not fit"),
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
) -> anyhow::Result<HashMap<String, Entry>> {
    let asked = format!(
        "SELECT id, json_extract(body, '$.transaction.state'), json_extract(body, '$.transaction.{delivery}'), \
         CAST(round(json_extract(body, '$.transaction.message.bank_settlement_amount_value') * 100) AS INTEGER), \
         (SELECT max(n) FROM (SELECT count(*) AS n FROM json_each(body, '$.transaction.history') AS line \
          WHERE json_extract(line.value, '$.to') IS NOT NULL GROUP BY json_extract(line.value, '$.to'))) \
         FROM \"{table}\""
    );
    let mut payments = HashMap::new();
    for row in sqlx::query(AssertSqlSafe(asked)).fetch_all(connection).await? {
        let uetr: String = row.try_get(0)?;
        let entered: i64 = row.try_get(4)?;
        ensure!(entered == 1, "{uetr} entered a state {entered} times");
        let entry = Entry { state: row.try_get(1)?, delivery: row.try_get(2)?, minor: row.try_get(3)? };
        payments.insert(uetr, entry);
    }
    Ok(payments)
}

async fn read_sums(connection: &mut SqliteConnection) -> anyhow::Result<Sums> {
    let asked = "SELECT coalesce(sum(CAST(amount AS INTEGER)) FILTER (WHERE account LIKE 'customer/%'), 0), \
                 coalesce(sum(CAST(amount AS INTEGER)) FILTER (WHERE account LIKE 'held/%'), 0), \
                 coalesce(sum(CAST(amount AS INTEGER)), 0), (SELECT count(*) FROM transfers) FROM balances";
    let row = sqlx::query(asked).fetch_one(connection).await?;
    Ok(Sums { customers: row.try_get(0)?, held: row.try_get(1)?, all: row.try_get(2)?, transfers: row.try_get(3)? })
}

/// Nothing happens twice to a payment.
async fn check_events(connection: &mut SqliteConnection) -> anyhow::Result<()> {
    let asked = "SELECT type, subject, count(*) FROM events GROUP BY type, subject HAVING count(*) > 1 LIMIT 1";
    if let Some(row) = sqlx::query(asked).fetch_optional(connection).await? {
        let (kind, uetr, count): (String, String, i64) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        bail!("{kind} was told {count} times of {uetr}");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
