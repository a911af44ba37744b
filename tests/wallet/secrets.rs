//! Where seeds and keys must not be: in files, logs and webhooks, and in the memory of the process a second after a signature.
//!
//! The program runs as a process of its own; its memory is read as a debugger would. Which secrets it has is asked of it after that.
#![cfg(target_os = "linux")]

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Write,
    os::unix::fs::FileExt,
    path::Path,
    time::Duration,
};

use serde_json::{Value, json};
use tenon_bench::{
    program::{PluginSection, Program, ProgramPlan, sibling_binary},
    wallet::GRANTS,
};
use tenon_keyring::{Family, SeedPhrase};

use crate::support::{ReceiverResponse, TestClient, TestReceiver, component, eventually};

const PAGE: usize = 4_096;
const ZEROES: [u8; PAGE] = [0; PAGE];
/// Bytes of a secret that are looked for together.
const PIECE: usize = 16;

async fn call(program: &Program, key: &str, method: &str, path: &str, body: Value) -> Value {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    TestClient::new(&format!("http://{}", program.public), None).send(method, path, &headers, body).await.json()
}

/// A wallet that has signed a message and sent a transaction.
async fn use_keys(program: &Program, account: &str, receiver: &TestReceiver, blockchain: &str) {
    let body = json!({"blockchain": blockchain, "webhook_url": receiver.url()});
    let made = call(program, account, "POST", "/v1/wallets", body).await;
    let text = |name: &str| made["data"][name].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
    let (id, key, address) = (text("wallet_id"), text("api_key"), text("address"));
    let signed =
        call(program, &key, "POST", &format!("/v1/wallets/{id}/signing/message"), json!({"message": "hello"})).await;
    assert_eq!(signed["statusCode"], 200, "{signed}");
    let assets = call(program, &key, "GET", &format!("/v1/wallets/{id}/assets"), Value::Null).await;
    let coin = assets["data"].as_array().unwrap().iter().find(|it| it["asset"]["isNative"] == true).unwrap();
    let body = json!({"asset_id": coin["id"], "amount": "0.5", "destination_address": address_of_somebody(blockchain)});
    let path = format!("/v1/wallets/{id}/withdraw");
    let sent = eventually("a withdrawal that is accepted", async || {
        let sent = call(program, &key, "POST", &path, body.clone()).await;
        sent["data"]["id"].as_str().map(str::to_owned)
    });
    let sent = sent.await;
    eventually(&format!("the end of a withdrawal from {address}"), async || {
        let found = call(program, &key, "GET", &format!("/v1/wallets/{id}/transactions/{sent}"), Value::Null).await;
        (found["data"]["status"] == "SUCCESS").then_some(())
    })
    .await;
}

fn address_of_somebody(blockchain: &str) -> &'static str {
    if blockchain == "solana" { "oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96" } else { super::stage::OUTSIDE }
}

/// What the process could write, one region after the other.
fn dump(process: u32, into: &Path) {
    let memory = File::open(format!("/proc/{process}/mem")).expect("the memory of a child");
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).expect("its regions");
    let mut dump = File::create(into).expect("a file");
    let mut part = vec![0; 1 << 20];
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw"))) {
        let (from, to) = line.split(' ').next().and_then(|range| range.split_once('-')).expect("a range");
        let [mut at, to] = [from, to].map(|digits| u64::from_str_radix(digits, 16).expect("an address"));
        while at < to {
            let length = usize::try_from(to - at).unwrap().min(part.len());
            // Some regions (devices, guards) cannot be read.
            let Ok(read @ 1..) = memory.read_at(&mut part[..length], at) else { break };
            // Most of it was never touched.
            for page in part[..read].chunks(PAGE).filter(|page| **page != ZEROES[..page.len()]) {
                dump.write_all(page).expect("room for the dump");
            }
            at += read as u64;
        }
    }
}

/// With the name of the secret that each belongs to.
fn pieces(phrase: &SeedPhrase) -> Vec<([u8; PIECE], &'static str)> {
    let seed = phrase.seed("");
    let mut secrets: Vec<(&'static str, Vec<u8>)> = vec![
        ("entropy", phrase.entropy().to_vec()),
        ("seed", seed.expose().to_vec()),
        ("phrase", phrase.expose().as_bytes().to_vec()),
    ];
    for index in 0..4 {
        for (family, bytes, text) in
            [(Family::Evm, "EVM key", "EVM key as text"), (Family::Solana, "Solana key", "Solana key as text")]
        {
            let shown = family.show_private_key(&seed, &family.path(index).unwrap()).unwrap();
            let digits = shown.trim_start_matches("0x");
            secrets.push((text, digits.as_bytes().to_vec()));
            if family == Family::Evm {
                secrets.push((bytes, hex::decode(digits).unwrap()));
            }
        }
    }
    let piece = |(name, secret): &(&'static str, Vec<u8>)| {
        let name = *name;
        secret.chunks_exact(PIECE).map(move |part| (part.try_into().unwrap(), name)).collect::<Vec<_>>()
    };
    secrets.iter().flat_map(piece).collect()
}

fn found_in(bytes: &[u8], pieces: &[([u8; PIECE], &'static str)]) -> BTreeSet<&'static str> {
    // By the first two bytes, so that almost every place is passed over at once.
    let mut begins = vec![false; 1 << 16];
    let begin = |bytes: &[u8]| usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
    pieces.iter().for_each(|(piece, _)| begins[begin(piece)] = true);
    let places = bytes.windows(PIECE).filter(|window| begins[begin(window)]);
    places.flat_map(|window| pieces.iter().filter(move |(piece, _)| window == piece)).map(|(_, name)| *name).collect()
}

fn files_below(folder: &Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() { files_below(&entry.path(), found) } else { found.push(entry.path()) }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seeds_and_keys_are_in_no_file_no_webhook_and_not_in_memory_after_a_signature() {
    let folder = tempfile::tempdir().unwrap();
    let mut wallet = PluginSection::new("wallet", &component("wallet"), &GRANTS);
    wallet.extra_toml = "[plugins.wallet.settings]\nscreening = \"off\"".to_owned();
    let binary = sibling_binary("tenon").expect("build tenon first");
    let plan = ProgramPlan { binary, folder: folder.path().join("run"), plugins: vec![wallet] };
    let program = Program::start(plan).await.unwrap();
    let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
    let account = program.create_key("wallet", "acme").unwrap();
    for blockchain in ["base", "solana"] {
        use_keys(&program, &account, &receiver, blockchain).await;
    }
    // The issue's own measure: a second after the last signature.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let dumped = folder.path().join("memory");
    dump(program.process_id(), &dumped);

    let phrase = program.command(&["seed", "export", "--plugin", "wallet", "--tenant", "acme/test"]).unwrap();
    let pieces = pieces(&SeedPhrase::parse(phrase.trim()).expect("a phrase"));
    assert!(!found_in(phrase.as_bytes(), &pieces).is_empty(), "the search finds what is there");
    let memory = fs::read(&dumped).unwrap();
    assert!(memory.len() > 10 << 20, "the memory was read: {} bytes", memory.len());
    assert_eq!(found_in(&memory, &pieces), BTreeSet::new(), "in memory");
    program.stop().await.unwrap();
    let mut files = Vec::new();
    files_below(&folder.path().join("run"), &mut files);
    for file in &files {
        assert_eq!(found_in(&fs::read(file).unwrap(), &pieces), BTreeSet::new(), "in {}", file.display());
    }
    assert!(
        files.iter().any(|file| file.ends_with("tenon.db")) && files.iter().any(|file| file.ends_with("tenon.log"))
    );
    for arrived in receiver.received() {
        assert_eq!(found_in(&arrived.body, &pieces), BTreeSet::new(), "in a webhook");
    }
}
