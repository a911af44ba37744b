//! API keys and tokens that a plugin issues, and passwords that it verifies.

pub use crate::host::{Credential, Grant, Issued};

use crate::bindings::tenon::plugin::types::Pair;
#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// The credentials of this plugin and tenant.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    host: HostRef<'a>,
}

impl<'a> Credentials<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Credentials<'a> {
        Credentials { host }
    }

    /// Issues an API key. Its secret is returned only here.
    pub fn issue_key(&self, grant: &Grant) -> Issued {
        self.host.credentials_issue_key(grant)
    }

    /// Issues a token. Its secret is returned only here.
    pub fn issue_token(&self, grant: &Grant) -> Issued {
        self.host.credentials_issue_token(grant)
    }

    /// Returns the tenant's valid credentials with this attribute, oldest first.
    pub fn find(&self, name: &str, value: &str) -> Vec<Credential> {
        self.host.credentials_find(&pair(name, value))
    }

    /// Revokes a credential. Returns true if there was a valid one.
    pub fn revoke(&self, id: &str) -> bool {
        self.host.credentials_revoke(id)
    }

    /// Revokes all valid credentials with this attribute and returns their number.
    pub fn revoke_all(&self, name: &str, value: &str) -> u32 {
        self.host.credentials_revoke_all(&pair(name, value))
    }

    /// Hashes a password with Argon2id. The hash is slow by design.
    pub fn hash_password(&self, password: &str) -> String {
        self.host.credentials_hash_password(password)
    }

    /// Verifies a password. Pass `None` for an unknown user: the call takes as long and returns false.
    pub fn verify_password(&self, password: &str, hash: Option<&str>) -> bool {
        self.host.credentials_verify_password(password, hash)
    }
}

fn pair(name: &str, value: &str) -> Pair {
    Pair { name: name.to_owned(), value: value.to_owned() }
}
