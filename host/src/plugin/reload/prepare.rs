//! Everything between a change and its publication, beside the task: load, compare, ask the data, keep the bytes.
//!
//! Never publishes. Dropping the future abandons it; what it left on disk is pruned later.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use tokio::task::spawn_blocking;

use super::{DataGate, Passing, settle::Content};
use crate::manifest::Manifest;
use crate::{
    config::PluginConfig,
    plugin::{
        compare::{self, Weight},
        generation::Generation,
        load::{Candidate, Loader, Steps, SwapRefusal},
    },
};

/// Where the next generation comes from.
#[derive(Clone)]
pub enum Source {
    Content(Content),
    /// The bytes of an earlier one, by hash.
    Kept(Arc<str>),
}

impl Source {
    pub fn hash(&self) -> &Arc<str> {
        match self {
            Source::Content(content) => &content.hash,
            Source::Kept(hash) => hash,
        }
    }
}

/// What is to be prepared.
pub struct Preparation {
    pub plugin: Arc<str>,
    pub config: Arc<PluginConfig>,
    pub source: Source,
    /// The generation of this component that is still compiled and linked under these settings.
    pub parked: Option<Arc<Generation>>,
    /// What serves now; nothing to compare with where nothing does.
    pub serving: Option<Arc<Manifest>>,
    pub passing: Passing,
}

/// What may be published.
pub struct Ready {
    pub generation: Arc<Generation>,
    pub notes: Vec<String>,
}

/// A panic is a refusal as well: the change has an end, and the plugin takes the next one.
pub async fn prepare(
    loader: &Loader,
    data: &dyn DataGate,
    preparation: Preparation,
    steps: &mut Steps,
) -> Result<Ready, SwapRefusal> {
    // Nothing of a preparation is used after its panic.
    let prepared = AssertUnwindSafe(run_steps(loader, data, preparation, steps)).catch_unwind().await;
    prepared.unwrap_or_else(|_panic| Err(SwapRefusal::because(PANICKED)))
}

pub const PANICKED: &str = "the host failed while it prepared this component (a bug in Tenon); stderr has the details";

async fn run_steps(
    loader: &Loader,
    data: &dyn DataGate,
    preparation: Preparation,
    steps: &mut Steps,
) -> Result<Ready, SwapRefusal> {
    let generation = match (&preparation.parked, &preparation.source) {
        (Some(parked), Source::Content(_)) => parked.clone(),
        (Some(parked), Source::Kept(hash)) => {
            check_kept(loader, hash).await?;
            steps.end("read");
            parked.clone()
        }
        (None, Source::Content(content)) => load(loader, &preparation, content.clone(), steps).await?,
        (None, Source::Kept(hash)) => {
            let content = find_kept(loader, hash).await?;
            steps.end("read");
            load(loader, &preparation, content, steps).await?
        }
    };
    let mut notes = judge(&preparation, &generation.manifest)?;
    notes.extend(data.check(&preparation.plugin, &generation.manifest, preparation.passing).await?);
    steps.end("compare");
    data.prepare(&preparation.plugin, &generation.manifest, preparation.passing).await?;
    if let Source::Content(content) = preparation.source {
        keep(loader, content).await?;
    }
    steps.end("store");
    Ok(Ready { generation, notes })
}

/// Differences that only deserve a note; a refusal that names every breaking one.
pub fn judge(preparation: &Preparation, manifest: &Manifest) -> Result<Vec<String>, SwapRefusal> {
    let Some(serving) = &preparation.serving else { return Ok(Vec::new()) };
    let differences = compare::compare(serving, manifest);
    let breaks = |weight: Weight| weight == Weight::Breaking && !preparation.passing.breaking;
    let (breaking, notes): (Vec<_>, Vec<_>) = differences.into_iter().partition(|difference| breaks(difference.weight));
    if breaking.is_empty() {
        return Ok(notes.into_iter().map(|difference| difference.text).collect());
    }
    let mut reasons: Vec<String> = breaking.into_iter().map(|difference| difference.text).collect();
    reasons.push("this breaks callers of today: deploy it with --allow-breaking if that is meant".into());
    Err(reasons.into())
}

async fn load(
    loader: &Loader,
    preparation: &Preparation,
    content: Content,
    steps: &mut Steps,
) -> Result<Arc<Generation>, SwapRefusal> {
    let candidate = Candidate {
        plugin: preparation.plugin.clone(),
        bytes: content.bytes,
        hash: content.hash,
        config: preparation.config.clone(),
    };
    loader.load(&candidate, steps).await
}

async fn find_kept(loader: &Loader, hash: &Arc<str>) -> Result<Content, SwapRefusal> {
    let (components, wanted) = (loader.components().clone(), hash.clone());
    let bytes = spawn_blocking(move || components.find(&wanted)).await.ok().flatten();
    let bytes = bytes.ok_or_else(|| lost(loader, hash))?;
    Ok(Content { bytes: bytes.into(), hash: hash.clone() })
}

/// A generation whose bytes are lost would not serve after a restart, although its publication was confirmed.
async fn check_kept(loader: &Loader, hash: &Arc<str>) -> Result<(), SwapRefusal> {
    let (components, wanted) = (loader.components().clone(), hash.clone());
    let is_kept = spawn_blocking(move || components.has(&wanted)).await.unwrap_or_default();
    if is_kept { Ok(()) } else { Err(lost(loader, hash)) }
}

fn lost(loader: &Loader, hash: &str) -> SwapRefusal {
    let file = loader.components().path_of(hash);
    SwapRefusal::because(format!(
        "component {hash} is no longer in the data folder: {} is missing or damaged; deploy it again, or restore a backup",
        file.display()
    ))
}

async fn keep(loader: &Loader, content: Content) -> Result<(), SwapRefusal> {
    let components = loader.components().clone();
    let kept = spawn_blocking(move || components.keep(&content.hash, &content.bytes)).await;
    match kept {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(SwapRefusal::transient(format!("it cannot be kept in the data folder: {error}"))),
        Err(_panicked) => Err(SwapRefusal::because("it could not be kept in the data folder")),
    }
}
