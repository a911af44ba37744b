//! An address that is switched off: what arrives there is booked and told, and rests; nothing leaves it, and nobody is asked to pay
//! to it.

use serde_json::json;

use super::acts::{check_refusal, text};
use super::stage::{OUTSIDE, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_switched_off_keeps_what_it_gets() {
    let stage = Stage::open().await.covers(&["update-address answers", "sweep-* answers", "event deposit.success"]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let place = format!("/addresses/{}", address.id);
    let switch =
        async |is_active: bool| stage.ask(&wallet, "PATCH", &place, Some(json!({"is_active": is_active}))).await;
    // Neither swept nor settled.
    let rule = json!({"settlement_rule_name": "Out", "source": {"assets": ["DAI"]},
        "destination": {"blockchain": "base", "asset": "DAI", "address": OUTSIDE}});
    stage.make(&wallet, "/auto-settlements/rules", rule).await;
    assert_eq!(switch(false).await["isActive"], false);
    let hash = stage.deposit(&wallet, "base", &address.address, ("USDC", "25")).await;
    stage.deposit(&wallet, "base", &address.address, ("DAI", "3")).await;
    let (usdc, dai) = (stage.asset(&wallet, "USDC").await, stage.asset(&wallet, "DAI").await);
    let payout = json!({"asset_id": usdc, "amount": "1", "currency": "NGN", "account_identifier": "0123456789",
        "institution_identifier": "SANDNGLA"});
    for (path, body) in [
        ("withdraw", json!({"asset_id": usdc, "amount": "1", "destination_address": OUTSIDE})),
        ("swap", json!({"from_asset_id": usdc, "to_asset_id": dai, "amount": "1"})),
        ("withdraw/fiat/quote", payout),
        ("gateway/deposit", json!({"amount": "1"})),
        ("gateway/withdraw", json!({"amount": "1", "destination_chain": "base"})),
        ("signing/message", json!({"message": "hello"})),
        ("signing/broadcast", json!({"transaction": "0x02c0"})),
    ] {
        let refused = stage.post(&wallet, &format!("{place}/{path}"), body).await;
        check_refusal(&refused, (409, "SERVICE_VALIDATION_ERROR", ""));
        assert!(refused.text().contains("switched off"), "{path}: {}", refused.text());
    }
    let deposit = stage.list(&wallet, &format!("/transactions?hash={hash}")).await["data"][0].clone();
    let named = json!({"transactionId": deposit["id"]});
    let refused = stage.post(&wallet, "/transactions/sweep/assets", named.clone()).await;
    check_refusal(&refused, (409, "SERVICE_VALIDATION_ERROR", ""));
    assert_eq!(stage.make(&wallet, "/sweep/assets", json!({})).await["sweeps"], 0);
    stage.agrees_at(&wallet, &address).await;
    assert_eq!(
        [stage.available(&wallet, &place, "USDC").await, stage.available(&wallet, &place, "DAI").await],
        ["25", "3"]
    );
    // Switched on, it is like every other.
    switch(true).await;
    assert_eq!(stage.make(&wallet, "/transactions/sweep/assets", named).await["sweeps"], 1);
    stage.told_where(&wallet, "deposit.swept.success", ("address_id", &address.id)).await;
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "25");
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_to_an_address_that_is_switched_off_is_closed() {
    let stage = Stage::open().await.covers(&["update-address answers", "read-payment-status answers"]);
    let wallet = stage.wallet("base").await;
    let body = json!({"name": "Invoice 7", "asset_id": stage.asset(&wallet, "USDC").await, "amount": "25"});
    let link = stage.make(&wallet, "/payment-links", body).await;
    let ticket = text(&link, "payment_link_url").rsplit('/').next().unwrap().to_owned();
    let shown = async || stage.ask_as("", "GET", &format!("/pay/{ticket}/status"), None).await;
    let place = format!("/addresses/{}", text(&link, "address_id"));
    for (is_active, state) in [(false, "inactive"), (true, "waiting")] {
        stage.ask(&wallet, "PATCH", &place, Some(json!({"is_active": is_active}))).await;
        assert_eq!((&shown().await["state"], &shown().await["open"]), (&json!(state), &json!(is_active)));
        let read = stage.get(&wallet, &format!("/payment-links/{}", text(&link, "id"))).await;
        assert_eq!((&read["active"], &read["payment_status"]), (&json!(is_active), &json!(state)));
    }
    stage.finish().await;
}
