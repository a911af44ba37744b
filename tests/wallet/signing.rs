//! Signatures with the keys of wallets and addresses: whoever has only the address can check them; and raw transactions.

use serde_json::{Value, json};
use tenon::clock::Clock;
use tenon_keyring::{
    evm::{self, SignedTransaction, Transaction, TypedData},
    solana, tron,
};

use super::acts::{check_fields, check_invalid, check_refusal, text};
use super::mining::mine;
use super::stage::{OUTSIDE, Stage, Wallet};
use crate::support::eventually;

const START_MS: u64 = 1_780_000_000_000;
/// Between two attempts of a broadcast (spec/wallet: Limits).
const PAUSE_MS: u64 = 300_000;
/// In a unit of gas: more than a simulated network asks for.
const GAS_PRICE: u128 = 2_000_000_000;

/// The signature is that of the key behind the address, over exactly this message, as the family's own programs check it.
#[track_caller]
fn check_signer(blockchain: &str, address: &str, message: &str, signature: &str) {
    let message = message.as_bytes();
    match blockchain {
        "solana" => {
            let signature = solana::read_signature(signature).expect("base58");
            solana::verify(&address.parse().unwrap(), message, &signature).expect("signed by the address");
        }
        "tron" => {
            let signer = tron::recover_message(message, &signature.parse().unwrap()).unwrap();
            assert_eq!(signer.to_string(), address);
        }
        _ => {
            let signer = evm::recover_message(message, &signature.parse().unwrap()).unwrap();
            assert_eq!(signer.to_string(), address);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_signed_with_the_key_of_its_address_on_every_family() {
    let stage = Stage::open().await.covers(&[
        "sign-message answers",
        "sign-message-of-address answers",
        "event signed.success",
        "limit: a message of 4096 characters",
        "limit: a message of 4097 characters",
    ]);
    for blockchain in ["base", "tron", "solana"] {
        let wallet = stage.wallet(blockchain).await;
        let body = json!({"message": "Log in\r\nas Ann \u{e9}", "reference": "login-1", "metadata": {"user": 7}});
        let made = stage.make(&wallet, "/signing/message", body.clone()).await;
        check_signer(blockchain, &wallet.address, "Log in\r\nas Ann \u{e9}", &text(&made, "signature"));
        assert_eq!(
            (&made["type"], &made["status"], &made["reference"]),
            (&json!("SIGNED"), &json!("SUCCESS"), &json!("login-1"))
        );
        let told = stage.told_of(&wallet, "signed.success", &text(&made, "id")).await;
        check_fields(&told, "wallet_id, signature");
        assert_eq!((&told["signature"], &told["metadata"]), (&made["signature"], &json!({"user": 7})));
        assert_eq!(told["transaction_hash"], Value::Null, "a signature stands in its place");
        // The same reference finds it; for another message it is taken.
        assert_eq!(stage.make(&wallet, "/signing/message", body).await["id"], made["id"]);
        let other = json!({"message": "Log out", "reference": "login-1"});
        let refused = stage.post(&wallet, "/signing/message", other).await;
        check_refusal(&refused, (409, "SERVICE_VALIDATION_ERROR", "reference"));

        let address = stage.address(&wallet, json!({})).await;
        let path = format!("/addresses/{}/signing/message", address.id);
        let made = stage.make(&wallet, &path, json!({"message": "hello"})).await;
        check_signer(blockchain, &address.address, "hello", &text(&made, "signature"));
        assert_eq!(made["address_id"], address.id.as_str());
        stage.agrees(&wallet).await;
    }
    let wallet = stage.wallet("polygon").await;
    // Characters, not bytes: each of these has four.
    let longest = "\u{1f680}".repeat(4_096);
    let made = stage.make(&wallet, "/signing/message", json!({"message": longest})).await;
    check_signer("polygon", &wallet.address, &longest, &text(&made, "signature"));
    stage.seen.note("limit: a message of 4096 characters");
    let longer = stage.post(&wallet, "/signing/message", json!({"message": "a".repeat(4_097)})).await;
    check_invalid(&longer, "message");
    assert_eq!(longer.json()["errors"][0]["rule"], "max_length");
    stage.seen.note("limit: a message of 4097 characters");
    check_invalid(&stage.post(&wallet, "/signing/message", json!({"message": ""})).await, "message");
    check_invalid(&stage.post(&wallet, "/signing/message", json!({"message": 7})).await, "message");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typed_document_is_signed_by_the_address_that_it_is_asked_of() {
    let stage = Stage::open().await.covers(&["sign-typed-data answers", "sign-typed-data-of-address answers"]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({})).await;
    let document = json!({
        "types": {"Permit": [{"name": "owner", "type": "address"}, {"name": "value", "type": "uint256"}]},
        "primaryType": "Permit",
        "domain": {"name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": OUTSIDE},
        "message": {"owner": wallet.address, "value": "115792089237316195423570985008687907853269984665640564039457584007913129639935"},
    });
    let data = TypedData::read(&document.to_string()).unwrap();
    let own = stage.make(&wallet, "/signing/typed-data", document.clone()).await;
    assert_eq!(data.signer(&text(&own, "signature").parse().unwrap()).unwrap().to_string(), wallet.address);
    stage.told_of(&wallet, "signed.success", &text(&own, "id")).await;
    // Beside reference and metadata the document stands in `data`.
    let path = format!("/addresses/{}/signing/typed-data", address.id);
    let body = json!({"data": document, "reference": "permit-1"});
    let made = stage.make(&wallet, &path, body.clone()).await;
    assert_eq!(data.signer(&text(&made, "signature").parse().unwrap()).unwrap().to_string(), address.address);
    assert_eq!(stage.make(&wallet, &path, body).await["id"], made["id"]);
    let mut broken = document.clone();
    broken["message"]["value"] = json!("-1");
    check_invalid(&stage.post(&wallet, "/signing/typed-data", broken).await, "message");
    let tron = stage.wallet("tron").await;
    check_invalid(&stage.post(&tron, "/signing/typed-data", document).await, "blockchain");
    stage.finish().await;
}

/// A transfer of coins to somebody outside, unsigned.
async fn raw(stage: &Stage, nonce: u64, value: u128) -> Transaction {
    let networks = stage.host.operator().get("/v1/chains").await.expect(200).json();
    let is_base = |it: &&Value| it["blockchain"] == "base" && it["network"] == "test";
    let base = networks.as_array().unwrap().iter().find(is_base).cloned().unwrap_or_else(|| panic!("{networks}"));
    Transaction {
        chain_id: base["chain_id"].as_u64().unwrap(),
        nonce,
        max_priority_fee_per_gas: GAS_PRICE,
        max_fee_per_gas: GAS_PRICE,
        gas_limit: 21_000,
        to: Some(OUTSIDE.parse().unwrap()),
        value,
        data: Vec::new(),
        access_list: Vec::new(),
    }
}

fn hex_of(transaction: &Transaction) -> String {
    format!("0x{}", hex::encode(transaction.to_bytes()))
}

async fn on_chain(stage: &Stage, hash: &str) -> Option<Value> {
    let path = format!("/v1/chains/transaction?blockchain=base&hash={hash}");
    let answer = stage.host.operator().get(&path).await;
    (answer.status == 200).then(|| answer.json())
}

/// Broadcasts it; gives the transaction's id and the answer.
async fn broadcast(stage: &Stage, wallet: &Wallet, transaction: &Transaction) -> (String, Value) {
    let made = stage.make(wallet, "/signing/broadcast", json!({"transaction": hex_of(transaction)})).await;
    (text(&made, "id"), made)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_raw_transaction_is_signed_and_stays_here_or_is_sent() {
    let stage = Stage::open().await.covers(&[
        "sign-transaction answers",
        "sign-transaction-of-address answers",
        "broadcast answers",
        "event signed.*",
    ]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({"disable_auto_sweep": true})).await;
    let unsigned = raw(&stage, 0, 1_000_000_000).await;
    let body = json!({"transaction": hex_of(&unsigned), "reference": "raw-1"});
    for (path, signer) in [
        ("/signing/transaction".to_owned(), &wallet.address),
        (format!("/addresses/{}/signing/transaction", address.id), &address.address),
    ] {
        let mut body = body.clone();
        body["reference"] = json!(path);
        let made = stage.make(&wallet, &path, body).await;
        let bytes = hex::decode(text(&made, "signedTransaction").trim_start_matches("0x")).unwrap();
        let signed = SignedTransaction::from_bytes(&bytes).unwrap();
        assert_eq!((signed.sender().unwrap().to_string(), &signed.transaction), (signer.clone(), &unsigned));
        let hash = text(&made, "hash");
        assert_eq!(hash, format!("0x{}", hex::encode(signed.hash())));
        assert_eq!(on_chain(&stage, &hash).await, None, "nobody has sent it");
    }
    let (id, made) = broadcast(&stage, &wallet, &unsigned).await;
    assert_eq!(made["status"], "PENDING");
    stage.until(&wallet, &id, "SUCCESS").await;
    let told = stage.told_of(&wallet, "signed.success", &id).await;
    check_fields(&told, "wallet_id, transaction_hash");
    assert_eq!((&told["transaction_hash"], &told["signature"]), (&made["hash"], &Value::Null));
    let done = on_chain(&stage, &text(&made, "hash")).await.expect("it was sent");
    assert_eq!((&done["state"], &done["sender"]), (&json!("done"), &json!(wallet.address)));
    // Its gas is in the books; what it moves is the client's own, and shows in the reconciliation.
    let shown = stage.get(&wallet, "/reconciliation").await;
    let coins = shown["assets"].as_array().unwrap().iter().find(|it| it["symbol"] == "ETH").unwrap();
    assert_eq!(coins["difference"], "-0.000000001", "{shown}");

    // One that the blockchain refuses in its block costs gas and moves nothing.
    stage.control("base", json!({"kind": "fail", "count": 1})).await;
    let (id, _) = broadcast(&stage, &wallet, &raw(&stage, 1, 5).await).await;
    stage.until(&wallet, &id, "FAILED").await;
    let told = stage.told_of(&wallet, "signed.failed", &id).await;
    check_fields(&told, "wallet_id, error_code");
    assert_eq!(told["error_code"], "WITHDRAWAL_FAILED");
    for wrong in [hex_of(&Transaction { chain_id: 1, ..unsigned }), "0x02c0".to_owned(), "hello".to_owned()] {
        check_invalid(&stage.post(&wallet, "/signing/broadcast", json!({"transaction": wrong})).await, "transaction");
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_broadcasts_with_coins_of_its_own() {
    let stage = Stage::open().await.covers(&["broadcast-of-address answers"]);
    let wallet = stage.wallet("base").await;
    let address = stage.address(&wallet, json!({"disable_auto_sweep": true})).await;
    let path = format!("/addresses/{}", address.id);
    let body = json!({"transaction": hex_of(&raw(&stage, 0, 0).await), "reference": "raw-1"});
    let poor = stage.post(&wallet, &format!("{path}/signing/broadcast"), body.clone()).await;
    check_refusal(&poor, (422, "SERVICE_INSUFFICIENT_GAS", ""));
    stage.control("base", json!({"kind": "give", "address": address.address, "amount": "1"})).await;
    eventually("coins at the address", async || (stage.available(&wallet, &path, "ETH").await == "1").then_some(()))
        .await;
    let made = stage.make(&wallet, &format!("{path}/signing/broadcast"), body.clone()).await;
    let id = text(&made, "id");
    stage.until(&wallet, &id, "SUCCESS").await;
    assert_eq!(stage.make(&wallet, &format!("{path}/signing/broadcast"), body).await["id"], id.as_str());
    stage.agrees_at(&wallet, &address).await;
    stage.agrees(&wallet).await;
    stage.finish().await;
}

/// The sending of a transaction, as operators see it: attempts, and when the next one is due.
async fn sending(stage: &Stage, id: &str) -> Option<(u64, String)> {
    let found = stage.host.operator().get("/v1/tasks?kind=effect&plugin=wallet&limit=1000").await.expect(200).json();
    let of = |task: &&Value| task["id"] == format!("sent:{id}") && task["state"] == "waiting";
    let task = found["entries"].as_array().unwrap().iter().find(of)?;
    Some((task["call"]["attempts"].as_u64().unwrap(), text(task, "due_at")))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broadcast_to_a_silent_node_is_tried_eleven_times_and_then_given_up() {
    let clock = Clock::manual(START_MS);
    let stage = Stage::open_at(clock, "").await.covers(&[
        "limit: a broadcast is tried 11 times, 5 minutes apart",
        "event signed.failed",
        "code WITHDRAWAL_FAILED",
    ]);
    let mining = mine(&stage, "base");
    let wallet = stage.wallet("base").await;
    let unsigned = raw(&stage, 0, 0).await;
    stage.control("base", json!({"kind": "silent", "silence": "lost"})).await;
    let (id, made) = broadcast(&stage, &wallet, &unsigned).await;
    for attempt in 1..=10 {
        let due = tenon::admin::wire::TimestampText(stage.host.clock.now() + PAUSE_MS).to_string();
        eventually(&format!("attempt {attempt}"), async || {
            (sending(&stage, &id).await == Some((attempt, due.clone()))).then_some(())
        })
        .await;
        assert_eq!(stage.transaction(&wallet, &id).await["status"], "PROCESSING");
        stage.host.clock.advance(PAUSE_MS);
    }
    eventually("the end of the attempts", async || sending(&stage, &id).await.is_none().then_some(())).await;
    // Whether anything went, only the node can say: until it does, nothing is decided.
    assert_eq!(stage.transaction(&wallet, &id).await["status"], "PROCESSING");
    stage.control("base", json!({"kind": "off"})).await;
    eventually("the end", async || {
        stage.host.clock.advance(10_000);
        (stage.transaction(&wallet, &id).await["status"] == "FAILED").then_some(())
    })
    .await;
    let told = stage.told_of(&wallet, "signed.failed", &id).await;
    assert_eq!(told["error_code"], "WITHDRAWAL_FAILED");
    assert_eq!(stage.told_names(&id), ["signed.failed"]);
    stage.seen.note("limit: a broadcast is tried 11 times, 5 minutes apart");
    // Nobody sends it any more: its number is free for the next one.
    let (next, _) = broadcast(&stage, &wallet, &Transaction { value: 1, ..unsigned }).await;
    stage.until(&wallet, &next, "SUCCESS").await;
    assert_eq!(on_chain(&stage, &text(&made, "hash")).await, None);
    drop(mining);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broadcast_that_a_silent_node_took_is_found_and_not_repeated() {
    let stage = Stage::open().await.covers(&["broadcast answers", "event signed.success"]);
    let wallet = stage.wallet("base").await;
    let unsigned = raw(&stage, 0, 0).await;
    stage.control("base", json!({"kind": "silent", "silence": "taken"})).await;
    let (id, _) = broadcast(&stage, &wallet, &unsigned).await;
    eventually("an attempt", async || sending(&stage, &id).await.filter(|(attempts, _)| *attempts == 1)).await;
    stage.control("base", json!({"kind": "off"})).await;
    stage.until(&wallet, &id, "SUCCESS").await;
    assert_eq!(
        stage.told_of(&wallet, "signed.success", &id).await["transaction_hash"],
        stage.transaction(&wallet, &id).await["hash"]
    );
    stage.agrees(&wallet).await;
    stage.finish().await;
}
