//! What answers of all operations have in common, and what tests look up: envelopes, balances, addresses of nobody here.

use serde_json::{Value, json};

use super::{
    acts::text,
    stage::{OUTSIDE, Stage, Wallet},
};
use crate::support::Response;

/// Members of every answer, and of every refusal; those in the second list only where there is a page.
const ANSWER: (&[&str], &[&str]) = (&["data", "message", "statusCode"], &["analytics", "meta"]);
const REFUSAL: &[&str] = &["code", "error", "errors", "message", "requestId", "retryable", "statusCode"];

/// Somebody's on this blockchain.
pub fn outside(blockchain: &str) -> &'static str {
    match blockchain {
        "tron" => "TWer2Ygk5TEheHp3TPuYeqxmB6SsGZmaL6",
        "solana" => "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96",
        _ => OUTSIDE,
    }
}

/// The body: the envelope of its kind, and nothing else in it.
#[track_caller]
pub fn whole(answer: &Response) -> Value {
    assert_eq!(answer.header("content-type"), Some("application/json"), "{}", answer.text());
    let body = answer.json();
    let mut members: Vec<&str> = body.as_object().expect("an object").keys().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(body["statusCode"], answer.status, "{body}");
    assert!(body["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    if answer.status >= 400 {
        assert_eq!(members, REFUSAL, "{body}");
        return body;
    }
    let (always, in_lists) = ANSWER;
    assert!(always.iter().all(|name| members.contains(name)), "{body}");
    assert!(members.iter().all(|name| always.contains(name) || in_lists.contains(name)), "{body}");
    assert_eq!(body["data"].is_array(), members.contains(&"meta"), "a list has pages: {body}");
    body
}

/// totalItems, itemCount, itemsPerPage, totalPages, currentPage.
#[track_caller]
pub fn meta(list: &Value) -> [u64; 5] {
    let number = |name: &str| list["meta"][name].as_u64().unwrap_or_else(|| panic!("no {name}: {list}"));
    let meta = ["totalItems", "itemCount", "itemsPerPage", "totalPages", "currentPage"].map(number);
    assert_eq!(list["data"].as_array().map(Vec::len), usize::try_from(meta[1]).ok(), "{list}");
    meta
}

/// These members of each row.
pub fn column(list: &Value, name: &str) -> Vec<Value> {
    list["data"].as_array().unwrap_or_else(|| panic!("no list: {list}")).iter().map(|row| row[name].clone()).collect()
}

impl Stage {
    /// Anything below the wallet, with its key; whatever the answer is, it has its envelope.
    pub async fn send(&self, wallet: &Wallet, method: &str, path: &str, body: Option<Value>) -> Response {
        let answer = self.call(&wallet.key, method, &format!("/v1/wallets/{}{path}", wallet.id), body).await;
        whole(&answer);
        answer
    }

    /// What can be spent, what is promised, what is not final; below the path of a wallet (""), or of an address under it.
    pub async fn holds(&self, wallet: &Wallet, path: &str, symbol: &str) -> [String; 3] {
        let balances = self.get(wallet, &format!("{path}/balances")).await;
        let fits = |it: &&Value| it["wallet_id"] == wallet.id.as_str() && it["asset"]["asset"]["symbol"] == symbol;
        let found = balances.as_array().unwrap().iter().find(fits);
        let found = found.unwrap_or_else(|| panic!("no {symbol}: {balances}"));
        ["available", "held", "pending"].map(|name| text(found, name))
    }

    /// A key of this account and environment ("test", "live"); its id comes with it.
    pub async fn key_of(&self, account: &str, environment: &str) -> (String, String) {
        let wish = json!({"plugin": "wallet", "tenant": account, "environment": environment});
        let made = self.host.create_key(wish).await;
        (text(&made, "key"), text(&made, "id"))
    }
}
