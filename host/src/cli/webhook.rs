//! `tenon webhook …`: endpoints, what was delivered to them and what was not, and once more.

pub(super) mod words;

use clap::{Args, Subcommand, ValueEnum};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    show,
    since::Since,
};
use crate::admin::wire::{AttemptStatus, DeliveryStatus, EndpointStatus, Page, Recover, Redeliver, ResendReport};

/// Webhooks: endpoints, deliveries, attempts, and sending again
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
    /// Show each endpoint: whether it is enabled, fails, and what it has waiting
    #[command(after_help = "Example:\n  tenon webhook endpoints --plugin fleet --tenant acme/test")]
    Endpoints(Endpoints),
    /// Show deliveries, endpoint by endpoint, the newest first
    #[command(after_help = "Example:\n  tenon webhook deliveries --endpoint ENDPOINT --state failed --limit 20")]
    Deliveries(Deliveries),
    /// Show every request that was made for one delivery, with the first bytes of each answer
    #[command(after_help = "Example:\n  tenon webhook attempts ENDPOINT EVENT")]
    Attempts(Attempts),
    /// Send one event to one endpoint once more, now; also where it was delivered
    #[command(after_help = "Example:\n  tenon webhook redeliver ENDPOINT EVENT")]
    Redeliver(Attempts),
    /// Send everything once more that was given up since then (state `failed`)
    #[command(after_help = "Example:\n  tenon webhook recover ENDPOINT --since 2h\n  \
        tenon webhook recover ENDPOINT --since 2026-01-02T03:04:05Z\n\n\
        Deliveries that wait for a later attempt (`retrying`) keep their time: `tenon webhook redeliver` sends one of them now.")]
    Recover(Again),
}

/// Whose.
#[derive(Args)]
struct Whose {
    /// Only of this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Only of this tenant: organization and environment
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
}

/// Which page.
#[derive(Args)]
struct Paging {
    /// Lines
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Where the page before ended
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Endpoints {
    #[command(flatten)]
    whose: Whose,
    /// Only endpoints with this id
    #[arg(long)]
    endpoint: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Args)]
struct Deliveries {
    #[command(flatten)]
    whose: Whose,
    /// Only to endpoints with this id
    #[arg(long)]
    endpoint: Option<String>,
    /// Only in this state
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
    /// Id of the endpoint
    endpoint: String,
    /// Id of the event
    event: String,
    #[command(flatten)]
    whose: Whose,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct Again {
    /// Id of the endpoint
    endpoint: String,
    /// A time as the tables show it, a day, or how long ago: 90m, 2h, 3d
    #[arg(long, value_parser = Since::parse)]
    since: Since,
    #[command(flatten)]
    whose: Whose,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Webhook {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let access = self.access;
        match self.action {
            Action::Endpoints(Endpoints { whose, endpoint, paging }) => {
                let page: Page<EndpointStatus> =
                    paging.ask(&access, "endpoints", &whose, &[("endpoint", endpoint)]).await?;
                paging.print(&page, words::endpoints)
            }
            Action::Deliveries(Deliveries { whose, endpoint, state, paging }) => {
                let state = state.and_then(|state| Some(state.to_possible_value()?.get_name().to_owned()));
                let only = [("endpoint", endpoint), ("state", state)];
                let page: Page<DeliveryStatus> = paging.ask(&access, "deliveries", &whose, &only).await?;
                paging.print(&page, words::deliveries)
            }
            Action::Attempts(attempts) => attempts.list(&access).await,
            Action::Redeliver(attempts) => attempts.redeliver(&access).await,
            Action::Recover(again) => again.run(&access).await,
        }
    }
}

impl Paging {
    async fn ask<T: DeserializeOwned>(
        &self,
        access: &Access,
        what: &str,
        whose: &Whose,
        only: &[(&str, Option<String>)],
    ) -> Result<Page<T>, CliError> {
        let mut path = format!("/v1/webhooks/{what}?limit={}", self.limit);
        whose.add_to(&mut path);
        only.iter().for_each(|(name, value)| add(&mut path, name, value.as_ref()));
        add(&mut path, "after", self.after.as_ref());
        access.get(&path).await
    }

    fn print<T: Serialize>(&self, page: &Page<T>, words: impl Fn(&[T]) -> String) -> Result<Outcome, CliError> {
        if self.json {
            return show::json(page);
        }
        let more = page.next.as_ref().map(|next| format!("There may be more: --after {next}\n")).unwrap_or_default();
        Ok(Outcome::good(show::printable_lines(&format!("{}{more}", words(&page.entries)))))
    }
}

impl Whose {
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
        let Attempts { endpoint, event, whose, json } = self;
        let mut path = format!("/v1/webhooks/attempts?endpoint={}&event={}", segment(&endpoint), segment(&event));
        whose.add_to(&mut path);
        let attempts: Vec<AttemptStatus> = access.get(&path).await?;
        if json { show::json(&attempts) } else { Ok(Outcome::good(words::attempts(&attempts))) }
    }

    async fn redeliver(self, access: &Access) -> Result<Outcome, CliError> {
        let Attempts { endpoint, event, whose: Whose { plugin, tenant }, json } = self;
        let wish = Redeliver { plugin, tenant, endpoint, event };
        ordered(&access.post_json("/v1/webhooks/redeliver", &wish).await?, json)
    }
}

impl Again {
    async fn run(self, access: &Access) -> Result<Outcome, CliError> {
        let Again { endpoint, since, whose: Whose { plugin, tenant }, json } = self;
        let wish = Recover { plugin, tenant, endpoint, since: since.moment() };
        ordered(&access.post_json("/v1/webhooks/recover", &wish).await?, json)
    }
}

fn ordered(report: &ResendReport, json: bool) -> Result<Outcome, CliError> {
    if json { show::json(report) } else { Ok(Outcome::good(words::ordered(report))) }
}
