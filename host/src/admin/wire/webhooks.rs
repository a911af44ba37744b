//! JSON types of webhooks.

use serde::{Deserialize, Serialize};

use super::TimestampText;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointStatus {
    pub plugin: String,
    /// "acme/test"
    pub tenant: String,
    pub id: String,
    pub url: String,
    /// Empty means all.
    pub event_types: Vec<String>,
    /// Empty means all.
    pub subjects: Vec<String>,
    pub enabled: bool,
    /// `None` if it is enabled.
    pub disabled: Option<DisabledStatus>,
    /// Time of the first failure since the last success.
    pub failing_since: Option<TimestampText>,
    /// Number of deliveries without an attempt.
    pub pending: u64,
    /// Number of deliveries that wait for another attempt.
    pub retrying: u64,
    /// Number of deliveries that were given up.
    pub failed: u64,
    /// Commit time of the oldest event that waits for an attempt.
    pub oldest_waiting_at: Option<TimestampText>,
    /// State in the scheduler. `None` if the scheduler has no open queue for it, or did not reply in time.
    pub live: Option<LiveStatus>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisabledStatus {
    /// `None` if the plugin disabled it: the time is not recorded.
    pub at: Option<TimestampText>,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveStatus {
    /// Number of running attempts.
    pub in_flight: usize,
    /// True if repeated failures opened the circuit breaker, which reduces attempts to occasional probes.
    pub breaker_open: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryStatus {
    pub plugin: String,
    pub tenant: String,
    pub endpoint: String,
    /// Event id.
    pub event: String,
    #[serde(rename = "type")]
    pub event_type: String,
    pub subject: String,
    /// "pending", "retrying", "delivered", "failed".
    pub state: String,
    pub attempts: u32,
    pub created_at: TimestampText,
    pub next_at: Option<TimestampText>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptStatus {
    pub number: u32,
    pub at: TimestampText,
    pub duration_ms: u64,
    /// "delivered" or the class of the failure.
    pub outcome: String,
    pub status: Option<u16>,
    /// The first bytes of the response, or the cause of the failure.
    pub answer: String,
}

/// Request to send one event to one endpoint again, immediately.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedeliverRequest {
    #[serde(default)]
    pub plugin: Option<String>,
    #[serde(default)]
    pub tenant: Option<String>,
    pub endpoint: String,
    pub event: String,
}

/// Request to send again, immediately, all deliveries that were given up since a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoverRequest {
    #[serde(default)]
    pub plugin: Option<String>,
    #[serde(default)]
    pub tenant: Option<String>,
    pub endpoint: String,
    pub since: TimestampText,
}

/// Result of a redelivery or a recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResendReport {
    pub plugin: String,
    pub tenant: String,
    pub endpoint: String,
    /// Number of deliveries that are sent again.
    pub deliveries: u64,
    /// If `false`, the deliveries wait until the endpoint is enabled.
    pub enabled: bool,
}
