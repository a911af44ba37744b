//! Setup of the scenario: an account with a master wallet on each of several blockchains, addresses of all kinds,
//! auto-settlement rules, bank accounts, and sufficient funds.

use std::{collections::HashMap, sync::Arc, time::Instant};

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    crash::{POLL, SETTLE_TIMEOUT},
    program::Program,
    wallet::{self, Address, Caller, Wallet, fund},
    wire::Client,
};

/// A blockchain as the scenario uses it.
#[derive(Debug)]
pub struct Network {
    pub blockchain: &'static str,
    pub coin: &'static str,
    /// Tokens with their decimals.
    pub tokens: &'static [(&'static str, u32)],
    /// Asset that a token is swapped into.
    pub bought: &'static str,
    pub has_gateway: bool,
    pub is_evm: bool,
}

/// Networks of the scenario. Each requires more confirmations than the number of blocks that a reorganisation of the
/// scenario replaces.
pub const NETWORKS: [Network; 4] = [
    Network {
        blockchain: "base",
        coin: "ETH",
        tokens: &[("USDC", 6), ("DAI", 18)],
        bought: "DAI",
        has_gateway: true,
        is_evm: true,
    },
    Network {
        blockchain: "polygon",
        coin: "POL",
        tokens: &[("USDC", 6), ("USDT", 6)],
        bought: "USDT",
        has_gateway: true,
        is_evm: true,
    },
    Network {
        blockchain: "tron",
        coin: "TRX",
        tokens: &[("USDT", 6)],
        bought: "TRX",
        has_gateway: false,
        is_evm: false,
    },
    Network {
        blockchain: "solana",
        coin: "SOL",
        tokens: &[("USDC", 6), ("USDT", 6)],
        bought: "USDT",
        has_gateway: false,
        is_evm: false,
    },
];

/// Kinds of addresses of a wallet, by the handling of their deposits.
pub const ADDRESS_KINDS: [AddressKind; 6] = [
    AddressKind::Swept,
    AddressKind::Resting,
    AddressKind::Gasless,
    AddressKind::SentOn,
    AddressKind::Swapped,
    AddressKind::IntoGateway,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressKind {
    Swept,
    /// Deposits stay at the address, which pays for gas itself.
    Resting,
    /// Deposits stay at the address, and the master wallet pays the gas of withdrawals.
    Gasless,
    /// An auto-settlement rule forwards deposits to an external address.
    SentOn,
    /// An auto-settlement rule swaps deposits.
    Swapped,
    /// An auto-settlement rule moves deposits to the gateway, if the network has one.
    IntoGateway,
}

/// Initial whole units of each wallet, of each token and of the coin.
const TOKENS: &str = "1000000";
const COINS: &str = "100000";
/// Initial whole units of an address whose deposits stay.
const TOKENS_OF_ADDRESS: &str = "10000";
const COINS_OF_ADDRESS: &str = "1000";
const FORM: &str = "/v1/compliance/forms/naira-onboarding";
pub const INSTITUTION: &str = "SANDNGLA";
/// Bank accounts of payouts. Payouts to the second account fail after their coins have arrived, and the coins are
/// returned (docs/wallet/providers.md).
pub const ACCOUNTS: [&str; 2] = ["0123456789", "0123450001"];

/// A wallet with its assets and addresses.
#[derive(Debug)]
pub struct WalletSetup {
    pub network: &'static Network,
    pub wallet: Wallet,
    /// Asset ids by symbol.
    pub assets: HashMap<&'static str, String>,
    pub addresses: Vec<(AddressKind, Address)>,
}

pub struct WalletScenario {
    pub setups: Vec<Arc<WalletSetup>>,
    /// API key of the account at the providers.
    pub providers_key: String,
}

impl WalletSetup {
    pub fn address(&self, kind: AddressKind) -> Option<&Address> {
        self.addresses.iter().find(|(known, _)| *known == kind).map(|(_, address)| address)
    }

    pub fn asset(&self, symbol: &str) -> &str {
        self.assets.get(symbol).map(String::as_str).unwrap_or_default()
    }
}

/// Returns an address whose key no wallet of the scenario has. Each name has its own address.
pub fn external_address(blockchain: &str, name: &str) -> String {
    let hash = Sha256::digest(name.as_bytes());
    let half: Vec<u8> = hash.iter().copied().take(20).collect();
    match blockchain {
        "tron" => bs58::encode(half).with_check_version(0x41).into_string(),
        "solana" => bs58::encode(hash).into_string(),
        _ => format!("0x{}", hex::encode(half)),
    }
}

impl WalletScenario {
    /// Creates all wallets and their funds. Calls `add_key` for each wallet as soon as its key exists.
    pub async fn open(
        program: &Program,
        webhook_url: &str,
        mut add_key: impl FnMut(&Wallet),
    ) -> anyhow::Result<WalletScenario> {
        let mut account = Caller::new(program, &program.create_key(wallet::PLUGIN, "crash")?);
        let providers_key = program.create_key(wallet::PROVIDERS, "crash")?;
        account.call("POST", &format!("{FORM}/submit"), &json!({})).await?;
        account.call("POST", &format!("{FORM}/decide"), &json!({ "state": "approved" })).await?;
        let mut wallets = Vec::new();
        for network in &NETWORKS {
            let wallet = Wallet::create(&mut account, network.blockchain, webhook_url).await?;
            add_key(&wallet);
            wallets.push((network, wallet));
        }
        let mut setups = Vec::new();
        for (network, wallet) in wallets {
            let blockchain = network.blockchain;
            let setup = set_up(program, network, wallet).await;
            setups.push(Arc::new(setup.with_context(|| format!("a wallet on {blockchain}"))?));
        }
        Ok(WalletScenario { setups, providers_key })
    }
}

async fn set_up(program: &Program, network: &'static Network, wallet: Wallet) -> anyhow::Result<WalletSetup> {
    let (mut caller, mut operator) = (wallet.caller(program), program.operator()?);
    let symbols = || network.tokens.iter().map(|(symbol, _)| *symbol);
    let master = (network.blockchain, wallet.address.as_str());
    fund(&mut operator, master, (None, COINS)).await?;
    for symbol in symbols() {
        fund(&mut operator, master, (Some(symbol), TOKENS)).await?;
    }
    let mut assets = HashMap::new();
    for symbol in symbols().chain([network.coin]) {
        assets.insert(symbol, wallet.asset(&mut caller, symbol).await?);
        wait_for_funds(&wallet, &mut caller, symbol).await?;
    }
    for account in ACCOUNTS {
        let body = json!({ "currency": "NGN", "institution_identifier": INSTITUTION, "account_identifier": account });
        let path = wallet.path("/withdraw/fiat/institution-account-verification");
        caller.call("POST", &path, &body).await?;
    }
    let mut addresses = Vec::new();
    for kind in ADDRESS_KINDS {
        let options = json!({
            "name": format!("{kind:?}"),
            "disable_auto_sweep": matches!(kind, AddressKind::Resting | AddressKind::Gasless),
            "enable_gasless_withdraw": kind == AddressKind::Gasless,
        });
        let address = wallet.create_address(&mut caller, &options).await?;
        create_settlement_rule(network, &wallet, &address, kind, &mut caller).await?;
        fund_address(network, &address, kind, &mut operator).await?;
        addresses.push((kind, address));
    }
    Ok(WalletSetup { network, wallet, assets, addresses })
}

/// Waits until the funds of a wallet have arrived.
async fn wait_for_funds(wallet: &Wallet, caller: &mut Caller, symbol: &str) -> anyhow::Result<()> {
    let until = Instant::now() + SETTLE_TIMEOUT;
    while wallet.available(caller, symbol).await?.len() < COINS.len() {
        ensure!(Instant::now() < until, "{symbol} did not arrive within {SETTLE_TIMEOUT:?}");
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Creates the auto-settlement rule of an address, if its kind has one.
async fn create_settlement_rule(
    network: &Network,
    wallet: &Wallet,
    address: &Address,
    kind: AddressKind,
    caller: &mut Caller,
) -> anyhow::Result<()> {
    let Some((token, _)) = network.tokens.first() else { return Ok(()) };
    let to =
        |asset: &str, address: &str| json!({ "blockchain": network.blockchain, "asset": asset, "address": address });
    let mut body = json!({ "name": format!("{kind:?}"), "source": { "assets": [token] } });
    let (member, value) = match kind {
        AddressKind::SentOn => ("destination", to(token, &external_address(network.blockchain, "sent on"))),
        // To the master wallet, where it arrives as a deposit.
        AddressKind::Swapped => ("destination", to(network.bought, &wallet.address)),
        AddressKind::IntoGateway if network.has_gateway => ("isGateway", Value::Bool(true)),
        _ => return Ok(()),
    };
    if let Some(members) = body.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
    let path = wallet.path(&format!("/addresses/{}/auto-settlements/rules", address.id));
    caller.call("POST", &path, &body).await.map(drop)
}

/// Funds an address whose withdrawals the scenario requests.
async fn fund_address(
    network: &Network,
    address: &Address,
    kind: AddressKind,
    operator: &mut Client,
) -> anyhow::Result<()> {
    let location = (network.blockchain, address.address.as_str());
    if kind == AddressKind::Resting {
        fund(operator, location, (None, COINS_OF_ADDRESS)).await?;
    }
    if matches!(kind, AddressKind::Resting | AddressKind::Gasless) {
        for (symbol, _) in network.tokens {
            fund(operator, location, (Some(symbol), TOKENS_OF_ADDRESS)).await?;
        }
    }
    Ok(())
}
