//! Webhook endpoints, to which events of the tenant are delivered, and the state of the deliveries.

pub use crate::host::{Attempt, Delivery, DeliveryPage, Endpoint, EndpointState, Signature, SubscriptionRefusal};

#[cfg(target_arch = "wasm32")]
use crate::host::Host;
use crate::host::HostRef;

/// The endpoints of this plugin and tenant.
#[derive(Clone, Copy)]
pub struct Subscriptions<'a> {
    host: HostRef<'a>,
}

impl<'a> Subscriptions<'a> {
    pub(crate) fn new(host: HostRef<'a>) -> Subscriptions<'a> {
        Subscriptions { host }
    }

    /// Creates the endpoint, or replaces the endpoint with the same id. Enables an endpoint that the host has disabled.
    pub fn put(&self, endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
        self.host.subscriptions_put(endpoint)
    }

    /// Removes an endpoint and its deliveries. Returns true if it existed.
    pub fn remove(&self, id: &str) -> bool {
        self.host.subscriptions_remove(id)
    }

    /// Returns an endpoint and its state.
    pub fn get(&self, id: &str) -> Option<EndpointState> {
        self.host.subscriptions_get(id)
    }

    /// Returns all endpoints, ordered by id.
    pub fn all(&self) -> Vec<EndpointState> {
        self.host.subscriptions_all()
    }

    /// Returns the signing secret of an endpoint ("whsec_…"). Send it to the caller once, when it is new.
    pub fn secret(&self, id: &str) -> Option<String> {
        self.host.subscriptions_secret(id)
    }

    /// Rotates the signing secret and returns the new one. The previous secret also signs for a day.
    pub fn rotate_secret(&self, id: &str) -> Option<String> {
        self.host.subscriptions_rotate_secret(id)
    }

    /// Returns at most `limit` deliveries, newest first. `state` is "pending", "retrying", "delivered" or "failed".
    /// Returns `None` if the endpoint does not exist, or if `after` is not the `next` of a page.
    pub fn deliveries(
        &self,
        endpoint: &str,
        state: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Option<DeliveryPage> {
        self.host.subscriptions_deliveries(endpoint, state, after, limit)
    }

    /// Returns the attempts of a delivery, or `None` if the delivery does not exist.
    pub fn attempts(&self, endpoint: &str, event: &str) -> Option<Vec<Attempt>> {
        self.host.subscriptions_attempts(endpoint, event)
    }

    /// Delivers an event again, in any state of its delivery. Returns false if the endpoint or the event does not
    /// exist.
    pub fn redeliver(&self, endpoint: &str, event: &str) -> bool {
        self.host.subscriptions_redeliver(endpoint, event)
    }

    /// Retries all deliveries that failed at or after `since` (milliseconds since 1970). Returns false if the endpoint
    /// does not exist.
    pub fn recover(&self, endpoint: &str, since: u64) -> bool {
        self.host.subscriptions_recover(endpoint, since)
    }

    /// Emits an event of a declared type for this endpoint alone, and returns its id. `payload` is one JSON text.
    /// Returns `None` if the endpoint does not exist.
    pub fn send_test(&self, endpoint: &str, event_type: &str, payload: &str) -> Option<String> {
        self.host.subscriptions_send_test(endpoint, event_type, payload)
    }
}
