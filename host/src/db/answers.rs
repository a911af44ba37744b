//! Kept answers of idempotency keys.

use std::sync::Arc;

use super::{Database, DbError};
use crate::changes::change_set::Version;
use crate::changes::scope::Scope;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    pub fingerprint: [u8; 32],
    pub sealed: Arc<[u8]>,
    pub version: Version,
}

impl Database {
    pub async fn find_answer(&self, _scope: &Scope, _name: &str) -> Result<Option<StoredAnswer>, DbError> {
        unimplemented!()
    }
}
