//! The tenant's own destinations of outgoing calls, besides the operator's.

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

    /// Creates the destination, or replaces the destination with the same name. The host never returns its secrets, so
    /// every change must contain them.
    pub fn put(&self, destination: &Destination) -> Result<(), DestinationRefusal> {
        self.host.destinations_put(destination)
    }

    /// Removes a destination. Returns true if it existed.
    pub fn remove(&self, name: &str) -> bool {
        self.host.destinations_remove(name)
    }

    /// Returns a destination without its secrets.
    pub fn get(&self, name: &str) -> Option<Destination> {
        self.host.destinations_get(name)
    }
}
