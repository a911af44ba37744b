//! Balances, senders and token accounts of one network, within one database transaction.
//!
//! This module only stores. `draft` computes the changes. Invariant: changed balances and senders are held in the
//! cache, are read from it, and are each written once when the database transaction commits.

use std::collections::HashMap;

use ethnum::U256;
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};

use super::store::{StoreError, amount, blob, count, int};

/// A database transaction that writes.
pub(super) struct WriteTransaction<'c> {
    pub transaction: Transaction<'c, Sqlite>,
    cache: LedgerCache,
}

/// Balances and senders that a database transaction has read or changed, by network.
#[derive(Default)]
pub(super) struct LedgerCache {
    /// By address and token.
    balances: HashMap<(i64, String, String), Cached<U256>>,
    senders: HashMap<(i64, String), Cached<Sender>>,
}

#[derive(Clone, Copy)]
struct Cached<T> {
    now: T,
    is_changed: bool,
}

/// A network within a database transaction.
pub(super) struct Ledger<'c> {
    pub connection: &'c mut SqliteConnection,
    pub net: i64,
    pub cache: &'c mut LedgerCache,
}

/// State of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sender {
    /// Number of its transactions in blocks.
    pub sequence: u64,
    /// Total cost of its waiting transactions.
    pub reserved: U256,
}

impl<'c> WriteTransaction<'c> {
    pub async fn begin(writer: &'c mut SqliteConnection) -> Result<WriteTransaction<'c>, StoreError> {
        Ok(WriteTransaction { transaction: writer.begin().await?, cache: LedgerCache::default() })
    }

    pub fn ledger(&mut self, net: i64) -> Ledger<'_> {
        Ledger { connection: &mut self.transaction, net, cache: &mut self.cache }
    }

    pub async fn commit(mut self) -> Result<(), StoreError> {
        let LedgerCache { balances, senders } = std::mem::take(&mut self.cache);
        for ((net, address, token), cached) in balances.into_iter().filter(|(_, cached)| cached.is_changed) {
            sqlx::query(
                "INSERT INTO balances (net, address, token, amount) VALUES (?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET amount = excluded.amount",
            )
            .bind(net)
            .bind(address)
            .bind(token)
            .bind(blob(cached.now))
            .execute(&mut *self.transaction)
            .await?;
        }
        for ((net, address), cached) in senders.into_iter().filter(|(_, cached)| cached.is_changed) {
            sqlx::query(
                "INSERT INTO senders (net, address, sequence, reserved) VALUES (?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET sequence = excluded.sequence, reserved = excluded.reserved",
            )
            .bind(net)
            .bind(address)
            .bind(int(cached.now.sequence))
            .bind(blob(cached.now.reserved))
            .execute(&mut *self.transaction)
            .await?;
        }
        Ok(self.transaction.commit().await?)
    }
}

impl Ledger<'_> {
    pub async fn balance(&mut self, address: &str, token: Option<&str>) -> Result<U256, StoreError> {
        let key = (self.net, address.to_owned(), token.unwrap_or_default().to_owned());
        if let Some(cached) = self.cache.balances.get(&key) {
            return Ok(cached.now);
        }
        let row: Option<(Vec<u8>,)> =
            sqlx::query_as("SELECT amount FROM balances WHERE net = ? AND address = ? AND token = ?")
                .bind(self.net)
                .bind(address)
                .bind(token.unwrap_or_default())
                .fetch_optional(&mut *self.connection)
                .await?;
        let now = row.map_or(Ok(U256::ZERO), |(blob,)| amount(&blob))?;
        self.cache.balances.insert(key, Cached { now, is_changed: false });
        Ok(now)
    }

    pub fn set_balance(&mut self, address: &str, token: Option<&str>, now: U256) {
        let key = (self.net, address.to_owned(), token.unwrap_or_default().to_owned());
        self.cache.balances.insert(key, Cached { now, is_changed: true });
    }

    pub async fn sender(&mut self, address: &str) -> Result<Sender, StoreError> {
        let key = (self.net, address.to_owned());
        if let Some(cached) = self.cache.senders.get(&key) {
            return Ok(cached.now);
        }
        let row: Option<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT sequence, reserved FROM senders WHERE net = ? AND address = ?")
                .bind(self.net)
                .bind(address)
                .fetch_optional(&mut *self.connection)
                .await?;
        let read = |(sequence, reserved): (i64, Vec<u8>)| {
            Ok::<_, StoreError>(Sender { sequence: count(sequence), reserved: amount(&reserved)? })
        };
        let now = row.map_or(Ok(Sender::default()), read)?;
        self.cache.senders.insert(key, Cached { now, is_changed: false });
        Ok(now)
    }

    pub fn set_sender(&mut self, address: &str, now: Sender) {
        self.cache.senders.insert((self.net, address.to_owned()), Cached { now, is_changed: true });
    }

    /// Returns owner and token of a token account.
    pub async fn account(&mut self, account: &str) -> Result<Option<(String, String)>, StoreError> {
        let row = sqlx::query_as("SELECT owner, token FROM accounts WHERE net = ? AND account = ?")
            .bind(self.net)
            .bind(account)
            .fetch_optional(&mut *self.connection)
            .await?;
        Ok(row)
    }

    /// Adds a token account. `id` is the transaction that opens it.
    pub async fn add_account(&mut self, account: &str, owner: (&str, &str), id: i64) -> Result<(), StoreError> {
        sqlx::query("INSERT INTO accounts (net, account, owner, token, id) VALUES (?, ?, ?, ?, ?)")
            .bind(self.net)
            .bind(account)
            .bind(owner.0)
            .bind(owner.1)
            .bind(id)
            .execute(&mut *self.connection)
            .await?;
        Ok(())
    }

    pub async fn drop_accounts_of(&mut self, id: i64) -> Result<(), StoreError> {
        sqlx::query("DELETE FROM accounts WHERE id = ?").bind(id).execute(&mut *self.connection).await?;
        Ok(())
    }
}
