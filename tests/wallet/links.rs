//! Payment links: made, paid, shown to whoever has the link, changed, listed.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::acts::{check_fields, check_invalid, check_refusal, text, with};
use super::mining::mine;
use super::stage::{Stage, Wallet};
use crate::support::{TestClient, eventually};

/// 2026-05-28T20:26:40Z
const START_MS: u64 = 1_780_000_000_000;
const HOUR_MS: u64 = 3_600_000;

/// A link for 25 USDC.
async fn link(stage: &Stage, wallet: &Wallet, more: Value) -> Value {
    let body = json!({"name": "Invoice 7", "asset_id": stage.asset(wallet, "USDC").await, "amount": "25"});
    stage.make(wallet, "/payment-links", with(body, more)).await
}

/// What the page asks for, with the ticket of the link alone.
async fn page_state(stage: &Stage, link: &Value) -> Value {
    let ticket = text(link, "payment_link_url").rsplit('/').next().unwrap().to_owned();
    stage.ask_as("", "GET", &format!("/pay/{ticket}/status"), None).await
}

async fn page_is(stage: &Stage, link: &Value, state: &str) -> Value {
    eventually(&format!("a page that says {state}"), async || {
        Some(page_state(stage, link).await).filter(|shown| shown["state"] == state)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_paid_in_parts_in_full_and_beyond() {
    let stage = Stage::open().await.covers(&[
        "create-payment-link answers",
        "read-payment-link answers",
        "list-payment-link-transactions answers",
        "show-payment-page answers",
        "read-payment-status answers",
        "event checkout.link_created",
    ]);
    let wallet = stage.wallet("base").await;
    let more = json!({"redirect_url": "https://shop.example/thanks", "success_message": "Thank you", "metadata": {"order": 7}});
    let link = link(&stage, &wallet, more).await;
    let (id, address) = (text(&link, "payment_link_id"), text(&link, "address"));
    let told = stage.told_where(&wallet, "checkout.link_created", ("payment_link_id", &id)).await;
    check_fields(&told, "payment_link_id, payment_link_url, wallet_id");
    assert_eq!((&told["payment_link_url"], &told["metadata"]), (&link["payment_link_url"], &json!({"order": 7})));
    let ticket = text(&link, "payment_link_url").rsplit('/').next().unwrap().to_owned();
    let path = format!("/pay/{ticket}");
    let page = stage.call("", "GET", &path, None).await.expect(200);
    stage.seen.note_page("GET", &path);
    assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")));
    assert!(page.header("content-security-policy").is_some());
    for shown in ["Invoice 7", &address, "Base Sepolia"] {
        assert!(page.text().contains(shown), "{shown}");
    }

    let waiting = page_is(&stage, &link, "waiting").await;
    assert_eq!(
        (&waiting["due"], &waiting["open"], &waiting["redirect_url"]),
        (&json!("25"), &json!(true), &Value::Null)
    );
    for (amount, state, paid, due) in [
        ("10", "underpaid", "10", json!("15")),
        ("15", "paid", "25", Value::Null),
        ("0.5", "overpaid", "25.5", Value::Null),
    ] {
        stage.deposit(&wallet, "base", &address, ("USDC", amount)).await;
        let shown = page_is(&stage, &link, state).await;
        assert_eq!(shown["due"], due, "{shown}");
        let read = stage.get(&wallet, &format!("/payment-links/{id}")).await;
        assert_eq!((&read["payment_status"], &read["amount_paid"]), (&json!(state), &json!(paid)), "{read}");
    }
    let paid = page_state(&stage, &link).await;
    assert_eq!((&paid["message"], &paid["over"]), (&json!("Thank you"), &json!(true)));
    assert_eq!(paid["redirect_url"], "https://shop.example/thanks");
    // Another asset pays for nothing, and is no loss.
    stage.deposit(&wallet, "base", &address, ("DAI", "3")).await;
    let read = stage.get(&wallet, &format!("/payment-links/{id}")).await;
    assert_eq!((&read["amount_paid"], &read["amount"]), (&json!("25.5"), &json!("25")));
    let payments = stage.list(&wallet, &format!("/payment-links/{id}/transactions?limit=3")).await;
    assert_eq!((&payments["meta"]["totalItems"], &payments["meta"]["totalPages"]), (&json!(4), &json!(2)));
    let amounts: Vec<String> = payments["data"].as_array().unwrap().iter().map(|it| text(it, "amount")).collect();
    assert_eq!(amounts, ["3", "0.5", "15"], "the newest first");
    eventually("all of it at the master wallet", async || {
        (stage.on_chain("base", &wallet.address, "USDC").await == "25.5").then_some(())
    })
    .await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_is_changed_closed_and_runs_out() {
    let stage = Stage::open_at(Clock::manual(START_MS), "").await.covers(&[
        "update-payment-link answers",
        "update-any-payment-link answers",
        "list-payment-links answers",
        "read-payment-status answers",
    ]);
    let mining = mine(&stage, "base");
    let wallet = stage.wallet("base").await;
    let made =
        link(&stage, &wallet, json!({"expires_at": "2026-05-28T22:00:00Z", "inactive_message": "Closed for today"}))
            .await;
    let id = text(&made, "id");
    let path = format!("/payment-links/{id}");
    let body = json!({"name": "Invoice 8", "description": "Two chairs", "is_active": false});
    let changed = stage.ask(&wallet, "PATCH", &path, Some(body)).await;
    assert_eq!(
        (&changed["name"], &changed["description"], &changed["active"]),
        (&json!("Invoice 8"), &json!("Two chairs"), &json!(false))
    );
    assert_eq!((&changed["payment_link_url"], &changed["address"]), (&made["payment_link_url"], &made["address"]));
    let closed = page_is(&stage, &made, "inactive").await;
    assert_eq!((&closed["message"], &closed["open"]), (&json!("Closed for today"), &json!(false)));
    let any = format!("/v1/payment_links/{id}");
    stage.ask_as(&stage.account, "PATCH", &any, Some(json!({"active": true}))).await;
    page_is(&stage, &made, "waiting").await;
    // What it asks for stays: somebody may be paying it.
    let asset = stage.asset(&wallet, "DAI").await;
    let fixed = stage.call(&wallet.key, "PATCH", &any, Some(json!({"amount": "1", "asset_id": asset}))).await;
    check_invalid(&fixed, "asset_id amount");
    stage.host.clock.advance(2 * HOUR_MS);
    page_is(&stage, &made, "expired").await;
    assert_eq!(stage.get(&wallet, &path).await["active"], false);
    // What comes all the same is booked, and counts.
    stage.deposit(&wallet, "base", &text(&made, "address"), ("USDC", "25")).await;
    page_is(&stage, &made, "paid").await;

    for name in ["a", "b"] {
        link(&stage, &wallet, json!({"name": name})).await;
    }
    let page = stage.list(&wallet, "/payment-links?limit=2").await;
    let meta = json!({"totalItems": 3, "itemCount": 2, "itemsPerPage": 2, "totalPages": 2, "currentPage": 1});
    assert_eq!(page["meta"], meta);
    let last = stage.list(&wallet, "/payment-links?limit=2&page=2").await;
    assert_eq!((&last["data"][0]["id"], &last["meta"]["itemCount"]), (&json!(id), &json!(1)));
    stage.agrees(&wallet).await;
    drop(mining);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_all_wallets_are_the_accounts_and_a_wallet_sees_its_own() {
    let stage = Stage::open().await.covers(&[
        "create-any-payment-link answers",
        "list-all-payment-links answers",
        "read-any-payment-link answers",
        "list-any-payment-link-transactions answers",
    ]);
    let (base, tron) = (stage.wallet("base").await, stage.wallet("tron").await);
    // The wallet is the one whose asset is asked for; without an amount the payer chooses.
    let body = json!({"name": "Any amount", "assetId": stage.asset(&tron, "USDT").await});
    let made = stage.ask_as(&stage.account, "POST", "/v1/payment_links", Some(body.clone())).await;
    assert_eq!((&made["wallet_id"], &made["amount"]), (&json!(tron.id), &Value::Null));
    let foreign = stage.call(&base.key, "POST", "/v1/payment_links", Some(body)).await;
    check_invalid(&foreign, "asset_id");
    let own = link(&stage, &base, json!({})).await;
    let all = stage.call(&stage.account, "GET", "/v1/payment_links", None).await.expect(200).json();
    let ids: Vec<&Value> = all["data"].as_array().unwrap().iter().map(|it| &it["id"]).collect();
    assert_eq!(ids, [&own["id"], &made["id"]]);
    let seen = stage.call(&base.key, "GET", "/v1/payment_links", None).await.expect(200).json();
    assert_eq!((&seen["meta"]["totalItems"], &seen["data"][0]["id"]), (&json!(1), &own["id"]));
    let path = format!("/v1/payment_links/{}", text(&made, "id"));
    check_refusal(&stage.call(&base.key, "GET", &path, None).await, (404, "SERVICE_NOT_FOUND", ""));
    stage.deposit(&tron, "tron", &text(&made, "address"), ("USDT", "4")).await;
    let read = stage.ask_as(&tron.key, "GET", &path, None).await;
    assert_eq!((&read["payment_status"], &read["amount_paid"]), (&json!("paid"), &json!("4")));
    let paid = stage.ask_as(&stage.account, "GET", &format!("{path}/transactions"), None).await;
    assert_eq!((&paid[0]["type"], &paid[0]["amount"]), (&json!("DEPOSIT"), &json!("4")));
    stage.agrees(&tron).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_host_header_changes_no_payment_link() {
    let stage = Stage::open().await;
    let wallet = stage.wallet("base").await;
    let asset = stage.asset(&wallet, "USDC").await;
    let body = json!({"name": "Invoice 7", "asset_id": asset, "amount": "25"}).to_string().into_bytes();
    let forged = [("content-type", "application/json"), ("x-api-key", &*wallet.key), ("host", "forged.example")];
    let client = TestClient::new(stage.host.base(), None);
    let made = client.send("POST", &format!("/v1/wallets/{}/payment-links", wallet.id), &forged, body).await;
    let made = made.expect(201).json()["data"].clone();
    let expected = format!("{}/pay/", stage.host.base());
    assert!(text(&made, "payment_link_url").starts_with(&expected), "{made}");
    let page = stage.get(&wallet, &format!("/payment-links/{}", text(&made, "payment_link_id"))).await;
    assert!(text(&page, "payment_link_url").starts_with(&expected), "{page}");
    stage.finish().await;
}
