//! Ledger reads of a call, and the operators' check of all balances.

use std::collections::BTreeMap;
use std::sync::Arc;

use ethnum::I256;
use futures_util::TryStreamExt;

use super::{Database, DbError};
use crate::changes::change_set::Version;
use crate::changes::scope::Scope;

/// An account that was opened as external. All other accounts have no row, and their balance cannot be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountRow {
    pub external: bool,
    pub version: Version,
}

/// Sum of all balances of one asset, plugin and tenant. Any value other than zero is an error in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerSum {
    pub plugin: String,
    pub tenant: String,
    pub asset: String,
    pub sum: I256,
}

fn amount(text: &str) -> Result<I256, DbError> {
    text.parse().map_err(|_| DbError::Corrupt(format!("balances: \"{text}\" is not an amount")))
}

impl Database {
    pub async fn find_account(&self, scope: &Scope, account: &str) -> Result<Option<AccountRow>, DbError> {
        let sql = "SELECT version FROM accounts WHERE plugin = ? AND tenant = ? AND account = ? AND external = 1";
        let version = self.find_version(sql, scope, account).await?;
        Ok(version.map(|version| AccountRow { external: true, version }))
    }

    /// Returns the balance, or `None` if nothing was ever posted.
    pub async fn find_balance(&self, scope: &Scope, account: &str, asset: &str) -> Result<Option<I256>, DbError> {
        let text: Option<String> = sqlx::query_scalar(
            "SELECT amount FROM balances WHERE plugin = ? AND tenant = ? AND account = ? AND asset = ?",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(account)
        .bind(asset)
        .fetch_optional(&*self.readers())
        .await?;
        text.as_deref().map(amount).transpose()
    }

    /// Returns (asset, amount), sorted by asset.
    pub async fn list_balances(&self, scope: &Scope, account: &str) -> Result<Vec<(Arc<str>, I256)>, DbError> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT asset, amount FROM balances WHERE plugin = ? AND tenant = ? AND account = ? ORDER BY asset",
        )
        .bind(scope.plugin().clone())
        .bind(scope.tenant().clone())
        .bind(account)
        .fetch_all(&*self.readers())
        .await?;
        rows.into_iter().map(|(asset, text)| Ok((asset.into(), amount(&text)?))).collect()
    }

    pub async fn find_transfer(&self, scope: &Scope, id: &str) -> Result<Option<Version>, DbError> {
        let sql = "SELECT version FROM transfers WHERE plugin = ? AND tenant = ? AND id = ?";
        self.find_version(sql, scope, id).await
    }

    /// Returns the sum of each plugin, tenant and asset. Reads all balances.
    pub async fn ledger_sums(&self) -> Result<Vec<LedgerSum>, DbError> {
        let mut sums: BTreeMap<(String, String, String), I256> = BTreeMap::new();
        let mut search = self.begin_operator_search().await?;
        let mut rows =
            sqlx::query_as::<_, (String, String, String, String)>("SELECT plugin, tenant, asset, amount FROM balances")
                .fetch(search.connection()?);
        while let Some((plugin, tenant, asset, text)) = rows.try_next().await? {
            let sum = sums.entry((plugin, tenant, asset)).or_insert(I256::ZERO);
            *sum = sum
                .checked_add(amount(&text)?)
                .ok_or_else(|| DbError::Corrupt("balances: their sum exceeds 256 bits".into()))?;
        }
        drop(rows);
        search.finish();
        Ok(sums.into_iter().map(|((plugin, tenant, asset), sum)| LedgerSum { plugin, tenant, asset, sum }).collect())
    }
}
