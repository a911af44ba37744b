//! JSON types of the operators' listener, used by `tenon` and by operators' programs.
//!
//! They are converted by hand from and to the types of the host, so that both can change independently.

mod audit;
mod backups;
mod chains;
mod clients;
mod health;
mod journal;
mod keys;
mod ledger;
mod outbox;
mod plugins;
mod profile;
mod secret;
mod secrets;
mod seeds;
mod tasks;
mod webhooks;

use serde::{Deserialize, Serialize, de::Error};

pub use audit::*;
pub use backups::*;
pub use chains::*;
pub use clients::*;
pub use health::*;
pub use journal::*;
pub use keys::*;
pub use ledger::*;
pub use outbox::*;
pub use plugins::*;
pub use profile::*;
pub use secrets::*;
pub use seeds::*;
pub use tasks::*;
pub use webhooks::*;

use crate::clock::Timestamp;

/// A point in time: milliseconds here, "2026-01-02T03:04:05.678Z" in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimestampText(pub Timestamp);

impl std::fmt::Display for TimestampText {
    /// Writes three fractional digits, so that timestamps align in columns.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let milliseconds = i64::try_from(self.0).unwrap_or(i64::MAX);
        match jiff::Timestamp::from_millisecond(milliseconds) {
            Ok(timestamp) => write!(out, "{timestamp:.3}"),
            // Out of the range of `jiff`. The text must remain parseable.
            Err(_) => write!(out, "{:.3}", jiff::Timestamp::MAX),
        }
    }
}

impl Serialize for TimestampText {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TimestampText {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<TimestampText, D::Error> {
        let text = String::deserialize(deserializer)?;
        let timestamp: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
        Ok(TimestampText(u64::try_from(timestamp.as_millisecond()).unwrap_or_default()))
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    pub entries: Vec<T>,
    /// Value of `after` for the next page. `None` on the last page.
    pub next: Option<String>,
}

/// Body of every response whose status is not 2xx.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Stable error code for programs.
    pub error: String,
    /// A sentence about the cause.
    pub message: String,
    /// Advice about what to do next. May be empty.
    pub hint: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}
