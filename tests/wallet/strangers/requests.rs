//! One good request for each operation with an id in its path: with the right key it does what it says.

use serde_json::{Value, json};
use tenon_keyring::evm::{Address, Transaction};

use super::estate::{Estate, Ids};
use crate::{
    support::{Response, TestClient},
    wallet::stage::{OUTSIDE, Stage},
};

/// The chain id of the simulated test network of Base.
const BASE_TESTNET: u64 = 770_000_006;
/// On which the account has no wallet.
pub const ELSEWHERE: &str = "arbitrum";

/// As it is, well-formed or not.
pub async fn ask(stage: &Stage, key: &str, method: &str, path: &str, body: &str) -> Response {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let client = TestClient::new(stage.host.base(), None);
    let answer = client.send(method, path, &headers, body.as_bytes().to_vec()).await;
    stage.seen.note_answer(method, path, &answer);
    answer
}

pub async fn get(stage: &Stage, key: &str, path: &str) -> Value {
    ask(stage, key, "GET", path, "").await.expect(200).json()
}

pub fn bank_account() -> Value {
    json!({"currency": "NGN", "account_identifier": "0123456789", "institution_identifier": "SANDNGLA"})
}

pub fn payout(ids: &Ids) -> Value {
    let mut body = bank_account();
    (body["asset_id"], body["amount"]) = (json!(ids.usdc), json!("40"));
    body
}

pub fn swap(ids: &Ids) -> Value {
    json!({"from_asset_id": ids.usdc, "to_asset_id": ids.dai, "amount": "5"})
}

pub fn link(ids: &Ids) -> Value {
    json!({"name": "Invoice 7", "asset_id": ids.usdc, "amount": "10"})
}

/// Switched off: what arrives rests.
pub fn rule() -> Value {
    let destination = json!({"blockchain": "base", "asset": "USDC", "address": OUTSIDE});
    json!({"name": "Out", "isActive": false, "source": {"assets": ["USDC"]}, "destination": destination})
}

pub fn message() -> Value {
    json!({"message": "hello"})
}

/// Of a virtual account.
pub fn owner() -> Value {
    json!({"firstname": "Ada", "lastname": "Okafor", "email": "ada@example.com", "phone": "+2348012345678"})
}

fn typed_data() -> Value {
    json!({
        "types": {"EIP712Domain": [{"name": "name", "type": "string"}], "Mail": [{"name": "text", "type": "string"}]},
        "primaryType": "Mail", "domain": {"name": "x"}, "message": {"text": "hi"},
    })
}

/// Somebody else has made it; it waits for those that were sent before it.
fn unsigned() -> Value {
    let transaction = Transaction {
        chain_id: BASE_TESTNET,
        nonce: 100,
        max_priority_fee_per_gas: 100_000_000,
        max_fee_per_gas: 3_000_000_000,
        gas_limit: 21_000,
        to: Some(Address::from_bytes([7; 20])),
        value: 1,
        data: Vec::new(),
        access_list: Vec::new(),
    };
    json!({"transaction": format!("0x{}", hex::encode(transaction.to_bytes()))})
}

/// Of a GET, the query.
pub fn query(operation: &str, ids: &Ids) -> String {
    match operation {
        "read-balance" | "read-address-balance" => format!("?asset_id={}", ids.usdc),
        "list-fiat-institutions" | "read-fiat-rates" => "?currency=NGN".to_owned(),
        _ => String::new(),
    }
}

/// Of a POST or PATCH.
pub fn body(operation: &str, estate: &Estate) -> Value {
    let ids = &estate.ids;
    match operation {
        "update-wallet"
        | "create-address"
        | "update-address"
        | "update-settlement-rule"
        | "update-settlement-rule-of-address"
        | "update-payment-link"
        | "update-any-payment-link" => {
            json!({"name": "renamed"})
        }
        "rotate-wallet-key"
        | "accept-fiat-quote"
        | "accept-fiat-quote-of-address"
        | "cancel-transaction-of-path"
        | "retry-transaction-of-path"
        | "resend-webhook-of-path"
        | "sweep-assets"
        | "regenerate-virtual-account" => {
            json!({})
        }
        "whitelist-address" => json!({"address": "0x00000000000000000000000000000000cafebabe"}),
        "add-wallet-asset" => json!({"asset_id": ids.eurc}),
        "update-wallet-asset" | "update-virtual-account" => json!({"is_active": true}),
        "update-auto-settlement" | "update-auto-settlement-of-address" => json!({"is_active": false}),
        "create-settlement-rule" | "create-settlement-rule-of-address" => rule(),
        "create-payment-link" => link(ids),
        "cancel-transaction" => json!({"id": ids.pending[1]}),
        "retry-transaction" => json!({"id": ids.failed[1]}),
        "resend-webhook" => json!({"id": ids.deposit}),
        "sweep-transaction" => json!({"transaction_id": ids.deposit_of_address}),
        "create-virtual-account" | "create-virtual-account-of-address" => owner(),
        "rescan-blocks" => json!({"transaction_hash": format!("0x{}", "7".repeat(64))}),
        "salvage" | "salvage-fee" => {
            let (sender, amount) = (&estate.wallet.address, "0.5");
            json!({"sender_address": sender, "recipient_address": OUTSIDE, "amount": amount, "blockchain": ELSEWHERE})
        }
        name if name.starts_with("withdraw") => estate.withdrawal("1"),
        name if name.starts_with("gateway-deposit") => json!({"amount": "1"}),
        name if name.starts_with("gateway-withdraw") => {
            json!({"amount": "1", "destination_chain": "base", "destination_address": OUTSIDE})
        }
        name => of_providers(name, ids),
    }
}

fn of_providers(operation: &str, ids: &Ids) -> Value {
    let execution = |quote: &str| {
        let mut body = payout(ids);
        body["quote_id"] = json!(quote);
        body
    };
    match operation {
        "verify-account" => bank_account(),
        "quote-fiat" | "quote-fiat-from-address" => payout(ids),
        "execute-fiat" => execution(&ids.quotes[2]),
        "execute-fiat-from-address" => execution(&ids.quotes[3]),
        name if name.contains("swap") => swap(ids),
        name if name.starts_with("sign-message") => message(),
        name if name.starts_with("sign-typed-data") => typed_data(),
        name if name.starts_with("sign-transaction") || name.starts_with("broadcast") => unsigned(),
        name => panic!("no request for {name}"),
    }
}
