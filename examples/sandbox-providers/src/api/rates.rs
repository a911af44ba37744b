//! /v1/rates: what assets are worth in a currency.

use std::collections::BTreeMap;

use serde_json::json;
use tenon_plugin::{Answer, Call, Outcome, json as text, time};

use crate::rules::limits::RATE_ASSETS_MAX;
use crate::rules::prices::{self, Rate};
use crate::words::{self, No};

pub fn list(call: &Call) -> Outcome {
    let currency = call.query("currency").filter(|code| prices::is_currency(code)).ok_or(No::Currency)?;
    let assets: Vec<&str> = match call.query("assets").filter(|assets| !assets.is_empty()) {
        Some(assets) => assets.split(',').collect(),
        None => prices::assets().collect(),
    };
    if assets.len() > RATE_ASSETS_MAX {
        return Err(words::wrong("assets", &["may have at most ", &RATE_ASSETS_MAX.to_string(), " members"].concat()));
    }
    let known = assets.into_iter().filter_map(|asset| Some((asset, Rate::between(asset, currency)?.to_text())));
    let rates: BTreeMap<&str, String> = known.collect();
    let answer = json!({ "currency": currency, "rates": rates, "as_of": time::to_text(call.now()) });
    Ok(Answer::ok(text::to_text(&answer)?))
}
