//! Seeds of tenants, as operators list, take and bring them: the same words are the same keys, and stand nowhere else.

use std::{fs, process::Command};

use serde_json::{Value, json};

use super::{
    commands::{bad, good},
    keys::files_with,
    starting::tenon,
};
use crate::support::{TestHost, component};

const WORDS: &str = "test test test test test test test test test test test junk";
/// What every library derives from those words.
const ADDRESS: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const OF_ACME: [&str; 4] = ["--plugin", "keyholder", "--tenant", "acme/test"];

async fn keyholder() -> TestHost {
    TestHost::builder().plugin("keyholder", component("keyholder"), r#"grants = ["keyring"]"#).start().await
}

async fn address(host: &TestHost, blockchain: &str, index: u32) -> String {
    let acme = host.client("keyholder", "acme").await;
    acme.get(&format!("/v1/accounts/{blockchain}/{index}")).await.expect(200).text_at("/address")
}

/// What an operator types, with something on standard input: exit code, standard output, standard error.
async fn type_in(host: &TestHost, line: &[&str], input: &str) -> (i32, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("input");
    fs::write(&file, input).unwrap();
    let mut command = Command::new(tenon());
    command.args(line).env("TENON_ADMIN", host.admin_base().trim_start_matches("http://"));
    command.env("TENON_DATA_DIR", host.data_dir()).stdin(fs::File::open(&file).unwrap());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

async fn export(host: &TestHost) -> String {
    let (code, words, warning) = type_in(host, &[&["seed", "export"], &OF_ACME[..]].concat(), "").await;
    assert!(code == 0 && warning.contains("Whoever has these words") && !warning.contains(words.trim()), "{warning}");
    words
}

async fn import(host: &TestHost, words: &str) -> (i32, String, String) {
    type_in(host, &[&["seed", "import"], &OF_ACME[..]].concat(), words).await
}

#[tokio::test]
async fn the_words_of_a_seed_bring_the_same_addresses_to_a_new_host() {
    let (old, new) = (keyholder().await, keyholder().await);
    let mut before = Vec::new();
    for blockchain in ["base", "tron", "solana"] {
        before.push(address(&old, blockchain, 0).await);
        before.push(address(&old, blockchain, 7).await);
    }
    let words = export(&old).await;
    assert_eq!((words.split_whitespace().count(), words.lines().count()), (24, 1));
    let (code, said, _) = import(&new, &words).await;
    assert!(code == 0 && said.contains("acme/test has this seed for keyholder from now on"), "{said}");
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
async fn a_seed_from_elsewhere_gives_the_addresses_that_it_gives_there() {
    let host = keyholder().await;
    let (code, said, _) = import(&host, &format!("  {}\n", WORDS.replace(' ', "\n"))).await;
    assert_eq!(code, 0, "{said}");
    assert_eq!(address(&host, "ethereum", 0).await, ADDRESS);
    host.stop().await;
}

#[tokio::test]
async fn a_tenant_that_has_a_seed_keeps_it() {
    let host = keyholder().await;
    let before = address(&host, "base", 0).await;
    let (code, _, said) = import(&host, WORDS).await;
    assert!(code == 1 && said.contains("has a seed already") && said.contains("never replaced"), "{said}");
    assert_eq!(address(&host, "base", 0).await, before);
    let (code, said, _) = import(&host, &export(&host).await).await;
    assert!(code == 0 && said.contains("nothing was changed"), "{said}");
    host.stop().await;
}

#[tokio::test]
async fn words_that_are_no_seed_are_refused_without_being_repeated() {
    let host = keyholder().await;
    let mistyped = WORDS.replace("junk", "test");
    let long = "zebra ".repeat(1_000);
    for (words, wrong) in [
        (mistyped.as_str(), "checksum"),
        ("test test junkyard", "12, 15, 18, 21 or 24 words"),
        ("test test test test test test test test test test test junkyard", "word 12"),
        ("", "Standard input holds no seed"),
        (&long, "Standard input holds no seed"),
    ] {
        let (code, out, said) = import(&host, words).await;
        assert!(code == 1 && out.is_empty() && said.contains(wrong), "{wrong}: {said}");
        for word in ["test test", "junk", "zebra"] {
            assert!(!said.contains(word), "{said}");
        }
    }
    assert!(good(&host, &["seed", "list"]).await.contains("Nobody has a seed yet"));
    host.stop().await;
}

#[tokio::test]
async fn what_operators_do_with_seeds_is_in_their_journal_and_the_words_are_nowhere() {
    let host = keyholder().await;
    assert_eq!(import(&host, WORDS).await.0, 0);
    assert_eq!(export(&host).await, format!("{WORDS}\n"));
    let listed = good(&host, &["seed", "list", "--json"]).await;
    assert_eq!(listed, "[{\"plugin\":\"keyholder\",\"tenant\":\"acme/test\"}]\n");
    let journal = good(&host, &["plugin", "journal", "--json"]).await;
    let lines: Vec<Value> = serde_json::from_str(&journal).unwrap();
    let about: Vec<_> = lines.iter().map(|line| (&line["action"], &line["plugin"], &line["reasons"])).collect();
    assert_eq!(about[0].0, "export-seed");
    assert_eq!(about[1], (&json!("import-seed"), &json!("keyholder"), &json!(["a seed for acme/test was brought"])));
    assert!(!journal.contains("junk"), "{journal}");
    let folder = host.dir.clone();
    host.stop().await;
    assert_eq!(files_with(folder.path(), "test test"), Vec::<String>::new());
}

#[tokio::test]
async fn who_has_no_seed_or_is_no_tenant_is_told_so() {
    let host = keyholder().await;
    let seed = |verb, plugin, tenant| ["seed", verb, "--plugin", plugin, "--tenant", tenant];
    let said = bad(&host, &seed("export", "keyholder", "acme/live")).await;
    assert!(said.contains("acme/live has no seed for keyholder") && said.contains("tenon seed list"), "{said}");
    for tenant in ["acme", "acme/prod", "/test", "acme/test/live", "acme test/test"] {
        let said = bad(&host, &seed("export", "keyholder", tenant)).await;
        assert!(said.contains("is no tenant") && said.contains("acme/test or acme/live"), "{said}");
    }
    let wish = json!({"plugin": "keyhoarder", "tenant": "acme/test", "phrase": WORDS});
    let unknown = host.operator().post("/v1/seeds/import", wish).await.expect(404).text();
    assert!(unknown.contains("There are: keyholder.") && !unknown.contains("junk"), "{unknown}");
    host.stop().await;
}
