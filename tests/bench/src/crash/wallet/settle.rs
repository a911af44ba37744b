//! Waits until all transactions have ended, then compares the wallet data with the blockchains and the providers.
//!
//! Tasks that stay pending are retried over the operators' interface, and unfinished transactions are continued. A task
//! that was given up is an error.

use std::{collections::HashSet, sync::Arc, time::Instant};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use super::{
    disturbances,
    inbox::Inbox,
    reconciliation::{Reconciliation, base_units, decimals_of},
    scenario::{WalletScenario, WalletSetup},
};
use crate::{
    crash::{ExternalService, SETTLE_TIMEOUT},
    program::Program,
    wallet::{PROVIDERS, on_chain, text},
    wire::Client,
};

const SETTLE_POLL: std::time::Duration = std::time::Duration::from_millis(200);
/// Prefixes of tasks that may be pending although no transaction is in progress: a daily check, the expiry of a quote,
/// and the expiry of an order without coins.
const IGNORED_TASKS: [&str; 3] = ["gateway-contracts:", "forget-quote:", "deposit-missing:"];

/// Ends the disturbances. Then waits until no task is pending, all transactions have ended, all webhooks have arrived,
/// and the ledger equals the balances on the blockchains.
pub async fn wait_until_settled(
    program: &Program,
    scenario: &WalletScenario,
    inbox: &ExternalService<Inbox>,
) -> anyhow::Result<Reconciliation> {
    disturbances::end(program, &scenario.setups).await?;
    let until = Instant::now() + SETTLE_TIMEOUT;
    let mut seen = HashSet::new();
    loop {
        let pending = retry_pending_tasks(program, &mut seen).await?;
        let reconciliation = Reconciliation::read(&program.database_file()).await?;
        continue_unfinished(program, scenario, &reconciliation).await?;
        let webhooks = inbox.with(|inbox| inbox.accepted())?;
        let mut difference = None;
        if pending.is_empty() && reconciliation.is_settled() && reconciliation.has_all_webhooks(&webhooks) {
            difference = find_difference(program, &scenario.setups).await?;
            if difference.is_none() {
                return Ok(reconciliation);
            }
        }
        if Instant::now() > until {
            let progress = reconciliation.progress();
            bail!("not settled after {SETTLE_TIMEOUT:?}: tasks {pending:?}, difference {difference:?}, {progress}");
        }
        tokio::time::sleep(SETTLE_POLL).await;
    }
}

/// Returns the pending tasks. Retries each task that the previous call found in the same state.
async fn retry_pending_tasks(program: &Program, seen: &mut HashSet<String>) -> anyhow::Result<Vec<Value>> {
    let mut operator = program.operator()?;
    let (mut pending, mut before) = (Vec::new(), std::mem::take(seen));
    for kind in ["timer", "effect"] {
        let given_up = tasks(&mut operator, &format!("kind={kind}&given_up=true")).await?;
        ensure!(given_up.is_empty(), "given up: {given_up:?}");
        for task in tasks(&mut operator, &format!("kind={kind}&limit=1000")).await? {
            let id = text(&task, "id")?;
            if IGNORED_TASKS.iter().any(|name| id.starts_with(name)) {
                continue;
            }
            if before.remove(&task.to_string()) {
                let name =
                    json!({ "kind": kind, "id": id, "plugin": task.get("plugin"), "tenant": task.get("tenant") });
                // The task may have ended meanwhile.
                operator.send("POST", "/v1/tasks/retry", &[], name.to_string().as_bytes()).await?;
            }
            seen.insert(task.to_string());
            pending.push(task);
        }
    }
    Ok(pending)
}

async fn tasks(operator: &mut Client, query: &str) -> anyhow::Result<Vec<Value>> {
    let page = operator.call("GET", &format!("/v1/tasks?{query}"), &Value::Null).await?;
    Ok(page.get("entries").and_then(Value::as_array).context("a page without entries")?.clone())
}

/// Continues each unfinished transaction. Only a swap whose output is below the agreed minimum may be unfinished. The
/// retry accepts the output.
async fn continue_unfinished(
    program: &Program,
    scenario: &WalletScenario,
    reconciliation: &Reconciliation,
) -> anyhow::Result<()> {
    for transaction in reconciliation.transactions.values().filter(|transaction| transaction.is_unfinished()) {
        let is_short_swap =
            transaction.kind() == "SWAP" && transaction.text("/outgoing/way/provider/status") == "success";
        ensure!(is_short_swap, "the result of {transaction:?} is unknown");
        let setup = scenario.setups.iter().find(|setup| setup.wallet.id == transaction.text("/wallet"));
        let setup = setup.with_context(|| format!("{transaction:?} belongs to no wallet"))?;
        let path = setup.wallet.path(&format!("/transactions/{}/retry", transaction.id));
        setup.wallet.caller(program).call("POST", &path, &json!({})).await?;
    }
    Ok(())
}

/// Compares the ledger with the balances on the blockchains. Returns the first difference.
async fn find_difference(program: &Program, setups: &[Arc<WalletSetup>]) -> anyhow::Result<Option<Value>> {
    for setup in setups {
        let mut caller = setup.wallet.caller(program);
        let mut paths = vec![setup.wallet.path("/reconciliation")];
        // An address of an EVM blockchain can be used on all EVM blockchains.
        let others = setups.iter().filter(|other| other.network.is_evm && setup.network.is_evm);
        let mut chains: Vec<&str> = others.map(|other| other.network.blockchain).collect();
        if chains.is_empty() {
            chains.push(setup.network.blockchain);
        }
        for (_, address) in &setup.addresses {
            let path = |chain: &&str| format!("/addresses/{}/reconciliation?blockchain={chain}", address.id);
            paths.extend(chains.iter().map(|chain| setup.wallet.path(&path(chain))));
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

/// Checks that each asset sums to zero, that external addresses have exactly what was paid to them, and that the
/// balance at the gateway's provider equals the sum of the wallets' balances there.
pub async fn check_external_balances(
    program: &Program,
    scenario: &WalletScenario,
    reconciliation: &Reconciliation,
) -> anyhow::Result<()> {
    let mut operator = program.operator()?;
    let ledger = operator.call("GET", "/v1/ledger/check", &Value::Null).await?;
    ensure!(ledger.get("balanced") == Some(&Value::Bool(true)), "{ledger}");
    for (holding, units) in reconciliation.external_holdings() {
        let location = (holding.blockchain.as_str(), holding.address.as_str());
        let amount = on_chain(&mut operator, location, &holding.symbol).await?;
        let balance = base_units(&amount, decimals_of(&holding.blockchain, &holding.symbol)?)?;
        ensure!(balance == units, "{holding:?} has {balance} instead of {units}");
    }
    let path = format!("/{PROVIDERS}/v1/gateway/balance");
    let found = program.client(&scenario.providers_key).call("GET", &path, &Value::Null).await?;
    let balance = base_units(&text(&found, "balance")?, 6)?;
    let total = reconciliation.gateway_total();
    ensure!(balance == total, "the gateway has {balance}, and the wallets {total}");
    Ok(())
}
