//! A provider in memory, as far as tests need it: it keeps what it is told of each order, and answers questions from that.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use tenon_plugin::Content;
use tenon_plugin::effects::{OutgoingCall, Response};
use tenon_plugin::tasks::Outcome;
use tenon_plugin::test_kit::response;

use super::support::World;

/// Where its coins are to go: of EIP-55.
pub const TILL: &str = "0xde709f2102306220921060314715629080e2fb77";
/// Where USDC is lost.
pub const CONTRACT: &str = "0x52908400098527886E0F7030069857D2E4169EE7";

#[derive(Default)]
pub struct State {
    /// By path and id, as a GET shows them.
    pub orders: BTreeMap<String, Value>,
    pub is_silent: bool,
    /// Stands on a sanctions list since.
    pub listed: Option<String>,
    /// How often a swap was quoted.
    pub quotes: u32,
    /// Number of payments into each virtual account.
    pub payments: usize,
}

#[derive(Clone, Default)]
pub struct Provider(pub Rc<RefCell<State>>);

impl Provider {
    pub fn answer(&self, call: &OutgoingCall) -> Result<Response, String> {
        let mut state = self.0.borrow_mut();
        if state.is_silent {
            return Err("timeout".to_owned());
        }
        let body: Value = match &call.content {
            Content::Json(text) => serde_json::from_str(text).unwrap(),
            _ => Value::Null,
        };
        let path = call.path.split('?').next().unwrap();
        state.quotes += u32::from(path == "/v1/swap/quotes");
        let refused = |code: &str| Ok(response(422, &json!({"code": code, "message": "no", "retryable": false})));
        Ok(response(
            200,
            &match path {
                "/v1/payout/currencies" => json!({"currencies": [{"currency": "NGN", "name": "Naira", "decimals": 2,
                "minimum_amount": "100", "maximum_amount": "50000000", "assets": ["USDT", "USDC"]}]}),
                "/v1/payout/institutions" => json!({"currency": "NGN", "institutions": [
                {"institution_identifier": "SANDNGLA", "name": "Sandbox Bank", "type": "bank"}]}),
                "/v1/payout/account-verifications" if body["account_identifier"] == "0000000000" => {
                    return refused("ACCOUNT_NOT_FOUND");
                }
                "/v1/payout/account-verifications" => json!({"account_name": "ADA OKAFOR"}),
                "/v1/payout/quotes" => json!({"quote_id": "quote_1", "rate": "1510.25", "fee": "755.13",
                "payout_amount": "150269.87", "estimated_arrival_seconds": 60, "expires_at": "2100-01-01T00:00:00Z"}),
                "/v1/swap/quotes" => json!({"quote_id": "q", "expires_at": "2100-01-01T00:00:00Z", "offers": [
                offer("best", "99.9", "180", "0.0002", false), offer("fast", "99.5", "30", "0.0003", false),
                offer("cheap", "99.7", "900", "0.0001", false), offer("fixed", "99", "240", "0.0002", true)]}),
                "/v1/gateway/networks" => json!({"asset": "USDC", "networks": [
                {"blockchain": "base", "contract_address": CONTRACT, "minimum_amount": "0.01"}]}),
                "/v1/rates" => {
                    json!({"currency": "NGN", "rates": {"USDC": "1510.25"}, "as_of": "2026-05-07T08:30:00Z"})
                }
                _ if path.ends_with("/payments") => payments(&call.path, state.payments),
                _ => {
                    return Ok(match state.orders.get(path) {
                        Some(order) => response(200, order),
                        None => response(404, &json!({"code": "NOT_FOUND", "message": "no", "retryable": false})),
                    });
                }
            },
        ))
    }

    /// Changes members of an order.
    pub fn change(&self, path: &str, id: &str, change: &Value) {
        let mut state = self.0.borrow_mut();
        let order = state.orders.get_mut(&format!("{path}/{id}")).unwrap();
        for (name, value) in change.as_object().unwrap() {
            order[name] = value.clone();
        }
    }
}

/// A page of `count` payments: "payment 0" is the newest.
fn payments(path: &str, count: usize) -> Value {
    let (_, query) = path.split_once("?limit=100").unwrap();
    let begin = query.strip_prefix("&after=payment%20").map_or(0, |number| number.parse::<usize>().unwrap());
    let end = count.min(begin + 100);
    let rows: Vec<Value> = (begin..end).map(|number| json!({"id": format!("payment {number}")})).collect();
    json!({"payments": rows, "next": (end < count).then(|| format!("payment {end}"))})
}

fn offer(id: &str, amount: &str, seconds: &str, fee: &str, is_fixed: bool) -> Value {
    json!({"offer_id": id, "amount": amount, "minimum_amount": "90", "rate": "1", "fee": "0", "network_fee": fee,
        "arrival_seconds": seconds.parse::<u64>().unwrap(), "slippage": "1", "is_fixed": is_fixed})
}

impl World {
    /// The order that waits to be sent.
    pub fn ordered(&self, id: &str) -> Value {
        let effects = self.host.effects();
        let found = effects.iter().find(|it| it.effect.then == "ordered" && it.effect.key == id);
        match &found.unwrap_or_else(|| panic!("{id} was not ordered")).effect.call.content {
            Content::Json(text) => serde_json::from_str(text).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    /// The provider takes an order of so much of an asset on Base, and says where to.
    pub fn take_order(&self, path: &str, id: &str, (asset, amount): (&str, &str)) {
        self.ordered(id);
        let deposit = json!({"blockchain": "base", "asset": asset, "address": TILL, "amount": amount});
        let order = json!({"id": id, "status": "awaiting_deposit", "reason": null, "deposit": deposit,
            "delivery": null, "refund": null, "updated_at": "2026-05-07T08:30:00Z"});
        self.provider.0.borrow_mut().orders.insert(format!("{path}/{id}"), order.clone());
        self.host.settle("ordered", id, Outcome::Answered(response(201, &order)));
        self.host.run_due();
    }

    pub fn refuse_order(&self, id: &str, code: &str) {
        let refused = json!({"code": code, "message": "no", "retryable": false});
        self.host.settle("ordered", id, Outcome::Answered(response(422, &refused)));
        self.host.run_due();
    }

    /// The order changes, and everybody who looks at it sees that.
    pub fn order_becomes(&self, path: &str, id: &str, change: &Value) {
        self.provider.change(path, id, change);
        self.host.put_task("poll", id, self.host.now(), "0");
        self.host.run_due();
    }

    pub fn status(&self, id: &str) -> String {
        self.host.record("transactions", id).unwrap()["status"].as_str().unwrap().to_owned()
    }
}
