//! `tenon journal`: the operators' journal.

use clap::Args;

use super::{
    CliError, Outcome,
    client::{Access, segment},
    output,
    plugin::render,
    time_argument::TimeArgument,
};
use crate::admin::wire::JournalLine;

/// List operator actions (keys, clients, swaps, webhooks, tasks, backups, …), newest first
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon journal --limit 50\n  tenon journal --action create-key --operator ada --json\n  \
    tenon journal --since 2h"
)]
pub struct Journal {
    /// List only actions on this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// List only actions of this operator
    #[arg(long, value_name = "NAME")]
    operator: Option<String>,
    /// List only this action, such as create-key
    #[arg(long)]
    action: Option<String>,
    /// Earliest time: a timestamp, a day, or an age such as 90m, 2h, 3d
    #[arg(long, value_parser = TimeArgument::parse, value_name = "TIME")]
    since: Option<TimeArgument>,
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
        let since = self.since.map(|since| since.timestamp().to_string());
        let options =
            [("plugin", &self.plugin), ("operator", &self.operator), ("action", &self.action), ("since", &since)];
        let parameters =
            options.iter().filter_map(|(name, value)| Some(format!("&{name}={}", segment(value.as_ref()?))));
        let path = format!("/v1/journal?limit={}{}", self.limit, parameters.collect::<String>());
        let lines: Vec<JournalLine> = self.access.get(&path).await?;
        let is_filtered = options.iter().any(|(_, value)| value.is_some());
        if self.json { output::json(&lines) } else { Ok(Outcome::success(render::journal(&lines, is_filtered))) }
    }
}
