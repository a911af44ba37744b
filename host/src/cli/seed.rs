//! `tenon seed …`: the seeds that keys on blockchains come from. Their words are read from standard input alone, and
//! written to standard output alone.

use std::io::{IsTerminal, Read, Write};

use clap::{Args, Subcommand};
use zeroize::Zeroizing;

use super::{
    CliError, Outcome,
    client::Access,
    show,
    table::{Column, Row, render},
};
use crate::{
    admin::wire::{SeedCopy, SeedName, SeedReport},
    limits::SEED_PHRASE_BYTES_MAX,
    secrets::SecretText,
};

/// Seeds, which all keys of a tenant on blockchains come from: list, export, import
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
    /// Show who has one; nothing secret
    #[command(after_help = "Example:\n  tenon seed list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the words of one: whoever has them has all keys of the tenant
    #[command(
        after_help = "Example:\n  tenon seed export --plugin notes --tenant acme/live > /safe/acme-live.seed\n\n\
        The words alone go to standard output. It is noted in the operators' journal."
    )]
    Export(Named),
    /// Bring one, by its words on standard input, to a tenant that has none yet
    #[command(
        after_help = "Example:\n  tenon seed import --plugin notes --tenant acme/live < /safe/acme-live.seed\n\n\
        12 to 24 words of the English BIP-39 list. A seed is never replaced by another one."
    )]
    Import(Named),
}

#[derive(Args)]
struct Named {
    /// The plugin whose keys come from it
    #[arg(long)]
    plugin: String,
    /// The tenant: organization and environment
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
            Action::Export(named) => named.export(&self.access).await,
            Action::Import(named) => named.import(&self.access).await,
        }
    }
}

async fn list(access: &Access, json: bool) -> Result<Outcome, CliError> {
    let seeds: Vec<SeedName> = access.get("/v1/seeds").await?;
    if json {
        return show::json(&seeds);
    }
    if seeds.is_empty() {
        return Ok(Outcome::good("Nobody has a seed yet: it is made at its first use.\n".to_owned()));
    }
    let rows: Vec<Row> =
        seeds.into_iter().map(|seed| Row { cells: vec![seed.plugin, seed.tenant], notes: Vec::new() }).collect();
    Ok(Outcome::good(render(&[Column::Left("PLUGIN"), Column::Left("TENANT")], &rows)))
}

impl Named {
    async fn export(self, access: &Access) -> Result<Outcome, CliError> {
        let Named { plugin, tenant, json } = self;
        let copy: SeedCopy = access.post_json("/v1/seeds/export", &SeedName { plugin, tenant }).await?;
        if json {
            return show::json(&copy);
        }
        say(&format!(
            "Whoever has these words has all keys of {} for {}. Keep them where nobody else reads, and off this screen.",
            show::printable(&copy.tenant),
            show::printable(&copy.plugin)
        ));
        Ok(Outcome::good(format!("{}\n", copy.phrase.expose())))
    }

    async fn import(self, access: &Access) -> Result<Outcome, CliError> {
        let Named { plugin, tenant, json } = self;
        let phrase = read_phrase()?;
        let report: SeedReport = access.post_json("/v1/seeds/import", &SeedCopy { plugin, tenant, phrase }).await?;
        if json { show::json(&report) } else { Ok(Outcome::good(imported(&report))) }
    }
}

/// Nobody may be looking.
fn say(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "{sentence}");
}

/// Until standard input ends. What is wrong with it is said without any of it.
fn read_phrase() -> Result<SecretText, CliError> {
    let input = std::io::stdin();
    if input.is_terminal() {
        say("The words, then Enter and Control-D; what you type can be seen:");
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(SEED_PHRASE_BYTES_MAX + 1));
    let read = input.take(SEED_PHRASE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| CliError::Failed(format!("Standard input cannot be read: {error}.")))?;
    let text = std::str::from_utf8(&bytes).map(str::trim).unwrap_or_default();
    if text.is_empty() || bytes.len() > SEED_PHRASE_BYTES_MAX {
        return Err(CliError::Failed(
            "Standard input holds no seed: write its 12 to 24 words there, nothing else.".into(),
        ));
    }
    Ok(SecretText::new(text.to_owned()))
}

fn imported(report: &SeedReport) -> String {
    let (plugin, tenant) = (show::printable(&report.plugin), show::printable(&report.tenant));
    match report.is_new {
        true => format!("{tenant} has this seed for {plugin} from now on.\n"),
        false => format!("{tenant} had this seed for {plugin} already; nothing was changed.\n"),
    }
}
