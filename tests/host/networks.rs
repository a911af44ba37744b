//! Simulated blockchains, as operators see and move them.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::commands::{bad, good};
use crate::support::{TestHost, TestHostBuilder, eventually};

const ADDRESS: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const NOW: u64 = 1_800_000_000_000;

/// Its clock stands still: blocks come when somebody mines them.
fn still() -> TestHostBuilder {
    TestHost::builder().clock(Clock::manual(NOW))
}

async fn read(host: &TestHost, line: &[&str]) -> Value {
    serde_json::from_str(&good(host, &[line, &["--json"]].concat()).await).unwrap()
}

async fn faucet(host: &TestHost, amount: &str, more: &[&str]) -> String {
    let given = read(host, &[&["chain", "faucet", "base", ADDRESS, amount], more].concat()).await;
    given["hash"].as_str().unwrap().to_owned()
}

async fn balance(host: &TestHost, symbol: &str) -> String {
    let report = read(host, &["chain", "balance", "base", ADDRESS]).await;
    let all = report["balances"].as_array().unwrap();
    let found = all.iter().find(|balance| balance["symbol"] == symbol);
    found.unwrap()["amount"].as_str().unwrap().to_owned()
}

async fn state(host: &TestHost, hash: &str) -> Value {
    read(host, &["chain", "transaction", "base", hash]).await["state"].clone()
}

#[tokio::test]
async fn what_the_faucet_gives_is_there_with_the_next_block() {
    let host = still().start().await;
    let coins = faucet(&host, "2.5", &[]).await;
    faucet(&host, "0.000001", &["--token", "usdc"]).await;
    assert_eq!((state(&host, &coins).await, balance(&host, "ETH").await), (json!("waiting"), "0".to_owned()));
    assert!(good(&host, &["chain", "mine", "base"]).await.contains("the newest block is "));
    assert_eq!((balance(&host, "ETH").await, balance(&host, "USDC").await), ("2.5".into(), "0.000001".into()));
    let said = good(&host, &["chain", "transaction", "base", &coins]).await;
    assert!(said.contains(": done, in block ") && said.contains("  2.5 ETH from "), "{said}");
    let table = good(&host, &["chain", "balance", "base", ADDRESS, "--network", "main"]).await;
    assert!(table.starts_with("ASSET") && !table.contains("2.5"), "the other network has nothing of it: {table}");
    host.stop().await;
}

#[tokio::test]
async fn every_network_is_listed_with_what_is_on_it() {
    let host = still().start().await;
    let networks = read(&host, &["chain", "list"]).await;
    let networks = networks.as_array().unwrap();
    assert_eq!(networks.len(), 30);
    let base = networks.iter().find(|network| network["blockchain"] == "base" && network["network"] == "test").unwrap();
    assert_eq!(
        (&base["coin"]["symbol"], &base["block_time_ms"], &base["watched"]),
        (&json!("ETH"), &json!(250), &json!(0))
    );
    assert!(base["height"].is_u64() && base["tokens"].to_string().contains("USDC"), "{base}");
    let table = good(&host, &["chain", "list", "--network", "main"]).await;
    assert!(table.starts_with("BLOCKCHAIN") && table.lines().count() == 16, "{table}");
    host.stop().await;
}

#[tokio::test]
async fn blocks_are_replaced_with_what_stood_in_them_kept_or_dropped() {
    let host = still().start().await;
    let hash = faucet(&host, "1", &[]).await;
    good(&host, &["chain", "mine", "base"]).await;
    let said = good(&host, &["chain", "reorganise", "base", "1"]).await;
    assert!(said.contains("1 transactions wait for the next block"), "{said}");
    assert_eq!((state(&host, &hash).await, balance(&host, "ETH").await), (json!("waiting"), "0".to_owned()));
    good(&host, &["chain", "mine", "base"]).await;
    assert_eq!(balance(&host, "ETH").await, "1");
    good(&host, &["chain", "reorganise", "base", "2", "--drop"]).await;
    assert!(bad(&host, &["chain", "transaction", "base", &hash]).await.contains("knows no transaction"));
    host.stop().await;
}

#[tokio::test]
async fn a_silent_network_is_told_from_one_that_is_not_there() {
    let host = still().start().await;
    good(&host, &["chain", "fault", "base", "silent", "on"]).await;
    let said = bad(&host, &["chain", "balance", "base", ADDRESS]).await;
    assert!(said.contains("base (test) does not answer") && said.contains("tenon chain fault base off"), "{said}");
    let table = good(&host, &["chain", "list", "--network", "test"]).await;
    assert!(table.contains("    silent, and loses what is submitted\n"), "{table}");
    good(&host, &["chain", "fault", "base", "off"]).await;
    assert_eq!(balance(&host, "ETH").await, "0");
    let said = bad(&host, &["chain", "balance", "bass", ADDRESS]).await;
    assert!(
        said.contains("no blockchain \"bass\"") && said.contains("There are: ") && said.contains("base,"),
        "{said}"
    );
    host.stop().await;
}

#[tokio::test]
async fn what_cannot_be_given_mined_or_replaced_says_why() {
    let host = still().start().await;
    for (line, wrong) in [
        (&["faucet", "base", ADDRESS, "0"][..], "above 0"),
        (&["faucet", "base", ADDRESS, "1.5e3"], "no amount"),
        (&["faucet", "base", ADDRESS, "0.0000001", "--token", "USDC"], "more than 6 digits"),
        (&["faucet", "base", ADDRESS, "1", "--token", "DOGE"], "There are: "),
        (&["faucet", "tron", ADDRESS, "1"], "is no address of tron"),
        (&["balance", "solana", ADDRESS], "is no address of solana"),
        (&["mine", "base", "1000000000"], "takes at most"),
        (&["reorganise", "base", "100000"], "takes at most"),
        (&["fault", "base", "slow", "9999999999"], "cannot take so long"),
    ] {
        let said = bad(&host, &[&["chain"], line].concat()).await;
        assert!(said.contains(wrong), "{line:?}: {said}");
    }
    host.stop().await;
}

#[tokio::test]
async fn what_is_on_the_chains_and_who_moved_them_outlives_a_restart() {
    let host = still().start().await;
    let hash = faucet(&host, "3", &[]).await;
    good(&host, &["chain", "mine", "base", "3", "--as", "ada"]).await;
    let host = host.restart().await;
    assert_eq!((state(&host, &hash).await, balance(&host, "ETH").await), (json!("done"), "3".to_owned()));
    let journal = read(&host, &["plugin", "journal"]).await;
    assert_eq!((&journal[0]["action"], &journal[0]["who"]), (&json!("control-chain"), &json!("ada")));
    assert!(
        journal[1]["reasons"][0].as_str().unwrap().contains(&format!("base (test): 3 ETH to {ADDRESS}")),
        "{journal}"
    );
    host.stop().await;
}

#[tokio::test]
async fn blocks_come_with_time_at_the_pace_that_is_configured() {
    let host = TestHost::builder().outbound("[chains]\nblock-ms = 10").start().await;
    faucet(&host, "1", &[]).await;
    eventually("the block", async || (balance(&host, "ETH").await == "1").then_some(())).await;
    host.stop().await;
}

#[tokio::test]
async fn a_host_without_blockchains_says_what_brings_them() {
    let host = TestHost::builder().outbound("[chains]\nsimulated = false").start().await;
    assert!(good(&host, &["chain", "list"]).await.contains("simulated = true in [chains]"));
    for line in [&["chain", "mine", "base"][..], &["chain", "balance", "base", ADDRESS]] {
        let said = bad(&host, line).await;
        assert!(said.contains("This host has no blockchains: simulated = true in [chains]"), "{said}");
    }
    assert!(!host.data_dir().join("chains.db").exists());
    host.stop().await;
}
