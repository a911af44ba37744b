//! What arrives: seen, final, or taken back for good.

use serde_json::json;

use super::{
    acts::{check_fields, check_refusal, text},
    look::{column, meta},
    stage::{OUTSIDE, Stage},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_that_never_comes_back_has_failed_and_nobody_can_spend_it() {
    let stage = Stage::open().await.covers(&[
        "read-transaction answers",
        "event deposit.processing",
        "event deposit.failed",
        "event deposit.success",
        "edge processing to failed",
        "code SERVICE_NOT_FOUND",
        "code SERVICE_INSUFFICIENT_BALANCE",
    ]);
    // It needs 64 blocks: there is time to take it back.
    let wallet = stage.wallet("polygon").await;
    let address = stage.address(&wallet, json!({"metadata": {"user": 7}, "enable_gasless_withdraw": true})).await;
    stage.give("polygon", &address.address, "USDC", "7").await;
    let seen = stage.told_where(&wallet, "deposit.processing", ("address_id", &address.id)).await;
    check_fields(&seen, "wallet_id, address_id, amount, asset_id");
    let id = text(&seen, "id");
    assert_eq!(stage.transaction(&wallet, &id).await["transaction_status"], "processing");
    let undone = stage.control("polygon", json!({"kind": "reorganise", "depth": 50, "drop": true})).await;
    assert_eq!(undone["transactions"], 1, "{undone}");
    let told = stage.told_of(&wallet, "deposit.failed", &id).await;
    check_fields(&told, "wallet_id, address_id, error_code");
    assert_eq!((&told["error_code"], &told["address_id"]), (&json!("SERVICE_NOT_FOUND"), &json!(address.id)));
    stage.until(&wallet, &id, "FAILED").await;
    let at = format!("/addresses/{}", address.id);
    assert_eq!(stage.holds(&wallet, &at, "USDC").await, ["0", "0", "0"]);
    let usdc = stage.asset(&wallet, "USDC").await;
    let body = json!({"asset_id": usdc, "amount": "7", "destination_address": OUTSIDE});
    let spent = stage.send(&wallet, "POST", &format!("{at}/withdraw"), Some(body)).await;
    check_refusal(&spent, (422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    stage.deposit(&wallet, "polygon", &address.address, ("USDC", "5")).await;
    let swept = stage.told(&wallet, "deposit.swept.success").await;
    assert_eq!(swept["amount"], "5");
    assert_eq!(stage.told_names(&id), ["deposit.processing", "deposit.failed"]);
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deposit_carries_the_metadata_of_its_address_and_coins_for_gas_come_in_silence() {
    let stage = Stage::open().await.covers(&[
        "event deposit.processing",
        "event deposit.success",
        "list-transactions answers",
        "default: disable_auto_sweep is false",
    ]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({"metadata": {"order": "17", "items": [1, 2]}})).await;
    let hash = stage.deposit(&wallet, "base", &address.address, ("DAI", "0.000000000000000001")).await;
    let told = stage.told_where(&wallet, "deposit.success", ("transaction_hash", &hash)).await;
    check_fields(&told, "wallet_id, address_id, amount, asset_id, transaction_hash, metadata");
    assert_eq!(
        (&told["metadata"], &told["amount"]),
        (&json!({"order": "17", "items": [1, 2]}), &json!("0.000000000000000001"))
    );
    assert_eq!(told["asset_id"], stage.asset(&wallet, "DAI").await);
    // It is swept as nobody has said otherwise, with coins of the master wallet.
    let swept = stage.told(&wallet, "deposit.swept.success").await;
    assert_eq!(swept["address_id"], address.id.as_str());
    stage.seen.note("default: disable_auto_sweep is false");
    let straight = stage.deposit(&wallet, "base", &wallet.address, ("USDC", "3")).await;
    let told = stage.told_where(&wallet, "deposit.success", ("transaction_hash", &straight)).await;
    assert_eq!((told.get("metadata"), &told["address_id"]), (Some(&json!(null)), &json!(null)), "{told}");
    let list = stage.list(&wallet, "/transactions").await;
    assert_eq!(
        (meta(&list)[0], json!(column(&list, "type"))),
        (3, json!(["DEPOSIT", "AUTO_FUNDING", "DEPOSIT"])),
        "no coins that came, no sweep"
    );
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}
