//! Settings of the operator, in the plugin's section of plugins.toml; an absent key has its default. The host checks the
//! section against `settings.schema.json`.

use serde::Deserialize;
use tenon_plugin::{Call, Stop};

/// Use of sanctions lists for addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Screening {
    /// Without an answer nothing is done.
    #[default]
    Required,
    Off,
}

pub fn screening(call: &Call) -> Result<Screening, Stop> {
    Ok(call.config("screening")?.unwrap_or_default())
}

/// Headers that carry the signature of a webhook: the specification's, unless the operator has others.
pub fn signature_headers(call: &Call) -> Result<Vec<String>, Stop> {
    Ok(call.config("signature-headers")?.unwrap_or_else(|| vec!["x-service-signature".to_owned()]))
}

/// Milliseconds in which a transaction that was accepted may be cancelled before it is processed.
pub fn process_after_ms(call: &Call) -> Result<u64, Stop> {
    Ok(call.config("process-after-ms")?.unwrap_or_default())
}

/// The gateway's contract, which USDC must never be sent to directly. By blockchain.
pub fn gateway_contract(call: &Call, blockchain: &str) -> Result<Option<String>, Stop> {
    let contracts: Option<std::collections::BTreeMap<String, String>> = call.config("gateway-contracts")?;
    Ok(contracts.and_then(|mut contracts| contracts.remove(blockchain)))
}

/// Secret that providers sign their callbacks with; without one no callback is believed.
pub fn webhook_secret(call: &Call) -> Result<Option<String>, Stop> {
    call.config("webhook-secret")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Screening;

    /// Every key that is read above.
    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of use")]
    struct Settings {
        /// Use of sanctions lists for addresses.
        screening: Option<Screening>,
        /// Headers that carry the signature of a webhook.
        signature_headers: Option<Vec<String>>,
        /// Milliseconds in which an accepted transaction may be cancelled.
        process_after_ms: Option<u64>,
        /// The contract of the gateway, by blockchain.
        gateway_contracts: Option<BTreeMap<String, String>>,
        /// Secret that providers sign their callbacks with.
        webhook_secret: Option<String>,
    }

    #[test]
    fn published_schema_is_that_of_the_settings() {
        tenon_plugin::test_kit::check_settings_schema(env!("CARGO_MANIFEST_DIR"), &schemars::schema_for!(Settings));
    }
}
