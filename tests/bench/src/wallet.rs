//! The wallet interface and its providers on one host: their sections, HTTP callers, and operator commands for
//! simulated blockchains.
//!
//! Everything is in the test environment. The key of a wallet signs its webhooks. [`is_signed`] checks the signature
//! of a received webhook.

use std::io;

use anyhow::{Context, ensure};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha512;

use crate::{
    guests,
    program::{PluginSection, Program},
    receiver::ReceivedRequest,
    wire::{Client, Response, find_header},
};

pub const PLUGIN: &str = "wallet";
pub const PROVIDERS: &str = "sandbox-providers";
/// Grants of the wallet plugin, as in the shipped plugins.toml.
pub const GRANTS: [&str; 14] = [
    "records",
    "ledger",
    "events",
    "subscriptions",
    "tasks",
    "effects",
    "questions",
    "credentials",
    "keyring",
    "chains",
    "ids",
    "journal",
    "config",
    "log",
];
const PROVIDERS_GRANTS: [&str; 10] =
    ["records", "ledger", "tasks", "effects", "destinations", "ids", "config", "log", "keyring", "chains"];
const KINDS: [&str; 6] = ["payout", "liquidity", "gateway", "rates", "screening", "virtual-accounts"];

/// Returns the sections of the providers and of the wallet interface. A block is produced every `block_ms`. Failed
/// webhooks are retried after 100 to 3 200 ms.
pub fn plugins(block_ms: u64) -> Vec<PluginSection> {
    let mut providers = PluginSection::new(PROVIDERS, &guests::component_path("sandbox_providers"), &PROVIDERS_GRANTS);
    providers.mount = format!("/{PROVIDERS}");
    providers.extra_toml = "settings = { webhook-secret = \"sandbox\", payout-ms = 200 }\n\
                      destinations.wallet = { kind = \"plugin\", plugin = \"wallet\" }"
        .to_owned();
    let mut wallet = PluginSection::new(PLUGIN, &guests::component_path(PLUGIN), &GRANTS);
    let destinations =
        KINDS.map(|kind| format!("destinations.{kind} = {{ kind = \"plugin\", plugin = {PROVIDERS:?} }}\n"));
    wallet.extra_toml = format!(
        "settings.webhook-secret = \"sandbox\"\n{}\
         webhooks = {{ schedule-ms = [100, 200, 400, 800, 1600, 3200], success = \"200\" }}\n\
         [chains]\nblock-ms = {block_ms}",
        destinations.concat()
    );
    vec![providers, wallet]
}

/// Client of the interface, with the key of an account or of a wallet.
pub struct Caller {
    client: Client,
    key: String,
}

impl Caller {
    pub fn new(program: &Program, key: &str) -> Caller {
        Caller { client: Client::new(program.public, ""), key: key.to_owned() }
    }

    pub async fn send(&mut self, method: &str, path: &str, body: &Value) -> io::Result<Response> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.send(method, path, &[("x-api-key", self.key.as_str())], &bytes).await
    }

    /// Sends a request and returns the member `data` of the response.
    ///
    /// # Errors
    /// A status other than 2xx is an error that contains the response body.
    pub async fn call(&mut self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let response = self.send(method, path, body).await?;
        let text = String::from_utf8_lossy(&response.body);
        ensure!((200..300).contains(&response.status), "{method} {path}: {} {text}", response.status);
        Ok(response.json().get("data").cloned().unwrap_or_default())
    }

    pub async fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        self.call("GET", path, &Value::Null).await
    }
}

/// Master wallet with its API key.
#[derive(Clone, Debug)]
pub struct Wallet {
    pub id: String,
    pub key: String,
    pub blockchain: String,
    pub address: String,
}

/// Address of a wallet.
#[derive(Clone, Debug)]
pub struct Address {
    pub id: String,
    pub address: String,
}

impl Wallet {
    /// Creates a wallet. The account must have no wallet on this blockchain. The faucet's coins arrive a few blocks
    /// later.
    pub async fn create(account: &mut Caller, blockchain: &str, webhook_url: &str) -> anyhow::Result<Wallet> {
        let body = json!({ "blockchain": blockchain, "network": "testnet", "webhook_url": webhook_url });
        let created = account.call("POST", "/v1/wallets", &body).await?;
        let (id, key, address) = (text(&created, "wallet_id")?, text(&created, "api_key")?, text(&created, "address")?);
        Ok(Wallet { id, key, blockchain: blockchain.to_owned(), address })
    }

    pub fn caller(&self, program: &Program) -> Caller {
        Caller::new(program, &self.key)
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/v1/wallets/{}{rest}", self.id)
    }

    /// Creates an address. `options`: name, metadata, whether it is swept. The wallet must have coins.
    pub async fn create_address(&self, caller: &mut Caller, options: &Value) -> anyhow::Result<Address> {
        let created = caller.call("POST", &self.path("/addresses"), options).await?;
        Ok(Address { id: text(&created, "address_id")?, address: text(&created, "address")? })
    }

    /// Returns the id of an asset that the wallet can hold.
    pub async fn asset(&self, caller: &mut Caller, symbol: &str) -> anyhow::Result<String> {
        let assets = caller.get(&self.path("/assets")).await?;
        let has_symbol = |asset: &&Value| asset.pointer("/asset/symbol").and_then(Value::as_str) == Some(symbol);
        let found = assets.as_array().and_then(|assets| assets.iter().find(has_symbol));
        text(found.with_context(|| format!("no {symbol} on {}", self.blockchain))?, "id")
    }

    /// Returns the available balance of an asset.
    pub async fn available(&self, caller: &mut Caller, symbol: &str) -> anyhow::Result<String> {
        let balances = caller.get(&self.path("/balances")).await?;
        let has_symbol = |row: &&Value| row.pointer("/asset/asset/symbol").and_then(Value::as_str) == Some(symbol);
        let found = balances.as_array().and_then(|rows| rows.iter().find(has_symbol));
        text(found.with_context(|| format!("no balance of {symbol} on {}", self.blockchain))?, "balance")
    }
}

/// Returns a string member of a response.
pub fn text(response: &Value, name: &str) -> anyhow::Result<String> {
    let found = response.get(name).and_then(Value::as_str);
    Ok(found.with_context(|| format!("no {name} in {response}"))?.to_owned())
}

/// Sends an operator command to a simulated blockchain.
pub async fn control(operator: &mut Client, blockchain: &str, control: &Value) -> anyhow::Result<Value> {
    operator.call("POST", "/v1/chains/control", &json!({ "blockchain": blockchain, "control": control })).await
}

/// Credits an address on a simulated blockchain, out of nothing. Without a symbol, the amount is in the native coin.
pub async fn fund(
    operator: &mut Client,
    (blockchain, address): (&str, &str),
    (symbol, amount): (Option<&str>, &str),
) -> anyhow::Result<()> {
    let command = json!({ "kind": "give", "address": address, "token": symbol, "amount": amount });
    control(operator, blockchain, &command).await.map(drop)
}

/// Returns the balance of an address on the blockchain.
pub async fn on_chain(
    operator: &mut Client,
    (blockchain, address): (&str, &str),
    symbol: &str,
) -> anyhow::Result<String> {
    let path = format!("/v1/chains/balance?blockchain={blockchain}&address={address}");
    let report = operator.call("GET", &path, &Value::Null).await?;
    let has_symbol = |row: &&Value| row.get("symbol").and_then(Value::as_str) == Some(symbol);
    let found = report.get("balances").and_then(Value::as_array).and_then(|rows| rows.iter().find(has_symbol));
    text(found.with_context(|| format!("no {symbol} in {report}"))?, "amount")
}

/// Returns whether the signature of a webhook is valid for the key (spec/wallet: Authentication 4).
pub fn is_signed(webhook: &ReceivedRequest<'_>, key: &str) -> bool {
    let sent = find_header(webhook.head, "x-service-signature").and_then(|digits| hex::decode(digits).ok());
    let signed = Hmac::<Sha512>::new_from_slice(key.as_bytes()).map(|mac| mac.chain_update(webhook.body));
    sent.zip(signed.ok()).is_some_and(|(sent, signed)| signed.verify_slice(&sent).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, case 2.
    #[test]
    fn signature_depends_on_the_key_and_on_every_byte() {
        let signature = "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
                         caeab1a34d4a6b4b636e070a38bce737";
        let head = format!("POST /hook HTTP/1.1\r\nx-service-signature: {signature}\r\n\r\n");
        let post = |body| ReceivedRequest { endpoint: 0, id: "", key: "", head: &head, body };
        assert!(is_signed(&post(b"what do ya want for nothing?"), "Jefe"));
        assert!(!is_signed(&post(b"what do ya want for nothing!"), "Jefe"));
        assert!(!is_signed(&post(b"what do ya want for nothing?"), "Jeff"));
    }
}
