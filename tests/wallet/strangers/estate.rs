//! A wallet with everything that can stand under one, and the ids by which it is asked for.

use serde_json::{Value, json};

use super::{
    crowd::LIVE_HOOK,
    requests::{ELSEWHERE, ask, bank_account, get, link, message, owner, payout, rule, swap},
};
use crate::{
    support::eventually,
    wallet::{
        coverage::Operation,
        stage::{Address, OUTSIDE, Stage, Wallet},
    },
};

/// An address that nobody here has the key of.
const WATCHED: &str = "0x00000000000000000000000000000000deadbeef";
/// So long a transaction may be cancelled: while the clock stands still, for ever.
pub const PENDING: &str = "process-after-ms = 60000";
pub const START_MS: u64 = 1_790_000_000_000;

/// What belongs to one wallet. Empty texts: there is none.
#[derive(Default)]
pub struct Ids {
    pub address: String,
    pub watched: String,
    pub other_address: String,
    pub usdc: String,
    pub dai: String,
    pub eurc: String,
    pub deposit: String,
    pub deposit_of_address: String,
    pub pending: [String; 2],
    pub failed: [String; 2],
    pub link: String,
    pub ticket: String,
    pub rule: String,
    pub rule_of_address: String,
    /// Open, open and of the address, accepted, accepted and of the address.
    pub quotes: [String; 4],
    pub account: String,
}

pub struct Estate {
    /// Of the account that the wallet is of.
    pub key: String,
    pub wallet: Wallet,
    pub ids: Ids,
}

/// Which ids stand in a path.
#[derive(Clone, Copy)]
pub enum Under<'a> {
    /// Of the estate.
    Own,
    /// Of nothing that was ever there, in the same shape.
    Nothing,
    /// Of this wallet; what is below it is the estate's.
    Wallet(&'a str),
    /// Of this wallet; below it is nothing that was ever there.
    NothingIn(&'a str),
}

/// Like a real id, of nothing.
pub fn never(id: &str) -> String {
    format!("{}{}", &id[..24], "0123456789ab")
}

impl Estate {
    pub fn path(&self, operation: &Operation, under: Under) -> String {
        let fill = |part: &str| match part.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            None => part.to_owned(),
            Some("walletId") => match under {
                Under::Own => self.wallet.id.clone(),
                Under::Nothing => never(&self.wallet.id),
                Under::Wallet(id) | Under::NothingIn(id) => id.to_owned(),
            },
            Some(name) => {
                let id = self.id(&operation.name, name);
                assert!(!id.is_empty(), "{}: no {name}", operation.name);
                if matches!(under, Under::Nothing | Under::NothingIn(_)) { never(id) } else { id.to_owned() }
            }
        };
        operation.path.split('/').map(fill).collect::<Vec<_>>().join("/")
    }

    fn id(&self, operation: &str, parameter: &str) -> &str {
        let ids = &self.ids;
        match (parameter, operation) {
            ("addressId", "remove-whitelisted-address") => &ids.watched,
            ("addressId", _) => &ids.address,
            // One that no other request needs: it is switched off and on.
            ("assetId", _) => &ids.eurc,
            ("quoteId", "accept-fiat-quote") => &ids.quotes[0],
            ("quoteId", _) => &ids.quotes[1],
            ("linkId", _) => &ids.link,
            ("ruleId", _) if operation.ends_with("-of-address") => &ids.rule_of_address,
            ("ruleId", _) => &ids.rule,
            ("transactionId", "cancel-transaction-of-path") => &ids.pending[0],
            ("transactionId", "retry-transaction-of-path") => &ids.failed[0],
            ("transactionId", "read-address-transaction") => &ids.deposit_of_address,
            ("transactionId", _) => &ids.deposit,
            ("accountId", _) => &ids.account,
            _ => panic!("{operation}: what is {parameter}?"),
        }
    }

    /// Every text that tells of the wallet: no stranger ever reads one of them.
    pub fn marks(&self) -> Vec<&str> {
        let ids = &self.ids;
        let all = [
            &self.wallet.id,
            &self.wallet.address,
            &ids.address,
            &ids.watched,
            &ids.usdc,
            &ids.deposit,
            &ids.deposit_of_address,
            &ids.pending[0],
            &ids.failed[0],
            &ids.link,
            &ids.ticket,
            &ids.rule,
            &ids.rule_of_address,
            &ids.account,
        ];
        all.into_iter().map(String::as_str).filter(|text| !text.is_empty()).collect()
    }

    async fn post(&self, stage: &Stage, path: &str, body: Value) -> Value {
        let path = format!("/v1/wallets/{}{path}", self.wallet.id);
        let answer = ask(stage, &self.key, "POST", &path, &body.to_string()).await;
        assert!(matches!(answer.status, 200 | 201), "{path}: {}", answer.text());
        answer.json()["data"].clone()
    }

    async fn transactions(&self, stage: &Stage) -> Vec<Value> {
        let path = format!("/v1/wallets/{}/transactions", self.wallet.id);
        get(stage, &self.key, &path).await["data"].as_array().unwrap().clone()
    }
}

fn id(made: &Value) -> String {
    made["id"].as_str().unwrap_or_else(|| panic!("no id: {made}")).to_owned()
}

/// A wallet of the test environment under which there is everything but virtual accounts.
pub async fn full(stage: &Stage) -> Estate {
    let wallet = open(stage, &stage.account, "base", stage.receiver.url()).await;
    let mut estate = Estate { key: stage.account.clone(), wallet, ids: Ids::default() };
    funded(stage, &estate).await;
    name_assets(stage, &mut estate).await;
    take_in(stage, &mut estate).await;
    fill_gateway(stage, &estate).await;
    let [one, two] = [fail(stage, &estate).await, fail(stage, &estate).await];
    estate.ids.failed = [one, two];
    promise(stage, &mut estate).await;
    let made = estate.post(stage, "/payment-links", link(&estate.ids)).await;
    estate.ids.link = made["payment_link_id"].as_str().unwrap().to_owned();
    estate.ids.ticket = made["payment_link_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    estate.ids.rule = id(&estate.post(stage, "/auto-settlements/rules", rule()).await);
    let at_address = format!("/addresses/{}/auto-settlements/rules", estate.ids.address);
    estate.ids.rule_of_address = id(&estate.post(stage, &at_address, rule()).await);
    for at in 0..2 {
        estate.ids.pending[at] = id(&estate.post(stage, "/withdraw", estate.withdrawal("1")).await);
    }
    estate.post(stage, "/signing/message", message()).await;
    estate
}

impl Estate {
    pub fn withdrawal(&self, amount: &str) -> Value {
        json!({"asset_id": self.ids.usdc, "amount": amount, "destination_address": OUTSIDE})
    }
}

async fn name_assets(stage: &Stage, estate: &mut Estate) {
    estate.ids.usdc = stage.asset(&estate.wallet, "USDC").await;
    estate.ids.dai = stage.asset(&estate.wallet, "DAI").await;
    estate.ids.eurc = stage.asset(&estate.wallet, "EURC").await;
}

/// Addresses, and deposits at the wallet and at one of them.
async fn take_in(stage: &Stage, estate: &mut Estate) {
    let Address { id: address, address: text } =
        stage.address(&estate.wallet, json!({"name": "ann", "disable_auto_sweep": true})).await;
    estate.ids.other_address = stage.address(&estate.wallet, json!({"name": "bob"})).await.id;
    let watched = estate.post(stage, "/addresses/whitelist", json!({"address": WATCHED})).await;
    estate.ids.watched = id(&watched);
    stage.give("base", &estate.wallet.address, "USDC", "1000").await;
    stage.give("base", &text, "USDC", "1000").await;
    give_coin(stage, ("base", "test"), &text).await;
    give_coin(stage, (ELSEWHERE, "test"), &estate.wallet.address).await;
    let (at_wallet, at_address) = in_time(stage, "deposits", async || {
        let all = estate.transactions(stage).await;
        let find = |address: &Value| {
            let is_it =
                |it: &&Value| it["address_id"] == *address && it["amount"] == "1000" && it["status"] == "SUCCESS";
            all.iter().find(is_it).map(id)
        };
        Some((find(&Value::Null)?, find(&json!(address))?))
    })
    .await;
    let coins = format!("/v1/wallets/{}/addresses/{address}/balances", estate.wallet.id);
    in_time(stage, "coins of the address", async || {
        let balances = get(stage, &estate.key, &coins).await["data"].clone();
        balances
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["asset"]["asset"]["symbol"] == "ETH" && it["balance"] == "1")
            .then_some(())
    })
    .await;
    (estate.ids.deposit, estate.ids.deposit_of_address, estate.ids.address) = (at_wallet, at_address, address);
}

async fn until(stage: &Stage, estate: &Estate, id: &str, status: &str) {
    stage.host.clock.advance(60_000);
    let path = format!("/v1/wallets/{}/transactions/{id}", estate.wallet.id);
    in_time(stage, &format!("{status} of {id}"), async || {
        (get(stage, &estate.key, &path).await["data"]["status"] == status).then_some(())
    })
    .await;
}

/// Its coins are there.
async fn funded(stage: &Stage, estate: &Estate) {
    let path = format!("/v1/wallets/{}/balances", estate.wallet.id);
    in_time(stage, "coins of a wallet", async || {
        let balances = get(stage, &estate.key, &path).await["data"].clone();
        balances.as_array().unwrap().iter().any(|it| it["balance"] != "0").then_some(())
    })
    .await;
}

/// One, out of nothing.
async fn give_coin(stage: &Stage, (blockchain, network): (&str, &str), address: &str) {
    let gift = json!({"kind": "give", "address": address, "amount": "1"});
    let body = json!({"blockchain": blockchain, "network": network, "control": gift});
    stage.host.operator().post("/v1/chains/control", body).await.check(200);
}

/// The clock goes on until it is seen, and blocks come with it.
async fn in_time<T>(stage: &Stage, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    eventually(what, async || {
        stage.host.clock.advance(1_000);
        look().await
    })
    .await
}

async fn fill_gateway(stage: &Stage, estate: &Estate) {
    let at_address = format!("/addresses/{}/gateway/deposit", estate.ids.address);
    for path in ["/gateway/deposit", &at_address] {
        let made = estate.post(stage, path, json!({"amount": "50"})).await;
        until(stage, estate, &id(&made), "SUCCESS").await;
    }
}

/// A withdrawal that failed on its blockchain.
async fn fail(stage: &Stage, estate: &Estate) -> String {
    stage.control("base", json!({"kind": "fail", "count": 1})).await;
    let made = id(&estate.post(stage, "/withdraw", estate.withdrawal("1")).await);
    until(stage, estate, &made, "FAILED").await;
    made
}

/// Forms and account are in order, and there is a quote for each request that needs one.
async fn promise(stage: &Stage, estate: &mut Estate) {
    approve(stage, &estate.key, "naira-onboarding").await;
    estate.post(stage, "/withdraw/fiat/institution-account-verification", bank_account()).await;
    let at_address = format!("/addresses/{}", estate.ids.address);
    for (at, place) in ["", &at_address, "", &at_address].into_iter().enumerate() {
        let made = estate.post(stage, &format!("{place}/withdraw/fiat/quote"), payout(&estate.ids)).await;
        estate.ids.quotes[at] = made["quote_id"].as_str().unwrap().to_owned();
        if at > 1 {
            let path = format!("{place}/withdraw/fiat/quotes/{}/accept", estate.ids.quotes[at]);
            estate.post(stage, &path, json!({})).await;
        }
    }
    estate.post(stage, "/swaps/quote", swap(&estate.ids)).await;
}

pub async fn approve(stage: &Stage, account: &str, form: &str) {
    for (step, body) in [("submit", json!({})), ("decide", json!({"state": "approved"}))] {
        let path = format!("/v1/compliance/forms/{form}/{step}");
        ask(stage, account, "POST", &path, &body.to_string()).await.check(200);
    }
}

/// A wallet of the live environment with a virtual account.
pub async fn live(stage: &Stage, key: &str) -> Estate {
    let wallet = open(stage, key, "base", LIVE_HOOK).await;
    let mut estate = Estate { key: key.to_owned(), wallet, ids: Ids::default() };
    // No faucet gives anything there.
    give_coin(stage, ("base", "main"), &estate.wallet.address).await;
    let path = format!("/v1/wallets/{}/addresses", estate.wallet.id);
    estate.ids.address = in_time(stage, "an address of a funded wallet", async || {
        let made = ask(stage, key, "POST", &path, r#"{"name":"ann"}"#).await;
        (made.status == 201).then(|| made.text_at("/data/address_id"))
    })
    .await;
    approve(stage, key, "due-diligence").await;
    estate.ids.account = id(&estate.post(stage, "/virtual-accounts", owner()).await);
    let path = format!("/v1/wallets/{}/virtual-accounts/{}", estate.wallet.id, estate.ids.account);
    in_time(stage, "a virtual account", async || {
        (get(stage, key, &path).await["data"]["status"] == "active").then_some(())
    })
    .await;
    estate
}

/// A wallet of whoever has this account key; its coins may be on their way.
pub async fn open(stage: &Stage, account: &str, blockchain: &str, url: &str) -> Wallet {
    let body = json!({"blockchain": blockchain, "webhook_url": url}).to_string();
    let made = ask(stage, account, "POST", "/v1/wallets", &body).await.expect(201);
    let text = |name: &str| made.text_at(&format!("/data/{name}"));
    Wallet { id: text("wallet_id"), address: text("address"), key: text("api_key") }
}
