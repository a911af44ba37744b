//! The keys of the plugin's section of plugins.toml. The host checks the section against `settings.schema.json`.

/// True if the destination of the same name locates places (docs/fleet/geocoder.md).
pub const GEOCODER: &str = "geocoder";
/// Organizations that a driver may switch to, by tenant (docs/fleet/organizations.md).
pub const LINKS: &str = "organizations";

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[derive(schemars::JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of use")]
    struct Settings {
        /// True if the destination `geocoder` locates places.
        geocoder: Option<bool>,
        /// Organizations that a driver may switch to, by tenant.
        organizations: Option<BTreeMap<String, Vec<String>>>,
    }

    #[test]
    fn published_schema_is_that_of_the_settings() {
        tenon_plugin::test_kit::check_settings_schema(env!("CARGO_MANIFEST_DIR"), &schemars::schema_for!(Settings));
    }
}
