//! The start of the program until all plugins serve: both listeners respond immediately, and each plugin serves when it
//! is ready. A path that may belong to a plugin that does not serve returns 503 instead of 404.

use std::{fs, process::Command};

use serde_json::{Value, json};
use tenon_bench::{
    guests,
    program::{PluginSection, Program, ProgramPlan},
    wire::Client,
};

use super::command_line::{run_to_end, tenon_binary};
use crate::support::{TestHost, component, eventually};

const FLEET_GRANTS: [&str; 9] =
    ["records", "events", "subscriptions", "effects", "questions", "credentials", "ids", "config", "log"];
const CHAMELEON: &str = r#"grants = ["records", "events"]"#;

#[tokio::test]
async fn first_start_is_healthy_at_once_and_reports_compilations() {
    let folder = tempfile::tempdir().unwrap();
    let mut small = PluginSection::new("chameleon", &component("chameleon"), &["records", "events"]);
    small.mount = "/small".to_owned();
    let plugins = vec![PluginSection::new("fleet", &component("fleet"), &FLEET_GRANTS), small];
    let plan = ProgramPlan { binary: tenon_binary(), folder: folder.path().to_path_buf(), plugins };
    let program = Program::spawn(plan).unwrap();
    let get = async |address, path| Client::new(address, "").send("GET", path, &[], b"").await.ok();
    eventually("the operators' listener is healthy and fleet is compiled", async || {
        let early = get(program.public, "/v1/orders").await?;
        let ready = get(program.admin, "/readyz").await?;
        let reasons = String::from_utf8_lossy(&ready.body).into_owned();
        assert_ne!(ready.status, 200, "ready before the compilation of fleet was observed: {}", program.log());
        if !reasons.contains("compiling fleet (") {
            return None;
        }
        assert!(reasons.contains(" of 2)"), "{reasons}");
        assert_eq!(get(program.admin, "/healthz").await?.status, 200);
        assert_eq!(early.status, 503);
        assert_eq!(early.json()["code"], "unavailable");
        Some(())
    })
    .await;
    eventually("the host is ready", async || (get(program.admin, "/readyz").await?.status == 200).then_some(())).await;
    assert_eq!(get(program.public, "/v1/orders").await.unwrap().status, 401);
    let log = program.log();
    assert!(log.contains("compiling fleet (") && log.contains("compiling chameleon ("), "{log}");
    program.stop().await.unwrap();
}

#[tokio::test]
async fn stop_during_the_first_compilation_ends_the_program() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = vec![PluginSection::new("fleet", &component("fleet"), &FLEET_GRANTS)];
    let plan = ProgramPlan { binary: tenon_binary(), folder: folder.path().to_path_buf(), plugins };
    let program = Program::spawn(plan).unwrap();
    let healthy = async || Client::new(program.admin, "").send("GET", "/healthz", &[], b"").await.ok();
    eventually("the operators' listener is healthy", healthy).await;
    program.stop().await.unwrap();
    let log = fs::read_to_string(folder.path().join("tenon.log")).unwrap();
    assert!(log.contains("stopped cleanly"), "{log}");
}

#[tokio::test]
async fn path_below_the_mount_of_a_plugin_that_does_not_serve_is_unavailable() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.wasm");
    fs::write(&broken, guests::chameleon("!trap").unwrap()).unwrap();
    let host = TestHost::builder()
        .plugin("misbehave", component("misbehave"), r#"grants = ["records", "events", "ids", "log"]"#)
        .plugin("chameleon", component("chameleon"), &format!("mount = \"/small\"\n{CHAMELEON}"))
        .plugin("broken", broken, "grants = []")
        .start()
        .await;
    let anonymous = host.anonymous();
    let unavailable = anonymous.get("/v1/anything").await.expect(503);
    assert_eq!(unavailable.json()["code"], "unavailable");
    assert_eq!(unavailable.header("retry-after"), Some("1"));
    // The longer mount of a serving plugin takes precedence.
    anonymous.get("/small/anything").await.check(404);
    assert_eq!(anonymous.post("/v1/ok", json!({})).await.status, 401, "the other plugin serves");
    assert_eq!(anonymous.get("/v1/ok").await.status, 405);
    host.operator().get("/readyz").await.check(503);

    let toml = fs::read_to_string(host.config_file()).unwrap();
    let (before, rest) = toml.split_once("[plugins.broken]").unwrap();
    let (_, after) = rest.split_once("[outbound]").unwrap();
    fs::write(host.config_file(), format!("{before}[outbound]{after}")).unwrap();
    eventually("the removed plugin is not awaited", async || {
        (anonymous.get("/v1/anything").await.status == 404).then_some(())
    })
    .await;
    host.stop().await;
}

#[tokio::test]
async fn rejected_deploy_reports_which_version_continues_to_serve() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.wasm");
    fs::write(&broken, guests::chameleon("!trap").unwrap()).unwrap();
    let host = TestHost::builder()
        .plugin("chameleon", component("chameleon"), CHAMELEON)
        .plugin("broken", broken, "grants = []")
        .start()
        .await;
    let deploy = async |plugin: &str| {
        let headers = [("content-type", "application/wasm")];
        let path = format!("/v1/plugins/{plugin}/component");
        let bytes = guests::chameleon("!loop").unwrap();
        host.operator().send("PUT", &path, &headers, bytes).await.expect(409).text_at("/message")
    };
    assert_eq!(deploy("chameleon").await, "chameleon was not deployed; version 1.0.0 continues to serve.");
    assert_eq!(deploy("broken").await, "broken was not deployed; no version serves.");
    host.stop().await;
}

#[tokio::test]
async fn start_after_plugin_compile_compiles_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (config, data) = (folder.path().join("plugins.toml"), folder.path().join("data"));
    let section = format!("[plugins.chameleon]\ncomponent = {:?}\n{CHAMELEON}\n", component("chameleon"));
    fs::write(&config, section).unwrap();
    let compile = async || {
        let mut command = Command::new(tenon_binary());
        command.args(["plugin", "compile", "--json", "--config"]).arg(&config).arg("--data-dir").arg(&data);
        let (code, text) = run_to_end(command).await;
        assert_eq!(code, 0, "{text}");
        serde_json::from_str::<Value>(text.lines().last().unwrap()).unwrap()
    };
    let first = compile().await;
    assert_eq!((&first[0]["outcome"], &first[0]["version"]), (&json!("compiled"), &json!("1.0.0")));
    assert_eq!(compile().await[0]["outcome"], "cached");
    let plugins = vec![PluginSection::new("chameleon", &component("chameleon"), &["records", "events"])];
    let plan = ProgramPlan { binary: tenon_binary(), folder: folder.path().to_path_buf(), plugins };
    let program = Program::start(plan).await.unwrap();
    assert!(!program.log().contains("compiling chameleon"), "{}", program.log());
    program.stop().await.unwrap();
}

#[tokio::test]
async fn plugin_compile_names_the_rejected_component() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("plugins.toml");
    fs::write(&config, format!("[plugins.chameleon]\ncomponent = \"none.wasm\"\n{CHAMELEON}\n")).unwrap();
    let mut command = Command::new(tenon_binary());
    command.args(["plugin", "compile", "--config"]).arg(&config);
    command.arg("--data-dir").arg(folder.path().join("data"));
    let (code, text) = run_to_end(command).await;
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("refused") && text.contains("none.wasm cannot be read"), "{text}");
}
