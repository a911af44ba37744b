//! Keys, tokens and passwords in memory. Never cryptography: a hash here is only told from another one.

use std::collections::BTreeMap;

use super::TestHost;
use crate::bindings::tenon::plugin::types::Pair;
use crate::host::{Credential, Grant, Issued};

/// What was issued and is not revoked.
#[derive(Clone, Debug, PartialEq)]
pub struct IssuedCredential {
    pub tenant: String,
    pub id: String,
    pub kind: &'static str,
    pub secret: String,
    pub grant: Grant,
    /// Milliseconds since 1970.
    pub created_at: u64,
}

#[derive(Clone, Default)]
pub(super) struct Credentials {
    /// In the order in which they were issued.
    issued: Vec<IssuedCredential>,
    /// By hash.
    passwords: BTreeMap<String, String>,
}

impl Credentials {
    pub fn issue(&mut self, tenant: &str, kind: &'static str, grant: &Grant, now: u64) -> Issued {
        let number = self.issued.len() + 1;
        let (id, secret) = (format!("cred_{number:010}"), format!("secret-{kind}-{number:010}"));
        let issued = Issued { id: id.clone(), secret: secret.clone() };
        let (tenant, grant) = (tenant.to_owned(), grant.clone());
        self.issued.push(IssuedCredential { tenant, id, kind, secret, grant, created_at: now });
        issued
    }

    pub fn find(&self, tenant: &str, attribute: &Pair, now: u64) -> Vec<Credential> {
        let valid = self.of(tenant, attribute).filter(|one| one.grant.expires_at.is_none_or(|at| at > now));
        let seen = |one: &IssuedCredential| Credential {
            id: one.id.clone(),
            kind: one.kind.to_owned(),
            label: one.grant.label.clone(),
            created_at: one.created_at,
            expires_at: one.grant.expires_at,
            last_used_at: None,
        };
        valid.map(seen).collect()
    }

    pub fn revoke(&mut self, tenant: &str, id: &str, now: u64) -> bool {
        let before = self.issued.len();
        let is_valid = |one: &IssuedCredential| one.grant.expires_at.is_none_or(|at| at > now);
        self.issued.retain(|one| one.tenant != tenant || one.id != id || !is_valid(one));
        self.issued.len() < before
    }

    pub fn revoke_all(&mut self, tenant: &str, attribute: &Pair, now: u64) -> u32 {
        let ids: Vec<String> = self.of(tenant, attribute).map(|one| one.id.clone()).collect();
        ids.iter().map(|id| u32::from(self.revoke(tenant, id, now))).sum()
    }

    pub fn hash(&mut self, password: &str, hash: String) -> String {
        self.passwords.insert(hash.clone(), password.to_owned());
        hash
    }

    pub fn verify(&self, password: &str, hash: Option<&str>) -> bool {
        hash.and_then(|hash| self.passwords.get(hash)).is_some_and(|known| known == password)
    }

    fn of<'a>(&'a self, tenant: &'a str, attribute: &'a Pair) -> impl Iterator<Item = &'a IssuedCredential> {
        self.issued.iter().filter(move |one| one.tenant == tenant && one.grant.attributes.contains(attribute))
    }
}

impl TestHost {
    /// Keys and tokens that were issued and are not revoked, the oldest first.
    pub fn issued(&self) -> Vec<IssuedCredential> {
        self.committed.borrow().credentials.issued.clone()
    }
}
