//! Settings of outgoing calls.

use std::path::PathBuf;

use super::{AddressRule, Scheme};

/// Settings of outgoing calls: which addresses they may reach besides public ones, and which roots they trust.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutboundConfig {
    pub test: AddressRule,
    pub live: AddressRule,
    /// PEM files with roots besides those that are built in.
    pub roots: Vec<PathBuf>,
}

impl OutboundConfig {
    /// For a tenant such as "acme/live".
    pub fn rule(&self, tenant: &str) -> &AddressRule {
        if is_live(tenant) { &self.live } else { &self.test }
    }

    /// Live tenants are served over TLS only.
    pub fn scheme(tenant: &str) -> Scheme {
        if is_live(tenant) { Scheme::HttpsOnly } else { Scheme::HttpToo }
    }
}

/// Whether this is a live tenant, such as "acme/live".
pub fn is_live(tenant: &str) -> bool {
    tenant.ends_with("/live")
}
