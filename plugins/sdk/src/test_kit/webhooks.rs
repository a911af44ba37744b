//! Webhook endpoints and their deliveries in memory.
//!
//! Nothing is sent: a delivery waits until the test records an attempt. URLs are checked without name resolution, by
//! the rules of a host that allows public addresses only.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;

use super::memory::EmittedEvent;
use crate::host::{Attempt, Delivery, DeliveryPage, Endpoint, EndpointState, SubscriptionRefusal};

const ENDPOINTS_MAX: u32 = 1_000;
const FILTER_MAX: usize = 256;
const SIGNATURES_MAX: usize = 4;
const NOTE_BYTES_MAX: usize = 16 << 10;
const PAGE_MAX: u32 = 100;
const URL_BYTES_MAX: usize = 2_048;
const STATES: [&str; 4] = ["pending", "retrying", "delivered", "failed"];

/// Delivery of an event to an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct TestDelivery {
    pub tenant: String,
    pub endpoint: String,
    /// Payload of the event, without an envelope.
    pub payload: Value,
    pub delivery: Delivery,
    pub attempts: Vec<Attempt>,
}

#[derive(Clone)]
struct StoredEndpoint {
    state: EndpointState,
    secret: String,
}

#[derive(Clone, Default)]
pub(super) struct Webhooks {
    /// Endpoints by tenant and id.
    endpoints: BTreeMap<(String, String), StoredEndpoint>,
    /// Deliveries in the order of their events.
    deliveries: Vec<TestDelivery>,
}

impl Webhooks {
    pub fn put(
        &mut self,
        tenant: &str,
        endpoint: &Endpoint,
        now: u64,
        new_secret: impl FnOnce() -> String,
    ) -> Result<(), SubscriptionRefusal> {
        check_url(&endpoint.url, tenant.ends_with("/live"))?;
        check_fields(endpoint)?;
        let key = (tenant.to_owned(), endpoint.id.clone());
        let (created_at, secret) = match self.endpoints.get(&key) {
            Some(before) => (before.state.created_at, before.secret.clone()),
            None if self.endpoints_of(tenant).count() >= ENDPOINTS_MAX as usize => {
                return Err(SubscriptionRefusal::TooMany(ENDPOINTS_MAX));
            }
            None => (now, new_secret()),
        };
        let state = EndpointState { endpoint: endpoint.clone(), created_at, updated_at: now, disabled: None };
        self.endpoints.insert(key, StoredEndpoint { state, secret });
        Ok(())
    }

    pub fn remove(&mut self, tenant: &str, id: &str) -> bool {
        self.deliveries.retain(|entry| entry.tenant != tenant || entry.endpoint != id);
        self.endpoints.remove(&(tenant.to_owned(), id.to_owned())).is_some()
    }

    pub fn get(&self, tenant: &str, id: &str) -> Option<EndpointState> {
        self.stored_endpoint(tenant, id).map(|stored| stored.state.clone())
    }

    pub fn all(&self, tenant: &str) -> Vec<EndpointState> {
        self.endpoints_of(tenant).map(|stored| stored.state.clone()).collect()
    }

    pub fn secret(&self, tenant: &str, id: &str) -> Option<String> {
        self.stored_endpoint(tenant, id).map(|stored| stored.secret.clone())
    }

    pub fn rotate(&mut self, tenant: &str, id: &str, secret: String, now: u64) -> Option<String> {
        let stored = self.endpoints.get_mut(&(tenant.to_owned(), id.to_owned()))?;
        stored.secret.clone_from(&secret);
        stored.state.updated_at = now;
        Some(secret)
    }

    /// Disables an endpoint, as the host does when deliveries fail for too long.
    pub fn disable(&mut self, tenant: &str, id: &str, reason: &str) {
        let stored = self.endpoints.get_mut(&(tenant.to_owned(), id.to_owned()));
        stored.unwrap_or_else(|| panic!("the endpoint {id} does not exist")).state.disabled = Some(reason.to_owned());
    }

    /// Creates a delivery for every endpoint that subscribes to the event, including disabled endpoints.
    pub fn deliver(&mut self, event: &EmittedEvent, now: u64) {
        let selects = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        let subscribed = self.endpoints_of(&event.tenant).filter(|stored| {
            let endpoint = &stored.state.endpoint;
            selects(&endpoint.event_types, &event.event_type) && selects(&endpoint.subjects, &event.subject)
        });
        let ids: Vec<String> = subscribed.map(|stored| stored.state.endpoint.id.clone()).collect();
        self.deliveries.extend(ids.iter().map(|id| new_delivery(event, id, "pending", now)));
    }

    pub fn deliver_to(&mut self, event: &EmittedEvent, endpoint: &str, now: u64) {
        self.deliveries.push(new_delivery(event, endpoint, "pending", now));
    }

    /// Returns a page of deliveries, newest first.
    pub fn deliveries(
        &self,
        tenant: &str,
        endpoint: &str,
        state: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Option<DeliveryPage> {
        assert!(state.is_none_or(|state| STATES.contains(&state)), "the delivery state {state:?} does not exist");
        self.stored_endpoint(tenant, endpoint)?;
        let before: usize = after.map_or(Ok(usize::MAX), str::parse).ok()?;
        let limit = limit.clamp(1, PAGE_MAX) as usize;
        let numbered = self.deliveries.iter().enumerate().rev();
        let found: Vec<(usize, Delivery)> = numbered
            .filter(|(position, entry)| *position < before && entry.tenant == tenant && entry.endpoint == endpoint)
            .filter(|(_, entry)| state.is_none_or(|state| entry.delivery.state == state))
            .map(|(position, entry)| (position, entry.delivery.clone()))
            .take(limit)
            .collect();
        let last = found.last().filter(|_| found.len() == limit);
        let next = last.map(|(position, _)| position.to_string());
        Some(DeliveryPage { deliveries: found.into_iter().map(|(_, delivery)| delivery).collect(), next })
    }

    pub fn attempts(&self, tenant: &str, endpoint: &str, event: &str) -> Option<Vec<Attempt>> {
        self.deliveries.iter().find(|entry| entry.matches(tenant, endpoint, event)).map(|entry| entry.attempts.clone())
    }

    /// Delivers an event again. Creates the delivery if the endpoint has none for this event.
    pub fn redeliver(&mut self, tenant: &str, endpoint: &str, event: Option<&EmittedEvent>, now: u64) -> bool {
        let (Some(event), true) = (event, self.stored_endpoint(tenant, endpoint).is_some()) else { return false };
        match self.deliveries.iter_mut().find(|entry| entry.matches(tenant, endpoint, &event.id)) {
            Some(entry) => entry.send_again(now),
            None => {
                let mut entry = new_delivery(event, endpoint, "retrying", now);
                entry.delivery.next_at = Some(now);
                self.deliveries.push(entry);
            }
        }
        true
    }

    pub fn recover(&mut self, tenant: &str, endpoint: &str, since: u64, now: u64) -> bool {
        for entry in &mut self.deliveries {
            let is_recent = entry.attempts.last().is_some_and(|attempt| attempt.at >= since);
            if entry.tenant == tenant && entry.endpoint == endpoint && entry.delivery.state == "failed" && is_recent {
                entry.send_again(now);
            }
        }
        self.stored_endpoint(tenant, endpoint).is_some()
    }

    pub fn list(&self) -> &[TestDelivery] {
        &self.deliveries
    }

    pub fn record_attempt(&mut self, tenant: &str, endpoint: &str, event: &str, attempt: Attempt, state: &str) {
        assert!(STATES.contains(&state), "the delivery state {state} does not exist");
        let found = self.deliveries.iter_mut().find(|entry| entry.matches(tenant, endpoint, event));
        let entry = found.unwrap_or_else(|| panic!("{event} has no delivery to {endpoint}"));
        entry.delivery.attempts += 1;
        entry.delivery.next_at = None;
        entry.delivery.state = state.to_owned();
        entry.attempts.push(Attempt { number: entry.delivery.attempts, ..attempt });
    }

    fn endpoints_of(&self, tenant: &str) -> impl Iterator<Item = &StoredEndpoint> {
        self.endpoints.iter().filter(move |((owner, _), _)| owner == tenant).map(|(_, stored)| stored)
    }

    fn stored_endpoint(&self, tenant: &str, id: &str) -> Option<&StoredEndpoint> {
        self.endpoints.get(&(tenant.to_owned(), id.to_owned()))
    }
}

impl TestDelivery {
    fn matches(&self, tenant: &str, endpoint: &str, event: &str) -> bool {
        self.tenant == tenant && self.endpoint == endpoint && self.delivery.event == event
    }

    fn send_again(&mut self, now: u64) {
        "retrying".clone_into(&mut self.delivery.state);
        self.delivery.next_at = Some(now);
    }
}

fn new_delivery(event: &EmittedEvent, endpoint: &str, state: &str, now: u64) -> TestDelivery {
    let delivery = Delivery {
        event: event.id.clone(),
        event_type: event.event_type.clone(),
        subject: event.subject.clone(),
        state: state.to_owned(),
        attempts: 0,
        created_at: now,
        next_at: None,
    };
    let (tenant, endpoint, payload) = (event.tenant.clone(), endpoint.to_owned(), event.payload.clone());
    TestDelivery { tenant, endpoint, payload, delivery, attempts: Vec::new() }
}

pub(super) fn check_url(url: &str, live: bool) -> Result<(), SubscriptionRefusal> {
    let not_a_url = |message: &str| Err(SubscriptionRefusal::NotAUrl(message.to_owned()));
    let not_of_the_form = "this is not an address of the form https://host/path";
    if url.len() > URL_BYTES_MAX {
        return not_a_url("the address is longer than 2048 bytes");
    }
    let Some((scheme, rest)) = url.split_once("://") else { return not_a_url(not_of_the_form) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(address, _)| address);
    let host = bracketed.unwrap_or_else(|| authority.split(':').next().unwrap_or_default());
    if host.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control() || "@#\\".contains(c)) {
        return not_a_url(not_of_the_form);
    }
    match scheme {
        "https" => {}
        "http" if live => return Err(SubscriptionRefusal::HttpsRequired),
        "http" => {}
        _ => return not_a_url("the address has to begin with https:// or http://"),
    }
    let forbidden = |message: &str| Err(SubscriptionRefusal::AddressNotAllowed(message.to_owned()));
    match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_loopback() => forbidden("the host is a loopback address, which may not be called"),
        Ok(IpAddr::V4(ip)) if ip.is_private() => forbidden("the host is a private address, which may not be called"),
        Ok(IpAddr::V4(ip)) if ip.is_link_local() => {
            forbidden("the host is a link-local address, which may not be called")
        }
        Err(_) if host == "localhost" => forbidden("the host is a loopback address, which may not be called"),
        Err(_) if !host.contains('.') => not_a_url("the name of the host is not a full public name"),
        _ => Ok(()),
    }
}

fn check_fields(endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
    let algorithms = ["hmac-sha256", "hmac-sha512"];
    let is_key = |key: &str| {
        let attribute = key.strip_prefix("api-key:").and_then(|attribute| attribute.split_once('='));
        ["endpoint", "api-key"].contains(&key) || attribute.is_some_and(|(name, _)| !name.is_empty())
    };
    let is_valid = endpoint.event_types.len() <= FILTER_MAX
        && endpoint.subjects.len() <= FILTER_MAX
        && endpoint.signatures.len() <= SIGNATURES_MAX
        && endpoint.signatures.iter().all(|signature| algorithms.contains(&signature.algorithm.as_str()))
        && endpoint.signatures.iter().all(|signature| is_key(&signature.key))
        && endpoint.note.len() <= NOTE_BYTES_MAX
        && serde_json::from_str::<serde::de::IgnoredAny>(&endpoint.note).is_ok();
    let message = "too many types, subjects or signatures, an unknown signature, or an invalid note";
    if is_valid { Ok(()) } else { Err(SubscriptionRefusal::Malformed(message.to_owned())) }
}
