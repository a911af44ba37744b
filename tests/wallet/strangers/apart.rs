//! What lists show, to whom an answer is repeated, what a ticket opens, and which keys of a wallet still do.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::{
    crowd::{Crowd, Stranger},
    estate::{Estate, PENDING, START_MS},
    is_unknown,
    requests::{ask, get},
    said,
};
use crate::{
    support::{Response, TestClient},
    wallet::{
        coverage::operations,
        stage::{OUTSIDE, Stage, Wallet},
    },
};

#[tokio::test(flavor = "multi_thread")]
async fn everybody_sees_their_own_and_nothing_else() {
    let stage = Stage::open_at(Clock::manual(START_MS), PENDING).await;
    let crowd = Crowd::gather(&stage).await;
    for (estate, strangers) in [(&crowd.test, &crowd.strangers_to_test), (&crowd.live, &crowd.strangers_to_live)] {
        for stranger in strangers {
            reads_nothing_of(&stage, estate, stranger).await;
        }
    }
    let second = &crowd.strangers_to_test[0].wallet;
    for (key, wallets) in [
        (&crowd.test.key, vec![&crowd.test.wallet.id, &second.id]),
        (&crowd.test.wallet.key, vec![&crowd.test.wallet.id]),
        (&second.key, vec![&second.id]),
        (&crowd.live.wallet.key, vec![&crowd.live.wallet.id]),
    ] {
        for list in ["/v1/wallets", "/v1/gateway/wallets"] {
            let shown = get(&stage, key, list).await;
            let ids: Vec<&Value> = shown["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
            assert_eq!(ids, wallets, "{list}");
            assert_eq!(shown["meta"]["totalItems"], wallets.len(), "{list}");
        }
    }
    forms_are_of_one_account_and_environment(&stage, &crowd).await;
    an_answer_is_repeated_to_its_owner_alone(&stage, &crowd).await;
    webhooks_go_to_their_own_wallet(&stage, &crowd).await;
    stage.finish().await;
}

async fn forms_are_of_one_account_and_environment(stage: &Stage, crowd: &Crowd) {
    let [test, live, rival, rival_live] = crowd.accounts();
    for (key, open) in [(test, vec!["NGN"]), (live, vec!["BRL"]), (rival, vec![]), (rival_live, vec![])] {
        let found = get(stage, key, "/v1/compliance").await;
        let rows = found["data"].as_array().unwrap().iter().filter(|it| it["is_enabled"] == true);
        assert_eq!(rows.map(|it| it["currency"].as_str().unwrap()).collect::<Vec<_>>(), open);
    }
}

/// Each has a place of its own at the receiver.
async fn webhooks_go_to_their_own_wallet(stage: &Stage, crowd: &Crowd) {
    let [second, rival, _] = &crowd.strangers_to_test;
    let places = [("", &crowd.test.wallet), ("/second", &second.wallet), ("/rival", &rival.wallet)];
    for (_, wallet) in places {
        stage.told(wallet, "wallet.created").await;
    }
    for arrived in stage.receiver.received() {
        let place = arrived.line.strip_prefix("POST /hook").unwrap();
        let (_, wallet) = places.iter().find(|(own, _)| *own == place).unwrap();
        assert_eq!(arrived.json()["data"]["wallet_id"], wallet.id, "{}", arrived.line);
    }
}

/// Every GET without an id but that of their own wallet, asked for what is the other's as well.
async fn reads_nothing_of(stage: &Stage, estate: &Estate, stranger: &Stranger) {
    let ids = &estate.ids;
    let filters = [
        String::new(),
        format!("?id={}", ids.deposit),
        format!("?walletId={id}&wallet_id={id}", id = estate.wallet.id),
        format!("?asset_id={}&address={}", ids.usdc, ids.address),
    ];
    for operation in operations().iter().filter(|it| it.method == "GET" && !it.is_page) {
        let path = operation.path.replace("{walletId}", &stranger.wallet.id);
        if path.contains('{') {
            continue;
        }
        for (key, filter) in stranger.keys.iter().flat_map(|key| filters.iter().map(move |filter| (key, filter))) {
            let text = ask(stage, key, "GET", &format!("{path}{filter}"), "").await.text();
            let seen: Vec<&str> = estate.marks().into_iter().filter(|mark| text.contains(mark)).collect();
            assert!(seen.is_empty(), "{path}{filter} shows {}: {seen:?} in {text}", stranger.is);
        }
    }
}

/// Who sends the same request with the same `Idempotency-Key` gets no answer of somebody else's.
async fn an_answer_is_repeated_to_its_owner_alone(stage: &Stage, crowd: &Crowd) {
    let path = format!("/v1/wallets/{}/withdraw", crowd.test.wallet.id);
    let body = crowd.test.withdrawal("2").to_string();
    let send = async |key: &str| {
        let headers = [("x-api-key", key), ("content-type", "application/json"), ("idempotency-key", "k-1")];
        TestClient::new(stage.host.base(), None).send("POST", &path, &headers, body.clone().into_bytes()).await
    };
    let first = send(&crowd.test.wallet.key).await.expect(200);
    for stranger in &crowd.strangers_to_test {
        for key in &stranger.keys {
            let told = send(key).await;
            assert!(is_unknown(&told), "{}: {}", stranger.is, told.text());
            assert_eq!(told.header("idempotency-replayed"), None);
        }
    }
    let again = send(&crowd.test.wallet.key).await.expect(200);
    assert_eq!((again.header("idempotency-replayed"), again.text()), (Some("true"), first.text()));
}

async fn link(stage: &Stage, wallet: &Wallet, name: &str) -> (String, Value) {
    let body = json!({"name": name, "asset_id": stage.asset(wallet, "USDC").await, "amount": "10"});
    let made = stage.post(wallet, "/payment-links", body).await.expect(201).json()["data"].clone();
    (made["payment_link_url"].as_str().unwrap().rsplit('/').next().unwrap().to_owned(), made)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_opens_its_payment_page_and_nothing_else() {
    let stage = Stage::open().await;
    let wallet = stage.wallet("base").await;
    let ((first, one), (second, two)) = (link(&stage, &wallet, "One").await, link(&stage, &wallet, "Two").await);
    for (ticket, own, other) in [(&first, &one, &two), (&second, &two, &one)] {
        for path in [format!("/pay/{ticket}"), format!("/pay/{ticket}/status")] {
            let page = TestClient::new(stage.host.base(), None).get(&path).await.expect(200).text();
            stage.seen.note_page("GET", &path);
            for mark in [&other["address"], &other["payment_link_id"], &json!(wallet.id), &json!(wallet.key)] {
                assert!(!page.contains(mark.as_str().unwrap()), "{path}: {page}");
            }
        }
        let page = TestClient::new(stage.host.base(), None).get(&format!("/pay/{ticket}")).await.text();
        assert!(page.contains(own["address"].as_str().unwrap()), "{page}");
    }
    for operation in operations().iter().filter(|it| !it.is_page) {
        let path = operation.path.replace("{walletId}", &wallet.id);
        let path = path.replace("{linkId}", one["payment_link_id"].as_str().unwrap());
        for header in ["x-api-key", "authorization"] {
            let send = async |key: &str| {
                let key = if header == "x-api-key" { key.to_owned() } else { format!("Bearer {key}") };
                let headers = [(header, key.as_str()), ("content-type", "application/json")];
                let client = TestClient::new(stage.host.base(), None);
                client.send(&operation.method, &path, &headers, b"{}".to_vec()).await
            };
            let (ticket, nonsense) = (send(&first).await, send("nonsense").await);
            assert_eq!((ticket.status, said(&ticket)), (401, said(&nonsense)), "{}", operation.name);
        }
    }
    stage.finish().await;
}

async fn rotate(stage: &Stage, wallet: &Wallet) -> Wallet {
    let path = format!("/v1/wallets/{}/rotate-key", wallet.id);
    let made = ask(stage, &stage.account, "POST", &path, "{}").await.expect(200);
    Wallet { key: made.text_at("/data/api_key"), ..wallet.clone() }
}

async fn read(stage: &Stage, wallet: &Wallet) -> Response {
    ask(stage, &wallet.key, "GET", &format!("/v1/wallets/{}", wallet.id), "").await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_two_newest_keys_open_a_wallet_and_the_newest_signs() {
    let stage = Stage::open().await;
    let first = stage.wallet("base").await;
    stage.told(&first, "wallet.created").await;
    let second = rotate(&stage, &first).await;
    for key in [&first, &second] {
        read(&stage, key).await.check(200);
    }
    stage.address(&first, json!({"name": "ann"})).await;
    stage.told(&second, "address.created").await;
    let third = rotate(&stage, &second).await;
    for key in [&second, &third] {
        read(&stage, key).await.check(200);
    }
    let nonsense = Wallet { key: format!("{}x", first.key), ..first.clone() };
    let (old, unknown) = (read(&stage, &first).await, read(&stage, &nonsense).await);
    assert_eq!((old.status, said(&old)), (401, said(&unknown)));
    stage.post(&second, "/addresses/whitelist", json!({"address": OUTSIDE})).await.check(201);
    stage.told(&third, "address.whitelisted").await;
    // Neither of them makes another one.
    for key in [&second, &third] {
        let path = format!("/v1/wallets/{}/rotate-key", key.id);
        let told = ask(&stage, &key.key, "POST", &path, "{}").await;
        assert_eq!((told.status, &told.json()["code"]), (403, &json!("SERVICE_AUTH_FAILED")));
    }
    stage.finish().await;
}
