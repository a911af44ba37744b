//! Endpoints of webhooks, as a handler uses them: where events of the tenant are delivered to, and what became of each.

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

    /// Makes the endpoint, or takes the place of the one with its id. What the host had disabled is tried again.
    pub fn put(&self, endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
        self.host.subscriptions_put(endpoint)
    }

    /// Whether there was one. Its deliveries go with it.
    pub fn remove(&self, id: &str) -> bool {
        self.host.subscriptions_remove(id)
    }

    pub fn get(&self, id: &str) -> Option<EndpointState> {
        self.host.subscriptions_get(id)
    }

    /// In the order of their ids.
    pub fn all(&self) -> Vec<EndpointState> {
        self.host.subscriptions_all()
    }

    /// What its deliveries are signed with ("whsec_…"): show it when it is new, and not again.
    pub fn secret(&self, id: &str) -> Option<String> {
        self.host.subscriptions_secret(id)
    }

    /// The new secret; the one before it signs as well for a day.
    pub fn rotate_secret(&self, id: &str) -> Option<String> {
        self.host.subscriptions_rotate_secret(id)
    }

    /// The newest first, at most `limit`. `state`: "pending", "retrying", "delivered" or "failed". `None`: there is no such
    /// endpoint, or no page ended at `after`.
    pub fn deliveries(
        &self,
        endpoint: &str,
        state: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Option<DeliveryPage> {
        self.host.subscriptions_deliveries(endpoint, state, after, limit)
    }

    /// `None`: there is no such delivery.
    pub fn attempts(&self, endpoint: &str, event: &str) -> Option<Vec<Attempt>> {
        self.host.subscriptions_attempts(endpoint, event)
    }

    /// Sends an event once more, whatever became of it. Whether there are such an endpoint and event.
    pub fn redeliver(&self, endpoint: &str, event: &str) -> bool {
        self.host.subscriptions_redeliver(endpoint, event)
    }

    /// Sends everything once more that was given up since then (milliseconds). Whether there is such an endpoint.
    pub fn recover(&self, endpoint: &str, since: u64) -> bool {
        self.host.subscriptions_recover(endpoint, since)
    }

    /// Emits an event of a declared type for this endpoint alone; gives its id. `payload` is one JSON text.
    pub fn send_test(&self, endpoint: &str, event_type: &str, payload: &str) -> Option<String> {
        self.host.subscriptions_send_test(endpoint, event_type, payload)
    }
}
