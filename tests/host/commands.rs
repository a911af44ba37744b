//! Commands of the real program against a running host: text output, JSON output, and exit codes.

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::{Value, json};
use tenon_bench::guests;

use super::{
    command_line::{run, run_err, run_ok, run_to_end, tenon_binary},
    keys::files_containing,
};
use crate::support::{TestHost, component};

const SECTION: &str = r#"grants = ["records", "events"]
limits = { compute-ms = 300 }"#;

async fn chameleon() -> TestHost {
    TestHost::builder().plugin("chameleon", component("chameleon"), SECTION).start().await
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

const CREATE: [&str; 8] = ["key", "create", "--plugin", "chameleon", "--tenant", "acme", "--environment", "test"];

#[tokio::test]
async fn key_is_created_listed_and_revoked() {
    let host = chameleon().await;
    let created: Value = serde_json::from_str(&run_ok(&host, &[&CREATE[..], &["--json"]].concat()).await).unwrap();
    let (id, key) = (created["id"].as_str().unwrap(), created["key"].as_str().unwrap());
    let shape = json!({"id": id, "key": key, "tenant": "acme", "environment": "test", "plugin": "chameleon"});
    assert_eq!(created, shape);
    assert!(key.starts_with("tk_test_") && key.len() >= 8 + 22, "at least 128 bits");
    host.client_of(key).get("/v1/version").await.check(200);
    let table = run_ok(&host, &["key", "list"]).await;
    assert!(table.contains(id) && table.contains("acme") && !table.contains(key), "{table}");
    assert!(run_ok(&host, &["key", "revoke", id]).await.contains("is revoked"));
    host.client_of(key).get("/v1/version").await.check(401);
    let keys: Value = serde_json::from_str(&run_ok(&host, &["key", "list", "--json"]).await).unwrap();
    let listed = keys.as_array().unwrap().iter().find(|listed| listed["id"] == id).unwrap();
    assert!(listed["revoked_at"].is_string() && listed.get("key").is_none());
    host.stop().await;
}

#[tokio::test]
async fn text_output_shows_a_new_key_once_with_instructions() {
    let host = chameleon().await;
    let live = ["key", "create", "--plugin", "chameleon", "--tenant", "acme", "--environment", "live"];
    let text = run_ok(&host, &live).await;
    assert!(text.starts_with("tk_live_") && text.contains("shown only once") && text.contains("tenon key revoke key_"));
    let key = text.lines().next().unwrap();
    assert_eq!(files_containing(host.dir.path(), key), Vec::<String>::new());
    host.stop().await;
}

#[tokio::test]
async fn component_is_deployed_listed_and_rolled_back() {
    let host = chameleon().await;
    let next = write(host.dir.path(), "next.wasm", &guests::chameleon_version("2.0.0").unwrap());
    let acme = host.client("chameleon", "acme").await;
    let output = run_ok(&host, &["plugin", "deploy", &next, "--plugin", "chameleon"]).await;
    assert!(
        output.contains("chameleon 2.0.0") && output.contains("previously 1.0.0") && output.contains("compile"),
        "{output}"
    );
    assert_eq!(acme.get("/v1/version").await.expect(200).text_at("/version"), "2.0.0");
    let table = run_ok(&host, &["plugin", "list"]).await;
    assert!(table.starts_with("NAME") && table.contains("serving") && table.contains("1.0.0 ("), "{table}");
    let output = run_ok(&host, &["plugin", "rollback", "chameleon"]).await;
    assert!(output.contains("chameleon 1.0.0"), "{output}");
    assert_eq!(acme.get("/v1/version").await.expect(200).text_at("/version"), "1.0.0");
    let listed: Value = serde_json::from_str(&run_ok(&host, &["plugin", "list", "--json"]).await).unwrap();
    assert_eq!((&listed[0]["serving"]["version"], &listed[0]["state"]), (&json!("1.0.0"), &json!("serving")));
    let journal: Value = serde_json::from_str(&run_ok(&host, &["plugin", "journal", "--json"]).await).unwrap();
    let actions: Vec<&str> = journal.as_array().unwrap().iter().filter_map(|line| line["action"].as_str()).collect();
    assert_eq!(actions[..2], ["rollback", "deploy"]);
    assert!(run_ok(&host, &["plugin", "journal"]).await.starts_with("AT"));
    host.stop().await;
}

#[tokio::test]
async fn rejected_command_exits_with_1_and_the_reason() {
    let host = chameleon().await;
    let traps = write(host.dir.path(), "traps.wasm", &guests::chameleon("!trap").unwrap());
    for verb in ["check", "deploy"] {
        let output = run_err(&host, &["plugin", verb, &traps, "--plugin", "chameleon"]).await;
        assert!(output.contains("describe") && output.contains("unreachable"), "{verb}: {output}");
    }
    let outsider = guests::component_path("outsider").display().to_string();
    let output = run_err(&host, &["plugin", "check", &outsider, "--plugin", "chameleon"]).await;
    assert!(
        output.contains("would be refused")
            && output.contains("imports ledger")
            && output.contains("imports credentials")
    );
    let chameleon = guests::component_path("chameleon").display().to_string();
    assert!(run_err(&host, &["plugin", "check", &chameleon, "--plugin", "chamelion"]).await.contains("chameleon"));
    assert!(
        run_err(&host, &["plugin", "deploy", "none.wasm", "--plugin", "chameleon"]).await.contains("cannot be read")
    );
    assert!(run_err(&host, &["plugin", "rollback", "chamelion"]).await.contains("Known plugins: chameleon."));
    assert!(run_err(&host, &["key", "revoke", "key_none"]).await.contains("tenon key list"));
    assert!(run_err(&host, &["plugin", "journal", "--plugin", "nope"]).await.contains("There is no plugin \"nope\"."));
    host.stop().await;
}

#[tokio::test]
async fn errors_with_json_output_have_a_stable_code() {
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
        let text = run_err(&host, line).await;
        let output: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line:?}: {error}: {text}"));
        assert_eq!(output["code"], code, "{line:?}");
        assert!(
            output["message"].is_string() && output["hint"].is_string() && output["reasons"].is_array(),
            "{output}"
        );
    }
    host.stop().await;
}

#[tokio::test]
async fn control_characters_in_names_are_escaped() {
    let host = chameleon().await;
    let output = run_err(&host, &["plugin", "rollback", "\u{1b}[2J\u{202e}nope\nDone."]).await;
    assert!(output.contains("\"\\u{1b}[2J\\u{202e}nope\\nDone.\""), "{output}");
    host.stop().await;
}

#[tokio::test]
async fn offline_commands_have_no_connection_options() {
    for command_name in [&["plugin", "check", "--help"][..], &["secrets", "new-key", "--help"]] {
        let mut command = Command::new(tenon_binary());
        command.args(command_name);
        let (_, help) = run_to_end(command).await;
        assert!(!help.contains("Connection options"), "{help}");
    }
}

#[tokio::test]
async fn plugin_check_needs_no_server() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("[plugins.chameleon]\ncomponent = \"none.wasm\"\n{SECTION}\n");
    let config = write(folder.path(), "plugins.toml", config.as_bytes());
    let file = guests::component_path("chameleon").display().to_string();
    let mut command = Command::new(tenon_binary());
    command.args(["plugin", "check", &file, "--plugin", "chameleon", "--json", "--config", &config]);
    let (code, text) = run_to_end(command).await;
    let report: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!((code, &report["passed"], &report["version"]), (0, &json!(true), &json!("1.0.0")));
    let notes = report["notes"].to_string();
    assert!(notes.contains("breaking differences cannot be detected"), "{report}");
    assert!(notes.contains("headers of answers that are dropped: access-control-*"), "{report}");
    assert!(notes.contains("set-cookie, strict-transport-security, alt-svc, clear-site-data"), "{report}");
}

#[tokio::test]
async fn plugin_check_next_to_a_running_host_detects_breaking_differences() {
    let host = chameleon().await;
    let mut manifest = guests::chameleon_manifest();
    manifest["routes"].as_array_mut().unwrap().pop();
    let file = write(host.dir.path(), "fewer.wasm", &guests::chameleon(&manifest.to_string()).unwrap());
    let (config, data) = (host.config_file().display().to_string(), host.data_dir().display().to_string());
    let mut command = Command::new(tenon_binary());
    command.args(["plugin", "check", &file, "--plugin", "chameleon", "--config", &config, "--data-dir", &data]);
    let (code, text) = run_to_end(command).await;
    assert!(
        code == 1 && text.contains("this breaks existing callers") && !text.contains("cannot be detected"),
        "{text}"
    );
    host.stop().await;
}

/// Another user may run the command. A file that it creates would belong to that user.
#[tokio::test]
async fn plugin_check_creates_nothing_in_a_data_folder_and_changes_no_mode() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("[plugins.chameleon]\ncomponent = \"none.wasm\"\n{SECTION}\n");
    let config = write(folder.path(), "plugins.toml", config.as_bytes());
    let file = guests::component_path("chameleon").display().to_string();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    let check = async || {
        let mut command = Command::new(tenon_binary());
        command.args(["plugin", "check", &file, "--plugin", "chameleon", "--config", &config, "--data-dir"]).arg(&data);
        run_to_end(command).await
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
async fn plugin_check_keeps_a_damaged_component_and_works_without_writable_compiled_code() {
    let host = chameleon().await;
    let (config, data) = (host.config_file().display().to_string(), host.data_dir());
    let file = guests::component_path("chameleon").display().to_string();
    let check = async || {
        let mut command = Command::new(tenon_binary());
        command.args(["plugin", "check", &file, "--plugin", "chameleon", "--config", &config, "--data-dir"]).arg(&data);
        run_to_end(command).await
    };
    // Folders in place of the compiled files prevent writing them.
    for file in fs::read_dir(data.join("compiled")).unwrap().map(|entry| entry.unwrap().path()) {
        fs::remove_file(&file).unwrap();
        if file.extension().is_some_and(|extension| extension == "cwasm") {
            fs::create_dir(&file).unwrap();
        }
    }
    let (code, text) = check().await;
    assert!(code == 0 && !text.contains("cannot be detected"), "{text}");
    let stored = fs::read_dir(data.join("components")).unwrap().next().unwrap().unwrap().path();
    fs::write(&stored, "damaged").unwrap();
    let (code, text) = check().await;
    assert!(code == 0 && text.contains("cannot be detected"), "{text}");
    assert_eq!(fs::read(&stored).unwrap(), b"damaged", "the damaged file is evidence");
    host.stop().await;
}

#[tokio::test]
async fn check_against_a_running_host_publishes_nothing() {
    let host = chameleon().await;
    let mut manifest = guests::chameleon_manifest();
    manifest["routes"].as_array_mut().unwrap().pop();
    let fewer = write(host.dir.path(), "fewer.wasm", &guests::chameleon(&manifest.to_string()).unwrap());
    let text = run_err(&host, &["plugin", "check", &fewer, "--against", "chameleon"]).await;
    assert!(text.contains("would be refused") && text.contains("this breaks existing callers"), "{text}");
    let next = write(host.dir.path(), "next.wasm", &guests::chameleon_version("2.0.0").unwrap());
    let report = run_ok(&host, &["plugin", "check", &next, "--against", "chameleon", "--json"]).await;
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["passed"], &report["version"]), (&json!(true), &json!("2.0.0")));
    let listed: Value = serde_json::from_str(&run_ok(&host, &["plugin", "list", "--json"]).await).unwrap();
    assert_eq!(listed[0]["serving"]["version"], "1.0.0");
    let journal: Value = serde_json::from_str(&run_ok(&host, &["plugin", "journal", "--json"]).await).unwrap();
    assert!(journal.as_array().unwrap().iter().all(|line| line["action"] != "deploy"), "{journal}");
    assert!(
        run_err(&host, &["plugin", "check", &next, "--against", "chamelion"])
            .await
            .contains("Known plugins: chameleon.")
    );
    host.stop().await;
}

#[tokio::test]
async fn plugin_list_shows_the_profile_of_a_component() {
    let host = TestHost::builder().plugin("hello", component("hello-plugin"), r#"grants = ["records"]"#).start().await;
    let listed: Value = serde_json::from_str(&run_ok(&host, &["plugin", "list", "--json"]).await).unwrap();
    assert_eq!(listed[0]["serving"]["build"], "plugin");
    assert!(run_ok(&host, &["plugin", "list"]).await.contains("BUILD"));
    host.stop().await;
}

#[tokio::test]
async fn command_without_a_host_or_its_token_explains_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(tenon_binary());
    command.args(["plugin", "list", "--data-dir"]).arg(folder.path());
    let (code, text) = run_to_end(command).await;
    assert_eq!(code, 1);
    assert!(text.contains("There is no operators' token at") && text.contains("--data-dir"), "{text}");
    let host = chameleon().await;
    let data_dir = host.data_dir().display().to_string();
    let (code, text) = run(&host, &["plugin", "list", "--admin", "127.0.0.1:1", "--data-dir", &data_dir]).await;
    assert!(code == 1 && text.contains("No Tenon answers on 127.0.0.1:1"), "{text}");
    host.stop().await;
}

#[tokio::test]
async fn help_of_every_command_has_an_example() {
    let mut waiting: Vec<Vec<String>> = vec![Vec::new()];
    let mut seen = 0;
    while let Some(command_path) = waiting.pop() {
        let mut command = Command::new(tenon_binary());
        command.args(&command_path).arg("--help");
        let (code, help) = run_to_end(command).await;
        assert!(
            code == 0 && help.contains("Example") && help.contains("\n  tenon "),
            "tenon {}: {help}",
            command_path.join(" ")
        );
        let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        // Lines with deeper indentation continue a description.
        let commands = commands.filter(|line| !line.starts_with("   "));
        for name in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
            waiting.push([&command_path[..], &[name.to_owned()]].concat());
        }
        seen += 1;
    }
    assert!(seen >= 12, "only {seen} commands were found");
}
