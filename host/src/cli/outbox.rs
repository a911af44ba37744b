//! `tenon outbox`: messages to destinations of the kind "outbox", which are stored instead of being sent.

use clap::Args;

use super::{
    CliError, Outcome,
    client::{Access, segment},
    output,
    table::{Column, Row, render_table},
};
use crate::admin::wire::OutboxMessage;

/// List messages to destinations of the kind "outbox", newest first
#[derive(Args)]
#[command(after_help = "Example:\n  tenon outbox --plugin notes --tenant acme/test --limit 5")]
pub struct Outbox {
    #[command(flatten)]
    access: Access,
    /// List only messages of this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// List only messages of this tenant (organization and environment)
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// Maximum number of messages
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Outbox {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let mut path = format!("/v1/outbox?limit={}", self.limit);
        for (name, value) in [("plugin", &self.plugin), ("tenant", &self.tenant)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", segment(value)));
            }
        }
        let messages: Vec<OutboxMessage> = self.access.get(&path).await?;
        if self.json {
            return output::json(&messages);
        }
        let is_filtered = self.plugin.is_some() || self.tenant.is_some();
        Ok(Outcome::success(output::printable_lines(&render(&messages, is_filtered))))
    }
}

/// Renders a table. `is_filtered` means that a filter may have excluded messages.
pub(super) fn render(messages: &[OutboxMessage], is_filtered: bool) -> String {
    if messages.is_empty() {
        let text = match is_filtered {
            true => "No stored message matches the filter.\n",
            false => "There are no stored messages.\n",
        };
        return text.to_owned();
    }
    let columns = [
        Column::Left("AT"),
        Column::Left("PLUGIN"),
        Column::Left("TENANT"),
        Column::Left("DESTINATION"),
        Column::Left("MESSAGE"),
        Column::Right("BYTES"),
        Column::Left("REQUEST"),
    ];
    let rows = messages.iter().map(|message| {
        let names = [&message.plugin, &message.tenant, &message.destination, &message.id].map(String::clone);
        let request = format!("{} {}", message.method, message.path);
        let rest = [message.bytes.to_string(), request];
        Row {
            cells: std::iter::once(message.at.to_string()).chain(names).chain(rest).collect(),
            notes: message.body.lines().map(str::to_owned).collect(),
        }
    });
    render_table(&columns, &rows.collect::<Vec<_>>())
}
