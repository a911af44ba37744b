//! Callbacks of providers (docs/wallet/providers.md: Callbacks). What they say is not believed but looked up, so that neither
//! their order nor a repeat matters.

use hmac::{Hmac, Mac};
use serde::Deserialize;
use sha2::Sha256;
use tenon_plugin::{Call, Outcome, Route, Stop, json, post};

use super::envelope;
use crate::records::{provided, virtual_accounts};
use crate::rules::code::Code;
use crate::{providing, settings, words};

/// Its scope is for the providers: their keys open nothing else.
pub const ROUTES: &[Route] = &[post("/v1/providers/callbacks", "take-callback", take)
    .headers(&[TIMESTAMP, SIGNATURE])
    .scopes(&["callbacks"])
    .any_query()];

const TIMESTAMP: &str = "x-provider-timestamp";
const SIGNATURE: &str = "x-provider-signature";
/// Between a provider's clock and ours.
const SKEW_MAX_S: u64 = 300;

#[derive(Deserialize)]
struct Told {
    #[serde(rename = "type")]
    event_type: String,
    data: About,
}

#[derive(Deserialize)]
struct About {
    id: String,
}

fn take(call: &Call) -> Outcome {
    check(call)?;
    let told: Told = call.json().map_err(|_| words::invalid(&[]))?;
    match told.event_type.as_str() {
        "virtual_account.updated" => {
            if virtual_accounts::load(call, &told.data.id)?.is_some() {
                call.tasks().schedule("virtual-account", &told.data.id, call.now(), "{}");
            }
        }
        // Its coins arrive on a blockchain, and are told there.
        "virtual_account.payment" => {}
        _ => {
            if let Some(out) = provided::current(call, &told.data.id)? {
                providing::poll_at(call, &out.record.id, call.now(), 0);
            }
        }
    }
    envelope::ok("Callback received", &json::to_text(&Received { received: true })?)
}

#[derive(serde::Serialize)]
struct Received {
    received: bool,
}

/// Without a secret there is no provider that could have signed it.
fn check(call: &Call) -> Result<(), Stop> {
    let invalid = || words::failed(Code::WebhookSignatureInvalid, "Webhook signature verification failed");
    let secret = settings::webhook_secret(call)?.filter(|secret| !secret.is_empty()).ok_or_else(invalid)?;
    let (timestamp, signature) = (call.header(TIMESTAMP), call.header(SIGNATURE));
    let (Some(timestamp), Some(signature)) = (timestamp, signature) else { return Err(invalid()) };
    let at_s: u64 = timestamp.parse().map_err(|_| invalid())?;
    if at_s.abs_diff(call.now() / 1_000) > SKEW_MAX_S {
        return Err(invalid());
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(|_| invalid())?;
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(call.bytes());
    // Takes as long whatever the signature is.
    mac.verify_slice(&bytes_of(signature).ok_or_else(invalid)?).map_err(|_| invalid())
}

fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex
        .bytes()
        .map(|digit| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        })
        .collect();
    let digits = digits.filter(|digits| digits.len() == 64)?;
    Some(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| (byte << 4) | digit)).collect())
}
