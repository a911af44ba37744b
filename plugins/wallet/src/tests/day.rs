//! A day with every operation: what the examples of the OpenAPI document ask for is done, and answered as they show.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tenon_plugin::subscriptions::Attempt;
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::{TENANT, TestAnswer, TestCall, response};

use super::callbacks::signed;
use super::support::*;
use crate::PLUGIN;
use crate::records::payment_links::ATTRIBUTE;

/// Of the account that has no test networks.
const LIVE: &str = "acme/live";
const DEPOSITS: &str = "/v1/gateway/deposits";

/// What makes something that a path names.
const MAKERS: [(&str, &str); 8] = [
    ("create-wallet", "walletId"),
    ("whitelist-address", "addressId"),
    ("create-address", "addressId"),
    ("create-payment-link", "linkId"),
    ("create-any-payment-link", "linkId"),
    ("create-virtual-account", "accountId"),
    ("create-settlement-rule", "ruleId"),
    ("create-settlement-rule-of-address", "ruleId"),
];

struct Day {
    world: World,
    document: Value,
    tenant: &'static str,
    /// What stands in paths now: the last of each sort.
    names: BTreeMap<&'static str, String>,
    done: BTreeSet<&'static str>,
}

impl Day {
    fn new() -> Day {
        let settings = [("process-after-ms", "60000"), ("webhook-secret", "\"s3cret\"")];
        let world = World::with(|host| settings.iter().fold(host, |host, (name, value)| host.setting(name, value)));
        let manifest: Value = serde_json::from_str(&PLUGIN.describe()).unwrap();
        let document = manifest["openapi"].clone();
        let asset = document["components"]["parameters"]["assetOfBalance"]["example"].as_str().unwrap().to_owned();
        let names = [("assetId", asset), ("form", "naira-onboarding".to_owned()), ("ticket", "token_1".to_owned())];
        Day { world, document, tenant: TENANT, names: names.into(), done: BTreeSet::new() }
    }

    /// Sends the examples of these operations, one after the other; gives what the last one was answered with.
    fn run(&mut self, operations: &[&'static str]) -> Value {
        let answers: Vec<Value> = operations.iter().map(|operation| self.ask(operation)).collect();
        answers.into_iter().next_back().unwrap()
    }

    fn ask(&mut self, operation: &'static str) -> Value {
        let route = PLUGIN.route_table().iter().find(|route| route.operation == operation).unwrap();
        let published = self.document["paths"][route.path][route.method.to_lowercase()].clone();
        let path = self
            .names
            .iter()
            .fold(route.path.to_owned(), |path, (name, value)| path.replace(&format!("{{{name}}}"), value));
        let mut call = TestCall::new(route.method, &[path.as_str(), "?", &self.query(&published)].concat());
        if let Some(media) = published.pointer("/requestBody/content/application~1json") {
            call = self.with_body(call, media);
        }
        if let Some(link) = self.names.get("linkId").filter(|_| route.path.starts_with("/pay/")) {
            call = call.token().attribute(ATTRIBUTE, link);
        }
        let answer = self.world.host.call(call.tenant(self.tenant).context("base-url", "https://pay.example.com"));
        assert!(answer.status < 300, "{operation}: {}", answer.body);
        self.learn(operation, &published, &answer)
    }

    /// The parameters that must be there.
    fn query(&self, published: &Value) -> String {
        let all = published["parameters"].as_array().into_iter().flatten();
        let resolved = all.map(|it| self.document.pointer(&it["$ref"].as_str().unwrap()[1..]).unwrap());
        let asked = resolved.filter(|it| it["in"] == "query" && it["required"] == true);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        asked.map(|it| [text(&it["name"]), text(&it["example"])].join("=")).collect::<Vec<_>>().join("&")
    }

    /// What the document calls by an id that was drawn is called by today's.
    fn with_body(&self, call: TestCall, media: &Value) -> TestCall {
        let mut body = media.get("example").cloned().unwrap_or_else(|| json!({}));
        for (member, name) in [("quote_id", "quoteId"), ("id", "transactionId")] {
            if let (Some(value), Some(today)) = (body.get_mut(member), self.names.get(name)) {
                *value = json!(today);
            }
        }
        let (text, now_s) = (body.to_string(), (self.world.host.now() / 1_000).to_string());
        let signature = signed("s3cret", &now_s, &text);
        call.text(&text).header("x-provider-timestamp", &now_s).header("x-provider-signature", &signature)
    }

    fn learn(&mut self, operation: &'static str, published: &Value, answer: &TestAnswer) -> Value {
        if !answer.body.starts_with('{') {
            self.done.insert(operation);
            return Value::Null;
        }
        let example = &published["responses"][answer.status.to_string()]["content"]["application/json"]["example"];
        if self.done.insert(operation) && !example.is_null() {
            assert_eq!(without_what_is_drawn(answer.json()), without_what_is_drawn(example.clone()), "{operation}");
        }
        let data = answer.json()["data"].clone();
        let mut note = |name: &'static str, id: &Value| id.as_str().map(|id| self.names.insert(name, id.to_owned()));
        for (_, name) in MAKERS.iter().filter(|(maker, _)| *maker == operation) {
            note(name, &data["id"]);
        }
        note("quoteId", &data["quote_id"]);
        if !data["transaction_status"].is_null() {
            note("transactionId", &data["id"]);
        }
        data
    }

    /// The transaction that was asked for last.
    fn transaction(&self) -> String {
        self.names["transactionId"].clone()
    }

    /// What was asked for last is taken up, and a node refuses it in the end.
    fn fail(&self) {
        self.world.host.advance_ms(60_000);
        self.world.host.run_due();
        self.world.settle(&self.transaction(), "failed");
    }

    /// Coins and a thousand USDC come to an address on Base.
    fn fill(&self, address: &Value) {
        let address = address["address"].as_str().unwrap();
        self.world.arrive("base", address, None, COINS);
        self.world.arrive("base", address, Some("USDC"), "1000000000");
    }

    /// The deposit into the gateway that was asked for last gets there.
    fn credit(&self) {
        let id = self.transaction();
        self.world.host.advance_ms(60_000);
        self.world.host.run_due();
        self.world.take_order(DEPOSITS, &id, ("USDC", "50"));
        self.world.settle(&id, "done");
        self.world.order_becomes(DEPOSITS, &id, &json!({"status": "success"}));
    }

    /// What the first event of a sort told is what the document shows of it.
    fn check_events(&self) {
        let told = self.world.host.events();
        for (name, hook) in self.document["webhooks"].as_object().unwrap() {
            let first = told.iter().find(|event| event.event_type == *name);
            let example = &hook["post"]["requestBody"]["content"]["application/json"]["example"];
            if example.is_null() {
                continue;
            }
            let shown = json!({"event": name, "data": first.unwrap().payload});
            assert_eq!(without_what_is_drawn(shown), without_what_is_drawn(example.clone()), "{name}");
        }
    }
}

/// Ids, times, addresses, hashes and what is random become words.
fn without_what_is_drawn(value: Value) -> Value {
    match value {
        Value::Object(members) => members
            .into_iter()
            .map(|(name, value)| {
                let is_drawn = ["reference", "api_key"].contains(&name.as_str()) && value.is_string();
                if is_drawn { (name, json!("drawn")) } else { (name, without_what_is_drawn(value)) }
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(without_what_is_drawn).collect(),
        Value::String(text) if text.len() == 36 && text.matches('-').count() == 4 => json!("an id"),
        Value::String(text) if text.len() >= 24 && text.ends_with('Z') && text.contains('T') => json!("a time"),
        Value::String(text) if text.len() >= 42 && text.starts_with("0x") => json!("an address, a hash or a signature"),
        Value::String(text) if text.starts_with("token-") => json!("an address, a hash or a signature"),
        Value::String(text) if text.starts_with("https://pay.example.com/pay/") => json!("a page"),
        Value::String(text) if text.starts_with("event_") => json!("an event"),
        other => other,
    }
}

/// Wallets, addresses, assets, balances.
fn morning(day: &mut Day) {
    let wallet = day.run(&["create-wallet"]);
    let id = day.names["walletId"].clone();
    day.world.host.settle("coins", &id, Outcome::Answered(response(200, &json!({"hash": "0xf"}))));
    day.fill(&wallet);
    day.run(&["list-wallets", "read-wallet", "update-wallet", "rotate-wallet-key"]);
    day.run(&["list-blockchains", "list-assets", "list-wallet-assets"]);
    day.run(&["remove-wallet-asset", "add-wallet-asset", "update-wallet-asset"]);
    day.run(&["whitelist-address", "remove-whitelisted-address"]);
    let address = day.run(&["create-address", "list-addresses", "read-address", "update-address"]);
    day.fill(&address);
    day.run(&["read-balance", "list-balances", "reconcile-wallet"]);
    day.run(&["read-address-balance", "list-address-balances", "reconcile-address"]);
}

/// What leaves, and what may be done to it.
fn withdrawals(day: &mut Day) {
    day.run(&["withdraw-fee", "withdraw-fee-from-address"]);
    day.run(&["withdraw", "list-transactions", "read-transaction", "cancel-transaction"]);
    day.run(&["withdraw", "cancel-transaction-of-path", "withdraw"]);
    day.fail();
    let delivery = day.world.host.deliveries().pop().unwrap();
    let (outcome, answer) = ("status".to_owned(), "busy".to_owned());
    let attempt = Attempt { number: 0, at: day.world.host.now(), duration: 5, outcome, status: Some(503), answer };
    day.world.host.record_attempt(&delivery.endpoint, &delivery.delivery.event, attempt, "retrying");
    day.run(&["list-webhooks", "list-transaction-webhooks", "resend-webhook", "resend-webhook-of-path"]);
    day.run(&["retry-transaction"]);
    day.fail();
    day.run(&["retry-transaction-of-path", "withdraw-from-address"]);
    day.run(&["list-address-transactions", "read-address-transaction"]);
}

fn keys(day: &mut Day) {
    day.run(&["sign-message", "sign-typed-data", "sign-transaction", "broadcast"]);
    day.run(&["sign-message-of-address", "sign-typed-data-of-address", "sign-transaction-of-address"]);
    let sender = day.run(&["broadcast-of-address", "read-wallet"])["address"].as_str().unwrap().to_owned();
    let coins = ("polygon".to_owned(), sender, String::new());
    day.world.chain.0.borrow_mut().balances.insert(coins, COINS.to_owned());
    day.run(&["salvage-fee", "salvage", "rescan-blocks"]);
}

fn links(day: &mut Day) {
    day.run(&["create-payment-link", "list-payment-links", "read-payment-link", "update-payment-link"]);
    day.run(&["list-payment-link-transactions", "show-payment-page", "read-payment-status"]);
    day.run(&["create-any-payment-link", "list-all-payment-links", "read-any-payment-link"]);
    day.run(&["update-any-payment-link", "list-any-payment-link-transactions"]);
}

fn payouts(day: &mut Day) {
    day.run(&["read-compliance", "submit-compliance-form", "decide-compliance-form"]);
    day.run(&["list-fiat-currencies", "list-fiat-assets", "list-fiat-institutions", "read-fiat-rates"]);
    day.run(&["verify-account", "quote-fiat", "accept-fiat-quote", "execute-fiat"]);
    day.run(&["quote-fiat-from-address", "accept-fiat-quote-of-address", "execute-fiat-from-address"]);
    day.run(&["read-rates", "look-up-address", "take-callback"]);
}

fn swaps(day: &mut Day) {
    day.run(&["quote-swap", "swap", "quote-swaps", "execute-swaps"]);
    day.run(&["swap-from-address", "quote-swaps-from-address", "execute-swaps-from-address"]);
    day.run(&["read-auto-settlement", "create-settlement-rule", "list-settlement-rules", "read-settlement-rule"]);
    day.run(&["update-settlement-rule", "update-auto-settlement", "delete-settlement-rule"]);
    day.run(&["read-auto-settlement-of-address", "create-settlement-rule-of-address"]);
    day.run(&["list-settlement-rules-of-address", "read-settlement-rule-of-address"]);
    day.run(&["update-settlement-rule-of-address", "update-auto-settlement-of-address"]);
    day.run(&["delete-settlement-rule-of-address"]);
}

fn gateway(day: &mut Day) {
    day.run(&["gateway-deposit-fee", "gateway-deposit-fee-of-wallet", "gateway-deposit-fee-of-address"]);
    day.run(&["gateway-deposit-of-wallet", "gateway-deposit"]);
    day.credit();
    day.run(&["gateway-deposit-of-address", "gateway-deposit-from-address"]);
    day.credit();
    day.run(&["gateway-withdraw-fee", "gateway-withdraw-fee-of-key", "gateway-withdraw-fee-of-address"]);
    day.run(&["gateway-withdraw", "gateway-withdraw-of-key"]);
    day.run(&["gateway-withdraw-of-address", "gateway-withdraw-from-address", "list-gateway-transactions"]);
    day.run(&["read-gateway-balance", "read-gateway-balance-of-address", "read-gateway-balance-alone"]);
    day.run(&["read-whole-gateway-balance", "list-gateway-wallets", "sweep-assets", "sweep-transaction"]);
}

/// They exist on mainnet alone, for who has done the due diligence.
fn virtual_accounts(day: &mut Day) {
    day.tenant = LIVE;
    day.names.insert("form", "due-diligence".to_owned());
    day.run(&["create-wallet", "submit-compliance-form", "decide-compliance-form", "create-virtual-account"]);
    day.run(&["list-virtual-accounts", "read-virtual-account"]);
    let id = day.names["accountId"].clone();
    let bank = json!({"status": "active", "account_name": "ADA OKAFOR", "account_number": "9900000017"});
    for (change, next) in [("", "regenerate-virtual-account"), ("regenerate", "update-virtual-account")] {
        let answered = Outcome::Answered(response(200, &bank));
        day.world.host.settle("virtual-account", &format!("{id}/{change}"), answered);
        day.world.host.run_due();
        day.run(&[next]);
    }
}

#[test]
fn the_examples_of_the_openapi_document_are_true() {
    let mut day = Day::new();
    for part in [morning, withdrawals, keys, links, payouts, swaps, gateway, virtual_accounts] {
        part(&mut day);
    }
    day.world.check_books();
    day.check_events();
    let known: BTreeSet<&str> = PLUGIN.route_table().iter().map(|route| route.operation).collect();
    let untried: Vec<&&str> = known.difference(&day.done).collect();
    // A live address needs coins that no faucet gives; the payments are the bank's, and it is not asked here.
    let expected =
        ["create-virtual-account-of-address", "list-virtual-account-payments", "list-virtual-accounts-of-address"];
    assert_eq!(untried, expected.iter().collect::<Vec<_>>());
}
