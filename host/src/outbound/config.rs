//! Settings of outgoing calls.

use std::path::PathBuf;

use super::{AddressRule, Scheme};

/// Settings of outgoing calls: which addresses they may reach besides public ones, and which roots they trust.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutboundConfig {
    pub test: AddressRule,
    pub live: AddressRule,
    /// PEM files with additional roots.
    pub roots: Vec<PathBuf>,
}

impl OutboundConfig {
    /// Returns the rule for a tenant such as "acme/live".
    pub fn rule(&self, tenant: &str) -> &AddressRule {
        if is_live(tenant) { &self.live } else { &self.test }
    }

    /// Returns the allowed schemes for a tenant: live tenants require TLS.
    pub fn scheme(tenant: &str) -> Scheme {
        if is_live(tenant) { Scheme::HttpsOnly } else { Scheme::HttpOrHttps }
    }
}

/// Returns true for a live tenant, such as "acme/live".
pub fn is_live(tenant: &str) -> bool {
    tenant.ends_with("/live")
}
