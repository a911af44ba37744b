//! Balances, senders and token accounts of one network, within one transaction of the file.
//!
//! Never decides anything: `draft` says what changes, this writes it.

use ethnum::U256;
use sqlx::SqliteConnection;

use super::store::{StoreError, amount, blob, count, int};

/// One network in a transaction of the file.
pub(super) struct Books<'c> {
    pub connection: &'c mut SqliteConnection,
    pub net: i64,
}

/// What is known of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sender {
    /// Its transactions in blocks.
    pub sequence: u64,
    /// What those that wait may cost it.
    pub reserved: U256,
}

impl Books<'_> {
    pub async fn balance(&mut self, address: &str, token: Option<&str>) -> Result<U256, StoreError> {
        let row: Option<(Vec<u8>,)> =
            sqlx::query_as("SELECT amount FROM balances WHERE net = ? AND address = ? AND token = ?")
                .bind(self.net)
                .bind(address)
                .bind(token.unwrap_or_default())
                .fetch_optional(&mut *self.connection)
                .await?;
        row.map_or(Ok(U256::ZERO), |(blob,)| amount(&blob))
    }

    pub async fn set_balance(&mut self, address: &str, token: Option<&str>, now: U256) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO balances (net, address, token, amount) VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET amount = excluded.amount",
        )
        .bind(self.net)
        .bind(address)
        .bind(token.unwrap_or_default())
        .bind(blob(now))
        .execute(&mut *self.connection)
        .await?;
        Ok(())
    }

    pub async fn sender(&mut self, address: &str) -> Result<Sender, StoreError> {
        let row: Option<(i64, Vec<u8>)> =
            sqlx::query_as("SELECT sequence, reserved FROM senders WHERE net = ? AND address = ?")
                .bind(self.net)
                .bind(address)
                .fetch_optional(&mut *self.connection)
                .await?;
        let read = |(sequence, reserved): (i64, Vec<u8>)| {
            Ok(Sender { sequence: count(sequence), reserved: amount(&reserved)? })
        };
        row.map_or(Ok(Sender::default()), read)
    }

    pub async fn set_sender(&mut self, address: &str, sender: Sender) -> Result<(), StoreError> {
        sqlx::query(
            "INSERT INTO senders (net, address, sequence, reserved) VALUES (?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET sequence = excluded.sequence, reserved = excluded.reserved",
        )
        .bind(self.net)
        .bind(address)
        .bind(int(sender.sequence))
        .bind(blob(sender.reserved))
        .execute(&mut *self.connection)
        .await?;
        Ok(())
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
