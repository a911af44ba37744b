//! The keys of the plugin's section of plugins.toml. The host checks the section against `settings.schema.json`.

/// Milliseconds before a payout is made.
pub const PAYOUT_MS: &str = "payout-ms";
/// Secret that callbacks are signed with; without it none is sent.
pub const WEBHOOK_SECRET: &str = "webhook-secret";

#[cfg(test)]
mod tests {
    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of use")]
    struct Settings {
        /// Milliseconds before a payout is made.
        payout_ms: Option<u64>,
        /// Secret that callbacks are signed with.
        webhook_secret: Option<String>,
    }

    #[test]
    fn published_schema_is_that_of_the_settings() {
        tenon_plugin::test_kit::check_settings_schema(env!("CARGO_MANIFEST_DIR"), &schemars::schema_for!(Settings));
    }
}
