//! A generation: a checked, callable version of a plugin. Immutable; requests hold it by `Arc` and finish on it.
//!
//! Invariant: only `load::load` makes one, after every step of the pipeline before *publish* has passed.

use std::sync::{Arc, atomic::AtomicU64};

use tenon_bindings::OfferedPre;

use super::{call::CallState, manifest::Manifest};
use crate::config::PluginConfig;

pub struct Generation {
    pub plugin: Arc<str>,
    /// Counts the generations of this process, over all plugins; for metrics, logs and the journal.
    pub number: u64,
    /// Hex SHA-256 of the component.
    pub hash: Arc<str>,
    pub manifest: Arc<Manifest>,
    pub config: Arc<PluginConfig>,
    /// Calls that are running on it now.
    pub in_flight: AtomicU64,
    /// The component with its imports resolved: one instance of it serves one call.
    pub code: OfferedPre<CallState>,
}
