//! Secrets and address rules that all plugins of a host share for outgoing calls.

use std::sync::Arc;

use super::OutboundConfig;
use crate::secrets::{SealingRoot, SigningRoot};

#[derive(Debug)]
pub struct OutboundContext {
    /// Root of the secrets of webhooks.
    pub signing: SigningRoot,
    /// Seals the secrets of tenants' destinations.
    pub sealing: Arc<SealingRoot>,
    /// Addresses that may be called.
    pub addresses: OutboundConfig,
}
