//! Swaps: by quote and at once, on one blockchain and across two, and what comes of those that go wrong.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::acts::{check_fields, check_invalid, check_refusal, text, with};
use super::mining::mine;
use super::stage::{Stage, Wallet};

const START_MS: u64 = 1_780_000_000_000;
/// As long as a swap's quote can be taken.
const QUOTE_MS: u64 = 60_000;

/// USDC into DAI.
async fn swap(stage: &Stage, wallet: &Wallet, amount: &str) -> Value {
    let [from, to] = [stage.asset(wallet, "USDC").await, stage.asset(wallet, "DAI").await];
    json!({"from_asset_id": from, "to_asset_id": to, "amount": amount})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_by_quote_brings_what_was_quoted_and_uses_it_once() {
    let stage = Stage::open().await.covers(&[
        "swap answers",
        "quote-swap answers",
        "quote-swaps answers",
        "execute-swaps answers",
        "event swap.success",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "300").await;
    let body = swap(&stage, &wallet, "100").await;
    let best = stage.make(&wallet, "/swap/quote", body.clone()).await;
    assert_eq!(
        (&best["amount"], &best["quote_status"], &best["from_asset"], &best["to_asset"]),
        (&json!("99.9"), &json!("open"), &json!("USDC"), &json!("DAI"))
    );
    let by_quote = with(body.clone(), json!({"quote_id": best["quote_id"], "reference": "swap-1"}));
    let other = stage.post(&wallet, "/swap", with(by_quote.clone(), json!({"amount": "101"}))).await;
    check_refusal(&other, (422, "SERVICE_VALIDATION_ERROR", "quote_id"));
    let made = stage.make(&wallet, "/swap", by_quote.clone()).await;
    let id = text(&made, "id");
    assert_eq!((&made["type"], &made["toAssetSymbol"]), (&json!("SWAP"), &json!("DAI")));
    let done = stage.until(&wallet, &id, "SUCCESS").await;
    assert_eq!((&done["toAmount"], &done["amount"]), (&json!("99.9"), &json!("100")));
    let told = stage.told_of(&wallet, "swap.success", &id).await;
    check_fields(&told, "wallet_id, from_asset, to_asset, amount");
    assert_eq!(
        (&told["from_asset"], &told["to_asset"], &told["amount"]),
        (&json!("USDC"), &json!("DAI"), &json!("100"))
    );
    assert_eq!(told["source_asset"], Value::Null, "no rule has made it");
    assert_eq!(stage.make(&wallet, "/swap", by_quote.clone()).await["id"], id.as_str());
    let again = stage.post(&wallet, "/swap", with(by_quote, json!({"reference": "swap-2"}))).await;
    check_refusal(&again, (409, "SERVICE_VALIDATION_ERROR", "quote_id"));

    // The names of the real product, and each priority's offer.
    for (order, amount) in [("FASTEST", "99.5"), ("CHEAPEST", "99.7"), ("NO_SLIPPAGE", "99")] {
        let quote = stage.make(&wallet, "/swaps/quote", with(body.clone(), json!({"order": order}))).await;
        assert_eq!((&quote["amount"], &quote["settlement_order"]), (&json!(amount), &json!(order)));
    }
    let quote = stage.make(&wallet, "/swaps/quote", with(body.clone(), json!({"order": "FASTEST"}))).await;
    let fast = with(body, json!({"order": "FASTEST", "quoteId": quote["quote_id"]}));
    let made = stage.make(&wallet, "/swaps/execute", fast).await;
    assert_eq!(stage.until(&wallet, &text(&made, "id"), "SUCCESS").await["toAmount"], "99.5");
    // Booked once: what was bought is no deposit.
    assert_eq!(stage.available(&wallet, "", "DAI").await, "199.4");
    assert_eq!(stage.list(&wallet, "/transactions?type=DEPOSIT&assets=DAI").await["meta"]["totalItems"], 0);
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_without_a_quote_is_bound_by_its_slippage() {
    let stage = Stage::open().await.covers(&["swap answers", "event swap.failed", "code SWAP_FAILED"]);
    let wallet = stage.wallet_with("base", "USDC", "300").await;
    let narrow = |body: Value| with(body, json!({"slippage_tolerance": "1"}));
    let made = stage.make(&wallet, "/swap", narrow(swap(&stage, &wallet, "100").await)).await;
    stage.until(&wallet, &text(&made, "id"), "SUCCESS").await;
    // The rate has moved too far: all of it comes back; or the provider does not take it at all.
    for (amount, reason, has_left) in [("50.13", "RATE_MOVED", true), ("50.15", "QUOTE_EXPIRED", false)] {
        let made = stage.make(&wallet, "/swap", narrow(swap(&stage, &wallet, amount).await)).await;
        let failed = stage.until(&wallet, &text(&made, "id"), "FAILED").await;
        assert_eq!((&failed["providerReason"], &failed["error_code"]), (&json!(reason), &json!("SWAP_FAILED")));
        assert_eq!(failed["hash"].is_string(), has_left, "{failed}");
        let told = stage.told_of(&wallet, "swap.failed", &text(&made, "id")).await;
        check_fields(&told, "wallet_id, error_code");
        assert_eq!(told["error_code"], "SWAP_FAILED");
        assert_eq!(stage.available(&wallet, "", "USDC").await, "200");
        stage.agrees(&wallet).await;
        // A retry has a quote of its own, and so the provider's own reason to fail; what comes back is no deposit either.
        let again = stage.make(&wallet, &format!("/transactions/{}/retry", text(&made, "id")), json!({})).await;
        assert_eq!(again["continues"], made["id"]);
        let failed = stage.until(&wallet, &text(&again, "id"), "FAILED").await;
        assert_eq!((&failed["providerReason"], failed["hash"].is_string()), (&json!(reason), has_left), "{failed}");
        assert_eq!(stage.available(&wallet, "", "USDC").await, "200");
        stage.agrees(&wallet).await;
    }
    assert_eq!(stage.list(&wallet, "/transactions?type=DEPOSIT&assets=USDC").await["meta"]["totalItems"], 1);
    // It brings a tenth less than was promised: somebody has to decide, and until then the money is held.
    let made = stage.make(&wallet, "/swap", narrow(swap(&stage, &wallet, "100.16").await)).await;
    let id = text(&made, "id");
    let short = stage.until(&wallet, &id, "INCOMPLETE").await;
    assert_eq!(
        (&short["toAmount"], stage.available(&wallet, "", "USDC").await.as_str()),
        (&json!("90.053856"), "99.84")
    );
    assert!(stage.told_names(&id).is_empty(), "neither done nor failed");
    let taken = stage.make(&wallet, &format!("/transactions/{id}/retry"), json!({})).await;
    assert_eq!(taken["continues"], id.as_str());
    stage.until(&wallet, &text(&taken, "id"), "SUCCESS").await;
    stage.told_of(&wallet, "swap.success", &text(&taken, "id")).await;
    assert_eq!(stage.available(&wallet, "", "DAI").await, "189.953856");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_swaps_what_is_its_own_here_and_to_another_blockchain() {
    let stage = Stage::open().await.covers(&[
        "swap-from-address answers",
        "quote-swaps-from-address answers",
        "execute-swaps-from-address answers",
        "event deposit.success",
    ]);
    let wallet = stage.wallet("base").await;
    let there = stage.wallet("arbitrum").await;
    let address = stage.address_with(&wallet, "base", ("USDC", "80")).await;
    let place = format!("/addresses/{}", address.id);
    let body = swap(&stage, &wallet, "50").await;
    let quote = stage.make(&wallet, &format!("{place}/swaps/quote"), body.clone()).await;
    let made = stage.make(&wallet, &format!("{place}/swap"), with(body, json!({"quote_id": quote["quote_id"]}))).await;
    stage.until(&wallet, &text(&made, "id"), "SUCCESS").await;
    assert_eq!(stage.on_chain("base", &address.address, "DAI").await, "49.95");
    // To the same address on another blockchain, where it arrives as a deposit.
    let to = stage.asset(&there, "USDT").await;
    let body = json!({"fromAssetId": stage.asset(&wallet, "USDC").await, "toAssetId": to, "amount": "30"});
    let made = stage.make(&wallet, &format!("{place}/swaps/execute"), body).await;
    let done = stage.until(&wallet, &text(&made, "id"), "SUCCESS").await;
    assert_eq!((&done["toBlockchainSlug"], &done["toAmount"]), (&json!("arbitrum"), &json!("29.97")));
    let told = stage.told_where(&there, "deposit.success", ("transaction_hash", &text(&done, "deliveryHash"))).await;
    assert_eq!((&told["amount"], &told["address_id"]), (&json!("29.97"), &json!(address.id)));
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.agrees(&there).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_swap_is_refused_before_anything_is_held() {
    let stage = Stage::open_at(Clock::manual(START_MS), "").await.covers(&["quote-swap answers"]);
    let mining = mine(&stage, "base");
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    let body = swap(&stage, &wallet, "100").await;
    let quote = stage.make(&wallet, "/swap/quote", body.clone()).await;
    stage.host.clock.advance(QUOTE_MS);
    let late = stage.post(&wallet, "/swap", with(body.clone(), json!({"quote_id": quote["quote_id"]}))).await;
    check_refusal(&late, (422, "SERVICE_VALIDATION_ERROR", "quote_id"));
    assert!(late.text().contains("has expired"), "{}", late.text());
    for (more, fields) in [
        (json!({"to_asset_id": body["from_asset_id"]}), "to_asset_id"),
        (json!({"amount": "0"}), "amount"),
        (json!({"settlement_order": "BEST", "slippage_tolerance": "101"}), "settlement_order slippage_tolerance"),
        (json!({"recipient_address": "x"}), "recipient_address"),
        (json!({"quote_id": "00000000-0000-4000-8000-000000000000"}), "quote_id"),
    ] {
        check_invalid(&stage.post(&wallet, "/swap", with(body.clone(), more)).await, fields);
    }
    let much = stage.post(&wallet, "/swap", with(body.clone(), json!({"amount": "100.01"}))).await;
    check_refusal(&much, (422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    let listed = json!({"recipient_address": "0x0000000000000000000000000000000000000bad"});
    check_refusal(
        &stage.post(&wallet, "/swap", with(body, listed)).await,
        (403, "SERVICE_VALIDATION_ERROR", "recipient_address"),
    );
    assert_eq!(stage.available(&wallet, "", "USDC").await, "100");
    stage.agrees(&wallet).await;
    drop(mining);
    stage.finish().await;
}
