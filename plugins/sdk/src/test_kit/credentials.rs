//! API keys, tokens and passwords in memory. No cryptography: a hash is a random string, stored with its
//! password.

use std::collections::BTreeMap;

use super::TestHost;
use crate::bindings::tenon::plugin::types::Pair;
use crate::host::{Credential, Grant, Issued};

/// A credential that was issued and is not revoked.
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
    /// Credentials in order of issue.
    issued: Vec<IssuedCredential>,
    /// Number of credentials issued so far, including revoked ones.
    issued_count: u64,
    /// Passwords by hash.
    passwords: BTreeMap<String, String>,
}

impl Credentials {
    pub fn issue(&mut self, tenant: &str, kind: &'static str, grant: &Grant, now: u64) -> Issued {
        self.issued_count += 1;
        let number = self.issued_count;
        let (id, secret) = (format!("cred_{number:010}"), format!("secret-{kind}-{number:010}"));
        let issued = Issued { id: id.clone(), secret: secret.clone() };
        let (tenant, grant) = (tenant.to_owned(), grant.clone());
        self.issued.push(IssuedCredential { tenant, id, kind, secret, grant, created_at: now });
        issued
    }

    pub fn find(&self, tenant: &str, attribute: &Pair, now: u64) -> Vec<Credential> {
        let valid = self.with_attribute(tenant, attribute).filter(|issued| issued.is_valid(now));
        let view = |issued: &IssuedCredential| Credential {
            id: issued.id.clone(),
            kind: issued.kind.to_owned(),
            label: issued.grant.label.clone(),
            created_at: issued.created_at,
            expires_at: issued.grant.expires_at,
            last_used_at: None,
        };
        valid.map(view).collect()
    }

    pub fn revoke(&mut self, tenant: &str, id: &str, now: u64) -> bool {
        let before = self.issued.len();
        self.issued.retain(|issued| issued.tenant != tenant || issued.id != id || !issued.is_valid(now));
        self.issued.len() < before
    }

    pub fn revoke_all(&mut self, tenant: &str, attribute: &Pair, now: u64) -> u32 {
        let ids: Vec<String> = self.with_attribute(tenant, attribute).map(|issued| issued.id.clone()).collect();
        ids.iter().map(|id| u32::from(self.revoke(tenant, id, now))).sum()
    }

    pub fn hash(&mut self, password: &str, hash: String) -> String {
        self.passwords.insert(hash.clone(), password.to_owned());
        hash
    }

    pub fn verify(&self, password: &str, hash: Option<&str>) -> bool {
        hash.and_then(|hash| self.passwords.get(hash)).is_some_and(|stored| stored == password)
    }

    fn with_attribute<'a>(
        &'a self,
        tenant: &'a str,
        attribute: &'a Pair,
    ) -> impl Iterator<Item = &'a IssuedCredential> {
        self.issued.iter().filter(move |issued| issued.tenant == tenant && issued.grant.attributes.contains(attribute))
    }
}

impl IssuedCredential {
    fn is_valid(&self, now: u64) -> bool {
        self.grant.expires_at.is_none_or(|at| at > now)
    }
}

impl TestHost {
    /// Returns the keys and tokens that were issued and are not revoked, oldest first.
    pub fn issued(&self) -> Vec<IssuedCredential> {
        self.committed.borrow().credentials.issued.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Grant {
        Grant { label: String::new(), attributes: Vec::new(), scopes: Vec::new(), expires_at: None, signs: false }
    }

    #[test]
    fn revoked_id_and_secret_are_not_issued_again() {
        let mut credentials = Credentials::default();
        let revoked = credentials.issue("acme/test", "api-key", &grant(), 0);
        let kept = credentials.issue("acme/test", "api-key", &grant(), 0);
        assert!(credentials.revoke("acme/test", &revoked.id, 0));
        let newest = credentials.issue("acme/test", "api-key", &grant(), 0);
        assert_ne!(newest.id, kept.id);
        assert_ne!(newest.secret, kept.secret);
        assert!(credentials.revoke("acme/test", &newest.id, 0));
        let remaining: Vec<&str> = credentials.issued.iter().map(|issued| issued.id.as_str()).collect();
        assert_eq!(remaining, [kept.id.as_str()]);
    }
}
