//! What every plugin of a host shares of the outside world.

use std::sync::Arc;

use super::OutboundConfig;
use crate::secrets::{SealingRoot, SigningRoot};

#[derive(Debug)]
pub struct Outside {
    /// Where webhooks get their secrets from.
    pub signing: SigningRoot,
    /// What seals the secrets of tenants' destinations.
    pub sealing: Arc<SealingRoot>,
    /// Which addresses may be called.
    pub addresses: OutboundConfig,
}
