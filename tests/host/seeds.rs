//! Seed commands of operators: list, export and import. Equal words give equal keys, and no file or journal contains
//! the words.

use std::{fs, process::Command};

use serde_json::{Value, json};

use super::{
    command_line::{run_err, run_ok, tenon_binary},
    keys::files_containing,
};
use crate::support::{TestHost, component};

const WORDS: &str = "test test test test test test test test test test test junk";
/// The first Ethereum address that every library derives from those words.
const ADDRESS: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const OF_ACME: [&str; 4] = ["--plugin", "keyholder", "--tenant", "acme/test"];

async fn keyholder() -> TestHost {
    TestHost::builder().plugin("keyholder", component("keyholder"), r#"grants = ["keyring"]"#).start().await
}

async fn address(host: &TestHost, blockchain: &str, index: u32) -> String {
    let acme = host.client("keyholder", "acme").await;
    acme.get(&format!("/v1/accounts/{blockchain}/{index}")).await.expect(200).text_at("/address")
}

/// Runs a command with standard input. Returns exit code, standard output and standard error.
async fn run_with_input(host: &TestHost, line: &[&str], input: &str) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    fs::write(&file, input).unwrap();
    let mut command = Command::new(tenon_binary());
    command.args(line).env("TENON_ADMIN", host.admin_base().trim_start_matches("http://"));
    command.env("TENON_DATA_DIR", host.data_dir()).stdin(fs::File::open(&file).unwrap());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

async fn export(host: &TestHost) -> String {
    let (code, words, warning) = run_with_input(host, &[&["seed", "export"], &OF_ACME[..]].concat(), "").await;
    assert!(code == 0 && warning.contains("These words give access") && !warning.contains(words.trim()), "{warning}");
    words
}

async fn import(host: &TestHost, words: &str) -> (i32, String, String) {
    run_with_input(host, &[&["seed", "import"], &OF_ACME[..]].concat(), words).await
}

#[tokio::test]
async fn exported_words_give_the_same_addresses_on_another_host() {
    let (old, new) = (keyholder().await, keyholder().await);
    let mut before = Vec::new();
    for blockchain in ["base", "tron", "solana"] {
        before.push(address(&old, blockchain, 0).await);
        before.push(address(&old, blockchain, 7).await);
    }
    let words = export(&old).await;
    assert_eq!((words.split_whitespace().count(), words.lines().count()), (24, 1));
    let (code, message, _) = import(&new, &words).await;
    assert!(code == 0 && message.contains("The seed of acme/test for keyholder was imported"), "{message}");
    let mut after = Vec::new();
    for blockchain in ["base", "tron", "solana"] {
        after.push(address(&new, blockchain, 0).await);
        after.push(address(&new, blockchain, 7).await);
    }
    assert_eq!(before, after);
    old.stop().await;
    new.stop().await;
}

#[tokio::test]
async fn imported_seed_gives_standard_addresses() {
    let host = keyholder().await;
    let (code, message, _) = import(&host, &format!("  {}\n", WORDS.replace(' ', "\n"))).await;
    assert_eq!(code, 0, "{message}");
    assert_eq!(address(&host, "ethereum", 0).await, ADDRESS);
    host.stop().await;
}

#[tokio::test]
async fn existing_seed_is_never_replaced() {
    let host = keyholder().await;
    let before = address(&host, "base", 0).await;
    let (code, _, message) = import(&host, WORDS).await;
    assert!(
        code == 1 && message.contains("already has another seed") && message.contains("never replaced"),
        "{message}"
    );
    assert_eq!(address(&host, "base", 0).await, before);
    let (code, message, _) = import(&host, &export(&host).await).await;
    assert!(code == 0 && message.contains("Nothing was changed"), "{message}");
    host.stop().await;
}

#[tokio::test]
async fn invalid_words_are_rejected_without_being_printed() {
    let host = keyholder().await;
    let mistyped = WORDS.replace("junk", "test");
    let long = "zebra ".repeat(1_000);
    for (words, reason) in [
        (mistyped.as_str(), "checksum"),
        ("test test junkyard", "12, 15, 18, 21 or 24 words"),
        ("test test test test test test test test test test test junkyard", "word 12"),
        ("", "Standard input must contain"),
        (&long, "Standard input must contain"),
    ] {
        let (code, output, message) = import(&host, words).await;
        assert!(code == 1 && output.is_empty() && message.contains(reason), "{reason}: {message}");
        for word in ["test test", "junk", "zebra"] {
            assert!(!message.contains(word), "{message}");
        }
    }
    assert!(run_ok(&host, &["seed", "list"]).await.contains("No seeds exist yet"));
    host.stop().await;
}

#[tokio::test]
async fn seed_actions_are_journaled_and_no_file_contains_the_words() {
    let host = keyholder().await;
    assert_eq!(import(&host, WORDS).await.0, 0);
    assert_eq!(export(&host).await, format!("{WORDS}\n"));
    let listed = run_ok(&host, &["seed", "list", "--json"]).await;
    assert_eq!(listed, "[{\"plugin\":\"keyholder\",\"tenant\":\"acme/test\"}]\n");
    let journal = run_ok(&host, &["plugin", "journal", "--json"]).await;
    let lines: Vec<Value> = serde_json::from_str(&journal).unwrap();
    let actions: Vec<_> = lines.iter().map(|line| (&line["action"], &line["plugin"], &line["reasons"])).collect();
    assert_eq!(actions[0].0, "export-seed");
    assert_eq!(actions[1], (&json!("import-seed"), &json!("keyholder"), &json!(["a seed for acme/test was imported"])));
    assert!(!journal.contains("junk"), "{journal}");
    let folder = host.dir.clone();
    host.stop().await;
    assert_eq!(files_containing(folder.path(), "test test"), Vec::<String>::new());
}

#[tokio::test]
async fn unknown_seed_plugin_or_tenant_is_reported() {
    let host = keyholder().await;
    let seed = |verb, plugin, tenant| ["seed", verb, "--plugin", plugin, "--tenant", tenant];
    let message = run_err(&host, &seed("export", "keyholder", "acme/live")).await;
    assert!(
        message.contains("acme/live has no seed for keyholder") && message.contains("tenon seed list"),
        "{message}"
    );
    for tenant in ["acme", "acme/prod", "/test", "acme/test/live", "acme test/test"] {
        let message = run_err(&host, &seed("export", "keyholder", tenant)).await;
        assert!(message.contains("is not a valid tenant") && message.contains("acme/test or acme/live"), "{message}");
    }
    let request = json!({"plugin": "keyhoarder", "tenant": "acme/test", "phrase": WORDS});
    let unknown = host.operator().post("/v1/seeds/import", request).await.expect(404).text();
    assert!(unknown.contains("Known plugins: keyholder.") && !unknown.contains("junk"), "{unknown}");
    host.stop().await;
}
