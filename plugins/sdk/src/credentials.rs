//! Keys and tokens that a plugin hands out, and passwords that it checks, as a handler uses them.

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

    /// Its secret is seen once.
    pub fn issue_key(&self, grant: &Grant) -> Issued {
        self.host.credentials_issue_key(grant)
    }

    /// Its secret is seen once.
    pub fn issue_token(&self, grant: &Grant) -> Issued {
        self.host.credentials_issue_token(grant)
    }

    /// Those of the tenant that carry this attribute and are valid, the oldest first.
    pub fn find(&self, name: &str, value: &str) -> Vec<Credential> {
        self.host.credentials_find(&pair(name, value))
    }

    /// Whether there was one.
    pub fn revoke(&self, id: &str) -> bool {
        self.host.credentials_revoke(id)
    }

    /// How many there were.
    pub fn revoke_all(&self, name: &str, value: &str) -> u32 {
        self.host.credentials_revoke_all(&pair(name, value))
    }

    /// Slow on purpose.
    pub fn hash_password(&self, password: &str) -> String {
        self.host.credentials_hash_password(password)
    }

    /// `None` for a user that there is not: as slow, and false.
    pub fn verify_password(&self, password: &str, hash: Option<&str>) -> bool {
        self.host.credentials_verify_password(password, hash)
    }
}

fn pair(name: &str, value: &str) -> Pair {
    Pair { name: name.to_owned(), value: value.to_owned() }
}
