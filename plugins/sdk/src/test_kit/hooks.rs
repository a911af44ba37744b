//! Endpoints of webhooks in memory, and the deliveries that they were made for.
//!
//! Never sends anything: a delivery waits until a test notes an attempt. Addresses are judged as far as their text goes, by
//! the rules of a host that allows public ones only.

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

/// An event on its way to an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct TestDelivery {
    pub tenant: String,
    pub endpoint: String,
    /// Without an envelope.
    pub payload: Value,
    pub delivery: Delivery,
    pub attempts: Vec<Attempt>,
}

#[derive(Clone)]
struct Standing {
    state: EndpointState,
    secret: String,
}

#[derive(Clone, Default)]
pub(super) struct Hooks {
    /// By tenant and id.
    endpoints: BTreeMap<(String, String), Standing>,
    /// In the order of their events.
    deliveries: Vec<TestDelivery>,
}

impl Hooks {
    pub fn put(
        &mut self,
        tenant: &str,
        endpoint: &Endpoint,
        now: u64,
        new_secret: impl FnOnce() -> String,
    ) -> Result<(), SubscriptionRefusal> {
        check_url(&endpoint.url, tenant.ends_with("/live"))?;
        check_rest(endpoint)?;
        let key = (tenant.to_owned(), endpoint.id.clone());
        let (created_at, secret) = match self.endpoints.get(&key) {
            Some(before) => (before.state.created_at, before.secret.clone()),
            None if self.of(tenant).count() >= ENDPOINTS_MAX as usize => {
                return Err(SubscriptionRefusal::TooMany(ENDPOINTS_MAX));
            }
            None => (now, new_secret()),
        };
        let state = EndpointState { endpoint: endpoint.clone(), created_at, updated_at: now, disabled: None };
        self.endpoints.insert(key, Standing { state, secret });
        Ok(())
    }

    pub fn remove(&mut self, tenant: &str, id: &str) -> bool {
        self.deliveries.retain(|entry| entry.tenant != tenant || entry.endpoint != id);
        self.endpoints.remove(&(tenant.to_owned(), id.to_owned())).is_some()
    }

    pub fn get(&self, tenant: &str, id: &str) -> Option<EndpointState> {
        self.standing(tenant, id).map(|standing| standing.state.clone())
    }

    pub fn all(&self, tenant: &str) -> Vec<EndpointState> {
        self.of(tenant).map(|standing| standing.state.clone()).collect()
    }

    pub fn secret(&self, tenant: &str, id: &str) -> Option<String> {
        self.standing(tenant, id).map(|standing| standing.secret.clone())
    }

    pub fn rotate(&mut self, tenant: &str, id: &str, secret: String, now: u64) -> Option<String> {
        let standing = self.endpoints.get_mut(&(tenant.to_owned(), id.to_owned()))?;
        standing.secret.clone_from(&secret);
        standing.state.updated_at = now;
        Some(secret)
    }

    /// As a host does with an endpoint that has failed for too long.
    pub fn disable(&mut self, tenant: &str, id: &str, reason: &str) {
        let standing = self.endpoints.get_mut(&(tenant.to_owned(), id.to_owned()));
        standing.unwrap_or_else(|| panic!("there is no endpoint {id}")).state.disabled = Some(reason.to_owned());
    }

    /// For every endpoint that wants it; those that are not enabled keep theirs.
    pub fn deliver(&mut self, event: &EmittedEvent, now: u64) {
        let wants = |list: &[String], name: &str| list.is_empty() || list.iter().any(|entry| entry == name);
        let wanting = self.of(&event.tenant).filter(|standing| {
            let endpoint = &standing.state.endpoint;
            wants(&endpoint.event_types, &event.event_type) && wants(&endpoint.subjects, &event.subject)
        });
        let ids: Vec<String> = wanting.map(|standing| standing.state.endpoint.id.clone()).collect();
        self.deliveries.extend(ids.iter().map(|id| new_delivery(event, id, "pending", now)));
    }

    pub fn deliver_to(&mut self, event: &EmittedEvent, endpoint: &str, now: u64) {
        self.deliveries.push(new_delivery(event, endpoint, "pending", now));
    }

    /// The newest first.
    pub fn deliveries(
        &self,
        tenant: &str,
        endpoint: &str,
        state: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Option<DeliveryPage> {
        assert!(state.is_none_or(|state| STATES.contains(&state)), "there is no state of deliveries {state:?}");
        self.standing(tenant, endpoint)?;
        let before: usize = after.map_or(Ok(usize::MAX), str::parse).ok()?;
        let limit = limit.clamp(1, PAGE_MAX) as usize;
        let numbered = self.deliveries.iter().enumerate().rev();
        let found: Vec<(usize, Delivery)> = numbered
            .filter(|(place, entry)| *place < before && entry.tenant == tenant && entry.endpoint == endpoint)
            .filter(|(_, entry)| state.is_none_or(|state| entry.delivery.state == state))
            .map(|(place, entry)| (place, entry.delivery.clone()))
            .take(limit)
            .collect();
        let last = found.last().filter(|_| found.len() == limit);
        let next = last.map(|(place, _)| place.to_string());
        Some(DeliveryPage { deliveries: found.into_iter().map(|(_, delivery)| delivery).collect(), next })
    }

    pub fn attempts(&self, tenant: &str, endpoint: &str, event: &str) -> Option<Vec<Attempt>> {
        self.deliveries.iter().find(|entry| entry.is(tenant, endpoint, event)).map(|entry| entry.attempts.clone())
    }

    /// Makes the delivery where the endpoint never had that event.
    pub fn redeliver(&mut self, tenant: &str, endpoint: &str, event: Option<&EmittedEvent>, now: u64) -> bool {
        let (Some(event), true) = (event, self.standing(tenant, endpoint).is_some()) else { return false };
        match self.deliveries.iter_mut().find(|entry| entry.is(tenant, endpoint, &event.id)) {
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
            let given_up = entry.attempts.last().is_some_and(|attempt| attempt.at >= since);
            if entry.tenant == tenant && entry.endpoint == endpoint && entry.delivery.state == "failed" && given_up {
                entry.send_again(now);
            }
        }
        self.standing(tenant, endpoint).is_some()
    }

    pub fn list(&self) -> &[TestDelivery] {
        &self.deliveries
    }

    pub fn note_attempt(&mut self, tenant: &str, endpoint: &str, event: &str, attempt: Attempt, state: &str) {
        assert!(STATES.contains(&state), "there is no state of deliveries {state}");
        let found = self.deliveries.iter_mut().find(|entry| entry.is(tenant, endpoint, event));
        let entry = found.unwrap_or_else(|| panic!("{event} is not on its way to {endpoint}"));
        entry.delivery.attempts += 1;
        entry.delivery.next_at = None;
        entry.delivery.state = state.to_owned();
        entry.attempts.push(Attempt { number: entry.delivery.attempts, ..attempt });
    }

    fn of(&self, tenant: &str) -> impl Iterator<Item = &Standing> {
        self.endpoints.iter().filter(move |((owner, _), _)| owner == tenant).map(|(_, standing)| standing)
    }

    fn standing(&self, tenant: &str, id: &str) -> Option<&Standing> {
        self.endpoints.get(&(tenant.to_owned(), id.to_owned()))
    }
}

impl TestDelivery {
    fn is(&self, tenant: &str, endpoint: &str, event: &str) -> bool {
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
    let not_a_url = |why: &str| Err(SubscriptionRefusal::NotAUrl(why.to_owned()));
    let shape = "this is not an address of the form https://host/path";
    if url.len() > URL_BYTES_MAX {
        return not_a_url("the address is longer than 2048 bytes");
    }
    let Some((scheme, rest)) = url.split_once("://") else { return not_a_url(shape) };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let bracketed = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(address, _)| address);
    let host = bracketed.unwrap_or_else(|| authority.split(':').next().unwrap_or_default());
    if host.is_empty() || url.contains(|c: char| c.is_whitespace() || c.is_control() || "@#\\".contains(c)) {
        return not_a_url(shape);
    }
    match scheme {
        "https" => {}
        "http" if live => return Err(SubscriptionRefusal::HttpsRequired),
        "http" => {}
        _ => return not_a_url("the address has to begin with https:// or http://"),
    }
    let forbidden = |what: &str| Err(SubscriptionRefusal::AddressNotAllowed(what.to_owned()));
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

fn check_rest(endpoint: &Endpoint) -> Result<(), SubscriptionRefusal> {
    let known = ["hmac-sha256", "hmac-sha512"];
    let is_key = |key: &str| {
        let attribute = key.strip_prefix("api-key:").and_then(|attribute| attribute.split_once('='));
        ["endpoint", "api-key"].contains(&key) || attribute.is_some_and(|(name, _)| !name.is_empty())
    };
    let sound = endpoint.event_types.len() <= FILTER_MAX
        && endpoint.subjects.len() <= FILTER_MAX
        && endpoint.signatures.len() <= SIGNATURES_MAX
        && endpoint.signatures.iter().all(|signature| known.contains(&signature.algorithm.as_str()))
        && endpoint.signatures.iter().all(|signature| is_key(&signature.key))
        && endpoint.note.len() <= NOTE_BYTES_MAX
        && serde_json::from_str::<serde::de::IgnoredAny>(&endpoint.note).is_ok();
    let sentence = "more types, subjects or signatures than an endpoint may have, or a note that is none";
    if sound { Ok(()) } else { Err(SubscriptionRefusal::Malformed(sentence.to_owned())) }
}
