//! Prices of assets.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenon_plugin::{Call, Stop};

use super::client;

pub const DESTINATION: &str = "rates";

#[derive(Deserialize)]
struct Rates {
    rates: BTreeMap<String, String>,
}

/// Of each of these symbols that is known, in the currency.
pub fn rates(call: &Call, currency: &str, symbols: &[String]) -> Result<BTreeMap<String, String>, Stop> {
    let symbols: Vec<String> = symbols.iter().map(|symbol| client::escaped(symbol)).collect();
    let path = ["/v1/rates?currency=", &client::escaped(currency), "&assets=", &symbols.join(",")].concat();
    let found: Rates = client::understood(client::ask(call, DESTINATION, &path, None)?)?;
    Ok(found.rates)
}
