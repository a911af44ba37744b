//! `tenon plugin journal`: the operators' journal, filtered by plugin.

use clap::Args;

use super::render;
use crate::{
    admin::wire::JournalLine,
    cli::{
        CliError, Outcome,
        client::{Access, segment},
        output,
    },
};

#[derive(Args)]
pub struct Journal {
    /// List only actions on this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Maximum number of lines
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    access: Access,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Journal {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let is_filtered = self.plugin.is_some();
        let plugin = self.plugin.map(|plugin| format!("&plugin={}", segment(&plugin))).unwrap_or_default();
        let path = format!("/v1/plugins/journal?limit={}{plugin}", self.limit);
        let lines: Vec<JournalLine> = self.access.get(&path).await?;
        if self.json { output::json(&lines) } else { Ok(Outcome::success(render::journal(&lines, is_filtered))) }
    }
}
