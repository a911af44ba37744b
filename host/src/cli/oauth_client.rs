//! `tenon client …`: OAuth clients.

mod render;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::{
    CliError, Outcome,
    client::{Access, segment},
    input, output,
};
use crate::{
    admin::wire::{ClientStatus, CreatedClient, KeyEnvironment, NewClient},
    limits::JWKS_BYTES_MAX,
};

/// Manage OAuth 2.0 clients, which get access tokens: create, list, rotate, revoke
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
    /// Create a client and print its secret once
    #[command(
        after_help = "Example:\n  tenon client create --plugin notes --tenant acme --environment live \\\n      --scope notes:read --jwks client-keys.json"
    )]
    Create(Create),
    /// List all clients, without their secrets
    #[command(after_help = "Example:\n  tenon client list --json")]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace the secret of a client; the previous secret stays valid for one day
    #[command(after_help = "Example:\n  tenon client rotate client_0199f3a2")]
    Rotate(ClientArgs),
    /// Revoke a client and all its tokens
    #[command(after_help = "Example:\n  tenon client revoke client_0199f3a2")]
    Revoke(ClientArgs),
}

#[derive(Args)]
struct Create {
    /// Plugin that its tokens grant access to
    #[arg(long)]
    plugin: String,
    /// Organization whose data its tokens grant access to
    #[arg(long)]
    tenant: String,
    /// Environment of the client; test and live data are separate
    #[arg(long, value_enum)]
    environment: KeyEnvironment,
    /// Scope that its tokens may have; repeat for several; without it all scopes that the plugin's routes require now
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// File with its public keys (JWKS), for a client that authenticates with signed assertions instead of a secret
    #[arg(long, value_name = "FILE")]
    jwks: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
struct ClientArgs {
    /// Client id, as listed by `tenon client list`
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
            Action::Rotate(client) => rotate(&self.access, &client).await,
            Action::Revoke(client) => revoke(&self.access, &client).await,
        }
    }
}

impl Create {
    async fn run(self, access: &Access) -> Result<Outcome, CliError> {
        let Create { plugin, tenant, environment, scopes, jwks, json } = self;
        let jwks = jwks.as_deref().map(read_jwks).transpose()?;
        let scopes = Some(scopes).filter(|scopes| !scopes.is_empty());
        let request = NewClient { plugin, tenant, environment, scopes, jwks };
        let created: CreatedClient = access.post_json("/v1/clients", &request).await?;
        if json { output::json(&created) } else { Ok(Outcome::success(render::created_client(&created))) }
    }
}

fn read_jwks(file: &Path) -> Result<serde_json::Value, CliError> {
    let text = input::read_text(file, JWKS_BYTES_MAX)?;
    // The parser's message is omitted: it could quote a private key that the file contains by mistake.
    serde_json::from_str(&text).map_err(|_| CliError::Failed(format!("{} is not valid JSON", file.display())))
}

async fn list(access: &Access, json: bool) -> Result<Outcome, CliError> {
    let clients: Vec<ClientStatus> = access.get("/v1/clients").await?;
    if json { output::json(&clients) } else { Ok(Outcome::success(render::clients(&clients))) }
}

async fn rotate(access: &Access, ClientArgs { id, json }: &ClientArgs) -> Result<Outcome, CliError> {
    let created: CreatedClient = access.post(&format!("/v1/clients/{}/rotate", segment(id))).await?;
    if *json { output::json(&created) } else { Ok(Outcome::success(render::rotated_client(&created))) }
}

async fn revoke(access: &Access, ClientArgs { id, json }: &ClientArgs) -> Result<Outcome, CliError> {
    let client: ClientStatus = access.delete(&format!("/v1/clients/{}", segment(id))).await?;
    if *json {
        return output::json(&client);
    }
    let id = output::printable(&client.client_id);
    Ok(Outcome::success(format!("{id} and its tokens are revoked.\n")))
}
