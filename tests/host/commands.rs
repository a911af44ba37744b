//! The command line of the real program against a running one: what people read, what programs read, exit codes.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::{Value, json};
use tenon_bench::guests;

use super::{
    keys::files_with,
    starting::{end_of, tenon},
};
use crate::support::{TestHost, component};

const SECTION: &str = r#"grants = ["records", "events"]
limits = { compute-ms = 300 }"#;

async fn chameleon() -> TestHost {
    TestHost::builder().plugin("chameleon", component("chameleon"), SECTION).start().await
}

/// A command as an operator of this host types it: exit code and what was printed.
pub(super) async fn run(host: &TestHost, line: &[&str]) -> (i32, String) {
    let mut command = Command::new(tenon());
    command.args(line).env("TENON_ADMIN", host.admin_base().trim_start_matches("http://"));
    command.env("TENON_DATA_DIR", host.data_dir()).env("TENON_CONFIG", host.config_file());
    end_of(command).await
}

pub(super) async fn good(host: &TestHost, line: &[&str]) -> String {
    let (code, text) = run(host, line).await;
    assert_eq!(code, 0, "{line:?}: {text}");
    text
}

pub(super) async fn bad(host: &TestHost, line: &[&str]) -> String {
    let (code, text) = run(host, line).await;
    assert_eq!(code, 1, "{line:?}: {text}");
    text
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

const CREATE: [&str; 8] = ["key", "create", "--plugin", "chameleon", "--tenant", "acme", "--environment", "test"];

#[tokio::test]
async fn a_key_is_made_listed_and_revoked() {
    let host = chameleon().await;
    let created: Value = serde_json::from_str(&good(&host, &[&CREATE[..], &["--json"]].concat()).await).unwrap();
    let (id, key) = (created["id"].as_str().unwrap(), created["key"].as_str().unwrap());
    let shape = json!({"id": id, "key": key, "tenant": "acme", "environment": "test", "plugin": "chameleon"});
    assert_eq!(created, shape);
    assert!(key.starts_with("tk_test_") && key.len() >= 8 + 22, "at least 128 bits");
    host.client_of(key).get("/v1/version").await.check(200);
    let table = good(&host, &["key", "list"]).await;
    assert!(table.contains(id) && table.contains("acme") && !table.contains(key), "{table}");
    assert!(good(&host, &["key", "revoke", id]).await.contains("opens nothing any more"));
    host.client_of(key).get("/v1/version").await.check(401);
    let keys: Value = serde_json::from_str(&good(&host, &["key", "list", "--json"]).await).unwrap();
    let listed = keys.as_array().unwrap().iter().find(|listed| listed["id"] == id).unwrap();
    assert!(listed["revoked_at"].is_string() && listed.get("key").is_none());
    host.stop().await;
}

#[tokio::test]
async fn a_key_for_people_is_shown_once_with_what_to_do() {
    let host = chameleon().await;
    let live = ["key", "create", "--plugin", "chameleon", "--tenant", "acme", "--environment", "live"];
    let text = good(&host, &live).await;
    assert!(text.starts_with("tk_live_") && text.contains("the only time") && text.contains("tenon key revoke key_"));
    let key = text.lines().next().unwrap();
    assert_eq!(files_with(host.dir.path(), key), Vec::<String>::new());
    host.stop().await;
}

#[tokio::test]
async fn a_component_is_deployed_shown_and_rolled_back() {
    let host = chameleon().await;
    let next = write(host.dir.path(), "next.wasm", &guests::chameleon_version("2.0.0").unwrap());
    let acme = host.client("chameleon", "acme").await;
    let said = good(&host, &["plugin", "deploy", &next, "--plugin", "chameleon"]).await;
    assert!(said.contains("chameleon 2.0.0") && said.contains("before it 1.0.0") && said.contains("compile"), "{said}");
    assert_eq!(acme.get("/v1/version").await.expect(200).text_at("/version"), "2.0.0");
    let table = good(&host, &["plugin", "list"]).await;
    assert!(table.starts_with("NAME") && table.contains("serving") && table.contains("1.0.0 ("), "{table}");
    let said = good(&host, &["plugin", "rollback", "chameleon"]).await;
    assert!(said.contains("chameleon 1.0.0"), "{said}");
    assert_eq!(acme.get("/v1/version").await.expect(200).text_at("/version"), "1.0.0");
    let listed: Value = serde_json::from_str(&good(&host, &["plugin", "list", "--json"]).await).unwrap();
    assert_eq!((&listed[0]["serving"]["version"], &listed[0]["state"]), (&json!("1.0.0"), &json!("serving")));
    let journal: Value = serde_json::from_str(&good(&host, &["plugin", "journal", "--json"]).await).unwrap();
    let actions: Vec<&str> = journal.as_array().unwrap().iter().filter_map(|line| line["action"].as_str()).collect();
    assert_eq!(actions[..2], ["rollback", "deploy"]);
    assert!(good(&host, &["plugin", "journal"]).await.starts_with("AT"));
    host.stop().await;
}

#[tokio::test]
async fn what_is_refused_ends_with_1_and_says_why() {
    let host = chameleon().await;
    let traps = write(host.dir.path(), "traps.wasm", &guests::chameleon("!trap").unwrap());
    for verb in ["check", "deploy"] {
        let said = bad(&host, &["plugin", verb, &traps, "--plugin", "chameleon"]).await;
        assert!(said.contains("describe") && said.contains("unreachable"), "{verb}: {said}");
    }
    let outsider = guests::component_path("outsider").display().to_string();
    let said = bad(&host, &["plugin", "check", &outsider, "--plugin", "chameleon"]).await;
    assert!(
        said.contains("would be refused") && said.contains("imports ledger") && said.contains("imports credentials")
    );
    let chameleon = guests::component_path("chameleon").display().to_string();
    assert!(bad(&host, &["plugin", "check", &chameleon, "--plugin", "chamelion"]).await.contains("chameleon"));
    assert!(bad(&host, &["plugin", "deploy", "none.wasm", "--plugin", "chameleon"]).await.contains("cannot be read"));
    assert!(bad(&host, &["plugin", "rollback", "chamelion"]).await.contains("There are: chameleon."));
    assert!(bad(&host, &["key", "revoke", "key_none"]).await.contains("tenon key list"));
    assert!(bad(&host, &["plugin", "journal", "--plugin", "nope"]).await.contains("There is no plugin \"nope\"."));
    host.stop().await;
}

#[tokio::test]
async fn failures_of_commands_with_json_are_json_with_a_stable_code() {
    let host = chameleon().await;
    let data_dir = host.data_dir().display().to_string();
    for (line, code) in [
        (&["plugin", "rollback", "nope", "--json"][..], "not-found"),
        (&["plugin", "rollback", "chameleon", "--json"], "refused"),
        (&["key", "list", "--json", "--admin", "127.0.0.1:1", "--data-dir", &data_dir], "not-running"),
        (&["key", "list", "--json", "--data-dir", "/nowhere"], "no-token"),
        (&["plugin", "deploy", "none.wasm", "--plugin", "chameleon", "--json"], "unreadable-file"),
        (&["plugin", "check", "none.wasm", "--plugin", "chameleon", "--json", "--config", "/nowhere"], "configuration"),
    ] {
        let text = bad(&host, line).await;
        let said: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line:?}: {error}: {text}"));
        assert_eq!(said["code"], code, "{line:?}");
        assert!(said["message"].is_string() && said["hint"].is_string() && said["reasons"].is_array(), "{said}");
    }
    host.stop().await;
}

#[tokio::test]
async fn what_others_named_does_not_command_the_terminal() {
    let host = chameleon().await;
    let said = bad(&host, &["plugin", "rollback", "\u{1b}[2J\u{202e}nope\nDone."]).await;
    assert!(said.contains("\"\\u{1b}[2J\\u{202e}nope\\nDone.\""), "{said}");
    host.stop().await;
}

#[tokio::test]
async fn commands_that_ask_nobody_have_no_flags_for_whom_to_ask() {
    for words in [&["plugin", "check", "--help"][..], &["secrets", "new-key", "--help"]] {
        let mut command = Command::new(tenon());
        command.args(words);
        let (_, help) = end_of(command).await;
        assert!(!help.contains("Which Tenon to ask"), "{help}");
    }
}

#[tokio::test]
async fn a_check_needs_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("[plugins.chameleon]\ncomponent = \"none.wasm\"\n{SECTION}\n");
    let config = write(folder.path(), "plugins.toml", config.as_bytes());
    let file = guests::component_path("chameleon").display().to_string();
    let mut command = Command::new(tenon());
    command.args(["plugin", "check", &file, "--plugin", "chameleon", "--json", "--config", &config]);
    let (code, text) = end_of(command).await;
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((code, &report["passed"], &report["version"]), (0, &json!(true), &json!("1.0.0")));
    let notes = report["notes"].to_string();
    assert!(notes.contains("differences that break callers of today are not seen"), "{report}");
    assert!(notes.contains("headers of answers that are dropped: access-control-*"), "{report}");
    assert!(notes.contains("set-cookie, strict-transport-security, alt-svc, clear-site-data"), "{report}");
}

#[tokio::test]
async fn a_check_beside_a_running_host_sees_what_would_break_its_callers() {
    let host = chameleon().await;
    let mut manifest = guests::chameleon_manifest();
    manifest["routes"].as_array_mut().unwrap().pop();
    let file = write(host.dir.path(), "fewer.wasm", &guests::chameleon(&manifest.to_string()).unwrap());
    let (config, data) = (host.config_file().display().to_string(), host.data_dir().display().to_string());
    let mut command = Command::new(tenon());
    command.args(["plugin", "check", &file, "--plugin", "chameleon", "--config", &config, "--data-dir", &data]);
    let (code, text) = end_of(command).await;
    assert!(code == 1 && text.contains("this breaks callers of today") && !text.contains("not seen"), "{text}");
    host.stop().await;
}

/// The command of a user who is not the host's: what it made there would be that user's.
#[tokio::test]
async fn plugin_check_makes_nothing_in_a_data_folder_and_changes_no_mode() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("[plugins.chameleon]\ncomponent = \"none.wasm\"\n{SECTION}\n");
    let config = write(folder.path(), "plugins.toml", config.as_bytes());
    let file = guests::component_path("chameleon").display().to_string();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let check = async || {
        let mut command = Command::new(tenon());
        command.args(["plugin", "check", &file, "--plugin", "chameleon", "--config", &config, "--data-dir"]).arg(&data);
        end_of(command).await
    };
    let (code, text) = check().await;
    assert_eq!((code, fs::read_dir(&data).unwrap().count()), (0, 0), "{text}");
    let compiled = data.join("compiled");
    fs::create_dir(&compiled).unwrap();
    fs::set_permissions(&compiled, fs::Permissions::from_mode(0o750)).unwrap();
    let (code, text) = check().await;
    assert_eq!(
        (code, fs::read_dir(&data).unwrap().count(), fs::read_dir(&compiled).unwrap().count()),
        (0, 1, 0),
        "{text}"
    );
    assert_eq!(fs::metadata(&compiled).unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn plugin_check_keeps_a_damaged_component_and_needs_no_room_for_compiled_code() {
    let host = chameleon().await;
    let (config, data) = (host.config_file().display().to_string(), host.data_dir());
    let file = guests::component_path("chameleon").display().to_string();
    let check = async || {
        let mut command = Command::new(tenon());
        command.args(["plugin", "check", &file, "--plugin", "chameleon", "--config", &config, "--data-dir"]).arg(&data);
        end_of(command).await
    };
    // Where compiled code belongs, nothing can be kept.
    for kept in fs::read_dir(data.join("compiled")).unwrap().map(|kept| kept.unwrap().path()) {
        fs::remove_file(&kept).unwrap();
        if kept.extension().is_some_and(|extension| extension == "cwasm") {
            fs::create_dir(&kept).unwrap();
        }
    }
    let (code, text) = check().await;
    assert!(code == 0 && !text.contains("not seen"), "{text}");
    let kept = fs::read_dir(data.join("components")).unwrap().next().unwrap().unwrap().path();
    fs::write(&kept, "damaged").unwrap();
    let (code, text) = check().await;
    assert!(code == 0 && text.contains("not seen"), "{text}");
    assert_eq!(fs::read(&kept).unwrap(), b"damaged", "it is evidence");
    host.stop().await;
}

#[tokio::test]
async fn check_against_a_running_host_publishes_nothing() {
    let host = chameleon().await;
    let mut manifest = guests::chameleon_manifest();
    manifest["routes"].as_array_mut().unwrap().pop();
    let fewer = write(host.dir.path(), "fewer.wasm", &guests::chameleon(&manifest.to_string()).unwrap());
    let text = bad(&host, &["plugin", "check", &fewer, "--against", "chameleon"]).await;
    assert!(text.contains("would be refused") && text.contains("this breaks callers of today"), "{text}");
    let next = write(host.dir.path(), "next.wasm", &guests::chameleon_version("2.0.0").unwrap());
    let report = good(&host, &["plugin", "check", &next, "--against", "chameleon", "--json"]).await;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["passed"], &report["version"]), (&json!(true), &json!("2.0.0")));
    let listed: Value = serde_json::from_str(&good(&host, &["plugin", "list", "--json"]).await).unwrap();
    assert_eq!(listed[0]["serving"]["version"], "1.0.0");
    let journal: Value = serde_json::from_str(&good(&host, &["plugin", "journal", "--json"]).await).unwrap();
    assert!(journal.as_array().unwrap().iter().all(|line| line["action"] != "deploy"), "{journal}");
    assert!(bad(&host, &["plugin", "check", &next, "--against", "chamelion"]).await.contains("There are: chameleon."));
    host.stop().await;
}

#[tokio::test]
async fn plugin_list_shows_the_profile_of_a_component() {
    let host = TestHost::builder().plugin("hello", component("hello-plugin"), r#"grants = ["records"]"#).start().await;
    let listed: Value = serde_json::from_str(&good(&host, &["plugin", "list", "--json"]).await).unwrap();
    assert_eq!(listed[0]["serving"]["build"], "plugin");
    assert!(good(&host, &["plugin", "list"]).await.contains("BUILD"));
    host.stop().await;
}

#[tokio::test]
async fn without_a_running_host_or_its_token_the_command_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(tenon());
    command.args(["plugin", "list", "--data-dir"]).arg(folder.path());
    let (code, text) = end_of(command).await;
    assert_eq!(code, 1);
    assert!(text.contains("There is no operators' token at") && text.contains("--data-dir"), "{text}");
    let host = chameleon().await;
    let data_dir = host.data_dir().display().to_string();
    let (code, text) = run(&host, &["plugin", "list", "--admin", "127.0.0.1:1", "--data-dir", &data_dir]).await;
    assert!(code == 1 && text.contains("No Tenon answers on 127.0.0.1:1"), "{text}");
    host.stop().await;
}

#[tokio::test]
async fn the_help_of_every_command_has_an_example() {
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(words) = waiting.pop() {
        let mut command = Command::new(tenon());
        command.args(&words).arg("--help");
        let (code, help) = end_of(command).await;
        assert!(
            code == 0 && help.contains("Example") && help.contains("\n  tenon "),
            "tenon {}: {help}",
            words.join(" ")
        );
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // What is indented further is the rest of a description.
        let commands = commands.filter(|line| !line.starts_with("   "));
        for name in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
            waiting.push([&words[..], &[name.to_owned()]].concat());
        }
        seen += 1;
    }
    assert!(seen >= 12, "only {seen} commands were found");
}
