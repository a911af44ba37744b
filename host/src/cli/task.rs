//! `tenon task …` and `tenon effect …`: list, retry and drop timers and effects.

mod render;

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    output,
};
use crate::admin::wire::{Page, TaskKind, TaskReport, TaskSelector, TaskStatus};

/// Manage timers of plugins: list, retry, drop
#[derive(Args)]
#[command(after_help = "Example:\n  tenon task list --given-up\n  tenon task retry expire-order:order_1\n  \
    tenon task drop expire-order:order_1 --tenant acme/test")]
pub struct Task {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

/// Manage effects (outgoing calls after a commit): list, retry, drop
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
    /// List waiting and given-up entries
    #[command(after_help = "Example:\n  tenon task list --given-up --limit 20\n  tenon effect list --tenant acme/test")]
    List(List),
    /// Run a timer or send an effect now, with a fresh attempt count
    #[command(
        after_help = "Example:\n  tenon task retry ID\n  tenon effect retry ID --plugin clearing --tenant acme/test"
    )]
    Retry(TaskArgs),
    /// Drop a timer or effect without running it
    #[command(after_help = "Example:\n  tenon task drop ID\n  tenon effect drop ID")]
    Drop(TaskArgs),
}

#[derive(Args)]
struct List {
    /// List only entries of this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// List only entries of this tenant (organization and environment)
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// List only entries that were given up
    #[arg(long)]
    given_up: bool,
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
struct TaskArgs {
    /// Id (name and key), as printed by `list`
    id: String,
    /// Plugin; required if the id is ambiguous
    #[arg(long)]
    plugin: Option<String>,
    /// Tenant (organization and environment); required if the id is ambiguous
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Task {
    pub async fn run(self) -> Result<Outcome, CliError> {
        self.action.run(&self.access, TaskKind::Timer).await
    }
}

impl Effect {
    pub async fn run(self) -> Result<Outcome, CliError> {
        self.action.run(&self.access, TaskKind::Effect).await
    }
}

impl Action {
    async fn run(self, access: &Access, kind: TaskKind) -> Result<Outcome, CliError> {
        match self {
            Action::List(list) => list.run(access, kind).await,
            Action::Retry(task) => task.send_action(access, kind, "retry").await,
            Action::Drop(task) => task.send_action(access, kind, "drop").await,
        }
    }
}

impl List {
    async fn run(self, access: &Access, kind: TaskKind) -> Result<Outcome, CliError> {
        let name = match kind {
            TaskKind::Timer => "timer",
            TaskKind::Effect => "effect",
        };
        let mut path = format!("/v1/tasks?kind={name}&given_up={}&limit={}", self.given_up, self.limit);
        for (name, value) in [("plugin", &self.plugin), ("tenant", &self.tenant), ("after", &self.after)] {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", segment(value)));
            }
        }
        let page: Page<TaskStatus> = access.get(&path).await?;
        if self.json {
            return output::json(&page);
        }
        let more = page.next.as_ref().map(|next| format!("There may be more: --after '{next}'\n")).unwrap_or_default();
        let table = render::tasks(kind, &page.entries);
        Ok(Outcome::success(output::printable_lines(&format!("{table}{more}"))))
    }
}

impl TaskArgs {
    async fn send_action(self, access: &Access, kind: TaskKind, action: &str) -> Result<Outcome, CliError> {
        let TaskArgs { id, plugin, tenant, json } = self;
        let selector = TaskSelector { kind, plugin, tenant, id };
        let report: TaskReport = access.post_json(&format!("/v1/tasks/{action}"), &selector).await?;
        if json { output::json(&report) } else { Ok(Outcome::success(render::action_report(&report, action))) }
    }
}
