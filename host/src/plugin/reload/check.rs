//! `tenon plugin check`: everything up to *publish*, without a server.

use std::sync::Arc;

use bytes::Bytes;

use super::{
    DataGate, Passing,
    prepare::{self, Preparation, Source},
    settle::Content,
};
use crate::manifest::Manifest;
use crate::{
    config::PluginConfig,
    plugin::{
        components,
        load::{Candidate, Loader, Steps, SwapRefusal},
    },
};

/// What would happen to a component that is deployed.
#[derive(Clone, Debug)]
pub struct CheckReport {
    pub plugin: Arc<str>,
    /// Hex SHA-256 of the component.
    pub hash: Arc<str>,
    /// What it says of itself; `None` where it never came to say it.
    pub version: Option<String>,
    /// Why it would be refused; empty where it would be published.
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

/// What a component is checked against.
pub struct Against<'a> {
    pub plugin: Arc<str>,
    pub config: Arc<PluginConfig>,
    /// What serves now, if that is known.
    pub serving: Option<Arc<Manifest>>,
    /// The data, if it can be asked.
    pub data: Option<&'a dyn DataGate>,
    pub passing: Passing,
}

/// Changes nothing but the cache of compiled code.
pub async fn check(loader: &Loader, bytes: Bytes, against: Against<'_>) -> CheckReport {
    let hash = components::hash(&bytes);
    let mut steps = Steps::start();
    let mut version = None;
    let content = Content { bytes, hash: hash.clone() };
    let plugin = against.plugin.clone();
    let judged = judge(loader, content, against, &mut steps, &mut version).await;
    let (notes, reasons) = match judged {
        Ok(notes) => (notes, Vec::new()),
        Err(refusal) => (Vec::new(), refusal.reasons),
    };
    CheckReport { plugin, hash, version, reasons, notes, steps_ms: steps.taken }
}

async fn judge(
    loader: &Loader,
    content: Content,
    against: Against<'_>,
    steps: &mut Steps,
    version: &mut Option<String>,
) -> Result<Vec<String>, SwapRefusal> {
    let Against { plugin, config, serving, data, passing } = against;
    let candidate = Candidate {
        plugin: plugin.clone(),
        bytes: content.bytes.clone(),
        hash: content.hash.clone(),
        config: config.clone(),
    };
    let generation = loader.load(&candidate, steps).await?;
    *version = Some(generation.manifest.version.clone());
    let preparation = Preparation { plugin, config, source: Source::Content(content), parked: None, serving, passing };
    let mut notes = prepare::judge(&preparation, &generation.manifest)?;
    if let Some(data) = data {
        notes.extend(data.check(&preparation.plugin, &generation.manifest, preparation.passing).await?);
    }
    steps.end("compare");
    Ok(notes)
}
