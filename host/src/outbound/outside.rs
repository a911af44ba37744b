//! What every plugin of a host shares of the outside world.

use crate::{config::OutboundConfig, secrets::SigningRoot};

#[derive(Debug)]
pub struct Outside {
    /// Where webhooks get their secrets from.
    pub signing: SigningRoot,
    /// Which addresses may be called.
    pub addresses: OutboundConfig,
}
