//! Commands on simulated blockchains: faucet, blocks, reorganisation, and faults.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::command_line::{run_err, run_ok};
use crate::support::{TestHost, TestHostBuilder, eventually};

const ADDRESS: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const NOW: u64 = 1_800_000_000_000;

/// Returns the builder of a host with a manual clock, so that blocks are produced only by `chain mine`.
fn host_with_manual_clock() -> TestHostBuilder {
    TestHost::builder().clock(Clock::manual(NOW))
}

async fn run_json(host: &TestHost, line: &[&str]) -> Value {
    serde_json::from_str(&run_ok(host, &[line, &["--json"]].concat()).await).unwrap()
}

async fn faucet(host: &TestHost, amount: &str, more: &[&str]) -> String {
    let given = run_json(host, &[&["chain", "faucet", "base", ADDRESS, amount], more].concat()).await;
    given["hash"].as_str().unwrap().to_owned()
}

async fn balance(host: &TestHost, symbol: &str) -> String {
    let report = run_json(host, &["chain", "balance", "base", ADDRESS]).await;
    let all = report["balances"].as_array().unwrap();
    let found = all.iter().find(|balance| balance["symbol"] == symbol);
    found.unwrap()["amount"].as_str().unwrap().to_owned()
}

async fn state(host: &TestHost, hash: &str) -> Value {
    run_json(host, &["chain", "transaction", "base", hash]).await["state"].clone()
}

#[tokio::test]
async fn faucet_transfer_is_in_the_next_block() {
    let host = host_with_manual_clock().start().await;
    let coins = faucet(&host, "2.5", &[]).await;
    faucet(&host, "0.000001", &["--token", "usdc"]).await;
    assert_eq!((state(&host, &coins).await, balance(&host, "ETH").await), (json!("waiting"), "0".to_owned()));
    assert!(run_ok(&host, &["chain", "mine", "base"]).await.contains("the newest block is "));
    assert_eq!((balance(&host, "ETH").await, balance(&host, "USDC").await), ("2.5".into(), "0.000001".into()));
    let output = run_ok(&host, &["chain", "transaction", "base", &coins]).await;
    assert!(output.contains(": done, in block ") && output.contains("  2.5 ETH from "), "{output}");
    let table = run_ok(&host, &["chain", "balance", "base", ADDRESS, "--network", "main"]).await;
    assert!(table.starts_with("ASSET") && !table.contains("2.5"), "the other network is unaffected: {table}");
    host.stop().await;
}

#[tokio::test]
async fn every_network_is_listed_with_its_tokens() {
    let host = host_with_manual_clock().start().await;
    let networks = run_json(&host, &["chain", "list"]).await;
    let networks = networks.as_array().unwrap();
    assert_eq!(networks.len(), 30);
    let base = networks.iter().find(|network| network["blockchain"] == "base" && network["network"] == "test").unwrap();
    assert_eq!(
        (&base["coin"]["symbol"], &base["block_time_ms"], &base["watched"]),
        (&json!("ETH"), &json!(250), &json!(0))
    );
    assert!(base["height"].is_u64() && base["tokens"].to_string().contains("USDC"), "{base}");
    let table = run_ok(&host, &["chain", "list", "--network", "main"]).await;
    assert!(table.starts_with("BLOCKCHAIN") && table.lines().count() == 16, "{table}");
    host.stop().await;
}

#[tokio::test]
async fn reorganisation_keeps_or_drops_the_transactions_of_replaced_blocks() {
    let host = host_with_manual_clock().start().await;
    let hash = faucet(&host, "1", &[]).await;
    run_ok(&host, &["chain", "mine", "base"]).await;
    let output = run_ok(&host, &["chain", "reorganise", "base", "1"]).await;
    assert!(output.contains("1 transactions wait for the next block"), "{output}");
    assert_eq!((state(&host, &hash).await, balance(&host, "ETH").await), (json!("waiting"), "0".to_owned()));
    run_ok(&host, &["chain", "mine", "base"]).await;
    assert_eq!(balance(&host, "ETH").await, "1");
    run_ok(&host, &["chain", "reorganise", "base", "2", "--drop"]).await;
    assert!(run_err(&host, &["chain", "transaction", "base", &hash]).await.contains("has no transaction"));
    host.stop().await;
}

#[tokio::test]
async fn silent_network_is_distinguished_from_an_unknown_one() {
    let host = host_with_manual_clock().start().await;
    run_ok(&host, &["chain", "fault", "base", "silent", "on"]).await;
    let output = run_err(&host, &["chain", "balance", "base", ADDRESS]).await;
    assert!(
        output.contains("base (test) does not answer") && output.contains("tenon chain fault base off"),
        "{output}"
    );
    let table = run_ok(&host, &["chain", "list", "--network", "test"]).await;
    assert!(table.contains("    silent, submitted transactions are lost\n"), "{table}");
    run_ok(&host, &["chain", "fault", "base", "off"]).await;
    assert_eq!(balance(&host, "ETH").await, "0");
    let output = run_err(&host, &["chain", "balance", "bass", ADDRESS]).await;
    assert!(
        output.contains("no blockchain \"bass\"") && output.contains("Known blockchains: ") && output.contains("base,"),
        "{output}"
    );
    host.stop().await;
}

#[tokio::test]
async fn invalid_chain_commands_are_rejected_with_the_reason() {
    let host = host_with_manual_clock().start().await;
    for (line, reason) in [
        (&["faucet", "base", ADDRESS, "0"][..], "greater than 0"),
        (&["faucet", "base", ADDRESS, "1.5e3"], "not an amount"),
        (&["faucet", "base", ADDRESS, "0.0000001", "--token", "USDC"], "more than 6 digits"),
        (&["faucet", "base", ADDRESS, "1", "--token", "DOGE"], "Known tokens: "),
        (&["faucet", "tron", ADDRESS, "1"], "is not an address of tron"),
        (&["balance", "solana", ADDRESS], "is not an address of solana"),
        (&["mine", "base", "1000000000"], "accepts at most"),
        (&["reorganise", "base", "100000"], "accepts at most"),
        (&["fault", "base", "slow", "9999999999"], "The delay is too long"),
    ] {
        let output = run_err(&host, &[&["chain"], line].concat()).await;
        assert!(output.contains(reason), "{line:?}: {output}");
    }
    host.stop().await;
}

#[tokio::test]
async fn transactions_and_journal_lines_survive_a_restart() {
    let host = host_with_manual_clock().start().await;
    let hash = faucet(&host, "3", &[]).await;
    run_ok(&host, &["chain", "mine", "base", "3", "--as", "ada"]).await;
    let host = host.restart().await;
    assert_eq!((state(&host, &hash).await, balance(&host, "ETH").await), (json!("done"), "3".to_owned()));
    let journal = run_json(&host, &["plugin", "journal"]).await;
    assert_eq!((&journal[0]["action"], &journal[0]["who"]), (&json!("control-chain"), &json!("ada")));
    assert!(
        journal[1]["reasons"][0].as_str().unwrap().contains(&format!("base (test): 3 ETH to {ADDRESS}")),
        "{journal}"
    );
    host.stop().await;
}

#[tokio::test]
async fn blocks_are_produced_at_the_configured_interval() {
    let host = TestHost::builder().outbound("[chains]\nblock-ms = 10").start().await;
    faucet(&host, "1", &[]).await;
    eventually("the block", async || (balance(&host, "ETH").await == "1").then_some(())).await;
    host.stop().await;
}

#[tokio::test]
async fn host_without_blockchains_names_the_setting_that_enables_them() {
    let host = TestHost::builder().outbound("[chains]\nsimulated = false").start().await;
    assert!(run_ok(&host, &["chain", "list"]).await.contains("simulated = true in [chains]"));
    for line in [&["chain", "mine", "base"][..], &["chain", "balance", "base", ADDRESS]] {
        let output = run_err(&host, line).await;
        assert!(output.contains("This host has no blockchains. Set simulated = true in [chains]"), "{output}");
    }
    assert!(!host.data_dir().join("chains.db").exists());
    host.stop().await;
}
