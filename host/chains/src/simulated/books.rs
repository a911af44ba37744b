//! Balances, senders and token accounts of one network, within one transaction of the file.
//!
//! Never decides anything: `draft` says what changes, this writes it. Invariant: what a transaction of the file has changed of
//! balances and senders is written when it commits, once for each, and is read from its pages until then.

use std::collections::HashMap;

use ethnum::U256;
use sqlx::{Connection, Sqlite, SqliteConnection, Transaction};

use super::store::{StoreError, amount, blob, count, int};

/// A transaction of the file.
pub(super) struct Writing<'c> {
    pub transaction: Transaction<'c, Sqlite>,
    pages: Pages,
}

/// What it knows of balances and senders, by network.
#[derive(Default)]
pub(super) struct Pages {
    /// By address and token.
    balances: HashMap<(i64, String, String), Known<U256>>,
    senders: HashMap<(i64, String), Known<Sender>>,
}

#[derive(Clone, Copy)]
struct Known<T> {
    now: T,
    is_changed: bool,
}

/// One network in a transaction of the file.
pub(super) struct Books<'c> {
    pub connection: &'c mut SqliteConnection,
    pub net: i64,
    pub pages: &'c mut Pages,
}

/// What is known of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sender {
    /// Its transactions in blocks.
    pub sequence: u64,
    /// What those that wait may cost it.
    pub reserved: U256,
}

impl<'c> Writing<'c> {
    pub async fn begin(writer: &'c mut SqliteConnection) -> Result<Writing<'c>, StoreError> {
        Ok(Writing { transaction: writer.begin().await?, pages: Pages::default() })
    }

    pub fn books(&mut self, net: i64) -> Books<'_> {
        Books { connection: &mut self.transaction, net, pages: &mut self.pages }
    }

    pub async fn commit(mut self) -> Result<(), StoreError> {
        let Pages { balances, senders } = std::mem::take(&mut self.pages);
        for ((net, address, token), known) in balances.into_iter().filter(|(_, known)| known.is_changed) {
            sqlx::query(
                "INSERT INTO balances (net, address, token, amount) VALUES (?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET amount = excluded.amount",
            )
            .bind(net)
            .bind(address)
            .bind(token)
            .bind(blob(known.now))
            .execute(&mut *self.transaction)
            .await?;
        }
        for ((net, address), known) in senders.into_iter().filter(|(_, known)| known.is_changed) {
            sqlx::query(
                "INSERT INTO senders (net, address, sequence, reserved) VALUES (?, ?, ?, ?)
                 ON CONFLICT DO UPDATE SET sequence = excluded.sequence, reserved = excluded.reserved",
            )
            .bind(net)
            .bind(address)
            .bind(int(known.now.sequence))
            .bind(blob(known.now.reserved))
            .execute(&mut *self.transaction)
            .await?;
        }
        Ok(self.transaction.commit().await?)
    }
}

impl Books<'_> {
    pub async fn balance(&mut self, address: &str, token: Option<&str>) -> Result<U256, StoreError> {
        let key = (self.net, address.to_owned(), token.unwrap_or_default().to_owned());
        if let Some(known) = self.pages.balances.get(&key) {
            return Ok(known.now);
        }
        let row: Option<(Vec<u8>,)> =
            sqlx::query_as("SELECT amount FROM balances WHERE net = ? AND address = ? AND token = ?")
                .bind(self.net)
                .bind(address)
                .bind(token.unwrap_or_default())
                .fetch_optional(&mut *self.connection)
                .await?;
        let now = row.map_or(Ok(U256::ZERO), |(blob,)| amount(&blob))?;
        self.pages.balances.insert(key, Known { now, is_changed: false });
        Ok(now)
    }

    pub fn set_balance(&mut self, address: &str, token: Option<&str>, now: U256) {
        let key = (self.net, address.to_owned(), token.unwrap_or_default().to_owned());
        self.pages.balances.insert(key, Known { now, is_changed: true });
    }

    pub async fn sender(&mut self, address: &str) -> Result<Sender, StoreError> {
        let key = (self.net, address.to_owned());
        if let Some(known) = self.pages.senders.get(&key) {
            return Ok(known.now);
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
        self.pages.senders.insert(key, Known { now, is_changed: false });
        Ok(now)
    }

    pub fn set_sender(&mut self, address: &str, now: Sender) {
        self.pages.senders.insert((self.net, address.to_owned()), Known { now, is_changed: true });
    }

    /// Owner and token of a token account.
    pub async fn account(&mut self, account: &str) -> Result<Option<(String, String)>, StoreError> {
        let row = sqlx::query_as("SELECT owner, token FROM accounts WHERE net = ? AND account = ?")
            .bind(self.net)
            .bind(account)
            .fetch_optional(&mut *self.connection)
            .await?;
        Ok(row)
    }

    /// `id`: the transaction that makes it.
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
