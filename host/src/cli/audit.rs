//! `tenon audit …`: lists and verifies the tenants' journal.

mod render;
mod report;
mod source;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{CliError, Outcome, client::Access, input, output, time_argument::TimeArgument};
use crate::{
    admin::wire::{AuditChainsQuery, AuditLinesQuery, Page},
    limits::CLI_RESPONSE_BYTES_MAX,
};
use report::Report;
use source::Source;

/// List and verify the tenants' journal: operations, their subjects, and the plugin versions that decided
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon audit verify\n  tenon audit list --plugin fleet --tenant acme/test --since 1d\n\n\
    Uses the running host, or its database if no host runs."
)]
pub struct Audit {
    /// Database URL if no host runs [default: tenon.db in the data folder]
    #[arg(long, global = true, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Verify the hash chain of every tenant (exit code 1 if a line was changed, removed or inserted)
    #[command(after_help = "Example:\n  tenon audit verify --json > report.json\n  \
        tenon audit verify --against report.json\n  tenon audit verify --plugin fleet --tenant acme/test\n\n\
        A chain that was cut at its end or rewritten as a whole is detected only with --against and an earlier report.")]
    Verify(Verify),
    /// List lines, newest first
    #[command(
        after_help = "Example:\n  tenon audit list --limit 20\n  tenon audit list --operation create-order --subject key_1\n  \
        tenon audit list --request req_1 --json\n  tenon audit list --since 2026-01-02 --until 2026-01-03T12:00:00Z"
    )]
    List(List),
}

#[derive(Args)]
struct Verify {
    /// Select only this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Select only this tenant (organization and environment)
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// Earlier output of `verify --json`; its lines must still exist unchanged
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct List {
    /// Select only this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Select only this tenant (organization and environment)
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// Select only this operation
    #[arg(long)]
    operation: Option<String>,
    /// Select only this subject, such as the id of a key
    #[arg(long)]
    subject: Option<String>,
    /// Select only the request with this id
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// Earliest time, inclusive: a timestamp, a day, or an age such as 90m, 2h, 3d
    #[arg(long, value_parser = TimeArgument::parse, value_name = "TIME")]
    since: Option<TimeArgument>,
    /// Latest time, exclusive
    #[arg(long, value_parser = TimeArgument::parse, value_name = "TIME")]
    until: Option<TimeArgument>,
    /// Maximum number of lines
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Continue after the previous page
    #[arg(long, value_name = "NEXT")]
    after: Option<i64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Audit {
    pub async fn run(self) -> Result<Outcome, CliError> {
        let source = Source::find(&self.access, self.database.as_deref()).await?;
        match self.action {
            Action::Verify(verify) => verify.run(&source).await,
            Action::List(list) => list.run(&source).await,
        }
    }
}

impl Verify {
    async fn run(self, source: &Source<'_>) -> Result<Outcome, CliError> {
        let earlier = self.against.as_deref().map(read_report).transpose()?;
        let mut query = AuditChainsQuery { plugin: self.plugin, tenant: self.tenant, after: None };
        let mut chains = Vec::new();
        loop {
            let page = source.chains(&query).await?;
            chains.extend(page.entries);
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        let mut report = Report::new(chains);
        if let Some(earlier) = earlier {
            report.compare(&earlier.filter(&query), source).await?;
        }
        let is_filtered = query.plugin.is_some() || query.tenant.is_some();
        if is_filtered && report.chains.is_empty() {
            return Err(CliError::Failed(
                "The journal has no chain of this plugin and tenant: nothing was verified.".into(),
            ));
        }
        let text =
            if self.json { output::json(&report)?.text } else { render::verification(&report, self.against.is_some()) };
        Ok(Outcome { text, success: report.is_valid })
    }
}

fn read_report(path: &Path) -> Result<Report, CliError> {
    let text = input::read_text(path, CLI_RESPONSE_BYTES_MAX)?;
    let invalid = |error| {
        let path = output::printable(&path.display().to_string());
        CliError::Failed(format!("{path} is not a report of `tenon audit verify --json` ({error})."))
    };
    serde_json::from_str(&text).map_err(invalid)
}

impl List {
    async fn run(self, source: &Source<'_>) -> Result<Outcome, CliError> {
        let List { plugin, tenant, operation, subject, request, since, until, limit, after, json } = self;
        let [since, until] = [since, until].map(|time| time.map(TimeArgument::timestamp));
        let mut query =
            AuditLinesQuery { plugin, tenant, operation, subject, request, since, until, after, limit: Some(limit) };
        let mut page = Page { entries: Vec::new(), next: None };
        loop {
            let found = source.lines(&query).await?;
            page.entries.extend(found.entries);
            page.next = found.next;
            let remaining = limit.saturating_sub(u32::try_from(page.entries.len()).unwrap_or(u32::MAX));
            query.limit = Some(remaining);
            // A short page is not necessarily the last one, because each request reads a limited number of lines.
            query.after = page.next.as_ref().and_then(|next| next.parse().ok());
            if query.after.is_none() || remaining == 0 {
                break;
            }
        }
        if json { output::json(&page) } else { Ok(Outcome::success(render::lines(&page))) }
    }
}
