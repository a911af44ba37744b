//! The keys of the plugin's section of plugins.toml. The host checks the section against `settings.schema.json`.

/// Whether places are located by the destination of the same name (docs/fleet/geocoder.md).
pub const GEOCODER: &str = "geocoder";
/// Which organizations a driver may switch to, by tenant (docs/fleet/organizations.md).
pub const LINKS: &str = "organizations";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of use")]
    struct Settings {
        /// Whether places are located by the destination `geocoder`.
        geocoder: Option<bool>,
        /// Organizations that a driver may switch to, by tenant.
        organizations: Option<BTreeMap<String, Vec<String>>>,
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
