//! A generation: a checked, callable version of a plugin. Immutable; requests hold it by `Arc` and finish on it.
//!
//! Invariant: only `load::load` makes one, after every step of the pipeline before *publish* has passed.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, atomic::AtomicU64},
};

use tenon_bindings::OfferedPre;

use super::{call::CallState, manifest::Manifest};
use crate::{
    config::{PluginConfig, PluginLimits},
    db::model::DataModel,
};

pub struct Generation {
    /// What its running calls need to know of it.
    pub facts: Arc<Facts>,
    /// Hex SHA-256 of the component.
    pub hash: Arc<str>,
    pub manifest: Arc<Manifest>,
    pub config: Arc<PluginConfig>,
    pub model: Arc<DataModel>,
    /// Calls that are running on it now.
    pub in_flight: AtomicU64,
    /// The component with its imports resolved: one instance of it serves one call.
    pub code: OfferedPre<CallState>,
}

/// What a running call needs to know of its generation.
pub struct Facts {
    pub plugin: Arc<str>,
    /// Counts the generations of this process, over all plugins; for metrics, logs and the journal.
    pub generation: u64,
    pub limits: PluginLimits,
    pub settings: BTreeMap<String, serde_json::Value>,
    pub event_types: HashSet<String>,
}
