//! `tenon plugin check`: all steps up to *compare*, without a server.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    AllowedChanges, DataMigrator,
    prepare::{self, Preparation, Source},
    settle::Content,
};
use crate::{
    config::PluginConfig,
    manifest::Manifest,
    plugin::{
        components,
        load::{Candidate, Loader, Steps, SwapError},
    },
};

/// Result of a check: the result that a deploy would have.
#[derive(Clone, Debug)]
pub struct CheckReport {
    pub plugin: Arc<str>,
    /// Hex SHA-256 of the component.
    pub hash: Arc<str>,
    /// Version in its manifest. `None` if the manifest was not read.
    pub version: Option<String>,
    /// Reasons why it would be refused; empty if it would be published.
    pub reasons: Vec<String>,
    pub notes: Vec<String>,
    /// Milliseconds of each step, in order.
    pub steps_ms: Vec<(String, f64)>,
}

impl CheckReport {
    pub fn passed(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// State against which a component is checked.
pub struct CheckBaseline<'a> {
    pub plugin: Arc<str>,
    pub config: Arc<PluginConfig>,
    /// Manifest of the serving generation, if it is known.
    pub serving: Option<Arc<Manifest>>,
    /// The data, if it is available.
    pub data: Option<&'a dyn DataMigrator>,
    pub allowed: AllowedChanges,
}

/// Checks a component. Changes nothing but the cache of compiled code.
pub async fn check(loader: &Loader, bytes: Bytes, baseline: CheckBaseline<'_>) -> CheckReport {
    let hash = components::hash(&bytes);
    let mut steps = Steps::start();
    let mut version = None;
    let content = Content { bytes, hash: hash.clone() };
    let plugin = baseline.plugin.clone();
    let checked = check_steps(loader, content, baseline, &mut steps, &mut version).await;
    let (notes, reasons) = match checked {
        Ok(notes) => (notes, Vec::new()),
        Err(swap_error) => (Vec::new(), swap_error.reasons),
    };
    CheckReport { plugin, hash, version, reasons, notes, steps_ms: steps.taken }
}

async fn check_steps(
    loader: &Loader,
    content: Content,
    baseline: CheckBaseline<'_>,
    steps: &mut Steps,
    version: &mut Option<String>,
) -> Result<Vec<String>, SwapError> {
    let CheckBaseline { plugin, config, serving, data, allowed } = baseline;
    let candidate = Candidate {
        plugin: plugin.clone(),
        bytes: content.bytes.clone(),
        hash: content.hash.clone(),
        config: config.clone(),
    };
    let generation = loader.load(&candidate, steps).await?;
    *version = Some(generation.manifest.version.clone());
    let preparation = Preparation { plugin, config, source: Source::Content(content), parked: None, serving, allowed };
    let mut notes = prepare::compare_with_serving(&preparation, &generation.manifest)?;
    if let Some(data) = data {
        notes.extend(data.check(&preparation.plugin, &generation.manifest, preparation.allowed).await?);
    }
    steps.end("compare");
    Ok(notes)
}
