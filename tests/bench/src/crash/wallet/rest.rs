//! Waits until nothing is under way any more, and holds what there is then against the blockchains and the providers.
//!
//! What waits for its next attempt is asked to do it now, as an operator may; what somebody has to decide is decided. Nothing is
//! forgiven: a task that was given up is an error.

use std::{collections::HashSet, sync::Arc, time::Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::{
    books::{Books, base_units, decimals_of},
    mailbox::Mailbox,
    scene::{Place, Scene},
    weather,
};
use crate::{
    crash::{Outside, SETTLED_WITHIN},
    program::Program,
    wallet::{PROVIDERS, on_chain, text},
    wire::Client,
};

const LOOK: std::time::Duration = std::time::Duration::from_millis(200);
/// What waits without anything being under way: a look once a day, the end of a quote or of an order that no coins came for.
const PATIENT: [&str; 3] = ["gateway-contracts:", "forget-quote:", "deposit-missing:"];

/// Once everything has come to its end.
pub async fn come_to_rest(program: &Program, scene: &Scene, mailbox: &Outside<Mailbox>) -> anyhow::Result<Books> {
    weather::calm(program, &scene.places).await?;
    let until = Instant::now() + SETTLED_WITHIN;
    let mut seen = HashSet::new();
    loop {
        let waiting = hasten(program, &mut seen).await?;
        let books = Books::read(&program.database_file()).await?;
        resume(program, scene, &books).await?;
        let letters = mailbox.with(|mailbox| mailbox.accepted())?;
        let mut differs = None;
        if waiting.is_empty() && books.is_still() && books.is_told(&letters) {
            differs = reconcile(program, &scene.places).await?;
            if differs.is_none() {
                return Ok(books);
            }
        }
        if Instant::now() > until {
            let words = books.in_words();
            bail!("not at rest after {SETTLED_WITHIN:?}: tasks {waiting:?}, difference {differs:?}, {words}");
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Tasks that wait. Those that were there before in the same state are due now.
async fn hasten(program: &Program, seen: &mut HashSet<String>) -> anyhow::Result<Vec<Value>> {
    let mut operator = program.operator()?;
    let (mut waiting, mut before) = (Vec::new(), std::mem::take(seen));
    for kind in ["timer", "effect"] {
        let given_up = tasks(&mut operator, &format!("kind={kind}&given_up=true")).await?;
        ensure!(given_up.is_empty(), "given up: {given_up:?}");
        for task in tasks(&mut operator, &format!("kind={kind}&limit=1000")).await? {
            let id = text(&task, "id")?;
            if PATIENT.iter().any(|name| id.starts_with(name)) {
                continue;
            }
            if before.remove(&task.to_string()) {
                let name =
                    json!({ "kind": kind, "id": id, "plugin": task.get("plugin"), "tenant": task.get("tenant") });
                // It may have ended meanwhile.
                operator.send("POST", "/v1/tasks/retry", &[], name.to_string().as_bytes()).await?;
            }
            seen.insert(task.to_string());
            waiting.push(task);
        }
    }
    Ok(waiting)
}

async fn tasks(operator: &mut Client, query: &str) -> anyhow::Result<Vec<Value>> {
    let page = operator.call("GET", &format!("/v1/tasks?{query}"), &Value::Null).await?;
    Ok(page.get("entries").and_then(Value::as_array).context("a page without entries")?.clone())
}

/// A swap that has brought less than was agreed to: its customer takes it.
async fn resume(program: &Program, scene: &Scene, books: &Books) -> anyhow::Result<()> {
    for entry in books.entries.values().filter(|entry| entry.is_open()) {
        let is_short = entry.kind() == "SWAP" && entry.text("/outgoing/way/provider/status") == "success";
        ensure!(is_short, "nobody can say what became of {entry:?}");
        let place = scene.places.iter().find(|place| place.wallet.id == entry.text("/wallet"));
        let place = place.with_context(|| format!("{entry:?} is of no wallet"))?;
        let path = place.wallet.path(&format!("/transactions/{}/retry", entry.id));
        place.wallet.caller(program).call("POST", &path, &json!({})).await?;
    }
    Ok(())
}

/// Whether the ledger has what lies on the blockchains; the first difference.
async fn reconcile(program: &Program, places: &[Arc<Place>]) -> anyhow::Result<Option<Value>> {
    for place in places {
        let mut caller = place.wallet.caller(program);
        let mut paths = vec![place.wallet.path("/reconciliation")];
        // One of an EVM blockchain can be used on all of them.
        let others = places.iter().filter(|other| other.facts.is_evm && place.facts.is_evm);
        let mut chains: Vec<&str> = others.map(|other| other.facts.blockchain).collect();
        if chains.is_empty() {
            chains.push(place.facts.blockchain);
        }
        for (_, address) in &place.addresses {
            let path = |chain: &&str| format!("/addresses/{}/reconciliation?blockchain={chain}", address.id);
            paths.extend(chains.iter().map(|chain| place.wallet.path(&path(chain))));
        }
        for path in paths {
            let compared = caller.get(&path).await?;
            if compared.get("matches") != Some(&Value::Bool(true)) {
                return Ok(Some(compared));
            }
        }
    }
    Ok(None)
}

/// That each asset sums to zero, that strangers have what was paid to them and no more, and that the gateway's provider has what
/// the wallets have there.
pub async fn check_outside(program: &Program, scene: &Scene, books: &Books) -> anyhow::Result<()> {
    let mut operator = program.operator()?;
    let ledger = operator.call("GET", "/v1/ledger/check", &Value::Null).await?;
    ensure!(ledger.get("balanced") == Some(&Value::Bool(true)), "{ledger}");
    for (stranger, units) in books.strangers() {
        let place = (stranger.blockchain.as_str(), stranger.address.as_str());
        let amount = on_chain(&mut operator, place, &stranger.symbol).await?;
        let there = base_units(&amount, decimals_of(&stranger.blockchain, &stranger.symbol)?)?;
        ensure!(there == units, "{stranger:?} has {there}, and should have {units}");
    }
    let path = format!("/{PROVIDERS}/v1/gateway/balance");
    let found = program.client(&scene.providers_key).call("GET", &path, &Value::Null).await?;
    let pool = base_units(&text(&found, "balance")?, 6)?;
    ensure!(pool == books.pool(), "the gateway has {pool}, and the wallets {}", books.pool());
    Ok(())
}
