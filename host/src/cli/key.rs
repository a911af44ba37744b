//! `tenon key …`: keys of API consumers.

pub(super) mod words;

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    show,
};
use crate::admin::wire::{CreatedKey, KeyEnvironment, KeyStatus, NewKey};

/// Keys of API consumers: create, list, revoke
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon key create --plugin notes --tenant acme --environment test\n  tenon key list"
)]
pub struct Key {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a key; it is shown once
    #[command(
        after_help = "Example:\n  tenon key create --plugin notes --tenant acme --environment live \\\n      --scope notes:read --expires-in-days 90"
    )]
    Create(Create),
    /// Show all keys, without their secrets
    #[command(after_help = "Example:\n  tenon key list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make a key open nothing from now on
    #[command(after_help = "Example:\n  tenon key revoke key_0199f3a2")]
    Revoke {
        /// Id of the key, as `tenon key list` shows it
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Create {
    /// The plugin that it opens; "*" for all
    #[arg(long)]
    plugin: String,
    /// The organization whose data it opens
    #[arg(long)]
    tenant: String,
    /// Test and live data never meet
    #[arg(long, value_enum)]
    environment: KeyEnvironment,
    /// What it may do; several are possible; none: everything
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Take scopes that no route of the running plugin asks for
    #[arg(long)]
    allow_unknown_scopes: bool,
    /// Id of the key that it is to replace; both are valid until one is revoked
    #[arg(long, value_name = "KEYID")]
    owner: Option<String>,
    /// Days until it ends by itself
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=3650))]
    expires_in_days: Option<u32>,
    /// Also sign webhooks with it, where the interface says that API keys sign; a sealed copy is kept
    #[arg(long)]
    signs: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Key {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::Create(create) => create.run(&self.access).await,
            Action::List { json } => list(&self.access, json).await,
            Action::Revoke { id, json } => revoke(&self.access, &id, json).await,
        }
    }
}

impl Create {
    async fn run(self, access: &Access) -> Result<Outcome, CliError> {
        let Create { plugin, tenant, environment, scopes, allow_unknown_scopes, owner, expires_in_days, signs, json } =
            self;
        let wanted =
            NewKey { plugin, tenant, environment, scopes, allow_unknown_scopes, owner, expires_in_days, signs };
        let created: CreatedKey = access.post_json("/v1/keys", &wanted).await?;
        if json { show::json(&created) } else { Ok(Outcome::good(words::created(&created))) }
    }
}

async fn list(access: &Access, json: bool) -> Result<Outcome, CliError> {
    let keys: Vec<KeyStatus> = access.get("/v1/keys").await?;
    if json { show::json(&keys) } else { Ok(Outcome::good(words::table(&keys))) }
}

async fn revoke(access: &Access, id: &str, json: bool) -> Result<Outcome, CliError> {
    let key: KeyStatus = access.delete(&format!("/v1/keys/{}", segment(id))).await?;
    if json {
        return show::json(&key);
    }
    Ok(Outcome::good(format!("{} opens nothing any more.\n", show::printable(&key.id))))
}
