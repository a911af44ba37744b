//! A host as plugins.toml is shipped, an account on it, and its wallets.
//!
//! Blocks come every few milliseconds by the host's clock; where it stands still, `mining` makes them. `agrees` waits until nothing
//! moves any more: then books and blockchains must agree.
//! `finish` looks at what happened and checks what the test claims to cover; a stage that was not finished fails its test.

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha512;
use tenon::clock::Clock;

use super::coverage::Seen;
use crate::support::{
    FinishGuard, ReceivedRequest, ReceiverResponse, Response, TestClient, TestHost, TestReceiver, component,
    eventually, shipped_section,
};

pub struct Stage {
    pub host: TestHost,
    pub receiver: TestReceiver,
    /// The key of the account "acme", test environment.
    pub account: String,
    pub seen: Seen,
    covers: Vec<&'static str>,
    unfinished: FinishGuard,
}

/// A wallet, and the key that opens it.
#[derive(Clone)]
pub struct Wallet {
    pub id: String,
    pub address: String,
    pub key: String,
}

/// An address under a wallet.
pub struct Address {
    pub id: String,
    pub address: String,
}

/// Somebody's, on every EVM blockchain.
pub const OUTSIDE: &str = "0x000000000000000000000000000000000000dEaD";

impl Stage {
    pub async fn open() -> Stage {
        Stage::open_with("").await
    }

    /// `settings`: lines of `[plugins.wallet.settings]`.
    pub async fn open_with(settings: &str) -> Stage {
        Stage::open_at(Clock::system(), settings).await
    }

    /// Timers and blocks go by this clock (`mining`).
    pub async fn open_at(clock: Clock, settings: &str) -> Stage {
        let head = "[plugins.wallet.settings]\n";
        Stage::start(clock, &|section| {
            assert!(section.contains(head));
            section.replace(head, &format!("{head}{settings}\n"))
        })
        .await
    }

    /// `change`: what becomes of the wallet's part of plugins.toml.
    pub async fn open_section(change: &dyn Fn(&str) -> String) -> Stage {
        Stage::start(Clock::system(), change).await
    }

    async fn start(clock: Clock, change: &dyn Fn(&str) -> String) -> Stage {
        let wallet = change(&shipped_section("wallet"));
        let host = TestHost::builder().head("[chains]\nblock-ms = 20").clock(clock);
        let host =
            host.plugin("sandbox-providers", component("sandbox-providers"), &shipped_section("sandbox-providers"));
        let host = host.plugin("wallet", component("wallet"), &wallet).start().await;
        let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
        let account = host.key("wallet", "acme").await;
        let (seen, covers, unfinished) = (Seen::default(), Vec::new(), FinishGuard::default());
        Stage { host, receiver, account, seen, covers, unfinished }
    }

    /// Rows of `coverage` that this test exercises.
    pub fn covers(mut self, claims: &[&'static str]) -> Stage {
        self.covers.extend(claims);
        self
    }

    /// The host stops and starts again; `meanwhile` is done while it is down.
    pub async fn reopen(self, meanwhile: impl FnOnce()) -> Stage {
        let Stage { host, receiver, account, seen, covers, unfinished } = self;
        let host = host.restart_after(meanwhile).await;
        Stage { host, receiver, account, seen, covers, unfinished }
    }

    /// Looks at the webhooks, checks the ledger and the claims, and stops the host.
    pub async fn finish(mut self) {
        self.unfinished.set_finished();
        self.receiver.received().iter().for_each(|arrived| self.seen.note_event(arrived));
        let ledger = self.host.operator().get("/v1/ledger/check").await.expect(200).json();
        assert_eq!(ledger["balanced"], true, "{ledger}");
        self.seen.check(&self.covers);
        self.host.stop().await;
    }

    /// Without a key: an empty text.
    pub async fn call(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Response {
        let response = self.call_among_others(key, method, path, body).await;
        self.seen.note_answer(method, path, &response);
        response
    }

    /// Beside equal calls: their answers overtake each other, so that what they show is not noted as one after the other.
    pub async fn call_among_others(&self, key: &str, method: &str, path: &str, body: Option<Value>) -> Response {
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let headers = [("x-api-key", key), ("content-type", "application/json")];
        let headers = if key.is_empty() { &headers[1..] } else { &headers[..] };
        TestClient::new(self.host.base(), None).send(method, path, headers, body).await
    }

    pub async fn get(&self, wallet: &Wallet, path: &str) -> Value {
        let path = format!("/v1/wallets/{}{path}", wallet.id);
        self.call(&wallet.key, "GET", &path, None).await.expect(200).json()["data"].clone()
    }

    pub async fn post(&self, wallet: &Wallet, path: &str, body: Value) -> Response {
        self.call(&wallet.key, "POST", &format!("/v1/wallets/{}{path}", wallet.id), Some(body)).await
    }

    /// A wallet whose coins have arrived.
    pub async fn wallet(&self, blockchain: &str) -> Wallet {
        let body = json!({"blockchain": blockchain, "webhook_url": self.receiver.url()});
        let made = self.call(&self.account, "POST", "/v1/wallets", Some(body)).await.expect(201).json();
        let text = |name: &str| made["data"][name].as_str().unwrap_or_else(|| panic!("no {name}: {made}")).to_owned();
        let wallet = Wallet { id: text("wallet_id"), address: text("address"), key: text("api_key") };
        eventually("coins of a new wallet", async || {
            let balances = self.get(&wallet, "/balances").await;
            balances.as_array().unwrap().iter().any(|it| it["balance"] != "0").then_some(())
        })
        .await;
        wallet
    }

    pub async fn address(&self, wallet: &Wallet, body: Value) -> Address {
        let made = self.post(wallet, "/addresses", body).await.expect(201).json();
        let text = |name: &str| made["data"][name].as_str().unwrap_or_else(|| panic!("no {name}: {made}")).to_owned();
        Address { id: text("address_id"), address: text("address") }
    }

    /// The id of an asset of the wallet.
    pub async fn asset(&self, wallet: &Wallet, symbol: &str) -> String {
        let assets = self.get(wallet, "/assets").await;
        let found = assets.as_array().unwrap().iter().find(|it| it["asset"]["symbol"] == symbol);
        found.unwrap_or_else(|| panic!("no {symbol}: {assets}"))["id"].as_str().unwrap().to_owned()
    }

    /// What an operator does to a blockchain of the test environment.
    pub async fn control(&self, blockchain: &str, control: Value) -> Value {
        let body = json!({"blockchain": blockchain, "control": control});
        self.host.operator().post("/v1/chains/control", body).await.expect(200).json()
    }

    /// Out of nothing.
    pub async fn give(&self, blockchain: &str, address: &str, symbol: &str, amount: &str) {
        self.control(blockchain, json!({"kind": "give", "address": address, "token": symbol, "amount": amount})).await;
    }

    /// What stands on the blockchain.
    pub async fn on_chain(&self, blockchain: &str, address: &str, symbol: &str) -> String {
        let path = format!("/v1/chains/balance?blockchain={blockchain}&address={address}");
        let report = self.host.operator().get(&path).await.expect(200).json();
        let found = report["balances"].as_array().unwrap().iter().find(|it| it["symbol"] == symbol).cloned();
        found.unwrap_or_else(|| panic!("no {symbol}: {report}"))["amount"].as_str().unwrap().to_owned()
    }

    /// The transaction once it has this status.
    pub async fn until(&self, wallet: &Wallet, id: &str, status: &str) -> Value {
        eventually(&format!("{status} of {id}"), async || {
            let found = self.get(wallet, &format!("/transactions/{id}")).await;
            (found["status"] == status).then_some(found)
        })
        .await
    }

    /// The first webhook of this type; its signature is the wallet's.
    pub async fn told(&self, wallet: &Wallet, event: &str) -> Value {
        let what = format!("the webhook {event}");
        let arrived = eventually(&what, async || {
            let all = self.receiver.received();
            all.into_iter()
                .find(|it| it.json()["event"] == event && it.json()["data"]["wallet_id"] == wallet.id.as_str())
        });
        let arrived = arrived.await;
        assert_eq!(arrived.header("x-service-signature"), signature(&arrived, &wallet.key));
        arrived.json()["data"].clone()
    }

    /// Once nothing moves any more: the wallet has what stands on its blockchain.
    pub async fn agrees(&self, wallet: &Wallet) {
        eventually("books that agree with the blockchain", async || {
            (self.get(wallet, "/reconciliation").await["matches"] == true).then_some(())
        })
        .await;
    }
}

/// spec/wallet: Authentication 4.
pub fn signature(arrived: &ReceivedRequest, key: &str) -> String {
    let mut mac = Hmac::<Sha512>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(&arrived.body);
    hex::encode(mac.finalize().into_bytes())
}
