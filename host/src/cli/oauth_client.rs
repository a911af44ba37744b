//! `tenon client …`: clients of OAuth.

mod words;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    input, show,
};
use crate::{
    admin::wire::{ClientStatus, CreatedClient, KeyEnvironment, NewClient},
    limits::JWKS_BYTES_MAX,
};

/// Clients that get access tokens (OAuth 2.0): create, list, rotate, revoke
#[derive(Args)]
#[command(
    after_help = "Example:\n  tenon client create --plugin notes --tenant acme --environment test\n  tenon client list"
)]
pub struct Client {
    #[command(flatten)]
    access: Access,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a client; its secret is shown once
    #[command(
        after_help = "Example:\n  tenon client create --plugin notes --tenant acme --environment live \\\n      --scope notes:read --jwks client-keys.json"
    )]
    Create(Create),
    /// Show all clients, without their secrets
    #[command(after_help = "Example:\n  tenon client list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Give a client another secret; the one before is good for a day more
    #[command(after_help = "Example:\n  tenon client rotate client_0199f3a2")]
    Rotate(One),
    /// Make a client get no tokens any more, and those that it has open nothing
    #[command(after_help = "Example:\n  tenon client revoke client_0199f3a2")]
    Revoke(One),
}

#[derive(Args)]
struct Create {
    /// The plugin that its tokens open
    #[arg(long)]
    plugin: String,
    /// The organization whose data they open
    #[arg(long)]
    tenant: String,
    /// Test and live data never meet
    #[arg(long, value_enum)]
    environment: KeyEnvironment,
    /// What its tokens may say; several are possible; none: all that the plugin's routes ask for now
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// Its public keys (a JWKS), for a client that signs instead of having a secret
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct One {
    /// Id of the client, as `tenon client list` shows it
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Client {
    pub async fn run(self) -> Result<Outcome, CliError> {
        match self.action {
            Action::Create(create) => create.run(&self.access).await,
            Action::List { json } => list(&self.access, json).await,
            Action::Rotate(one) => rotate(&self.access, &one).await,
            Action::Revoke(one) => revoke(&self.access, &one).await,
        }
    }
}

impl Create {
    async fn run(self, access: &Access) -> Result<Outcome, CliError> {
        let Create { plugin, tenant, environment, scopes, jwks, json } = self;
        let jwks = jwks.as_deref().map(read_jwks).transpose()?;
        let scopes = Some(scopes).filter(|scopes| !scopes.is_empty());
        let wanted = NewClient { plugin, tenant, environment, scopes, jwks };
        let created: CreatedClient = access.post_json("/v1/clients", &wanted).await?;
        if json { show::json(&created) } else { Ok(Outcome::good(words::created(&created))) }
    }
}

fn read_jwks(file: &Path) -> Result<serde_json::Value, CliError> {
    let text = input::read_text(file, JWKS_BYTES_MAX)?;
    // Words of the parser could quote what should not be there: a private key.
    serde_json::from_str(&text).map_err(|_| CliError::Failed(format!("{}: it is no JSON", file.display())))
}

async fn list(access: &Access, json: bool) -> Result<Outcome, CliError> {
    let clients: Vec<ClientStatus> = access.get("/v1/clients").await?;
    if json { show::json(&clients) } else { Ok(Outcome::good(words::table(&clients))) }
}

async fn rotate(access: &Access, One { id, json }: &One) -> Result<Outcome, CliError> {
    let created: CreatedClient = access.post(&format!("/v1/clients/{}/rotate", segment(id))).await?;
    if *json { show::json(&created) } else { Ok(Outcome::good(words::rotated(&created))) }
}

async fn revoke(access: &Access, One { id, json }: &One) -> Result<Outcome, CliError> {
    let client: ClientStatus = access.delete(&format!("/v1/clients/{}", segment(id))).await?;
    if *json {
        return show::json(&client);
    }
    let id = show::printable(&client.client_id);
    Ok(Outcome::good(format!("{id} gets no tokens any more, and those that it has open nothing.\n")))
}
