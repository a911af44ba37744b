//! Stored rows, read directly from the database file of a host: events, idempotency records, names of secrets, journal
//! entries, and balances.

use std::collections::BTreeMap;

use serde_json::Value;
use sqlx::{Connection, Row, SqliteConnection};

use super::TestHost;

#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// The tenant: "acme/test".
    pub tenant: String,
    pub event_type: String,
    pub subject: String,
    /// The body that leaves the host, envelope included, parsed as JSON.
    pub body: Value,
}

impl TestHost {
    /// Returns all events, oldest first.
    pub async fn events(&self) -> Vec<StoredEvent> {
        let rows = sqlx::query("SELECT tenant, type, subject, body FROM events ORDER BY seq");
        let rows = rows.fetch_all(&mut self.read_database().await).await.expect("the events");
        rows.iter()
            .map(|row| StoredEvent {
                tenant: row.get(0),
                event_type: row.get(1),
                subject: row.get(2),
                body: serde_json::from_str(row.get(3)).expect("a body of JSON"),
            })
            .collect()
    }

    /// Returns the sealed bytes of all idempotency records.
    pub async fn idempotency_records(&self) -> Vec<Vec<u8>> {
        let rows = sqlx::query("SELECT sealed FROM answers ORDER BY seq");
        let rows = rows.fetch_all(&mut self.read_database().await).await.expect("the idempotency records");
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Returns the names of the secrets that are sealed under the master key.
    pub async fn secret_names(&self) -> Vec<String> {
        let names = sqlx::query_scalar("SELECT name FROM secrets ORDER BY name");
        names.fetch_all(&mut self.read_database().await).await.expect("the secrets")
    }

    /// Returns the journal entries of a tenant ("hub/test"), oldest first.
    pub async fn journal(&self, tenant: &str) -> Vec<Value> {
        let entries = sqlx::query_scalar("SELECT entry FROM journal WHERE tenant = ? ORDER BY seq").bind(tenant);
        let entries: Vec<String> = entries.fetch_all(&mut self.read_database().await).await.expect("the journal");
        entries.iter().map(|entry| serde_json::from_str(entry).expect("an entry of JSON")).collect()
    }

    /// Returns the nonzero balances of a tenant ("acme/test") by account. Each account must have only one asset.
    pub async fn balances(&self, tenant: &str) -> BTreeMap<String, i128> {
        let rows = sqlx::query("SELECT account, amount FROM balances WHERE tenant = ?").bind(tenant);
        let rows = rows.fetch_all(&mut self.read_database().await).await.expect("the balances");
        let balances = rows.iter().map(|row| (row.get(0), row.get::<String, _>(1).parse().expect("an amount")));
        balances.filter(|(_, amount)| *amount != 0).collect()
    }

    async fn read_database(&self) -> SqliteConnection {
        let url = format!("sqlite:{}?mode=ro", self.database().display());
        SqliteConnection::connect(&url).await.expect("the database can be read")
    }
}
