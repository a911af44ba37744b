//! The wallet interface and its providers on one host: how they are set up, who calls, and what an operator does to a simulated
//! blockchain.
//!
//! Everything is in the test environment. A wallet's own key signs its webhooks: [`is_signed`] checks one as it arrived.

use std::io;

use anyhow::{Context, ensure};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha512;

use crate::{
    guests,
    program::{PluginSection, Program},
    receiver::Post,
    wire::{Answer, Client, find_header},
};

pub const PLUGIN: &str = "wallet";
pub const PROVIDERS: &str = "sandbox-providers";
/// What the plugins are granted, as in the shipped plugins.toml.
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

/// The providers and the interface. Blocks come every `block_ms`; what was refused is tried again soon.
pub fn plugins(block_ms: u64) -> Vec<PluginSection> {
    let mut providers = PluginSection::new(PROVIDERS, &guests::component_path("sandbox_providers"), &PROVIDERS_GRANTS);
    providers.mount = format!("/{PROVIDERS}");
    providers.more = "settings = { webhook-secret = \"sandbox\", payout-ms = 200 }\n\
                      destinations.wallet = { kind = \"plugin\", plugin = \"wallet\" }"
        .to_owned();
    let mut wallet = PluginSection::new(PLUGIN, &guests::component_path(PLUGIN), &GRANTS);
    let destinations =
        KINDS.map(|kind| format!("destinations.{kind} = {{ kind = \"plugin\", plugin = {PROVIDERS:?} }}\n"));
    wallet.more = format!(
        "settings.webhook-secret = \"sandbox\"\n{}\
         webhooks = {{ schedule-ms = [100, 200, 400, 800, 1600, 3200], success = \"200\" }}\n\
         [chains]\nblock-ms = {block_ms}",
        destinations.concat()
    );
    vec![providers, wallet]
}

/// Who calls the interface, with the key of an account or of a wallet.
pub struct Caller {
    client: Client,
    key: String,
}

impl Caller {
    pub fn new(program: &Program, key: &str) -> Caller {
        Caller { client: Client::new(program.public, ""), key: key.to_owned() }
    }

    pub async fn send(&mut self, method: &str, path: &str, body: &Value) -> io::Result<Answer> {
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.send(method, path, &[("x-api-key", self.key.as_str())], &bytes).await
    }

    /// The data of the answer; one that is not 2xx is an error that shows it.
    pub async fn call(&mut self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let answer = self.send(method, path, body).await?;
        let text = String::from_utf8_lossy(&answer.body);
        ensure!((200..300).contains(&answer.status), "{method} {path}: {} {text}", answer.status);
        Ok(answer.json().get("data").cloned().unwrap_or_default())
    }

    pub async fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        self.call("GET", path, &Value::Null).await
    }
}

/// A master wallet, and the key that opens it.
#[derive(Clone, Debug)]
pub struct Wallet {
    pub id: String,
    pub key: String,
    pub blockchain: String,
    pub address: String,
}

/// An address under a wallet.
#[derive(Clone, Debug)]
pub struct Address {
    pub id: String,
    pub address: String,
}

impl Wallet {
    /// Of an account that has none on this blockchain. The faucet's coins come a few blocks later.
    pub async fn create(account: &mut Caller, blockchain: &str, webhook_url: &str) -> anyhow::Result<Wallet> {
        let body = json!({ "blockchain": blockchain, "network": "testnet", "webhook_url": webhook_url });
        let made = account.call("POST", "/v1/wallets", &body).await?;
        let (id, key, address) = (text(&made, "wallet_id")?, text(&made, "api_key")?, text(&made, "address")?);
        Ok(Wallet { id, key, blockchain: blockchain.to_owned(), address })
    }

    pub fn caller(&self, program: &Program) -> Caller {
        Caller::new(program, &self.key)
    }

    pub fn path(&self, rest: &str) -> String {
        format!("/v1/wallets/{}{rest}", self.id)
    }

    /// `options`: name, metadata, whether it is swept. The wallet must have coins.
    pub async fn create_address(&self, caller: &mut Caller, options: &Value) -> anyhow::Result<Address> {
        let made = caller.call("POST", &self.path("/addresses"), options).await?;
        Ok(Address { id: text(&made, "address_id")?, address: text(&made, "address")? })
    }

    /// The id of an asset that it can hold.
    pub async fn asset(&self, caller: &mut Caller, symbol: &str) -> anyhow::Result<String> {
        let assets = caller.get(&self.path("/assets")).await?;
        let is_it = |asset: &&Value| asset.pointer("/asset/symbol").and_then(Value::as_str) == Some(symbol);
        let found = assets.as_array().and_then(|assets| assets.iter().find(is_it));
        text(found.with_context(|| format!("no {symbol} on {}", self.blockchain))?, "id")
    }

    /// What it can spend of an asset.
    pub async fn available(&self, caller: &mut Caller, symbol: &str) -> anyhow::Result<String> {
        let balances = caller.get(&self.path("/balances")).await?;
        let is_it = |row: &&Value| row.pointer("/asset/asset/symbol").and_then(Value::as_str) == Some(symbol);
        let found = balances.as_array().and_then(|rows| rows.iter().find(is_it));
        text(found.with_context(|| format!("no balance of {symbol} on {}", self.blockchain))?, "balance")
    }
}

/// A member of an answer that is a text.
pub fn text(answer: &Value, name: &str) -> anyhow::Result<String> {
    let found = answer.get(name).and_then(Value::as_str);
    Ok(found.with_context(|| format!("no {name} in {answer}"))?.to_owned())
}

/// What an operator does to a blockchain.
pub async fn control(operator: &mut Client, blockchain: &str, control: &Value) -> anyhow::Result<Value> {
    operator.call("POST", "/v1/chains/control", &json!({ "blockchain": blockchain, "control": control })).await
}

/// Out of nothing. Without a symbol: the coin.
pub async fn give(
    operator: &mut Client,
    (blockchain, address): (&str, &str),
    (symbol, amount): (Option<&str>, &str),
) -> anyhow::Result<()> {
    let wish = json!({ "kind": "give", "address": address, "token": symbol, "amount": amount });
    control(operator, blockchain, &wish).await.map(drop)
}

/// What stands on the blockchain.
pub async fn on_chain(
    operator: &mut Client,
    (blockchain, address): (&str, &str),
    symbol: &str,
) -> anyhow::Result<String> {
    let path = format!("/v1/chains/balance?blockchain={blockchain}&address={address}");
    let report = operator.call("GET", &path, &Value::Null).await?;
    let is_it = |row: &&Value| row.get("symbol").and_then(Value::as_str) == Some(symbol);
    let found = report.get("balances").and_then(Value::as_array).and_then(|rows| rows.iter().find(is_it));
    text(found.with_context(|| format!("no {symbol} in {report}"))?, "amount")
}

/// spec/wallet: Authentication 4.
pub fn is_signed(post: &Post<'_>, key: &str) -> bool {
    let sent = find_header(post.head, "x-service-signature").and_then(|digits| hex::decode(digits).ok());
    let signed = Hmac::<Sha512>::new_from_slice(key.as_bytes()).map(|mac| mac.chain_update(post.body));
    sent.zip(signed.ok()).is_some_and(|(sent, signed)| signed.verify_slice(&sent).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, case 2.
    #[test]
    fn a_webhook_is_signed_with_the_key_and_over_its_very_bytes() {
        let signature = "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
                         caeab1a34d4a6b4b636e070a38bce737";
        let head = format!("POST /hook HTTP/1.1\r\nx-service-signature: {signature}\r\n\r\n");
        let post = |body| Post { endpoint: 0, id: "", key: "", head: &head, body };
        assert!(is_signed(&post(b"what do ya want for nothing?"), "Jefe"));
        assert!(!is_signed(&post(b"what do ya want for nothing!"), "Jefe"));
        assert!(!is_signed(&post(b"what do ya want for nothing?"), "Jeff"));
    }
}
