//! `tenon task …` and `tenon effect …`: what waits, what was given up, once more, never again.

mod words;

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    show,
};
use crate::admin::wire::{Page, TaskName, TaskReport, TaskSort, TaskStatus};

/// Tasks: timers of plugins, those that wait and those that were given up
#[derive(Args)]
#[command(after_help = "Example:\n  tenon task list --given-up\n  tenon task retry expire-order:order_1\n  \
    tenon task drop expire-order:order_1 --tenant acme/test")]
pub struct Task {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

/// Effects: outgoing calls after a commit, on their way or waiting to be told
#[derive(Args)]
#[command(after_help = "Example:\n  tenon effect list --plugin clearing\n  tenon effect retry posted:7f3a")]
pub struct Effect {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show those that wait, and those that were given up
    #[command(after_help = "Example:\n  tenon task list --given-up --limit 20\n  tenon effect list --tenant acme/test")]
    List(List),
    /// Run or send it now, as if for the first time
    #[command(
        after_help = "Example:\n  tenon task retry ID\n  tenon effect retry ID --plugin clearing --tenant acme/test"
    )]
    Retry(Named),
    /// Forget it: what it stood for stays as it is
    #[command(after_help = "Example:\n  tenon task drop ID\n  tenon effect drop ID")]
    Drop(Named),
}

#[derive(Args)]
struct List {
    /// Only of this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Only of this tenant: organization and environment
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// Only those that failed until the host gave up
    #[arg(long)]
    given_up: bool,
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
struct Named {
    /// Name and key, as the list shows them
    id: String,
    /// Of this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Of this tenant: organization and environment
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Task {
    pub async fn run(self) -> Result<Outcome, CliError> {
        self.action.run(&self.access, TaskSort::Timer).await
    }
}

impl Effect {
    pub async fn run(self) -> Result<Outcome, CliError> {
        self.action.run(&self.access, TaskSort::Effect).await
    }
}

impl Action {
    async fn run(self, access: &Access, kind: TaskSort) -> Result<Outcome, CliError> {
        match self {
            Action::List(list) => list.run(access, kind).await,
            Action::Retry(named) => named.order(access, kind, "retry").await,
            Action::Drop(named) => named.order(access, kind, "drop").await,
        }
    }
}

impl List {
    async fn run(self, access: &Access, kind: TaskSort) -> Result<Outcome, CliError> {
        let name = match kind {
            TaskSort::Timer => "timer",
            TaskSort::Effect => "effect",
        };
        let mut path = format!("/v1/tasks?kind={name}&given_up={}&limit={}", self.given_up, self.limit);
        for (name, value) in [("plugin", &self.plugin), ("tenant", &self.tenant), ("after", &self.after)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", segment(value)));
            }
        }
        let page: Page<TaskStatus> = access.get(&path).await?;
        if self.json {
            return show::json(&page);
        }
        let more = page.next.as_ref().map(|next| format!("There may be more: --after '{next}'\n")).unwrap_or_default();
        let table = words::tasks(kind, &page.entries);
        Ok(Outcome::good(show::printable_lines(&format!("{table}{more}"))))
    }
}

impl Named {
    async fn order(self, access: &Access, kind: TaskSort, what: &str) -> Result<Outcome, CliError> {
        let Named { id, plugin, tenant, json } = self;
        let name = TaskName { kind, plugin, tenant, id };
        let report: TaskReport = access.post_json(&format!("/v1/tasks/{what}"), &name).await?;
        if json { show::json(&report) } else { Ok(Outcome::good(words::ordered(&report, what))) }
    }
}
