//! Two hosts that clear payments with each other over loopback: the platform "hub" and the partner "bank", each a
//! separate process, with OAuth tokens in both directions.
//!
//! Owns the setup of both. `message`: the requests of a payment. `reconciliation`: comparison of the final payments of
//! both sides.

use std::{fs, net::SocketAddr, path::Path};

use anyhow::Context;
use serde_json::{Value, json};

use crate::{
    guests,
    program::{PluginSection, Program, ProgramPlan, restartable_address},
    wire::Client,
};

pub mod message;
pub mod reconciliation;

/// Grants of the plugin, as in the shipped plugins.toml.
pub const GRANTS: [&str; 11] = [
    "records",
    "ledger",
    "events",
    "subscriptions",
    "tasks",
    "effects",
    "questions",
    "destinations",
    "ids",
    "journal",
    "config",
];
/// Id of the bank at the hub.
pub const PARTNER: &str = "bank-a";
/// Number of customers of the bank.
const ACCOUNTS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Hub,
    Bank,
}

impl Side {
    /// Returns the name of the side, which is also the name of its tenant.
    pub fn name(self) -> &'static str {
        match self {
            Side::Hub => "hub",
            Side::Bank => "bank",
        }
    }
}

/// A side, with an OAuth client that has every scope there.
pub struct Host {
    pub program: Program,
    side: Side,
    credentials: Credentials,
}

struct Credentials {
    id: String,
    secret: String,
}

pub struct Pair {
    pub hub: Host,
    pub bank: Host,
}

impl Pair {
    /// Starts both sides in folders below `folder`.
    pub async fn start(binary: &Path, folder: &Path) -> anyhow::Result<Pair> {
        let hub = Host::start(binary, folder, Side::Hub, "settings.hub.side = \"platform\"").await?;
        let (base, client) = (hub.base(), hub.create_client().await?);
        let secret = folder.join("bank.secret");
        fs::write(&secret, &client.secret)?;
        let platform = format!(
            "destinations.platform = {{ base-url = \"{base}/v1\", kind = \"oauth2\", token-url = \"{base}/oauth2/token\", \
             client-id = {:?}, client-secret = \"file:{}\" }}",
            client.id,
            secret.display()
        );
        let bank = start_bank(binary, folder, &platform).await?;
        let pair = Pair { hub, bank };
        pair.register_partner(&client.id).await?;
        Ok(pair)
    }

    /// Registers the bank at the hub, with its address and its client.
    async fn register_partner(&self, bank_client: &str) -> anyhow::Result<()> {
        let (base, client) = (self.bank.base(), self.bank.create_client().await?);
        let partner = json!({
            "id": PARTNER, "payment_schemes": ["ZA_RTC"], "client_ids": [bank_client],
            "destination": {
                "base_url": format!("{base}/v1"), "kind": "oauth2", "token_url": format!("{base}/oauth2/token"),
                "client_id": client.id, "client_secret": client.secret,
            },
        });
        self.hub.client().await?.call("POST", "/v1/clearing/partners", &partner).await?;
        Ok(())
    }

    /// Kills one side with SIGKILL, and starts it again on the same data at the same address.
    pub async fn restart(self, side: Side) -> anyhow::Result<Pair> {
        let Pair { hub, bank } = self;
        Ok(match side {
            Side::Hub => Pair { hub: hub.restart().await?, bank },
            Side::Bank => Pair { hub, bank: bank.restart().await? },
        })
    }

    pub async fn stop(self) -> anyhow::Result<()> {
        self.hub.program.stop().await?;
        self.bank.program.stop().await?;
        Ok(())
    }
}

/// Starts the bank alone, with its customers. `platform` is the TOML line that defines the destination of the bank's
/// responses.
pub async fn start_bank(binary: &Path, folder: &Path, platform: &str) -> anyhow::Result<Host> {
    let bank =
        Host::start(binary, folder, Side::Bank, &format!("settings.bank.side = \"partner\"\n{platform}")).await?;
    let mut client = bank.client().await?;
    for customer in 0..ACCOUNTS {
        let account = json!({ "account_number": message::account(customer) });
        client.call("POST", "/v1/clearing/accounts", &account).await?;
    }
    Ok(bank)
}

impl Host {
    async fn start(binary: &Path, folder: &Path, side: Side, extra_toml: &str) -> anyhow::Result<Host> {
        let mut plugin = PluginSection::new("clearing", &guests::component_path("clearing"), &GRANTS);
        plugin.extra_toml = extra_toml.to_owned();
        let folder = folder.join(side.name());
        let plan = ProgramPlan { binary: binary.to_path_buf(), folder, plugins: vec![plugin] };
        let program = Program::start_at(plan, restartable_address()?).await?;
        let credentials = create_client(&program, side.name()).await?;
        Ok(Host { program, side, credentials })
    }

    async fn restart(self) -> anyhow::Result<Host> {
        let Host { program, side, credentials } = self;
        let public = program.public;
        Ok(Host { program: Program::start_at(program.kill()?, public).await?, side, credentials })
    }

    pub fn address(&self) -> SocketAddr {
        self.program.public
    }

    fn base(&self) -> String {
        format!("http://{}", self.program.public)
    }

    /// Creates an OAuth client for the other side, with every scope of the plugin.
    async fn create_client(&self) -> anyhow::Result<Credentials> {
        create_client(&self.program, self.side.name()).await
    }

    /// Requests an access token, which is valid for ten minutes.
    pub async fn token(&self) -> anyhow::Result<String> {
        let Credentials { id, secret } = &self.credentials;
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let mut client = Client::new(self.program.public, "");
        let response = client.send("POST", "/oauth2/token", &headers, form.as_bytes()).await?.json();
        let token = response.get("access_token").and_then(Value::as_str);
        Ok(token.with_context(|| format!("no token in {response}"))?.to_owned())
    }

    pub async fn client(&self) -> anyhow::Result<Client> {
        Ok(self.program.client(&self.token().await?))
    }
}

async fn create_client(program: &Program, tenant: &str) -> anyhow::Result<Credentials> {
    let body = json!({ "plugin": "clearing", "tenant": tenant, "environment": "test" });
    let created = program.operator()?.call("POST", "/v1/clients", &body).await?;
    let text = |name: &str| created.get(name).and_then(Value::as_str).map(str::to_owned);
    let (id, secret) = text("client_id").zip(text("client_secret")).context("no credentials in the response")?;
    Ok(Credentials { id, secret })
}
