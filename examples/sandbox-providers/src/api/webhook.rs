//! /v1/webhook: where this customer's callbacks go, unless the operator has said it. The key is never shown.

use serde_json::json;
use tenon_plugin::destinations::{Destination, DestinationRefusal};
use tenon_plugin::{Answer, Call, Outcome, Pair, json as text};

use super::form::Form;
use crate::callbacks::DESTINATION;
use crate::rules::limits::{KEY_CHARS_MAX, URL_CHARS_MAX};
use crate::words;

pub fn show(call: &Call) -> Outcome {
    let destination = call.destinations().get(DESTINATION).ok_or_else(words::not_found)?;
    Ok(Answer::ok(text::to_text(&json!({ "base_url": destination.base_url }))?))
}

/// Callbacks are posted to `base_url` and "/callbacks", with `api_key` as a bearer token.
pub fn put(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let base_url = form.text("base_url", URL_CHARS_MAX)?;
    let token = Pair { name: "token".to_owned(), value: form.text("api_key", KEY_CHARS_MAX)? };
    let destination = Destination {
        name: DESTINATION.to_owned(),
        base_url: base_url.clone(),
        kind: "bearer".to_owned(),
        settings: Vec::new(),
        secrets: vec![token],
    };
    let put = call.destinations().put(&destination);
    put.map_err(|refusal| match refusal {
        DestinationRefusal::NotAUrl => form.wrong("base_url", "must be an address of the web"),
        DestinationRefusal::HttpsRequired => form.wrong("base_url", "must begin with https://"),
        DestinationRefusal::AddressNotAllowed => form.wrong("base_url", "must be a public address"),
        DestinationRefusal::Malformed(why) | DestinationRefusal::Other(why) => {
            form.wrong("base_url", &["is not accepted: ", &why].concat())
        }
    })?;
    Ok(Answer::ok(text::to_text(&json!({ "base_url": base_url }))?))
}
