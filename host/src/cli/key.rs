//! `tenon key …`: API keys.

pub(super) mod render;

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    output,
};
use crate::{
    admin::wire::{CreatedKey, KeyEnvironment, KeyStatus, NewKey},
    limits::KEY_DAYS_MAX,
};

/// Manage API keys: create, list, revoke
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
    /// Create an API key and print it once
    #[command(
        after_help = "Example:\n  tenon key create --plugin notes --tenant acme --environment live \\\n      --scope notes:read --expires-in-days 90"
    )]
    Create(Create),
    /// List all keys, without their secrets
    #[command(after_help = "Example:\n  tenon key list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke an API key
    #[command(after_help = "Example:\n  tenon key revoke key_0199f3a2")]
    Revoke {
        /// Key id, as listed by `tenon key list`
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct Create {
    /// Plugin that the key grants access to; "*" for all plugins
    #[arg(long)]
    plugin: String,
    /// Organization whose data the key grants access to
    #[arg(long)]
    tenant: String,
    /// Environment of the key; test and live data are separate
    #[arg(long, value_enum)]
    environment: KeyEnvironment,
    /// Scope that the key grants; repeat for several; without it the key is unrestricted
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Accept scopes that no route of the running plugin requires
    #[arg(long)]
    allow_unknown_scopes: bool,
    /// Id of the key that this key replaces; both are valid until one is revoked
    #[arg(long, value_name = "KEYID")]
    owner: Option<String>,
    /// Days until the key expires; without it the key does not expire
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(KEY_DAYS_MAX)))]
    expires_in_days: Option<u32>,
    /// Also sign webhooks with the key if the interface signs with API keys; stores a sealed copy of the key
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
        let request =
            NewKey { plugin, tenant, environment, scopes, allow_unknown_scopes, owner, expires_in_days, signs };
        let created: CreatedKey = access.post_json("/v1/keys", &request).await?;
        if json { output::json(&created) } else { Ok(Outcome::success(render::created_key(&created))) }
    }
}

async fn list(access: &Access, json: bool) -> Result<Outcome, CliError> {
    let keys: Vec<KeyStatus> = access.get("/v1/keys").await?;
    if json { output::json(&keys) } else { Ok(Outcome::success(render::keys(&keys))) }
}

async fn revoke(access: &Access, id: &str, json: bool) -> Result<Outcome, CliError> {
    let key: KeyStatus = access.delete(&format!("/v1/keys/{}", segment(id))).await?;
    if json {
        return output::json(&key);
    }
    Ok(Outcome::success(format!("{} is revoked.\n", output::printable(&key.id))))
}
