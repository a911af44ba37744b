//! `tenon journal`: what operators did.

use clap::Args;

use super::{
    CliError, Outcome,
    client::{Access, segment},
    plugin::words,
    show,
    since::Since,
};
use crate::admin::wire::JournalLine;

/// The operators' journal: keys, clients, swaps, webhooks, tasks, backups, …, newest first
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon journal --limit 50\n  tenon journal --action create-key --operator ada --json\n  \
    tenon journal --since 2h"
)]
pub struct Journal {
    /// Only this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Only this operator
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// Only this action, such as create-key
    #[arg(long)]
    action: Option<String>,
    /// From then on: a time as the table shows it, a day, or how long ago: 90m, 2h, 3d
    #[arg(long, value_parser = Since::parse, value_name = "TIME")]
    since: Option<Since>,
    /// Lines
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
        let since = self.since.map(|since| since.moment().to_string());
        let options =
            [("plugin", &self.plugin), ("operator", &self.operator), ("action", &self.action), ("since", &since)];
        let given = options.iter().filter_map(|(name, value)| Some(format!("&{name}={}", segment(value.as_ref()?))));
        let path = format!("/v1/journal?limit={}{}", self.limit, given.collect::<String>());
        let lines: Vec<JournalLine> = self.access.get(&path).await?;
        let is_filtered = options.iter().any(|(_, value)| value.is_some());
        if self.json { show::json(&lines) } else { Ok(Outcome::good(words::journal(&lines, is_filtered))) }
    }
}
