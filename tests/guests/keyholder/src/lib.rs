//! Test guest with blockchain keys. It returns the address and derivation path of a key.

use serde_json::json;
use tenon_plugin::{Answer, Call, Outcome, Plugin, Stop, get, json};

pub static PLUGIN: Plugin =
    Plugin::new("keyholder", "1.0.0").routes(&[get("/v1/accounts/{blockchain}/{index}", "show-account", show_account)]);

tenon_plugin::export!(PLUGIN);

fn show_account(call: &Call) -> Outcome {
    let index = call.parameter("index").parse().map_err(|_| Stop::fault("the index must be a number"))?;
    let account = call.keyring().account(call.parameter("blockchain"), index);
    Ok(Answer::ok(json::to_text(&json!({ "address": account.address, "path": account.path }))?))
}
