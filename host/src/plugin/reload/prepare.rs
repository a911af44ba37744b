//! Prepares a change beside the task: loads and compares the component, checks and prepares the data, stores the bytes.
//!
//! Publishes nothing. Dropping the future cancels the preparation; its files are pruned later.

use std::{panic::AssertUnwindSafe, sync::Arc};

use futures_util::FutureExt;
use tokio::task::spawn_blocking;

use super::{AllowedChanges, DataMigrator, settle::Content};
use crate::{
    config::PluginConfig,
    manifest::Manifest,
    plugin::{
        compare::{self, Severity},
        generation::Generation,
        load::{Candidate, Loader, Steps, SwapError},
    },
};

/// Source of the next generation.
#[derive(Clone)]
pub enum Source {
    Content(Content),
    /// The stored bytes of an earlier component, by hash.
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

/// Input of a preparation.
pub struct Preparation {
    pub plugin: Arc<str>,
    pub config: Arc<PluginConfig>,
    pub source: Source,
    /// Parked generation of this component under these settings.
    pub parked: Option<Arc<Generation>>,
    /// Manifest of the serving generation, to compare with.
    pub serving: Option<Arc<Manifest>>,
    pub allowed: AllowedChanges,
}

/// A generation that may be published.
pub struct Ready {
    pub generation: Arc<Generation>,
    pub notes: Vec<String>,
}

/// Prepares a change. A panic is returned as an error, so that the next change of the plugin can be prepared.
pub async fn prepare(
    loader: &Loader,
    data: &dyn DataMigrator,
    preparation: Preparation,
    steps: &mut Steps,
) -> Result<Ready, SwapError> {
    // No state of a preparation is used after a panic.
    let prepared = AssertUnwindSafe(run_steps(loader, data, preparation, steps)).catch_unwind().await;
    prepared.unwrap_or_else(|_panic| Err(SwapError::new(PANICKED)))
}

pub const PANICKED: &str = "the host failed while it prepared this component (a bug in Tenon); stderr has the details";

async fn run_steps(
    loader: &Loader,
    data: &dyn DataMigrator,
    preparation: Preparation,
    steps: &mut Steps,
) -> Result<Ready, SwapError> {
    let generation = match (&preparation.parked, &preparation.source) {
        (Some(parked), Source::Content(_)) => parked.clone(),
        (Some(parked), Source::Kept(hash)) => {
            check_kept(loader, hash).await?;
            steps.end("read");
            parked.clone()
        }
        (None, Source::Content(content)) => load(loader, &preparation, content.clone(), steps).await?,
        (None, Source::Kept(hash)) => {
            let content = load_stored(loader, hash).await?;
            steps.end("read");
            load(loader, &preparation, content, steps).await?
        }
    };
    let mut notes = compare_with_serving(&preparation, &generation.manifest)?;
    notes.extend(data.check(&preparation.plugin, &generation.manifest, preparation.allowed).await?);
    steps.end("compare");
    data.prepare(&preparation.plugin, &generation.manifest, preparation.allowed).await?;
    if let Source::Content(content) = preparation.source {
        keep(loader, content).await?;
    }
    steps.end("store");
    Ok(Ready { generation, notes })
}

/// Returns the differences that do not prevent the swap: notes, and breaking differences that the operator allows. The
/// error names all breaking differences that are not allowed.
pub fn compare_with_serving(preparation: &Preparation, manifest: &Manifest) -> Result<Vec<String>, SwapError> {
    let Some(serving) = &preparation.serving else { return Ok(Vec::new()) };
    let differences = compare::compare(serving, manifest);
    let breaks = |severity: Severity| severity == Severity::Breaking && !preparation.allowed.breaking;
    let (breaking, notes): (Vec<_>, Vec<_>) =
        differences.into_iter().partition(|difference| breaks(difference.severity));
    if breaking.is_empty() {
        return Ok(notes.into_iter().map(|difference| difference.text).collect());
    }
    let mut reasons: Vec<String> = breaking.into_iter().map(|difference| difference.text).collect();
    reasons.push("this breaks existing callers: deploy it with --allow-breaking if that is intended".into());
    Err(reasons.into())
}

async fn load(
    loader: &Loader,
    preparation: &Preparation,
    content: Content,
    steps: &mut Steps,
) -> Result<Arc<Generation>, SwapError> {
    let candidate = Candidate {
        plugin: preparation.plugin.clone(),
        bytes: content.bytes,
        hash: content.hash,
        config: preparation.config.clone(),
    };
    loader.load(&candidate, steps).await
}

async fn load_stored(loader: &Loader, hash: &Arc<str>) -> Result<Content, SwapError> {
    let (components, wanted_hash) = (loader.components().clone(), hash.clone());
    let bytes = spawn_blocking(move || components.find(&wanted_hash)).await.ok().flatten();
    let bytes = bytes.ok_or_else(|| lost(loader, hash))?;
    Ok(Content { bytes: bytes.into(), hash: hash.clone() })
}

/// Checks that the bytes are stored: without them a generation would not serve after a restart, although its
/// publication was confirmed.
async fn check_kept(loader: &Loader, hash: &Arc<str>) -> Result<(), SwapError> {
    let (components, wanted_hash) = (loader.components().clone(), hash.clone());
    let is_kept = spawn_blocking(move || components.has(&wanted_hash)).await.unwrap_or_default();
    if is_kept { Ok(()) } else { Err(lost(loader, hash)) }
}

fn lost(loader: &Loader, hash: &str) -> SwapError {
    let file = loader.components().path_of(hash);
    SwapError::new(format!(
        "component {hash} is no longer in the data folder: {} is missing or damaged; deploy it again, or restore a backup",
        file.display()
    ))
}

async fn keep(loader: &Loader, content: Content) -> Result<(), SwapError> {
    let components = loader.components().clone();
    let kept = spawn_blocking(move || components.keep(&content.hash, &content.bytes)).await;
    match kept {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(SwapError::transient(format!("it cannot be stored in the data folder: {error}"))),
        Err(_panicked) => Err(SwapError::new("it could not be stored in the data folder")),
    }
}
