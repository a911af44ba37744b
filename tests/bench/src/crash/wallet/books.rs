//! What the database says when nothing is under way any more, and what must be true of it: nobody but the outside is below zero,
//! nothing is held, each transaction has its end, and each end was told once.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};

use anyhow::{Context, ensure};
use serde_json::Value;
use sqlx::{Connection as _, Row, SqliteConnection};

use super::{mailbox::Letter, orders::OURS, scene::NETWORKS};
use crate::crash::{hash_of, open_database};

/// A transaction of either direction.
#[derive(Clone, Debug)]
pub struct Entry {
    pub id: String,
    pub body: Value,
}

pub struct Books {
    pub entries: HashMap<String, Entry>,
    /// Account, asset, base units.
    balances: Vec<(String, String, String)>,
    /// By id: the type, and the hash of the bytes.
    events: HashMap<String, (String, u64)>,
}

/// What should lie at an address that nobody here has the key of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stranger {
    pub blockchain: String,
    pub address: String,
    pub symbol: String,
}

impl Entry {
    pub fn text(&self, pointer: &str) -> &str {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    pub fn status(&self) -> &str {
        self.text("/status")
    }

    fn is_under_way(&self) -> bool {
        matches!(self.status(), "pending" | "processing") || self.is_open()
    }

    /// Somebody has to go on from it.
    pub fn is_open(&self) -> bool {
        self.status() == "incomplete" && self.text("/outgoing/continued_by").is_empty()
    }

    /// Asset and base units that went to a stranger.
    fn sent(&self) -> Option<(Stranger, u128)> {
        let (asset, units, address) = if self.body.pointer("/outgoing/task/withdraw").is_some() {
            let task = |member: &str| self.text(&format!("/outgoing/task/withdraw/{member}"));
            (task("money/asset"), task("money/units"), task("destination_address"))
        } else if self.body.pointer("/outgoing/task/gateway_withdraw/to").is_some() {
            let task = |member: &str| self.text(&format!("/outgoing/task/gateway_withdraw/{member}"));
            if !task("to/holder").is_empty() {
                return None;
            }
            (task("to/asset"), task("units"), self.text("/about/recipient"))
        } else {
            return None;
        };
        let (blockchain, symbol) = asset.split_once('/')?;
        let [blockchain, address, symbol] = [blockchain, address, symbol].map(str::to_owned);
        let units = if self.status() == "success" { units.parse().ok()? } else { 0 };
        Some((Stranger { blockchain, address, symbol }, units))
    }

    /// What is told of it once, and of nothing else. Coins for gas are silent.
    fn told(&self) -> Vec<&'static str> {
        let is_listed = self.body.get("listed").is_some();
        let is_sweep = self.body.pointer("/outgoing/task/sweep").is_some();
        match (self.kind(), self.status()) {
            ("DEPOSIT", _) if !is_listed => vec![],
            ("DEPOSIT", "success") => vec!["deposit.processing", "deposit.success"],
            ("DEPOSIT", "failed") => vec!["deposit.processing", "deposit.failed"],
            ("HIDDEN", "success") if is_sweep => vec!["deposit.swept.success"],
            ("HIDDEN", "failed") if is_sweep => vec!["deposit.swept.failed"],
            ("WITHDRAW", "success") => vec!["withdraw.success"],
            ("WITHDRAW", "failed") => vec!["withdraw.failed"],
            ("OFFRAMP", "success") => vec!["offramp.processing", "offramp.success"],
            ("OFFRAMP", "failed") => vec!["offramp.processing", "offramp.failed"],
            ("SWAP", "success") => vec!["swap.success"],
            ("SWAP", "failed") => vec!["swap.failed"],
            ("GATEWAY_DEPOSIT", "success") => vec!["gateway.deposit.success"],
            ("GATEWAY_WITHDRAW", "success") => vec!["gateway.withdraw.success"],
            ("SIGNED", "success") => vec!["signed.success"],
            _ => vec![],
        }
    }

    /// What may be told of it besides, as often as it happens: what a deposit should have been followed by could not begin.
    fn may_tell(&self, event: &str) -> bool {
        self.kind() == "DEPOSIT" && matches!(event, "withdraw.failed" | "swap.failed" | "deposit.swept.failed")
    }
}

impl Books {
    pub async fn read(file: &Path) -> anyhow::Result<Books> {
        let mut connection = open_database(file).await?;
        let books = Books {
            entries: read_entries(&mut connection).await?,
            balances: read_balances(&mut connection).await?,
            events: read_events(&mut connection).await?,
        };
        connection.close().await?;
        Ok(books)
    }

    pub fn is_still(&self) -> bool {
        !self.entries.values().any(Entry::is_under_way)
    }

    /// Whether everything that was told has arrived.
    pub fn is_told(&self, letters: &HashMap<String, Letter>) -> bool {
        self.events.keys().all(|id| letters.contains_key(id))
    }

    /// For an error: what there is, and a few of those that are under way.
    pub fn in_words(&self) -> String {
        let some: Vec<&Entry> = self.entries.values().filter(|entry| entry.is_under_way()).take(3).collect();
        format!("{:?}; under way: {some:?}", self.counts())
    }

    /// Of each kind, how many came to what.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for entry in self.entries.values() {
            *counts.entry(format!("{} {}", entry.kind(), entry.status())).or_default() += 1;
        }
        counts
    }

    /// The first thing that does not hold is the error. `made`: references and ids that were acknowledged.
    pub fn check(&self, made: &[(String, String)], letters: &HashMap<String, Letter>) -> anyhow::Result<()> {
        self.check_balances()?;
        self.check_made(made)?;
        self.check_letters(letters)?;
        self.check_told(letters)
    }

    fn check_balances(&self) -> anyhow::Result<()> {
        for (account, asset, units) in &self.balances {
            let is_below = units.starts_with('-');
            ensure!(!is_below || account.starts_with("external/"), "{account} has {units} {asset}");
            let is_aside = account.starts_with("held/") || account.starts_with("pending/");
            ensure!(!is_aside || units == "0", "nothing is under way, and {account} has {units} {asset}");
        }
        Ok(())
    }

    /// Every acknowledged transaction is there once, and none that nobody was told of.
    fn check_made(&self, made: &[(String, String)]) -> anyhow::Result<()> {
        let mut acknowledged = HashSet::new();
        for (reference, id) in made {
            let found =
                self.entries.get(id).with_context(|| format!("{reference} was acknowledged as {id}, and lost"))?;
            ensure!(found.text("/reference") == reference, "{reference} was acknowledged as {found:?}");
            ensure!(acknowledged.insert(reference), "{reference} was acknowledged twice");
        }
        for entry in self.entries.values() {
            let reference = entry.text("/reference").to_owned();
            ensure!(
                !reference.starts_with(OURS) || acknowledged.contains(&reference),
                "{reference} was never acknowledged: {entry:?}"
            );
        }
        Ok(())
    }

    /// What was sent is what was stored.
    fn check_letters(&self, letters: &HashMap<String, Letter>) -> anyhow::Result<()> {
        for (id, (kind, body)) in &self.events {
            let letter = letters.get(id).with_context(|| format!("{kind} {id} did not arrive"))?;
            ensure!(letter.event == *kind && letter.body == *body, "{kind} {id} arrived as {letter:?}");
        }
        let unknown = letters.iter().find(|(id, _)| !self.events.contains_key(*id));
        ensure!(unknown.is_none(), "{unknown:?} was sent and is not stored");
        Ok(())
    }

    /// Each end was told once, and nothing that was none.
    fn check_told(&self, letters: &HashMap<String, Letter>) -> anyhow::Result<()> {
        let mut told: HashMap<(&str, &str), usize> = HashMap::new();
        for letter in letters.values() {
            *told.entry((&letter.event, &letter.about)).or_default() += 1;
        }
        for entry in self.entries.values() {
            for event in entry.told() {
                let times = told.remove(&(event, entry.id.as_str())).unwrap_or_default();
                ensure!(times == 1, "{event} was told {times} times of {entry:?}");
            }
        }
        for ((event, about), _) in told {
            let is_made = matches!(event, "wallet.created" | "address.created");
            let may_be = self.entries.get(about).is_some_and(|entry| entry.may_tell(event));
            ensure!(is_made || may_be, "{event} was told of {about:?}: {:?}", self.entries.get(about));
        }
        Ok(())
    }

    /// What should lie at each address of a stranger: the sum of what has gone there successfully, in base units.
    pub fn strangers(&self) -> BTreeMap<Stranger, u128> {
        let mut sums = BTreeMap::new();
        for (stranger, units) in self.entries.values().filter_map(Entry::sent) {
            *sums.entry(stranger).or_default() += units;
        }
        sums
    }

    /// Of all who have a part of the gateway's balance, in base units.
    pub fn pool(&self) -> u128 {
        let is_pool = |(account, asset, _): &&(String, String, String)| {
            asset == "gateway/USDC" && (account.starts_with("available/") || account.starts_with("held/"))
        };
        self.balances.iter().filter(is_pool).filter_map(|(_, _, units)| units.parse::<u128>().ok()).sum()
    }
}

/// A decimal text in base units.
pub fn base_units(amount: &str, decimals: u32) -> anyhow::Result<u128> {
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    let width = usize::try_from(decimals)?;
    ensure!(part.len() <= width, "{amount} is finer than {decimals} decimals");
    Ok(format!("{whole}{part:0<width$}").parse()?)
}

pub fn decimals_of(blockchain: &str, symbol: &str) -> anyhow::Result<u32> {
    let network = NETWORKS.iter().find(|facts| facts.blockchain == blockchain);
    let token = network.and_then(|facts| facts.tokens.iter().find(|(known, _)| *known == symbol));
    Ok(token.with_context(|| format!("nobody uses {symbol} on {blockchain}"))?.1)
}

async fn read_entries(connection: &mut SqliteConnection) -> anyhow::Result<HashMap<String, Entry>> {
    let mut entries = HashMap::new();
    for row in sqlx::query("SELECT id, body FROM \"wallet_transactions\"").fetch_all(connection).await? {
        let entry = Entry { id: row.try_get(0)?, body: serde_json::from_str(row.try_get(1)?)? };
        entries.insert(entry.id.clone(), entry);
    }
    Ok(entries)
}

async fn read_balances(connection: &mut SqliteConnection) -> anyhow::Result<Vec<(String, String, String)>> {
    let asked = sqlx::query_as("SELECT account, asset, amount FROM balances WHERE plugin = 'wallet'");
    Ok(asked.fetch_all(connection).await?)
}

async fn read_events(connection: &mut SqliteConnection) -> anyhow::Result<HashMap<String, (String, u64)>> {
    let mut events = HashMap::new();
    for row in sqlx::query("SELECT id, type, body FROM events WHERE plugin = 'wallet'").fetch_all(connection).await? {
        let body: String = row.try_get(2)?;
        events.insert(row.try_get(0)?, (row.try_get(1)?, hash_of(body.as_bytes())));
    }
    Ok(events)
}

#[cfg(test)]
mod tests;
