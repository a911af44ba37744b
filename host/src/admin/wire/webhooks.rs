//! JSON about webhooks.

use serde::{Deserialize, Serialize};

use super::Moment;

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    pub entries: Vec<T>,
    /// What `after` is to be for the next page; null where this is the last.
    pub next: Option<String>,
}

/// An endpoint, named as far as need be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointName {
    pub plugin: Option<String>,
    /// "acme/test"
    pub tenant: Option<String>,
    pub endpoint: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointStatus {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    pub id: String,
    pub url: String,
    /// Empty: all.
    pub event_types: Vec<String>,
    /// Empty: all.
    pub subjects: Vec<String>,
    pub enabled: bool,
    /// Why it is not enabled.
    pub disabled: Option<DisabledStatus>,
    /// Since when it has done nothing but fail.
    pub failing_since: Option<Moment>,
    /// Deliveries without an attempt.
    pub pending: u64,
    /// Deliveries that wait for another attempt.
    pub retrying: u64,
    /// Deliveries that were given up.
    pub failed: u64,
    /// When the oldest event was committed that waits for an attempt.
    pub oldest_waiting_at: Option<Moment>,
    /// What the scheduler knows; null where it did not answer in time.
    pub live: Option<LiveStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledStatus {
    /// `None`: by the plugin, which does not say when.
    pub at: Option<Moment>,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveStatus {
    /// Attempts that are under way.
    pub in_flight: usize,
    /// Whether it failed so often that it is only tried now and then.
    pub breaker_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryStatus {
    pub plugin: String,
    pub tenant: String,
    pub endpoint: String,
    /// Its id.
    pub event: String,
    #[serde(rename = "type")]
    pub event_type: String,
    pub subject: String,
    /// "pending", "retrying", "delivered", "failed".
    pub state: String,
    pub attempts: u32,
    pub created_at: Moment,
    pub next_at: Option<Moment>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStatus {
    pub number: u32,
    pub at: Moment,
    pub duration_ms: u64,
    /// "delivered" or the class of the failure.
    pub outcome: String,
    pub status: Option<u16>,
    /// The first bytes of the answer, or what went wrong.
    pub answer: String,
}

/// One event, once more, now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redeliver {
    #[serde(default)]
    pub plugin: Option<String>,
    #[serde(default)]
    pub tenant: Option<String>,
    pub endpoint: String,
    pub event: String,
}

/// Everything that was given up since then, once more, now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recover {
    #[serde(default)]
    pub plugin: Option<String>,
    #[serde(default)]
    pub tenant: Option<String>,
    pub endpoint: String,
    pub since: Moment,
}

/// What was ordered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResendReport {
    pub plugin: String,
    pub tenant: String,
    pub endpoint: String,
    /// How many are delivered again.
    pub deliveries: u64,
    /// If it is not, they wait until it is.
    pub enabled: bool,
}
