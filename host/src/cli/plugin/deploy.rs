//! `tenon plugin deploy`: sends the bytes of a component.

use std::path::PathBuf;

use clap::Args;

use super::{check, swapped};
use crate::cli::{
    CliError, Outcome,
    client::{Access, segment},
};

#[derive(Args)]
pub struct Deploy {
    /// The component
    file: PathBuf,
    /// Its name in plugins.toml
    #[arg(long)]
    plugin: String,
    /// Publish even if routes or event types go, or authentication changes
    #[arg(long)]
    allow_breaking: bool,
    /// Make its indexes even if that stops all writes for several seconds
    #[arg(long)]
    allow_slow_index: bool,
    #[command(flatten)]
    access: Access,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Deploy {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let bytes = check::read(&self.file)?;
        let Deploy { plugin, allow_breaking, allow_slow_index, .. } = &self;
        let path = format!(
            "/v1/plugins/{}/component?allow-breaking={allow_breaking}&allow-slow-index={allow_slow_index}",
            segment(plugin)
        );
        swapped(&self.access.put_bytes(&path, bytes).await?, self.json)
    }
}
