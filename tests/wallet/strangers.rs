//! Whoever has a key that opens something else: another wallet of the account, another account, the other environment.
//!
//! What is not theirs is to them as what never was: the same answer, byte for byte but for the request's id, whatever they
//! send; and nothing happens. The owner's requests are the very same, and succeed.
//!
//! - `estate`: a wallet with everything under it. `requests`: one good request for each operation. `crowd`: who asks.
//! - `apart`: lists, repeats, tickets and keys.

mod apart;
mod crowd;
mod estate;
mod requests;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tenon::clock::Clock;

use self::{
    crowd::{Crowd, Stranger, pictures},
    estate::{Estate, PENDING, START_MS, Under, full, never, open},
    requests::{ask, bank_account, body, payout, query},
};
use super::{
    coverage::{Operation, operations, unknown_to},
    stage::{Stage, Wallet},
};
use crate::support::Response;

/// Text that is no JSON, JSON that is no object, nothing at all, and an object in which everything is wrong.
const BAD_BODIES: [&str; 4] = [
    "{",
    "[]",
    "",
    r#"{"name":7,"id":7,"asset_id":7,"amount":"-1","message":{},"address":"x","transaction":7,"is_active":"x","source":7,
        "currency":"x","metadata":7,"blockchain":"x","transaction_hash":"x","transaction_id":"x","firstname":7,"assets":7}"#,
];
/// Wrong values of parameters that some routes take, and a parameter that no route takes.
const BAD_QUERIES: [&str; 6] =
    ["?page=x&limit=-1", "?order=UP&type=x", "?asset_id=x", "?currency=x", "?blockchain=x", "?unknown=x"];

/// Those that have an id in their path and a key in their head. Virtual accounts are live alone. What takes the money of an
/// address away comes last.
fn of_ids(are_virtual_accounts: bool) -> Vec<Operation> {
    let has_id = |it: &Operation| !it.is_page && it.path.contains('{') && !it.path.contains("{form}");
    let all = operations().into_iter().filter(has_id);
    let mut all: Vec<_> = all.filter(|it| it.path.contains("virtual-accounts") == are_virtual_accounts).collect();
    all.sort_by_key(|it| it.name.starts_with("sweep"));
    all
}

/// All that an answer says, but for the id of its request.
fn said(answer: &Response) -> (u16, Vec<(String, String)>, String) {
    let id = answer.header("x-request-id").expect("an id of the request");
    let headers = answer.headers.iter().filter(|(name, _)| !["x-request-id", "date"].contains(&name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()));
    (answer.status, headers.collect(), answer.text().replace(id, ""))
}

fn is_unknown(answer: &Response) -> bool {
    answer.status == 404 && answer.json()["code"] == "SERVICE_NOT_FOUND"
}

/// Query and body of the good request.
fn good(estate: &Estate, operation: &Operation) -> (String, String) {
    match operation.method.as_str() {
        "GET" | "DELETE" => (query(&operation.name, &estate.ids), String::new()),
        _ => (String::new(), body(&operation.name, estate).to_string()),
    }
}

/// One request with the ids of something and with those of nothing. Both are told the same.
async fn both(stage: &Stage, key: &str, method: &str, paths: &[String; 2], (query, body): (&str, &str)) -> Response {
    let [there, nowhere] = paths.each_ref().map(|path| format!("{path}{query}"));
    let (found, nothing) = (ask(stage, key, method, &there, body).await, ask(stage, key, method, &nowhere, body).await);
    assert_eq!(said(&found), said(&nothing), "{method} {there} {body}");
    found
}

async fn is_unknown_to(stage: &Stage, estate: &Estate, operation: &Operation, stranger: &Stranger) {
    let paths = [Under::Own, Under::Nothing].map(|under| estate.path(operation, under));
    let (method, (query, body)) = (operation.method.as_str(), good(estate, operation));
    for key in &stranger.keys {
        let told = both(stage, key, method, &paths, (&query, &body)).await;
        // New keys are the account's affair: a wallet's key learns that much, whichever wallet it names.
        let is_refused = operation.name == "rotate-wallet-key" && *key == stranger.wallet.key && told.status == 403;
        assert!(is_unknown(&told) || is_refused, "{} with the key of {}: {}", operation.name, stranger.is, told.text());
    }
    // What is wrong with a request may be told before whose it is, but then of everything that is not theirs.
    let bad: Vec<(&str, &str)> = match method {
        "GET" | "DELETE" => BAD_QUERIES.map(|query| (query, "")).into(),
        _ => BAD_BODIES.map(|body| ("", body)).into(),
    };
    join_all(bad.into_iter().map(|bad| both(stage, &stranger.keys[0], method, &paths, bad))).await;
    stage.seen.note(&unknown_to(&operation.name, stranger.is));
}

async fn nobody_finds(stage: &Stage, estate: &Estate, strangers: &[Stranger; 3], operations: &[Operation]) {
    for operation in operations {
        join_all(strangers.iter().map(|stranger| is_unknown_to(stage, estate, operation, stranger))).await;
        let paths = [Under::Own, Under::Nothing].map(|under| estate.path(operation, under));
        both(stage, "nonsense", &operation.method, &paths, ("", "{}")).await.check(401);
    }
}

/// The very same requests do what they say with the key of the account.
async fn the_owner_finds(stage: &Stage, estate: &Estate, operations: &[Operation]) {
    for operation in operations {
        let (query, body) = good(estate, operation);
        let path = format!("{}{query}", estate.path(operation, Under::Own));
        let answer = ask(stage, &estate.key, &operation.method, &path, &body).await;
        assert!(matches!(answer.status, 200 | 201), "{}: {}", operation.name, answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_somebody_elses_is_as_unknown_as_what_never_was() {
    let stage = Stage::open_at(Clock::manual(START_MS), PENDING).await.covers(&[
        "* with the key of another wallet: as unknown",
        "* with the key of another account: as unknown",
        "* with the key of the other environment: as unknown",
    ]);
    let crowd = Crowd::gather(&stage).await;
    let (at_test, at_live) = (of_ids(false), of_ids(true));
    let before = pictures(&stage, &crowd.accounts()).await;
    nobody_finds(&stage, &crowd.test, &crowd.strangers_to_test, &at_test).await;
    nobody_finds(&stage, &crowd.live, &crowd.strangers_to_live, &at_live).await;
    let after = pictures(&stage, &crowd.accounts()).await;
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after);
    }
    assert_eq!(before.len(), after.len());
    the_owner_finds(&stage, &crowd.test, &at_test).await;
    the_owner_finds(&stage, &crowd.live, &at_live).await;
    stage.finish().await;
}

/// Not even for the account's key, which opens both wallets.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_under_another_wallet_is_unknown() {
    let stage = Stage::open_at(Clock::manual(START_MS), PENDING).await;
    let estate = full(&stage).await;
    let second = open(&stage, &estate.key, "polygon", stage.receiver.url()).await;
    let before = pictures(&stage, &[&estate.key]).await;
    for operation in of_ids(false).iter().filter(|it| names_two(it)) {
        let paths = [Under::Wallet(&second.id), Under::NothingIn(&second.id)].map(|it| estate.path(operation, it));
        let (query, body) = good(&estate, operation);
        for key in [&estate.key, &second.key] {
            let told = both(&stage, key, &operation.method, &paths, (&query, &body)).await;
            assert!(is_unknown(&told), "{}: {}", operation.name, told.text());
        }
    }
    addresses_of_one_wallet_are_apart(&stage, &estate).await;
    assert_eq!(before, pictures(&stage, &[&estate.key]).await);
    a_quote_is_good_for_its_wallet_alone(&stage, &estate, &second).await;
    a_reference_is_of_its_wallet(&stage, &estate.wallet, &second).await;
    stage.finish().await;
}

/// A wallet and something below it, in the path or, of transactions, in the body. An asset is named by the id that the wallet
/// knows it by; the id that everybody knows it by opens it at each wallet of its blockchain, and tells nothing of any.
fn names_two(operation: &Operation) -> bool {
    let in_body = ["cancel-transaction", "retry-transaction", "resend-webhook", "sweep-transaction"];
    let below = operation.path.strip_prefix("/v1/wallets/{walletId}/");
    below.is_some_and(|rest| rest.contains('{') || in_body.contains(&operation.name.as_str()))
}

async fn addresses_of_one_wallet_are_apart(stage: &Stage, estate: &Estate) {
    let ids = &estate.ids;
    let wallet = format!("/v1/wallets/{}", estate.wallet.id);
    let rules = |place: &str, rule: &str| format!("{wallet}{place}/auto-settlements/rules/{rule}");
    let [address, other] = [&ids.address, &ids.other_address].map(|id| format!("/addresses/{id}"));
    let transaction = |id: &str| format!("{wallet}{other}/transactions/{id}");
    let unknown = format!("/v1/wallets/{}", never(&estate.wallet.id));
    let of_unknown = format!("{wallet}/addresses/{}/balances", never(&ids.address));
    for paths in [
        [transaction(&ids.deposit_of_address), transaction(&never(&ids.deposit_of_address))],
        [rules(&other, &ids.rule_of_address), rules(&other, &never(&ids.rule_of_address))],
        [rules("", &ids.rule_of_address), rules("", &never(&ids.rule_of_address))],
        [rules(&address, &ids.rule), rules(&address, &never(&ids.rule))],
        // What could be no id.
        [format!("/v1/wallets/{}", estate.wallet.id.to_uppercase()), unknown.clone()],
        ["/v1/wallets/x".to_owned(), unknown],
        [format!("{wallet}/addresses/{}/balances", "7".repeat(300)), of_unknown.clone()],
        [format!("{wallet}/addresses/%27%20or%201=1/balances"), of_unknown],
    ] {
        let told = both(stage, &estate.key, "GET", &paths, ("", "")).await;
        assert!(is_unknown(&told), "{paths:?}: {}", told.text());
    }
}

/// A quote in a body is a field that is wrong, whether it is another wallet's or nobody's.
async fn a_quote_is_good_for_its_wallet_alone(stage: &Stage, estate: &Estate, second: &Wallet) {
    let under = format!("/v1/wallets/{}/withdraw/fiat", second.id);
    let verification = format!("{under}/institution-account-verification");
    ask(stage, &second.key, "POST", &verification, &bank_account().to_string()).await.check(200);
    let usdc = stage.asset(second, "USDC").await;
    let quote = &estate.ids.quotes[2];
    let execute = async |quote: &str| {
        let mut body: Value = payout(&estate.ids);
        (body["asset_id"], body["quote_id"]) = (json!(usdc), json!(quote));
        ask(stage, &second.key, "POST", &format!("{under}/execute"), &body.to_string()).await
    };
    let (theirs, nobodys) = (execute(quote).await, execute(&never(quote)).await);
    assert_eq!(said(&theirs), said(&nobodys));
    assert_eq!((theirs.status, &theirs.json()["errors"][0]["field"]), (400, &json!("quote_id")));
}

/// Whoever uses it as well learns of nobody else who does.
async fn a_reference_is_of_its_wallet(stage: &Stage, first: &Wallet, second: &Wallet) {
    let sign = async |wallet: &Wallet, message: &str| {
        stage.post(wallet, "/signing/message", json!({"message": message, "reference": "r-1"})).await
    };
    let made = sign(first, "hello").await.expect(200).text_at("/data/id");
    assert_eq!(sign(first, "hello").await.expect(200).text_at("/data/id"), made);
    sign(first, "bye").await.check(409);
    assert_ne!(sign(second, "bye").await.expect(200).text_at("/data/id"), made);
}
