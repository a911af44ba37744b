//! Money that leaves: from every blockchain, to one recipient or twenty, and what is refused before anything happens.

use futures_util::future::join_all;
use serde_json::{Value, json};
use wallet::rules::{address, asset, blockchain::Blockchain};

use super::{
    acts::{check_fields, check_invalid, check_refusal, text},
    look::{meta, outside, whole},
    stage::{OUTSIDE, Stage, Wallet},
};
use crate::support::eventually;

const TOLD: &str = "wallet_id, amount, asset_id, destination_address, transaction_hash";

/// A withdrawal of one stablecoin of this blockchain, and what its wallet has afterwards.
async fn withdraw_on(stage: &Stage, blockchain: Blockchain) {
    let (slug, coin) = (blockchain.slug(), asset::on(blockchain)[0]);
    let wallet = stage.wallet(slug).await;
    assert_eq!(address::read(blockchain, &wallet.address).as_deref(), Ok(wallet.address.as_str()), "{slug}");
    // Where gas is paid in a stablecoin, the faucet has given ten of it already.
    if !coin.is_native {
        stage.deposit(&wallet, slug, &wallet.address, (coin.symbol, "10")).await;
    }
    assert_eq!(stage.holds(&wallet, "", coin.symbol).await, ["10", "0", "0"], "{slug}");
    let asset = stage.asset(&wallet, coin.symbol).await;
    let body = json!({"asset_id": asset, "amount": "2.5", "destination_address": outside(slug)});
    let made = stage.make(&wallet, "/withdraw", body).await;
    let id = text(&made, "id");
    let done = stage.until(&wallet, &id, "SUCCESS").await;
    let told = stage.told_of(&wallet, "withdraw.success", &id).await;
    check_fields(&told, TOLD);
    assert_eq!((&told["amount"], &told["asset_id"]), (&json!("2.5"), &json!(asset)), "{slug}");
    assert_eq!((&told["destination_address"], &told["transaction_hash"]), (&json!(outside(slug)), &done["hash"]));
    assert_eq!((&done["blockchain"], &done["network"]), (&json!(slug), &json!("testnet")));
    assert!(done["gasFee"].as_str().is_some_and(|fee| fee != "0"), "{done}");
    assert_eq!(stage.on_chain(slug, outside(slug), coin.symbol).await, "2.5", "{slug}");
    stage.agrees(&wallet).await;
    if !coin.is_native {
        assert_eq!(stage.holds(&wallet, "", coin.symbol).await, ["7.5", "0", "0"], "{slug}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawal_leaves_from_each_of_the_fifteen_blockchains_and_the_books_agree() {
    let stage = Stage::open().await.covers(&[
        "withdraw answers",
        "list-balances answers",
        "reconcile-wallet answers",
        "event withdraw.success",
        "event deposit.success",
        "edge pending to processing",
        "edge processing to success",
    ]);
    join_all(Blockchain::ALL.map(|blockchain| withdraw_on(&stage, blockchain))).await;
    stage.finish().await;
}

/// So many recipients, who get one more each.
fn batch(asset: &str, recipients: u64) -> Value {
    let recipient = |number: u64| {
        json!({
            "asset_id": asset, "amount": number.to_string(), "destination_address": format!("0x{:040x}", 0xdead_0000 + number),
            "note": format!("number {number}"),
        })
    };
    json!({"assets": (1..=recipients).map(recipient).collect::<Vec<_>>()})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_has_one_to_twenty_recipients_and_each_is_told_alone() {
    let stage = Stage::open().await.covers(&[
        "withdraw answers",
        "event withdraw.success",
        "code BATCH_SIZE_EXCEEDED",
        "code SERVICE_INSUFFICIENT_BALANCE",
        "limit: a batch of 0",
        "limit: a batch of 1",
        "limit: a batch of 20",
        "limit: a batch of 21",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "211").await;
    let asset = stage.asset(&wallet, "USDC").await;
    check_invalid(&stage.send(&wallet, "POST", "/withdraw", Some(batch(&asset, 0))).await, "assets");
    let many = stage.send(&wallet, "POST", "/withdraw", Some(batch(&asset, 21))).await;
    check_refusal(&many, (400, "BATCH_SIZE_EXCEEDED", "assets"));
    let one = whole(&stage.send(&wallet, "POST", "/withdraw", Some(batch(&asset, 1))).await.expect(200));
    assert_eq!(meta(&one)[0], 1);
    let rows = whole(&stage.send(&wallet, "POST", "/withdraw", Some(batch(&asset, 20))).await.expect(200));
    assert_eq!(meta(&rows), [20, 20, 20, 1, 1]);
    assert_eq!(stage.holds(&wallet, "", "USDC").await[0], "0", "one hold for all of them");
    for row in ["a batch of 0", "a batch of 1", "a batch of 20", "a batch of 21"] {
        stage.seen.note(&format!("limit: {row}"));
    }
    let more = stage.send(&wallet, "POST", "/withdraw", Some(batch(&asset, 1))).await;
    check_refusal(&more, (422, "SERVICE_INSUFFICIENT_BALANCE", ""));
    let rows = rows["data"].as_array().unwrap();
    for (place, row) in rows.iter().enumerate() {
        assert_eq!((&row["batchId"], &row["amount"]), (&rows[0]["batchId"], &json!((place + 1).to_string())));
        let told = stage.told_of(&wallet, "withdraw.success", &text(row, "id")).await;
        check_fields(&told, TOLD);
        assert_eq!((&told["destination_address"], &told["note"]), (&row["destination_address"], &row["note"]));
        assert_eq!(stage.told_names(&text(row, "id")), ["withdraw.success"]);
        assert_eq!(
            stage.on_chain("base", &text(row, "destination_address"), "USDC").await,
            if place == 0 { "2".into() } else { text(row, "amount") }
        );
    }
    assert_eq!(stage.on_chain("base", &wallet.address, "USDC").await, "0");
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_meant_is_refused_by_field_and_moves_nothing() {
    let stage = Stage::open().await.covers(&[
        "code SERVICE_VALIDATION_ERROR",
        "code SERVICE_NOT_FOUND",
        "limit: an amount of 0",
        "limit: an amount below 0",
        "limit: an amount with too many decimals",
        "limit: an address of another blockchain",
        "limit: an address with a wrong checksum",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "10").await;
    let asset = stage.asset(&wallet, "USDC").await;
    let checksum = "0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    for (change, field, rule, row) in [
        (json!({"amount": "0"}), "amount", "greater_than_zero", "an amount of 0"),
        (json!({"amount": "0.000"}), "amount", "greater_than_zero", "an amount of 0"),
        (json!({"amount": "-1"}), "amount", "greater_than_zero", "an amount below 0"),
        (json!({"amount": -0.5}), "amount", "greater_than_zero", "an amount below 0"),
        (json!({"amount": "0.0000001"}), "amount", "decimals", "an amount with too many decimals"),
        (json!({"amount": "1e3"}), "amount", "decimal", ""),
        (json!({"amount": "9".repeat(39)}), "amount", "max_digits", ""),
        (
            json!({"destination_address": outside("tron")}),
            "destination_address",
            "address",
            "an address of another blockchain",
        ),
        (
            json!({"destination_address": outside("solana")}),
            "destination_address",
            "address",
            "an address of another blockchain",
        ),
        (
            json!({"destination_address": checksum}),
            "destination_address",
            "checksum",
            "an address with a wrong checksum",
        ),
        (json!({"asset_id": wallet.id}), "asset_id", "asset", ""),
        (json!({"reference": "r".repeat(101)}), "reference", "max_length", ""),
        (json!({"note": "a\u{0}b"}), "note", "characters", ""),
    ] {
        let body = super::acts::with(json!({"asset_id": asset, "amount": "1", "destination_address": OUTSIDE}), change);
        for path in ["/withdraw", "/withdraw/network-fee"] {
            let answer = stage.send(&wallet, "POST", path, Some(body.clone())).await;
            check_invalid(&answer, field);
            assert_eq!(answer.json()["errors"][0]["rule"], rule, "{body}");
        }
        let item = stage.send(&wallet, "POST", "/withdraw", Some(json!({"assets": [body]}))).await;
        check_invalid(&item, &format!("assets[0].{field}"));
        if !row.is_empty() {
            stage.seen.note(&format!("limit: {row}"));
        }
    }
    check_invalid(
        &stage.send(&wallet, "POST", "/withdraw", Some(json!({}))).await,
        "asset_id amount destination_address",
    );
    for path in ["/addresses/00000000-0000-4000-8000-000000000000/withdraw", "/addresses/x/withdraw/network-fee"] {
        check_refusal(&stage.send(&wallet, "POST", path, Some(json!({}))).await, (404, "SERVICE_NOT_FOUND", ""));
    }
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["10", "0", "0"]);
    assert_eq!(meta(&stage.list(&wallet, "/transactions").await)[0], 1, "the deposit alone");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lacks_the_money_and_who_lacks_the_gas_are_told_apart_and_the_fee_is_told_before() {
    let stage = Stage::open().await.covers(&[
        "withdraw-fee answers",
        "withdraw-fee-from-address answers",
        "withdraw-from-address answers",
        "code SERVICE_INSUFFICIENT_BALANCE",
        "code SERVICE_INSUFFICIENT_GAS",
    ]);
    let wallet = stage.wallet_with("base", "USDC", "10").await;
    let (usdc, eth) = (stage.asset(&wallet, "USDC").await, stage.asset(&wallet, "ETH").await);
    let body = |asset: &str, amount: &str| json!({"asset_id": asset, "amount": amount, "destination_address": OUTSIDE});
    let fee = stage.make(&wallet, "/withdraw/network-fee", body(&usdc, "10")).await;
    assert_eq!((&fee["symbol"], &fee["nativeBalance"]), (&json!("ETH"), &json!("10")));
    let both = json!({"assets": [body(&usdc, "1"), body(&eth, "1")]});
    let more = stage.make(&wallet, "/withdraw/network-fee", both).await;
    assert!(more["networkFee"].as_str() > fee["networkFee"].as_str(), "{more} {fee}");
    let refused = async |wallet: &Wallet, path: &str, body: Value, code: &str| {
        check_refusal(&stage.send(wallet, "POST", path, Some(body)).await, (422, code, ""));
    };
    refused(&wallet, "/withdraw", body(&usdc, "10.000001"), "SERVICE_INSUFFICIENT_BALANCE").await;
    refused(&wallet, "/withdraw", body(&eth, "10.1"), "SERVICE_INSUFFICIENT_BALANCE").await;
    // It has to pay for its own way.
    refused(&wallet, "/withdraw", body(&eth, "10"), "SERVICE_INSUFFICIENT_BALANCE").await;

    let address = stage.address(&wallet, json!({"disable_auto_sweep": true})).await;
    stage.deposit(&wallet, "base", &address.address, ("USDC", "5")).await;
    let at = format!("/addresses/{}", address.id);
    refused(&wallet, &format!("{at}/withdraw"), body(&usdc, "5"), "SERVICE_INSUFFICIENT_GAS").await;
    refused(&wallet, &format!("{at}/withdraw"), body(&usdc, "6"), "SERVICE_INSUFFICIENT_BALANCE").await;
    stage.control("base", json!({"kind": "give", "address": address.address, "amount": "1"})).await;
    eventually("coins of the address", async || (stage.holds(&wallet, &at, "ETH").await[0] == "1").then_some(())).await;
    let fee = stage.make(&wallet, &format!("{at}/withdraw/network-fee"), body(&usdc, "5")).await;
    assert_eq!(fee["nativeBalance"], "1");
    let sent = text(&stage.make(&wallet, &format!("{at}/withdraw"), body(&usdc, "5")).await, "id");
    let told = stage.told_of(&wallet, "withdraw.success", &sent).await;
    let (burnt, most) = (text(&told, "gasFee"), text(&fee, "networkFee"));
    assert!(burnt.parse::<f64>().unwrap() < most.parse::<f64>().unwrap(), "{burnt} of {most}");
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["10", "0", "0"], "its master has paid nothing");
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_race_for_the_balance_is_won_by_as_many_as_it_allows() {
    let stage = Stage::open().await.covers(&["code SERVICE_INSUFFICIENT_BALANCE", "edge processing to success"]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    let asset = stage.asset(&wallet, "USDC").await;
    let body = json!({"asset_id": asset, "amount": "9", "destination_address": OUTSIDE});
    let race = (0..30).map(|_| stage.send(&wallet, "POST", "/withdraw", Some(body.clone())));
    let (won, lost): (Vec<_>, Vec<_>) = join_all(race).await.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((won.len(), lost.len()), (11, 19));
    lost.iter().for_each(|answer| check_refusal(answer, (422, "SERVICE_INSUFFICIENT_BALANCE", "")));
    for answer in &won {
        stage.until(&wallet, &text(&answer.json()["data"], "id"), "SUCCESS").await;
    }
    assert_eq!(stage.holds(&wallet, "", "USDC").await, ["1", "0", "0"]);
    assert_eq!(stage.on_chain("base", OUTSIDE, "USDC").await, "99");
    stage.agrees(&wallet).await;
    stage.finish().await;
}
