//! A key prepared for requests.

use std::sync::{Arc, atomic::AtomicU64};

use super::{KeyRow, Principal, PrincipalKind};
use crate::changes::credential::CredentialKind;

pub(super) struct KnownKey {
    pub(super) row: KeyRow,
    pub(super) principal: Arc<Principal>,
    /// 0 means never.
    pub(super) last_used_at: AtomicU64,
}

impl KnownKey {
    pub(super) fn new(row: KeyRow) -> KnownKey {
        let principal = Principal {
            tenant: row.tenant().into(),
            environment: row.environment.name(),
            kind: match row.kind {
                CredentialKind::ApiKey => PrincipalKind::ApiKey,
                CredentialKind::Token => PrincipalKind::Token,
            },
            subject: Arc::clone(&row.id),
            owner: Arc::clone(&row.owner),
            scopes: row.scopes.clone(),
            attributes: row.attributes.clone(),
        };
        let last_used_at = AtomicU64::new(row.last_used_at.unwrap_or(0));
        KnownKey { row, principal: Arc::new(principal), last_used_at }
    }
}
