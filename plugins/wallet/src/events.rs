//! The events as they leave (spec/wallet: Events): names, schemas, and payloads: the flat fields of the specification, then
//! the members of the record that they are about.

use tenon_plugin::{Call, EventType, Stop, json};

use crate::ids;
use crate::rules::event::{Event, Value};
use crate::show::Text;

/// What surrounds the payload of every event.
pub const ENVELOPE: &str = r#"{"event":"{event-type}","data":"{payload}"}"#;

const fn event(name: &'static str, description: &'static str, schema: &'static str) -> EventType {
    EventType::new(name, description, schema)
}

pub const TYPES: &[EventType] = &[
    event("deposit.success", "A deposit is final.", MOVED),
    event("deposit.processing", "A deposit was seen and awaits its confirmations.", WITH_AMOUNT),
    event("deposit.failed", "A deposit could not be processed.", FAILED),
    event("deposit.swept.success", "Funds were swept from an address to its master wallet.", MOVED),
    event("deposit.swept.failed", "A sweep failed, usually for lack of gas.", FAILED),
    event("withdraw.success", "A withdrawal is final.", MOVED),
    event("withdraw.failed", "A withdrawal failed.", FAILED),
    event("offramp.processing", "A fiat withdrawal is under way.", WITH_AMOUNT),
    event("offramp.success", "A fiat withdrawal was completed.", WITH_AMOUNT),
    event("offramp.failed", "A fiat withdrawal failed.", FAILED),
    event("gateway.deposit.success", "USDC was credited to the gateway balance.", WITH_AMOUNT),
    event("gateway.withdraw.success", "USDC was withdrawn from the gateway balance.", WITH_AMOUNT),
    event("swap.success", "A swap was executed.", WITH_AMOUNT),
    event("swap.failed", "A swap failed.", FAILED),
    event("signed.success", "A message was signed, or a raw transaction is final.", WALLET),
    event("signed.failed", "A broadcast failed after all attempts.", FAILED),
    event("salvage.success", "A recovery was completed.", WITH_AMOUNT),
    event("salvage.failed", "A recovery failed.", FAILED),
    event("wallet.created", "A master wallet was created.", CREATED),
    event("address.created", "A dedicated address was created.", ADDRESS),
    event("address.whitelisted", "An external address is watched for deposits.", ADDRESS),
    event("checkout.link_created", "A payment link was created.", LINK),
];

const WALLET: &str = r#"{"type":"object","required":["wallet_id"],"properties":{"wallet_id":{"type":"string"},"transaction_hash":{"type":"string"},"signature":{"type":"string"}}}"#;
const WITH_AMOUNT: &str = r#"{"type":"object","required":["wallet_id","amount"],"properties":{"wallet_id":{"type":"string"},"address_id":{"type":["string","null"]},"amount":{"type":"string"},"asset_id":{"type":["string","null"]}}}"#;
const MOVED: &str = r#"{"type":"object","required":["wallet_id","amount","transaction_hash"],"properties":{"wallet_id":{"type":"string"},"address_id":{"type":["string","null"]},"amount":{"type":"string"},"asset_id":{"type":["string","null"]},"transaction_hash":{"type":"string"}}}"#;
const FAILED: &str = r#"{"type":"object","required":["wallet_id","error_code"],"properties":{"wallet_id":{"type":"string"},"address_id":{"type":["string","null"]},"error_code":{"type":"string"}}}"#;
const CREATED: &str = r#"{"type":"object","required":["wallet_id","blockchain","network"],"properties":{"wallet_id":{"type":"string"},"blockchain":{"type":"string"},"network":{"enum":["testnet","mainnet"]}}}"#;
const ADDRESS: &str = r#"{"type":"object","required":["wallet_id","address_id","address"],"properties":{"wallet_id":{"type":"string"},"address_id":{"type":"string"},"address":{"type":"string"},"blockchain":{"type":"string"}}}"#;
const LINK: &str = r#"{"type":"object","required":["payment_link_id","payment_link_url","wallet_id"],"properties":{"payment_link_id":{"type":"string"},"payment_link_url":{"type":"string"},"wallet_id":{"type":"string"}}}"#;

/// Emits the event with the record beside its fields; gives its id.
pub fn emit(call: &Call, wallet: &str, event: &Event, record: &Text) -> Result<String, Stop> {
    let mut payload = Text::new();
    for (field, value) in &event.data {
        let value = match value {
            Value::Text(text) => json::to_text(text)?,
            Value::Json(json) => json.clone(),
            Value::AssetId(asset) => json::to_text(&ids::wallet_asset(wallet, *asset))?,
        };
        payload = payload.raw(field, value);
    }
    let flat = payload.to_text();
    let rest = record.members().filter(|(name, _)| !payload.has(name));
    let rest: String = rest.map(|(name, value)| [",\"", name, "\":", value].concat()).collect();
    let inner = flat.strip_suffix('}').unwrap_or(&flat);
    Ok(call.emit(event.name, wallet, &[inner, &rest, "}"].concat()))
}
