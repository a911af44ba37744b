//! Wrong settings of a tenant are found before the first call.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::Value;
use tenon_bench::program::sibling_binary;

use crate::support::{TestHost, component, eventually};

const GRANTS: &str = r#"grants = ["records", "ledger", "events", "subscriptions", "tasks", "effects", "questions", "destinations", "ids", "journal", "config"]"#;
const SETTINGS: &str = "[plugins.clearing.settings.hub]\nside = \"platform\"\n\
                        [plugins.clearing.settings.\"bank/test\"]\nside = \"partner\"\nbank-ms = 1_000";

/// A mistake in place of a line, and the expected message.
const MISTAKES: [(&str, &str, &str); 6] = [
    (
        "side = \"platform\"",
        "side = \"plattform\"",
        "`plugins.clearing.settings.hub.side` must be one of: \"partner\", \"platform\"",
    ),
    ("side = \"platform\"", "", "`plugins.clearing.settings.hub.side` is required"),
    ("bank-ms = 1_000", "bank-ms = \"1s\"", "`plugins.clearing.settings.bank/test.bank-ms` must be a whole number"),
    (
        "bank-ms = 1_000",
        "rtc-decision-ms = 9_999_999_999",
        "`plugins.clearing.settings.bank/test.rtc-decision-ms` must be at most 2678400000",
    ),
    (
        "bank-ms = 1_000",
        "balance = \"ledger\"",
        "`plugins.clearing.settings.bank/test.balance` is not a setting of this plugin",
    ),
    (
        "bank-ms = 1_000",
        "default-account = \"\"",
        "`plugins.clearing.settings.bank/test.default-account` must have at least 1 characters",
    ),
];

async fn check(file: &Path, data_dir: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(sibling_binary("tenon").expect("the program"));
    command.args(["config", "check", "--config"]).arg(file).env("TENON_DATA_DIR", data_dir);
    let output = tokio::task::spawn_blocking(move || command.output()).await.expect("a thread").expect("it runs");
    let printed = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&printed).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mistake_in_the_settings_of_a_tenant_is_found_by_config_check_and_changes_nothing() {
    let lines = format!("{GRANTS}\n{SETTINGS}");
    let host = TestHost::builder().plugin("clearing", component("clearing"), &lines).start().await;
    let sound = fs::read_to_string(host.config_file()).unwrap();
    let beside = host.dir.path().join("mistaken.toml");
    let (code, printed) = check(&host.config_file(), &host.data_dir()).await;
    assert_eq!(code, Some(0), "{printed}");
    for (line, mistake, expected) in MISTAKES {
        fs::write(&beside, sound.replacen(line, mistake, 1)).unwrap();
        let (code, printed) = check(&beside, &host.data_dir()).await;
        assert!(code == Some(1) && printed.contains(expected), "{code:?} {printed}");
    }
    // The running host refuses the file in the same words, and serves on.
    let (line, mistake, expected) = MISTAKES[0];
    fs::write(&beside, sound.replacen(line, mistake, 1)).unwrap();
    fs::rename(&beside, host.config_file()).unwrap();
    let reasons = eventually("the settings are refused", async || {
        let status = host.operator().get("/v1/plugins").await.expect(200).json();
        let reasons = status[0]["reasons"].as_array().cloned().unwrap_or_default();
        (!reasons.is_empty()).then_some(Value::Array(reasons))
    });
    assert!(reasons.await.to_string().contains(&expected.replace('"', "\\\"")));
    host.anonymous().get("/v1/clearing/accounts").await.check(401);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_whose_settings_are_wrong_does_not_start() {
    let lines = format!("{GRANTS}\n{}", SETTINGS.replacen("side = \"partner\"", "sides = \"partner\"", 1));
    let host = TestHost::builder().plugin("clearing", component("clearing"), &lines).start().await;
    let status = host.operator().get("/v1/plugins").await.expect(200).json();
    assert_eq!(status[0]["state"], "down");
    let reasons = status[0]["reasons"].to_string();
    for part in ["bank/test.side` is required", "bank/test.sides` is not a setting"] {
        assert!(reasons.contains(part), "{reasons}");
    }
    host.stop().await;
}

/// The command of a user who is not the host's: what it made there would be that user's.
#[tokio::test(flavor = "multi_thread")]
async fn config_check_makes_nothing_in_a_data_folder_and_changes_no_mode() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data_dir) = (folder.path().join("plugins.toml"), folder.path().join("data"));
    fs::create_dir(&data_dir).unwrap();
    let section = format!("[plugins.clearing]\ncomponent = {:?}\nmount = \"/\"\n{GRANTS}\n", component("clearing"));
    fs::write(&file, format!("environment = \"development\"\n{section}{SETTINGS}\n")).unwrap();
    let (code, printed) = check(&file, &data_dir).await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(fs::read_dir(&data_dir).unwrap().count(), 0, "it made a folder");
    // Half of what a host makes, open to others: neither completed nor closed.
    let compiled = data_dir.join("compiled");
    fs::create_dir(&compiled).unwrap();
    fs::set_permissions(&compiled, fs::Permissions::from_mode(0o750)).unwrap();
    let (code, printed) = check(&file, &data_dir).await;
    assert_eq!(code, Some(0), "{printed}");
    assert_eq!(fs::read_dir(&data_dir).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&compiled).unwrap().count(), 0, "it compiled into the folder of another user");
    assert_eq!(fs::metadata(&compiled).unwrap().permissions().mode() & 0o777, 0o750);
}
