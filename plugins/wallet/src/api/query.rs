//! Parameters of a query, by the name of the specification or the one that the real product knows them by.
//!
//! Invariants: every handler reads parameters with `single`, and none with `Call::query`. A route declares each name that its
//! handler reads; a query with another one, or with one twice, never reaches the handler.

use tenon_plugin::{Call, Stop};

use crate::words;

/// Both names of the parameter that names an asset.
pub const ASSET: &[&str; 2] = &["asset_id", "assetId"];

/// Returns the value of the parameter that has these names.
///
/// # Errors
///
/// The query gives the parameter under two of its names. No value of the two goes before the other.
pub fn single<'a>(call: &Call<'a>, names: &[&str]) -> Result<Option<&'a str>, Stop> {
    let mut all = call.pairs().iter().filter(|pair| names.contains(&pair.name.as_str()));
    let Some(first) = all.next() else { return Ok(None) };
    match all.next() {
        None => Ok(Some(first.value.as_str())),
        Some(second) => {
            let must = ["must not be given together with ", &second.name].concat();
            Err(words::wrong(&first.name, "exclusive", &must))
        }
    }
}
