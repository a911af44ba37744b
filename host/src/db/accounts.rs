//! Ledger rows as a call reads them.

use std::sync::Arc;

use ethnum::I256;

use super::{Database, DbError};
use crate::changes::change_set::Version;
use crate::changes::scope::Scope;

/// An account that was opened as external. All others have no row: they may not go below zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountRow {
    pub external: bool,
    pub version: Version,
}

impl Database {
    pub async fn find_account(&self, _scope: &Scope, _account: &str) -> Result<Option<AccountRow>, DbError> {
        unimplemented!()
    }
    /// `None` where nothing was ever posted.
    pub async fn find_balance(&self, _scope: &Scope, _account: &str, _asset: &str) -> Result<Option<I256>, DbError> {
        unimplemented!()
    }
    /// (asset, amount), sorted by asset.
    pub async fn list_balances(&self, _scope: &Scope, _account: &str) -> Result<Vec<(Arc<str>, I256)>, DbError> {
        unimplemented!()
    }
    pub async fn find_transfer(&self, _scope: &Scope, _id: &str) -> Result<Option<Version>, DbError> {
        unimplemented!()
    }
}
