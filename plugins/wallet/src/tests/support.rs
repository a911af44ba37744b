//! Hosts with wallets, what arrives at them, and what tests look at.

use serde_json::{Value, json};
use tenon_plugin::chains::Movement;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost, response};

use super::chain::{Chain, token};
use super::provider::Provider;
use crate::PLUGIN;

/// Nobody's: of EIP-55.
pub const OUTSIDE: &str = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
/// Stands on the list.
pub const SANCTIONED: &str = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
/// Ten ether, in wei.
pub const COINS: &str = "10000000000000000000";

pub struct World {
    pub host: TestHost,
    pub chain: Chain,
    pub provider: Provider,
    hashes: std::cell::Cell<u32>,
}

impl World {
    pub fn new() -> World {
        World::with(|host| host)
    }

    /// With settings of the operator's.
    pub fn with(settings: impl Fn(TestHost) -> TestHost) -> World {
        let (chain, provider) = (Chain::default(), Provider::default());
        let asked = provider.clone();
        let host =
            settings(TestHost::new(&PLUGIN)).validate_openapi().blockchains(chain.clone()).answers(move |call| {
                if call.destination != "screening" {
                    return asked.answer(call);
                }
                let lists = json!([{"list": "ofac-sdn", "version": "2026-11-20"}]);
                let since = asked.0.borrow().listed.clone();
                let is_sanctioned = since.is_some_and(|it| call.path.ends_with(&it)) || call.path.ends_with(SANCTIONED);
                Ok(response(200, &json!({"is_sanctioned": is_sanctioned, "lists": lists})))
            });
        World { host, chain, provider, hashes: std::cell::Cell::new(0) }
    }

    /// The id of a new wallet whose coins have come.
    pub fn wallet(&self, blockchain: &str) -> String {
        let id = self.poor_wallet(blockchain);
        self.host.settle("coins", &id, Outcome::Answered(response(200, &json!({"hash": "0xf"}))));
        let address = self.host.record("wallets", &id).unwrap()["address"].as_str().unwrap().to_owned();
        self.arrive(blockchain, &address, None, COINS);
        self.host.run_due();
        id
    }

    /// On Base, with a hundred USDC.
    pub fn rich_wallet(&self) -> String {
        let wallet = self.wallet("base");
        let address = self.host.record("wallets", &wallet).unwrap()["address"].as_str().unwrap().to_owned();
        self.arrive("base", &address, Some("USDC"), "100000000");
        wallet
    }

    pub fn poor_wallet(&self, blockchain: &str) -> String {
        let body = json!({"blockchain": blockchain, "webhook_url": "https://example.com/hook"});
        let answer = self.post("/v1/wallets", &body);
        assert_eq!(answer.status, 201, "{}", answer.body);
        answer.json()["data"]["wallet_id"].as_str().unwrap().to_owned()
    }

    /// Id and text of a new address.
    pub fn address(&self, wallet: &str, options: &Value) -> (String, String) {
        let answer = self.post(&format!("/v1/wallets/{wallet}/addresses"), options);
        assert_eq!(answer.status, 201, "{}", answer.body);
        let data = &answer.json()["data"];
        (data["address_id"].as_str().unwrap().to_owned(), data["address"].as_str().unwrap().to_owned())
    }

    /// Something arrives and is final; gives its hash.
    pub fn arrive(&self, blockchain: &str, address: &str, symbol: Option<&str>, units: &str) -> String {
        let hash = self.hash();
        self.tell(blockchain, address, (&hash, "final", 64), symbol, units);
        hash
    }

    /// Fifty USDC of a wallet go into the gateway, whose contract is known since.
    pub fn fill_gateway(&self, wallet: &str) {
        const DEPOSITS: &str = "/v1/gateway/deposits";
        let made = self.post(&format!("/v1/wallets/{wallet}/gateway/deposit"), &json!({"amount": "50"}));
        assert_eq!(made.status, 200, "{}", made.body);
        let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
        self.host.run_due();
        self.take_order(DEPOSITS, &id, ("USDC", "50"));
        self.settle(&id, "done");
        self.order_becomes(DEPOSITS, &id, &json!({"status": "success"}));
    }

    pub fn hash(&self) -> String {
        self.hashes.set(self.hashes.get() + 1);
        format!("0x{:064x}", self.hashes.get())
    }

    /// What the host tells of a movement: to everybody who watches the address.
    pub fn tell(
        &self,
        blockchain: &str,
        address: &str,
        (hash, state, confirmations): (&str, &str, u32),
        symbol: Option<&str>,
        units: &str,
    ) {
        self.tell_at(blockchain, address, (hash, state, confirmations), (symbol, units, 0), || {
            vec![Movement {
                position: 0,
                sender: OUTSIDE.to_owned(),
                recipient: address.to_owned(),
                token: symbol.map(token),
                amount: units.to_owned(),
            }]
        });
    }

    fn tell_at(
        &self,
        blockchain: &str,
        address: &str,
        (hash, state, confirmations): (&str, &str, u32),
        (symbol, units, position): (Option<&str>, &str, u32),
        movements: impl FnOnce() -> Vec<Movement>,
    ) {
        let all = self.host.watched();
        let watching = all.iter().find(|it| it.blockchain == blockchain && it.address == address);
        let watching = watching.unwrap_or_else(|| panic!("nobody watches {address} on {blockchain}"));
        let payload = json!({
            "context": serde_json::from_str::<Value>(&watching.context).unwrap(),
            "blockchain": blockchain, "address": address, "state": state, "hash": hash, "position": position,
            "sender": OUTSIDE, "token": symbol.map(token), "amount": units, "block": 7, "confirmations": confirmations,
        });
        if state != "gone" {
            self.chain.show(hash, confirmations, movements());
        }
        self.host.put_task(
            "transfer",
            &format!("{blockchain}/{hash}/{position}"),
            self.host.now(),
            &payload.to_string(),
        );
        self.host.run_due();
    }

    /// One transaction brings all of these amounts to the address, and is final: the host tells of the one at this position.
    pub fn tell_all(
        &self,
        blockchain: &str,
        address: &str,
        hash: &str,
        symbol: Option<&str>,
        (amounts, at): (&[&str], usize),
    ) {
        self.tell_at(
            blockchain,
            address,
            (hash, "final", 64),
            (symbol, amounts[at], u32::try_from(at).unwrap()),
            || {
                let movement = |(position, amount): (usize, &&str)| Movement {
                    position: u32::try_from(position).unwrap(),
                    sender: OUTSIDE.to_owned(),
                    recipient: address.to_owned(),
                    token: symbol.map(token),
                    amount: (*amount).to_owned(),
                };
                amounts.iter().enumerate().map(movement).collect()
            },
        );
    }

    /// A node takes the transaction, and it is final; gives its hash.
    pub fn settle(&self, id: &str, state: &str) -> String {
        self.host.accept_transaction("sent", id);
        self.end(id, state)
    }

    /// It is final on its blockchain; gives its hash.
    pub fn end(&self, id: &str, state: &str) -> String {
        let stored = self.host.record("transactions", id).unwrap();
        let hash = stored["hash"].as_str().unwrap_or_else(|| panic!("{id} is not signed: {stored}")).to_owned();
        let blockchain = stored["outgoing"]["way"]["blockchain"].as_str().unwrap().to_owned();
        self.host.finish_transaction(
            &blockchain,
            &hash,
            &json!({"state": state, "block": 9, "confirmations": 12, "fee": "700", "movements": []}),
        );
        self.host.run_due();
        hash
    }

    pub fn post(&self, path: &str, body: &Value) -> TestAnswer {
        self.host.call(TestCall::post(path).json(body))
    }

    pub fn get(&self, path: &str) -> TestAnswer {
        self.host.call(TestCall::get(path))
    }

    /// Names of the events, in order.
    pub fn events(&self) -> Vec<String> {
        self.host.events().into_iter().map(|event| event.event_type).collect()
    }

    /// Payload of the last event.
    pub fn last_event(&self) -> Value {
        self.host.events().last().unwrap().payload.clone()
    }

    pub fn balance(&self, account: &str, asset: &str) -> i128 {
        self.host.balances().get(&(account.to_owned(), asset.to_owned())).copied().unwrap_or(0)
    }

    /// Each asset's sum over all accounts is nothing.
    pub fn check_books(&self) {
        let mut sums: std::collections::BTreeMap<String, i128> = std::collections::BTreeMap::new();
        for ((_, asset), units) in self.host.balances() {
            *sums.entry(asset).or_default() += units;
        }
        assert!(sums.values().all(|sum| *sum == 0), "{sums:?}");
    }

    /// asset_id of a wallet.
    pub fn asset(&self, wallet: &str, symbol: &str) -> String {
        let data = self.get(&format!("/v1/wallets/{wallet}")).json()["data"].clone();
        let assets = data["assets"].as_array().unwrap().clone();
        let found = assets.iter().find(|asset| asset["asset"]["symbol"] == symbol).unwrap();
        found["id"].as_str().unwrap().to_owned()
    }
}

/// Status, code and the fields that a refusal names.
pub fn refusal(answer: &TestAnswer) -> (u16, String, String) {
    let body = answer.json();
    assert_eq!(body["statusCode"], answer.status, "{}", answer.body);
    let fields: Vec<&str> =
        body["errors"].as_array().unwrap().iter().map(|fault| fault["field"].as_str().unwrap()).collect();
    (answer.status, body["code"].as_str().unwrap().to_owned(), fields.join(" "))
}

pub fn expected(status: u16, code: &str, fields: &str) -> (u16, String, String) {
    (status, code.to_owned(), fields.to_owned())
}
