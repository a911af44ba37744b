//! Blockchains that do what a test says, and the steps that most tests share.

use std::cell::Cell;
use std::rc::Rc;

use serde_json::{Value, json};
use tenon_plugin::chains::{Network, Terms, Token, Transaction};
use tenon_plugin::keyring::{Account, ChainTransfer, Signed};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{Blockchains, TestAnswer, TestCall, TestHost, response};

use crate::PLUGIN;

pub const OURS: &str = "0x00000000000000000000000000000000000000aa";
/// The first deposit address of each blockchain: counted from 1, after the 16 keys before.
pub const DEPOSIT: &str = "0x0000000000000000000000000000000000000011";
pub const USDC: &str = "0xcccccccccccccccccccccccccccccccccccccccc";
pub const USDT: &str = "0xdddddddddddddddddddddddddddddddddddddddd";
pub const CNGN: &str = "0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee";

#[derive(Clone)]
pub struct Chains {
    pub has_faucet: Rc<Cell<bool>>,
    pub answers: Rc<Cell<bool>>,
    /// Of the treasury.
    pub sequence: Rc<Cell<u64>>,
}

impl Chains {
    pub fn new() -> Chains {
        Chains {
            has_faucet: Rc::new(Cell::new(true)),
            answers: Rc::new(Cell::new(true)),
            sequence: Rc::new(Cell::new(0)),
        }
    }
}

impl Blockchains for Chains {
    fn account_of(&self, _tenant: &str, _blockchain: &str, index: u32) -> Account {
        Account { address: format!("0x{index:040x}"), path: format!("m/44'/60'/0'/0/{index}") }
    }

    fn read_address(&self, _blockchain: &str, text: &str) -> Option<String> {
        let digits = text.strip_prefix("0x")?;
        let is_address = digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_address.then(|| text.to_ascii_lowercase())
    }

    fn sign_message(&self, _tenant: &str, _blockchain: &str, _index: u32, _message: &[u8]) -> Result<String, String> {
        unreachable!("the sandbox signs no messages")
    }

    fn sign_typed_data(&self, _: &str, _: &str, _: u32, _: &str) -> Result<String, String> {
        unreachable!("the sandbox signs no documents")
    }

    fn sign_transfer(
        &self,
        _tenant: &str,
        (blockchain, index): (&str, u32),
        transfer: &ChainTransfer,
        _terms: &Terms,
    ) -> Result<Signed, String> {
        assert_eq!(index, 0, "the treasury pays");
        let raw = format!("{blockchain} {transfer:?}");
        let hash = format!("0x{blockchain}-{}", transfer.sequence);
        Ok(Signed { raw, hash, sender: format!("0x{index:040x}"), fee: "1".to_owned() })
    }

    fn sign_transaction(&self, _: &str, _: (&str, u32), _: &str) -> Result<Signed, String> {
        unreachable!("the sandbox signs nothing of others")
    }

    fn show_private_key(&self, _: &str, _: &str, _: u32) -> Option<String> {
        unreachable!("the sandbox shows no keys")
    }

    fn find_network(&self, tenant: &str, blockchain: &str) -> Option<Network> {
        let symbol = match blockchain {
            "base" => "ETH",
            "polygon" => "POL",
            _ => return None,
        };
        let token =
            |address: &str, symbol: &str| Token { address: address.to_owned(), symbol: symbol.to_owned(), decimals: 6 };
        Some(Network {
            name: if tenant.ends_with("/live") { "simulated-main" } else { "simulated-test" }.to_owned(),
            chain_id: 1,
            symbol: symbol.to_owned(),
            decimals: 18,
            tokens: vec![token(USDC, "USDC"), token(USDT, "USDT"), token(CNGN, "cNGN")],
            block_time: 250,
            has_faucet: self.has_faucet.get(),
        })
    }

    fn current_terms(&self, _tenant: &str, _blockchain: &str) -> Result<Terms, String> {
        let terms = Terms {
            anchor: "0x1".to_owned(),
            price: "1".to_owned(),
            coin_fee: "21000".to_owned(),
            token_fee: "100000000000000".to_owned(),
        };
        if self.answers.get() { Ok(terms) } else { Err("timeout".to_owned()) }
    }

    fn balance(&self, _: &str, _: &str, _: &str, _: Option<&str>) -> Result<String, String> {
        Ok("0".to_owned())
    }

    fn sequence(&self, _: &str, _: &str, _: &str) -> Result<u64, String> {
        Ok(self.sequence.get())
    }

    fn find_transaction(&self, _: &str, _: &str, _: &str) -> Result<Option<Transaction>, String> {
        Ok(None)
    }
}

pub fn host() -> TestHost {
    host_on(Chains::new())
}

pub fn host_on(chains: Chains) -> TestHost {
    TestHost::new(&PLUGIN).blockchains(chains)
}

pub fn post(host: &TestHost, path: &str, body: Value) -> TestAnswer {
    host.call(TestCall::post(path).json(&body))
}

/// The JSON of what is there.
pub fn get(host: &TestHost, path: &str) -> Value {
    let answer = host.call(TestCall::get(path));
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()
}

pub fn refusal(answer: &TestAnswer) -> (u16, String) {
    (answer.status, answer.json()["code"].as_str().unwrap_or_default().to_owned())
}

pub fn no(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

/// So many base units of a token are final at the first deposit address that is watched on a blockchain.
pub fn pay_in(host: &TestHost, token: Option<&str>, amount: &str) {
    let watching = host.watched().into_iter().next().expect("an address is watched");
    arrive(host, &watching.blockchain, &watching.context, token, amount);
}

pub fn arrive(host: &TestHost, blockchain: &str, context: &str, token: Option<&str>, amount: &str) {
    let payload = json!({
        "context": serde_json::from_str::<Value>(context).unwrap(),
        "blockchain": blockchain,
        "address": DEPOSIT,
        "state": "final",
        "hash": "0xpaid",
        "position": 0,
        "sender": OURS,
        "token": token,
        "amount": amount,
        "block": 9,
        "confirmations": 12,
    });
    host.put_task("deposit-arrived", &format!("{blockchain}/0xpaid/0"), host.now(), &payload.to_string());
    host.run_due();
}

/// The faucet gives all that is asked of it, and that can be spent.
pub fn give_coins(host: &TestHost) -> Vec<Value> {
    let mut given = Vec::new();
    while let Some((key, blockchain, body)) = wished(host) {
        given.push(body);
        host.settle(
            "coins-given",
            &key,
            Outcome::Answered(response(200, &json!({ "hash": format!("0xfaucet{key}") }))),
        );
        host.run_due();
        host.finish_transaction(&blockchain, &format!("0xfaucet{key}"), &end("done"));
        host.run_due();
    }
    given
}

fn wished(host: &TestHost) -> Option<(String, String, Value)> {
    let effects = host.effects();
    let started = effects.iter().find(|started| started.effect.then == "coins-given")?;
    let call = &started.effect.call;
    let tenon_plugin::Content::Json(body) = &call.content else { panic!("a wish is JSON") };
    let blockchain = call.destination.trim_start_matches("chain:").to_owned();
    Some((started.effect.key.clone(), blockchain, serde_json::from_str(body).unwrap()))
}

/// What a node has been asked to take: the key of the sending and the bytes.
pub fn sending(host: &TestHost) -> (String, String) {
    let effects = host.effects();
    let started = effects.iter().find(|started| started.effect.then == "delivery-sent").expect("something is sent");
    let tenon_plugin::Content::Json(body) = &started.effect.call.content else { panic!("JSON") };
    let body: Value = serde_json::from_str(body).unwrap();
    (started.effect.key.clone(), body["raw"].as_str().unwrap().to_owned())
}

pub fn end(state: &str) -> Value {
    json!({ "state": state, "block": 20, "confirmations": 12, "fee": "1", "movements": [] })
}

/// A node takes what was sent, and it becomes final.
pub fn finish(host: &TestHost) {
    let (key, _) = sending(host);
    host.accept_transaction("delivery-sent", &key);
    host.run_due();
    end_with(host, "done");
}

pub fn end_with(host: &TestHost, state: &str) {
    let followed = host.followed();
    let following = followed.iter().find(|following| following.then == "delivery-done").expect("something is followed");
    host.finish_transaction(&following.blockchain, &following.hash, &end(state));
    host.run_due();
}

/// A payout that waits for its coins.
pub fn payout(host: &TestHost, id: &str, amount: &str, account: &str) -> TestAnswer {
    let quote = post(
        host,
        "/v1/payout/quotes",
        json!({"blockchain": "base", "asset": "USDC", "amount": amount, "currency": "NGN"}),
    );
    assert_eq!(quote.status, 201, "{}", quote.body);
    take_payout(host, id, quote.json()["quote_id"].as_str().unwrap(), account)
}

pub fn take_payout(host: &TestHost, id: &str, quote_id: &str, account: &str) -> TestAnswer {
    post(
        host,
        "/v1/payouts",
        json!({
            "id": id,
            "quote_id": quote_id,
            "institution_identifier": "SANDNGLA",
            "account_identifier": account,
            "refund_address": OURS,
        }),
    )
}

/// An offer for USDC of base in USDT of polygon.
pub fn offer(host: &TestHost, amount: &str, order: &str) -> Value {
    let quote = post(
        host,
        "/v1/swap/quotes",
        json!({
            "from": {"blockchain": "base", "asset": "USDC"},
            "to": {"blockchain": "polygon", "asset": "USDT"},
            "amount": amount,
            "order": order,
        }),
    );
    assert_eq!(quote.status, 201, "{}", quote.body);
    quote.json()["offers"][0].clone()
}

pub fn swap(host: &TestHost, id: &str, amount: &str) -> TestAnswer {
    let offer = offer(host, amount, "RECOMMENDED");
    post(
        host,
        "/v1/swaps",
        json!({"id": id, "offer_id": offer["offer_id"], "recipient_address": OURS, "refund_address": OURS}),
    )
}
