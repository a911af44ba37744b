//! Prices of assets.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenon_plugin::{Call, Stop, escape};

use super::client;

pub const DESTINATION: &str = "rates";

#[derive(Deserialize)]
struct Rates {
    rates: BTreeMap<String, String>,
}

/// Of each of these symbols that is known, in the currency.
pub fn rates(call: &Call, currency: &str, symbols: &[String]) -> Result<BTreeMap<String, String>, Stop> {
    let symbols: Vec<String> = symbols.iter().map(|symbol| escape(symbol)).collect();
    let path = ["/v1/rates?currency=", &escape(currency), "&assets=", &symbols.join(",")].concat();
    let found: Rates = client::understood(client::ask(call, DESTINATION, &path, None)?)?;
    Ok(found.rates)
}
