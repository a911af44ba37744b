//! `tenon plugin deploy`: sends a component to the host.

use std::path::PathBuf;

use clap::Args;

use super::{check, swap_report};
use crate::cli::{
    CliError, Outcome,
    client::{Access, segment},
};

#[derive(Args)]
pub struct Deploy {
    /// Component file
    file: PathBuf,
    /// Plugin name in plugins.toml
    #[arg(long)]
    plugin: String,
    /// Publish even if routes or event types are removed, or authentication changes
    #[arg(long)]
    allow_breaking: bool,
    /// Build indexes even if that blocks all writes for several seconds
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
        swap_report(&self.access.put_bytes(&path, bytes).await?, self.json)
    }
}
