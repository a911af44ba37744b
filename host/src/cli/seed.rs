//! `tenon seed …`: the seeds from which blockchain keys are derived.
//!
//! Invariant: the words of a seed are read only from standard input and written only to standard output.

use std::io::{IsTerminal, Read, Write};

use clap::{Args, Subcommand};
use zeroize::Zeroizing;

use super::{
    CliError, Outcome,
    client::Access,
    output,
    table::{Column, Row, render_table},
};
use crate::{
    admin::wire::{SeedCopy, SeedOwner, SeedReport},
    limits::SEED_PHRASE_BYTES_MAX,
    secrets::SecretText,
};

/// Manage seeds, from which all blockchain keys of a tenant are derived: list, export, import
#[derive(Args)]
#[command(after_help = "Example:\n  tenon seed list\n  \
    tenon seed export --plugin notes --tenant acme/live > /safe/acme-live.seed\n  \
    tenon seed import --plugin notes --tenant acme/live < /safe/acme-live.seed")]
pub struct Seed {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the plugins and tenants that have a seed
    #[command(after_help = "Example:\n  tenon seed list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the words of a seed. They give access to all blockchain keys of the tenant
    #[command(
        after_help = "Example:\n  tenon seed export --plugin notes --tenant acme/live > /safe/acme-live.seed\n\n\
        Standard output contains only the words. The export is recorded in the operators' journal."
    )]
    Export(SeedArgs),
    /// Import a seed for a tenant that has none, from its words on standard input
    #[command(
        after_help = "Example:\n  tenon seed import --plugin notes --tenant acme/live < /safe/acme-live.seed\n\n\
        12 to 24 words of the English BIP-39 list. An existing seed is never replaced."
    )]
    Import(SeedArgs),
}

#[derive(Args)]
struct SeedArgs {
    /// Plugin whose keys are derived from the seed
    #[arg(long)]
    plugin: String,
    /// Tenant (organization and environment)
    #[arg(long, value_name = "acme/test")]
    tenant: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Seed {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::List { json } => list(&self.access, json).await,
            Action::Export(seed) => seed.export(&self.access).await,
            Action::Import(seed) => seed.import(&self.access).await,
        }
    }
}

async fn list(access: &Access, json: bool) -> Result<Outcome, CliError> {
    let seeds: Vec<SeedOwner> = access.get("/v1/seeds").await?;
    if json {
        return output::json(&seeds);
    }
    if seeds.is_empty() {
        return Ok(Outcome::success("No seeds exist yet. A seed is created at its first use.\n".to_owned()));
    }
    let rows: Vec<Row> =
        seeds.into_iter().map(|seed| Row { cells: vec![seed.plugin, seed.tenant], notes: Vec::new() }).collect();
    Ok(Outcome::success(render_table(&[Column::Left("PLUGIN"), Column::Left("TENANT")], &rows)))
}

impl SeedArgs {
    async fn export(self, access: &Access) -> Result<Outcome, CliError> {
        let SeedArgs { plugin, tenant, json } = self;
        let copy: SeedCopy = access.post_json("/v1/seeds/export", &SeedOwner { plugin, tenant }).await?;
        if json {
            return output::json(&copy);
        }
        print_notice(&format!(
            "These words give access to all keys of {} for {}. Store them in a safe place, and clear this screen.",
            output::printable(&copy.tenant),
            output::printable(&copy.plugin)
        ));
        Ok(Outcome::success(format!("{}\n", copy.phrase.expose())))
    }

    async fn import(self, access: &Access) -> Result<Outcome, CliError> {
        let SeedArgs { plugin, tenant, json } = self;
        let phrase = read_phrase()?;
        let report: SeedReport = access.post_json("/v1/seeds/import", &SeedCopy { plugin, tenant, phrase }).await?;
        if json { output::json(&report) } else { Ok(Outcome::success(imported(&report))) }
    }
}

/// Writes a notice to standard error, which may be closed.
fn print_notice(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "{sentence}");
}

/// Reads the phrase until standard input ends. Error messages do not contain any part of the input.
fn read_phrase() -> Result<SecretText, CliError> {
    let input = std::io::stdin();
    if input.is_terminal() {
        print_notice("Type the words, then Enter and Control-D. The input is visible:");
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(SEED_PHRASE_BYTES_MAX + 1));
    let read = input.take(SEED_PHRASE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| CliError::Failed(format!("failed to read standard input: {error}.")))?;
    let text = std::str::from_utf8(&bytes).map(str::trim).unwrap_or_default();
    if text.is_empty() || bytes.len() > SEED_PHRASE_BYTES_MAX {
        return Err(CliError::Failed(
            "Standard input must contain the 12 to 24 words of a seed and nothing else.".into(),
        ));
    }
    Ok(SecretText::new(text.to_owned()))
}

fn imported(report: &SeedReport) -> String {
    let (plugin, tenant) = (output::printable(&report.plugin), output::printable(&report.tenant));
    match report.is_new {
        true => format!("The seed of {tenant} for {plugin} was imported.\n"),
        false => format!("{tenant} already has this seed for {plugin}. Nothing was changed.\n"),
    }
}
