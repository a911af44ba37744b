//! Wallet data read from the database after all transactions have ended, and its invariants: only external accounts
//! are below zero, nothing is held, each transaction has ended, and each result emitted its events once.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::Path,
};

use anyhow::{Context, ensure};
use serde_json::Value;
use sqlx::{Connection as _, Row, SqliteConnection};

use super::{inbox::Webhook, requests::REFERENCE_PREFIX, scenario::NETWORKS};
use crate::crash::{hash_of, open_database};

/// Incoming or outgoing transaction.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub id: String,
    pub body: Value,
}

pub struct Reconciliation {
    pub transactions: HashMap<String, Transaction>,
    /// Account, asset, base units.
    balances: Vec<(String, String, String)>,
    /// Type and hash of the bytes by id.
    events: HashMap<String, (String, u64)>,
}

/// Asset at an address whose key no wallet of the scenario has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ExternalHolding {
    pub blockchain: String,
    pub address: String,
    pub symbol: String,
}

impl Transaction {
    pub fn text(&self, pointer: &str) -> &str {
        self.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    pub fn status(&self) -> &str {
        self.text("/status")
    }

    fn is_in_progress(&self) -> bool {
        matches!(self.status(), "pending" | "processing") || self.is_unfinished()
    }

    /// Returns whether the transaction is incomplete and no other transaction continues it.
    pub fn is_unfinished(&self) -> bool {
        self.status() == "incomplete" && self.text("/outgoing/continued_by").is_empty()
    }

    /// Returns the external holding and the base units that the transaction sent there.
    fn sent_externally(&self) -> Option<(ExternalHolding, u128)> {
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
        Some((ExternalHolding { blockchain, address, symbol }, units))
    }

    /// Returns the events that the transaction emits exactly once. It emits no others. Transactions that provide gas
    /// emit no events.
    fn expected_events(&self) -> Vec<&'static str> {
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

    /// Returns whether the transaction may also emit this event, any number of times: a deposit emits it if its
    /// follow-up transaction could not start.
    fn allows_event(&self, event: &str) -> bool {
        self.kind() == "DEPOSIT" && matches!(event, "withdraw.failed" | "swap.failed" | "deposit.swept.failed")
    }
}

impl Reconciliation {
    pub async fn read(file: &Path) -> anyhow::Result<Reconciliation> {
        let mut connection = open_database(file).await?;
        let reconciliation = Reconciliation {
            transactions: read_transactions(&mut connection).await?,
            balances: read_balances(&mut connection).await?,
            events: read_events(&mut connection).await?,
        };
        connection.close().await?;
        Ok(reconciliation)
    }

    pub fn is_settled(&self) -> bool {
        !self.transactions.values().any(Transaction::is_in_progress)
    }

    /// Returns whether the webhook of every event has arrived.
    pub fn has_all_webhooks(&self, webhooks: &HashMap<String, Webhook>) -> bool {
        self.events.keys().all(|id| webhooks.contains_key(id))
    }

    /// Describes the progress, for error messages: counts, and a few transactions in progress.
    pub fn progress(&self) -> String {
        let examples: Vec<&Transaction> =
            self.transactions.values().filter(|transaction| transaction.is_in_progress()).take(3).collect();
        format!("{:?}; in progress: {examples:?}", self.counts())
    }

    /// Returns the number of transactions by kind and status.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for transaction in self.transactions.values() {
            *counts.entry(format!("{} {}", transaction.kind(), transaction.status())).or_default() += 1;
        }
        counts
    }

    /// Checks all invariants. `acknowledged` contains references and ids of acknowledged transactions.
    ///
    /// # Errors
    /// The first violated invariant.
    pub fn check(&self, acknowledged: &[(String, String)], webhooks: &HashMap<String, Webhook>) -> anyhow::Result<()> {
        self.check_balances()?;
        self.check_acknowledged(acknowledged)?;
        self.check_webhooks(webhooks)?;
        self.check_events(webhooks)
    }

    fn check_balances(&self) -> anyhow::Result<()> {
        for (account, asset, units) in &self.balances {
            let is_below = units.starts_with('-');
            ensure!(!is_below || account.starts_with("external/"), "{account} has {units} {asset}");
            let is_reserved = account.starts_with("held/") || account.starts_with("pending/");
            ensure!(!is_reserved || units == "0", "no transaction is in progress, and {account} has {units} {asset}");
        }
        Ok(())
    }

    /// Checks that every acknowledged transaction exists once, and that no other transaction has a reference of a
    /// customer.
    fn check_acknowledged(&self, acknowledged: &[(String, String)]) -> anyhow::Result<()> {
        let mut references = HashSet::new();
        for (reference, id) in acknowledged {
            let found =
                self.transactions.get(id).with_context(|| format!("{reference} was acknowledged as {id}, and lost"))?;
            ensure!(found.text("/reference") == reference, "{reference} was acknowledged as {found:?}");
            ensure!(references.insert(reference), "{reference} was acknowledged twice");
        }
        for transaction in self.transactions.values() {
            let reference = transaction.text("/reference").to_owned();
            ensure!(
                !reference.starts_with(REFERENCE_PREFIX) || references.contains(&reference),
                "{reference} was never acknowledged: {transaction:?}"
            );
        }
        Ok(())
    }

    /// Checks that the webhooks equal the stored events.
    fn check_webhooks(&self, webhooks: &HashMap<String, Webhook>) -> anyhow::Result<()> {
        for (id, (kind, body)) in &self.events {
            let webhook = webhooks.get(id).with_context(|| format!("{kind} {id} did not arrive"))?;
            ensure!(webhook.event == *kind && webhook.body == *body, "{kind} {id} arrived as {webhook:?}");
        }
        let unknown = webhooks.iter().find(|(id, _)| !self.events.contains_key(*id));
        ensure!(unknown.is_none(), "{unknown:?} was sent and is not stored");
        Ok(())
    }

    /// Checks that each result emitted its events once. The only other events may be those of created wallets and
    /// addresses, and those that [`Transaction::allows_event`] permits.
    fn check_events(&self, webhooks: &HashMap<String, Webhook>) -> anyhow::Result<()> {
        let mut emitted: HashMap<(&str, &str), usize> = HashMap::new();
        for webhook in webhooks.values() {
            *emitted.entry((&webhook.event, &webhook.subject)).or_default() += 1;
        }
        for transaction in self.transactions.values() {
            for event in transaction.expected_events() {
                let times = emitted.remove(&(event, transaction.id.as_str())).unwrap_or_default();
                ensure!(times == 1, "{event} was emitted {times} times for {transaction:?}");
            }
        }
        for ((event, subject), _) in emitted {
            let is_creation = matches!(event, "wallet.created" | "address.created");
            let transaction = self.transactions.get(subject);
            let is_allowed = transaction.is_some_and(|transaction| transaction.allows_event(event));
            ensure!(is_creation || is_allowed, "{event} was emitted for {subject:?}: {transaction:?}");
        }
        Ok(())
    }

    /// Returns the expected balance of each external holding: the sum of successful transfers, in base units.
    pub fn external_holdings(&self) -> BTreeMap<ExternalHolding, u128> {
        let mut sums = BTreeMap::new();
        for (holding, units) in self.transactions.values().filter_map(Transaction::sent_externally) {
            *sums.entry(holding).or_default() += units;
        }
        sums
    }

    /// Returns the sum of all balances at the gateway, in base units.
    pub fn gateway_total(&self) -> u128 {
        let is_gateway = |(account, asset, _): &&(String, String, String)| {
            asset == "gateway/USDC" && (account.starts_with("available/") || account.starts_with("held/"))
        };
        self.balances.iter().filter(is_gateway).filter_map(|(_, _, units)| units.parse::<u128>().ok()).sum()
    }
}

/// Converts a decimal string to base units.
pub fn base_units(amount: &str, decimals: u32) -> anyhow::Result<u128> {
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    let width = usize::try_from(decimals)?;
    ensure!(part.len() <= width, "{amount} has more than {decimals} decimals");
    Ok(format!("{whole}{part:0<width$}").parse()?)
}

pub fn decimals_of(blockchain: &str, symbol: &str) -> anyhow::Result<u32> {
    let network = NETWORKS.iter().find(|network| network.blockchain == blockchain);
    let token = network.and_then(|network| network.tokens.iter().find(|(known, _)| *known == symbol));
    Ok(token.with_context(|| format!("the scenario does not use {symbol} on {blockchain}"))?.1)
}

async fn read_transactions(connection: &mut SqliteConnection) -> anyhow::Result<HashMap<String, Transaction>> {
    let mut transactions = HashMap::new();
    for row in sqlx::query("SELECT id, body FROM \"wallet_transactions\"").fetch_all(connection).await? {
        let transaction = Transaction { id: row.try_get(0)?, body: serde_json::from_str(row.try_get(1)?)? };
        transactions.insert(transaction.id.clone(), transaction);
    }
    Ok(transactions)
}

async fn read_balances(connection: &mut SqliteConnection) -> anyhow::Result<Vec<(String, String, String)>> {
    let query = sqlx::query_as("SELECT account, asset, amount FROM balances WHERE plugin = 'wallet'");
    Ok(query.fetch_all(connection).await?)
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
