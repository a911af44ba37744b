//! `tenon audit …`: the tenants' journal, its lines, and whether it is what was written.

mod report;
mod source;
mod words;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{CliError, Outcome, client::Access, input, show, since::Since};
use crate::{
    admin::{
        operations::{ChainsQuestion, LinesQuestion},
        wire::Page,
    },
    limits::CLI_ANSWER_BYTES_MAX,
};
use report::Report;
use source::Source;

/// The tenants' journal: what happened, who did it, which generation decided
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon audit verify\n  tenon audit list --plugin fleet --tenant acme/test --since 1d\n\n\
    Asks the host that runs; reads its database where none does."
)]
pub struct Audit {
    /// Where no host runs: its database [default: tenon.db in the data folder]
    #[arg(long, global = true, env = "TENON_DATABASE", hide_env_values = true, value_name = "URL")]
    database: Option<String>,
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Hash every line again, and show where each chain ends (exit code 1 if a line was changed, is missing, or was put there)
    #[command(after_help = "Example:\n  tenon audit verify --json > report.json\n  \
        tenon audit verify --against report.json\n  tenon audit verify --plugin fleet --tenant acme/test\n\n\
        That a chain was cut at its end, or written anew as a whole, shows only against an earlier report that was kept elsewhere.")]
    Verify(Verify),
    /// Show lines, the newest first
    #[command(
        after_help = "Example:\n  tenon audit list --limit 20\n  tenon audit list --operation create-order --subject key_1\n  \
        tenon audit list --request req_1 --json\n  tenon audit list --since 2026-01-02 --until 2026-01-03T12:00:00Z"
    )]
    List(List),
}

#[derive(Args)]
struct Verify {
    /// Only of this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Only of this tenant: organization and environment
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// What `verify --json` printed earlier: what it saw must still be there
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct List {
    /// Only of this plugin
    #[arg(long)]
    plugin: Option<String>,
    /// Only of this tenant: organization and environment
    #[arg(long, value_name = "acme/test")]
    tenant: Option<String>,
    /// Only of this operation
    #[arg(long)]
    operation: Option<String>,
    /// Only of who did it
    #[arg(long)]
    subject: Option<String>,
    /// Only of the request with this id
    #[arg(long, value_name = "ID")]
    request: Option<String>,
    /// From then on: a time as the table shows it, a day, or how long ago: 90m, 2h, 3d
    #[arg(long, value_parser = Since::parse, value_name = "TIME")]
    since: Option<Since>,
    /// Before then
    #[arg(long, value_parser = Since::parse, value_name = "TIME")]
    until: Option<Since>,
    /// Lines
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    /// Where the page before ended
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
        let mut question = ChainsQuestion { plugin: self.plugin, tenant: self.tenant, after: None };
        let mut chains = Vec::new();
        loop {
            let page = source.chains(&question).await?;
            chains.extend(page.entries);
            question.after = page.next;
            if question.after.is_none() {
                break;
            }
        }
        let mut report = Report::new(chains);
        if let Some(earlier) = earlier {
            report.compare(&earlier.of(&question), source).await?;
        }
        let is_narrow = question.plugin.is_some() || question.tenant.is_some();
        if is_narrow && report.chains.is_empty() {
            return Err(CliError::Failed(
                "There is no such plugin and tenant in the journal: nothing was checked.".into(),
            ));
        }
        let text = if self.json { show::json(&report)?.text } else { words::verified(&report, self.against.is_some()) };
        Ok(Outcome { text, good: report.sound })
    }
}

fn read_report(path: &Path) -> Result<Report, CliError> {
    let text = input::read_text(path, CLI_ANSWER_BYTES_MAX)?;
    let strange = |error| {
        let path = show::printable(&path.display().to_string());
        CliError::Failed(format!("{path} is not what `tenon audit verify --json` prints ({error})."))
    };
    serde_json::from_str(&text).map_err(strange)
}

impl List {
    async fn run(self, source: &Source<'_>) -> Result<Outcome, CliError> {
        let List { plugin, tenant, operation, subject, request, since, until, limit, after, json } = self;
        let [since, until] = [since, until].map(|time| time.map(Since::moment));
        let mut question = LinesQuestion { plugin, tenant, operation, subject, request, since, until, after, limit };
        let mut page = Page { entries: Vec::new(), next: None };
        loop {
            let found = source.lines(&question).await?;
            page.entries.extend(found.entries);
            page.next = found.next;
            question.limit = limit.saturating_sub(u32::try_from(page.entries.len()).unwrap_or(u32::MAX));
            // One that ended early has only looked at as much as it may.
            question.after = page.next.as_ref().and_then(|next| next.parse().ok());
            if question.after.is_none() || question.limit == 0 {
                break;
            }
        }
        if json { show::json(&page) } else { Ok(Outcome::good(words::lines(&page))) }
    }
}
