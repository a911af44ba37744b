//! Records as customers see them: never what the sandbox keeps for itself.

use serde_json::{Map, Value, json};
use tenon_plugin::{Stop, json as text, time};

use super::decimal;
use crate::records::VirtualAccount;
use crate::rules::banks;
use crate::rules::order::{Asset, Delivery, Deposit, Kind, Order, Status};

/// One JSON text.
pub fn order(order: &Order) -> Result<String, Stop> {
    let mut shown = Map::new();
    let mut set = |name: &str, value: Value| {
        shown.insert(name.to_owned(), value);
    };
    set("id", json!(order.id));
    set("status", status(order));
    set("reason", json!(order.reason));
    for (name, value) in &order.shown {
        set(name, value.clone());
    }
    if let Some(address) = &order.refund_address {
        set("refund_address", json!(address));
    }
    match order.kind {
        Kind::Payout | Kind::Swap | Kind::GatewayDeposit => {
            set("deposit", order.deposit.as_ref().map_or(Value::Null, deposit));
            set("refund", order.refund.as_ref().map_or(Value::Null, delivery));
        }
        Kind::GatewayWithdrawal | Kind::Payment => {}
    }
    match order.kind {
        Kind::Swap | Kind::GatewayWithdrawal => {
            set("delivery", order.delivery.as_ref().map_or(Value::Null, delivery));
        }
        Kind::Payment => set("settlement", order.delivery.as_ref().map_or(Value::Null, delivery)),
        Kind::Payout | Kind::GatewayDeposit => {}
    }
    set("created_at", json!(time::to_text(order.created_at)));
    set("updated_at", json!(time::to_text(order.updated_at)));
    text::to_text(&shown)
}

/// A payment has words of its own.
fn status(order: &Order) -> Value {
    match (order.kind, order.status) {
        (Kind::Payment, Status::Success) => json!("settled"),
        (Kind::Payment, Status::Failed) => json!("rejected"),
        (Kind::Payment, _) => json!("received"),
        (_, status) => json!(status),
    }
}

fn deposit(deposit: &Deposit) -> Value {
    json!({
        "blockchain": deposit.asset.blockchain,
        "asset": deposit.asset.symbol,
        "address": deposit.address,
        "amount": decimal(&deposit.asset, deposit.units),
        "expires_at": time::to_text(deposit.expires_at),
        "received_amount": deposit.received.map(|units| decimal(&deposit.asset, units)),
        "transaction_hash": deposit.hash,
    })
}

fn delivery(delivery: &Delivery) -> Value {
    let mut shown = place(&delivery.asset, &delivery.address);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("amount".to_owned(), json!(decimal(&delivery.asset, delivery.units)));
        shown.insert("transaction_hash".to_owned(), json!(delivery.hash));
    }
    shown
}

fn place(asset: &Asset, address: &str) -> Value {
    json!({ "blockchain": asset.blockchain, "asset": asset.symbol, "address": address })
}

/// One JSON text.
pub fn account(account: &VirtualAccount) -> Result<String, Stop> {
    let bank = banks::find_currency(&account.currency).and_then(|currency| currency.institutions.first());
    let name = [account.holder.first_name.as_str(), " ", &account.holder.last_name].concat().to_uppercase();
    text::to_text(&json!({
        "id": account.id,
        "status": account.status,
        "reason": account.reason,
        "currency": account.currency,
        "account_name": name,
        "account_number": account.account_number,
        "bank_code": bank.map(|bank| bank.identifier),
        "bank_name": bank.map(|bank| bank.name),
        "holder": account.holder,
        "settlement": place(&account.settlement, &account.settlement_address),
        "created_at": time::to_text(account.created_at),
        "updated_at": time::to_text(account.updated_at),
    }))
}

/// `{"NAME": [...], "next": …}` of JSON texts.
pub fn page(name: &str, texts: &[String], next: Option<&str>) -> Result<String, Stop> {
    let list = text::array(texts.iter().map(String::as_str));
    Ok(["{\"", name, "\":", &list, ",\"next\":", &text::to_text(&next)?, "}"].concat())
}
