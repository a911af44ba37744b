//! Destinations of the tenant, as a handler uses them: servers that calls may go to, besides those that the operator named.

pub use crate::host::{Destination, DestinationRefusal};

#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// The destinations of this plugin and tenant.
#[derive(Clone, Copy)]
pub struct Destinations<'a> {
    host: HostRef<'a>,
}

impl<'a> Destinations<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Destinations<'a> {
        Destinations { host }
    }

    /// Makes the destination, or takes the place of the one with its name. Its secrets are never given back, and needed again
    /// with every change.
    pub fn put(&self, destination: &Destination) -> Result<(), DestinationRefusal> {
        self.host.destinations_put(destination)
    }

    /// Whether there was one.
    pub fn remove(&self, name: &str) -> bool {
        self.host.destinations_remove(name)
    }

    /// Without secrets.
    pub fn get(&self, name: &str) -> Option<Destination> {
        self.host.destinations_get(name)
    }
}
