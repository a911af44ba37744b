//! The keys of the plugin's section of plugins.toml. The host checks the section against `settings.schema.json`.

/// Milliseconds before a payout is made.
pub const PAYOUT_MS: &str = "payout-ms";
/// What callbacks are signed with; without it none is sent.
pub const WEBHOOK_SECRET: &str = "webhook-secret";

#[cfg(test)]
mod tests {
    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of use")]
    struct Settings {
        /// Milliseconds before a payout is made.
        payout_ms: Option<u64>,
        /// What callbacks are signed with.
        webhook_secret: Option<String>,
    }

    #[test]
    fn the_schema_of_the_settings_is_published_as_it_is() {
        let expected = serde_json::to_string_pretty(&schemars::schema_for!(Settings)).unwrap() + "\n";
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/settings.schema.json");
        #[expect(clippy::disallowed_methods, reason = "says what the test does, not what the plugin does")]
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(file, &expected).unwrap();
        }
        let found = std::fs::read_to_string(file).unwrap();
        assert_eq!(found, expected, "run with UPDATE_DOCS=1 and review settings.schema.json");
    }
}
