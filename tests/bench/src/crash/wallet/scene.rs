//! Where it plays: an account with a master wallet on each of a few blockchains, addresses of all sorts under each, rules of
//! auto-settlement, bank accounts, and enough money for all of it.

use std::{collections::HashMap, sync::Arc, time::Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    crash::{POLL, SETTLED_WITHIN},
    program::Program,
    wallet::{self, Address, Caller, Wallet, give},
    wire::Client,
};

/// A blockchain as the scenario uses it.
#[derive(Debug)]
pub struct Facts {
    pub blockchain: &'static str,
    pub coin: &'static str,
    /// With their decimals.
    pub tokens: &'static [(&'static str, u32)],
    /// What a token is swapped into here.
    pub bought: &'static str,
    pub has_gateway: bool,
    pub is_evm: bool,
}

/// All of them are final after more blocks than a reorganisation replaces here.
pub const NETWORKS: [Facts; 4] = [
    Facts {
        blockchain: "base",
        coin: "ETH",
        tokens: &[("USDC", 6), ("DAI", 18)],
        bought: "DAI",
        has_gateway: true,
        is_evm: true,
    },
    Facts {
        blockchain: "polygon",
        coin: "POL",
        tokens: &[("USDC", 6), ("USDT", 6)],
        bought: "USDT",
        has_gateway: true,
        is_evm: true,
    },
    Facts { blockchain: "tron", coin: "TRX", tokens: &[("USDT", 6)], bought: "TRX", has_gateway: false, is_evm: false },
    Facts {
        blockchain: "solana",
        coin: "SOL",
        tokens: &[("USDC", 6), ("USDT", 6)],
        bought: "USDT",
        has_gateway: false,
        is_evm: false,
    },
];

/// What happens to deposits at the addresses of a wallet, in this order. Whoever rests can pay for gas itself.
pub const SORTS: [Sort; 6] =
    [Sort::Swept, Sort::Resting, Sort::Gasless, Sort::SentOn, Sort::Swapped, Sort::IntoGateway];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Swept,
    Resting,
    /// It rests, and the master wallet pays for withdrawals.
    Gasless,
    /// Rules of auto-settlement.
    SentOn,
    Swapped,
    IntoGateway,
}

/// Whole units that each wallet begins with, of each token and of the coin.
const TOKENS: &str = "1000000";
const COINS: &str = "100000";
/// The same of an address that rests.
const TOKENS_OF_ADDRESS: &str = "10000";
const COINS_OF_ADDRESS: &str = "1000";
const FORM: &str = "/v1/compliance/forms/naira-onboarding";
pub const INSTITUTION: &str = "SANDNGLA";
/// Payouts to the second one fail when their coins have come, and those go back (docs/wallet/providers.md).
pub const ACCOUNTS: [&str; 2] = ["0123456789", "0123450001"];

/// One wallet with all that belongs to it.
#[derive(Debug)]
pub struct Place {
    pub facts: &'static Facts,
    pub wallet: Wallet,
    /// Ids by symbol.
    pub assets: HashMap<&'static str, String>,
    pub addresses: Vec<(Sort, Address)>,
}

pub struct Scene {
    pub places: Vec<Arc<Place>>,
    /// Of the account at the providers.
    pub providers_key: String,
}

impl Place {
    pub fn address(&self, sort: Sort) -> Option<&Address> {
        self.addresses.iter().find(|(known, _)| *known == sort).map(|(_, address)| address)
    }

    pub fn asset(&self, symbol: &str) -> &str {
        self.assets.get(symbol).map(String::as_str).unwrap_or_default()
    }
}

/// An address that nobody has the key of; each name has one of its own.
pub fn stranger(blockchain: &str, name: &str) -> String {
    let hash = Sha256::digest(name.as_bytes());
    let half: Vec<u8> = hash.iter().copied().take(20).collect();
    match blockchain {
        "tron" => bs58::encode(half).with_check_version(0x41).into_string(),
        "solana" => bs58::encode(hash).into_string(),
        _ => format!("0x{}", hex::encode(half)),
    }
}

impl Scene {
    /// `note_key`: hears of each wallet's key as soon as there is one.
    pub async fn open(
        program: &Program,
        webhook_url: &str,
        mut note_key: impl FnMut(&Wallet),
    ) -> anyhow::Result<Scene> {
        let mut account = Caller::new(program, &program.create_key(wallet::PLUGIN, "crash")?);
        let providers_key = program.create_key(wallet::PROVIDERS, "crash")?;
        account.call("POST", &format!("{FORM}/submit"), &json!({})).await?;
        account.call("POST", &format!("{FORM}/decide"), &json!({ "state": "approved" })).await?;
        let mut wallets = Vec::new();
        for facts in &NETWORKS {
            let wallet = Wallet::create(&mut account, facts.blockchain, webhook_url).await?;
            note_key(&wallet);
            wallets.push((facts, wallet));
        }
        let mut places = Vec::new();
        for (facts, wallet) in wallets {
            let blockchain = facts.blockchain;
            let place = furnish(program, facts, wallet).await.with_context(|| format!("a wallet on {blockchain}"))?;
            places.push(Arc::new(place));
        }
        Ok(Scene { places, providers_key })
    }
}

async fn furnish(program: &Program, facts: &'static Facts, wallet: Wallet) -> anyhow::Result<Place> {
    let (mut caller, mut operator) = (wallet.caller(program), program.operator()?);
    let symbols = || facts.tokens.iter().map(|(symbol, _)| *symbol);
    let master = (facts.blockchain, wallet.address.as_str());
    give(&mut operator, master, (None, COINS)).await?;
    for symbol in symbols() {
        give(&mut operator, master, (Some(symbol), TOKENS)).await?;
    }
    let mut assets = HashMap::new();
    for symbol in symbols().chain([facts.coin]) {
        assets.insert(symbol, wallet.asset(&mut caller, symbol).await?);
        wait_for_some(&wallet, &mut caller, symbol).await?;
    }
    for account in ACCOUNTS {
        let body = json!({ "currency": "NGN", "institution_identifier": INSTITUTION, "account_identifier": account });
        let path = wallet.path("/withdraw/fiat/institution-account-verification");
        caller.call("POST", &path, &body).await?;
    }
    let mut addresses = Vec::new();
    for sort in SORTS {
        let options = json!({
            "name": format!("{sort:?}"),
            "disable_auto_sweep": matches!(sort, Sort::Resting | Sort::Gasless),
            "enable_gasless_withdraw": sort == Sort::Gasless,
        });
        let address = wallet.create_address(&mut caller, &options).await?;
        rule(facts, &wallet, &address, sort, &mut caller).await?;
        equip(facts, &address, sort, &mut operator).await?;
        addresses.push((sort, address));
    }
    Ok(Place { facts, wallet, assets, addresses })
}

/// All of what was given comes at once or nearly so.
async fn wait_for_some(wallet: &Wallet, caller: &mut Caller, symbol: &str) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLED_WITHIN;
    while wallet.available(caller, symbol).await?.len() < COINS.len() {
        ensure!(Instant::now() < until, "{symbol} that was given did not come within {SETTLED_WITHIN:?}");
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Its rule of auto-settlement, where it has one.
async fn rule(
    facts: &Facts,
    wallet: &Wallet,
    address: &Address,
    sort: Sort,
    caller: &mut Caller,
) -> anyhow::Result<()> {
    let Some((token, _)) = facts.tokens.first() else { return Ok(()) };
    let to = |asset: &str, address: &str| json!({ "blockchain": facts.blockchain, "asset": asset, "address": address });
    let mut body = json!({ "name": format!("{sort:?}"), "source": { "assets": [token] } });
    let (member, value) = match sort {
        Sort::SentOn => ("destination", to(token, &stranger(facts.blockchain, "sent on"))),
        // To the master wallet: it arrives there as a deposit.
        Sort::Swapped => ("destination", to(facts.bought, &wallet.address)),
        Sort::IntoGateway if facts.has_gateway => ("isGateway", Value::Bool(true)),
        _ => return Ok(()),
    };
    if let Some(members) = body.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
    let path = wallet.path(&format!("/addresses/{}/auto-settlements/rules", address.id));
    caller.call("POST", &path, &body).await.map(drop)
}

/// What withdrawals from it are paid with.
async fn equip(facts: &Facts, address: &Address, sort: Sort, operator: &mut Client) -> anyhow::Result<()> {
    let place = (facts.blockchain, address.address.as_str());
    if sort == Sort::Resting {
        give(operator, place, (None, COINS_OF_ADDRESS)).await?;
    }
    if matches!(sort, Sort::Resting | Sort::Gasless) {
        for (symbol, _) in facts.tokens {
            give(operator, place, (Some(symbol), TOKENS_OF_ADDRESS)).await?;
        }
    }
    Ok(())
}
