//! `tenon webhook …`: endpoints, deliveries, attempts, redelivery and recovery.

pub(super) mod render;

use clap::{Args, Subcommand, ValueEnum};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    output,
    time_argument::TimeArgument,
};
use crate::admin::wire::{
    AttemptStatus, DeliveryStatus, EndpointStatus, Page, RecoverRequest, RedeliverRequest, ResendReport,
};

/// Manage webhooks: endpoints, deliveries, attempts, redeliver, recover
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon webhook endpoints --tenant acme/test\n  tenon webhook deliveries --state failed\n  \
    tenon webhook recover ENDPOINT --since 2h"
)]
pub struct Webhook {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List endpoints with their state and their numbers of deliveries
    #[command(after_help = "Example:\n  tenon webhook endpoints --plugin fleet --tenant acme/test")]
    Endpoints(Endpoints),
    /// List deliveries, grouped by endpoint and newest first
    #[command(after_help = "Example:\n  tenon webhook deliveries --endpoint ENDPOINT --state failed --limit 20")]
    Deliveries(Deliveries),
    /// List the attempts of one delivery with the first bytes of each response
    #[command(after_help = "Example:\n  tenon webhook attempts ENDPOINT EVENT")]
    Attempts(Attempts),
    /// Send one event to one endpoint again now, even if it was delivered
    #[command(after_help = "Example:\n  tenon webhook redeliver ENDPOINT EVENT")]
    Redeliver(Attempts),
    /// Send again all deliveries that were given up since a time (state `failed`)
    #[command(after_help = "Example:\n  tenon webhook recover ENDPOINT --since 2h\n  \
        tenon webhook recover ENDPOINT --since 2026-01-02T03:04:05Z\n\n\
        Deliveries that wait for a later attempt (`retrying`) keep their time: send one of them now with `tenon webhook redeliver`.")]
    Recover(RecoverArgs),
}

#[derive(Args)]
struct Filter {
    /// Select only this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Select only this tenant (organization and environment)
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
}

#[derive(Args)]
struct Paging {
    /// Maximum number of lines
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Continue after the previous page
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Endpoints {
    #[command(flatten)]
    filter: Filter,
    /// Select only endpoints with this id
    #[arg(long)]
    endpoint: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
struct Deliveries {
    #[command(flatten)]
    filter: Filter,
    /// Select only endpoints with this id
    #[arg(long)]
    endpoint: Option<String>,
    /// Select only deliveries in this state
    #[arg(long, value_enum)]
    state: Option<State>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Clone, Copy, ValueEnum)]
enum State {
    Pending,
    Retrying,
    Delivered,
    Failed,
}

#[derive(Args)]
struct Attempts {
    /// Endpoint id
    endpoint: String,
    /// Event id
    event: String,
    #[command(flatten)]
    filter: Filter,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct RecoverArgs {
    /// Endpoint id
    endpoint: String,
    /// Earliest time: a timestamp, a day, or an age such as 90m, 2h, 3d
    #[arg(long, value_parser = TimeArgument::parse)]
    since: TimeArgument,
    #[command(flatten)]
    filter: Filter,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Webhook {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let access = self.access;
        match self.action {
            Action::Endpoints(Endpoints { filter, endpoint, paging }) => {
                let options = [("endpoint", endpoint)];
                let page: Page<EndpointStatus> = paging.fetch(&access, "endpoints", &filter, &options).await?;
                paging.print(&page, render::endpoints)
            }
            Action::Deliveries(Deliveries { filter, endpoint, state, paging }) => {
                let state = state.and_then(|state| Some(state.to_possible_value()?.get_name().to_owned()));
                let options = [("endpoint", endpoint), ("state", state)];
                let page: Page<DeliveryStatus> = paging.fetch(&access, "deliveries", &filter, &options).await?;
                paging.print(&page, render::deliveries)
            }
            Action::Attempts(attempts) => attempts.list(&access).await,
            Action::Redeliver(attempts) => attempts.redeliver(&access).await,
            Action::Recover(recover) => recover.run(&access).await,
        }
    }
}

impl Paging {
    async fn fetch<T: DeserializeOwned>(
        &self,
        access: &Access,
        resource: &str,
        filter: &Filter,
        options: &[(&str, Option<String>)],
    ) -> Result<Page<T>, CliError> {
        let mut path = format!("/v1/webhooks/{resource}?limit={}", self.limit);
        filter.add_to(&mut path);
        options.iter().for_each(|(name, value)| add(&mut path, name, value.as_ref()));
        add(&mut path, "after", self.after.as_ref());
        access.get(&path).await
    }

    fn print<T: Serialize>(&self, page: &Page<T>, render: impl Fn(&[T]) -> String) -> Result<Outcome, CliError> {
        if self.json {
            return output::json(page);
        }
        let more = page.next.as_ref().map(|next| format!("There may be more: --after {next}\n")).unwrap_or_default();
        Ok(Outcome::success(output::printable_lines(&format!("{}{more}", render(&page.entries)))))
    }
}

impl Filter {
    fn add_to(&self, path: &mut String) {
        add(path, "plugin", self.plugin.as_ref());
        add(path, "tenant", self.tenant.as_ref());
    }
}

fn add(path: &mut String, name: &str, value: Option<&String>) {
    if let Some(value) = value {
        path.push_str(&format!("&{name}={}", segment(value)));
    }
}

impl Attempts {
    async fn list(self, access: &Access) -> Result<Outcome, CliError> {
        let Attempts { endpoint, event, filter, json } = self;
        let mut path = format!("/v1/webhooks/attempts?endpoint={}&event={}", segment(&endpoint), segment(&event));
        filter.add_to(&mut path);
        let attempts: Vec<AttemptStatus> = access.get(&path).await?;
        if json { output::json(&attempts) } else { Ok(Outcome::success(render::attempts(&attempts))) }
    }

    async fn redeliver(self, access: &Access) -> Result<Outcome, CliError> {
        let Attempts { endpoint, event, filter: Filter { plugin, tenant }, json } = self;
        let request = RedeliverRequest { plugin, tenant, endpoint, event };
        print_report(&access.post_json("/v1/webhooks/redeliver", &request).await?, json)
    }
}

impl RecoverArgs {
    async fn run(self, access: &Access) -> Result<Outcome, CliError> {
        let RecoverArgs { endpoint, since, filter: Filter { plugin, tenant }, json } = self;
        let request = RecoverRequest { plugin, tenant, endpoint, since: since.timestamp() };
        print_report(&access.post_json("/v1/webhooks/recover", &request).await?, json)
    }
}

fn print_report(report: &ResendReport, json: bool) -> Result<Outcome, CliError> {
    if json { output::json(report) } else { Ok(Outcome::success(render::resend_report(report))) }
}
