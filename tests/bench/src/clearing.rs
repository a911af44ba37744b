//! Two hosts that clear payments with each other over loopback: the platform "hub" and the partner "bank", each a process of
//! its own, with tokens of OAuth in both directions.
//!
//! Owns how they are set up. `message`: what is asked of them. `books`: what both sides have of a payment in the end.

use std::{fs, net::SocketAddr, path::Path};

use anyhow::Context;
use serde_json::{Value, json};

use crate::{
    guests,
    program::{PluginSection, Program, ProgramPlan, lasting_address},
    wire::Client,
};

pub mod books;
pub mod message;

/// What the plugin is granted, as in the shipped plugins.toml.
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
/// What the hub calls the bank.
pub const PARTNER: &str = "bank-a";
/// Customers of the bank.
const ACCOUNTS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Hub,
    Bank,
}

impl Side {
    /// Also the name of its tenant.
    pub fn name(self) -> &'static str {
        match self {
            Side::Hub => "hub",
            Side::Bank => "bank",
        }
    }
}

/// One of the sides, and a client that may do everything there.
pub struct Host {
    pub program: Program,
    side: Side,
    staff: Credentials,
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
    /// In folders of their own below this one.
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
        pair.introduce(&client.id).await?;
        Ok(pair)
    }

    /// The hub learns where the bank is, and who speaks for it.
    async fn introduce(&self, speaker: &str) -> anyhow::Result<()> {
        let (base, client) = (self.bank.base(), self.bank.create_client().await?);
        let partner = json!({
            "id": PARTNER, "payment_schemes": ["ZA_RTC"], "client_ids": [speaker],
            "destination": {
                "base_url": format!("{base}/v1"), "kind": "oauth2", "token_url": format!("{base}/oauth2/token"),
                "client_id": client.id, "client_secret": client.secret,
            },
        });
        self.hub.client().await?.call("POST", "/v1/clearing/partners", &partner).await?;
        Ok(())
    }

    /// Kills one side as a lost power supply does, and starts it again on the same data at the same address.
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

/// The bank alone, with its customers. `platform`: a line of its section that says where its responses go.
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
    async fn start(binary: &Path, folder: &Path, side: Side, more: &str) -> anyhow::Result<Host> {
        let mut plugin = PluginSection::new("clearing", &guests::component_path("clearing"), &GRANTS);
        plugin.more = more.to_owned();
        let folder = folder.join(side.name());
        let plan = ProgramPlan { binary: binary.to_path_buf(), folder, plugins: vec![plugin] };
        let program = Program::start_at(plan, lasting_address()?).await?;
        let staff = create_client(&program, side.name()).await?;
        Ok(Host { program, side, staff })
    }

    async fn restart(self) -> anyhow::Result<Host> {
        let Host { program, side, staff } = self;
        let public = program.public;
        Ok(Host { program: Program::start_at(program.kill()?, public).await?, side, staff })
    }

    pub fn address(&self) -> SocketAddr {
        self.program.public
    }

    fn base(&self) -> String {
        format!("http://{}", self.program.public)
    }

    /// For the other side, with every scope of the plugin.
    async fn create_client(&self) -> anyhow::Result<Credentials> {
        create_client(&self.program, self.side.name()).await
    }

    /// A new token of its staff; good for ten minutes.
    pub async fn token(&self) -> anyhow::Result<String> {
        let Credentials { id, secret } = &self.staff;
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret={secret}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let mut client = Client::new(self.program.public, "");
        let answer = client.send("POST", "/oauth2/token", &headers, form.as_bytes()).await?.json();
        let token = answer.get("access_token").and_then(Value::as_str);
        Ok(token.with_context(|| format!("no token in {answer}"))?.to_owned())
    }

    pub async fn client(&self) -> anyhow::Result<Client> {
        Ok(self.program.client(&self.token().await?))
    }
}

async fn create_client(program: &Program, tenant: &str) -> anyhow::Result<Credentials> {
    let asked = json!({ "plugin": "clearing", "tenant": tenant, "environment": "test" });
    let made = program.operator()?.call("POST", "/v1/clients", &asked).await?;
    let text = |name: &str| made.get(name).and_then(Value::as_str).map(str::to_owned);
    let (id, secret) = text("client_id").zip(text("client_secret")).context("no credentials in the answer")?;
    Ok(Credentials { id, secret })
}
