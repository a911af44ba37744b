//! Compares the published JSON Schema of a plugin's settings with the types that it is generated from.

use std::fs;

use serde::Serialize;

/// Fails the test if `src/settings.schema.json` of the package in `folder` differs from `schema`. `UPDATE_DOCS=1`
/// writes the file.
#[track_caller]
pub fn check_settings_schema(folder: &str, schema: &impl Serialize) {
    let expected = serde_json::to_string_pretty(schema).expect("a schema can be written as JSON") + "\n";
    let file = [folder, "/src/settings.schema.json"].concat();
    #[expect(clippy::disallowed_methods, reason = "configures the test, not the plugin")]
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&file, &expected).expect("the schema can be written");
    }
    let found = fs::read_to_string(&file).expect("the published schema can be read");
    assert_eq!(found, expected, "run with UPDATE_DOCS=1 and review settings.schema.json");
}
