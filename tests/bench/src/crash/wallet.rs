//! Wallets under load while the process is killed and the blockchains misbehave: in the end the ledger is correct, no
//! payment was sent twice, and every event arrived.
//!
//! Customers send requests (`customer`, `requests`) to the wallets of an account (`scenario`) while deposits arrive
//! and blockchains are disturbed (`disturbances`). Webhooks are checked as they arrive (`inbox`). At intervals all
//! disturbances end and all transactions settle (`settle`). Then the ledger is compared with the blockchains
//! (`reconciliation`).
//!
//! The operations and the delays before the kills are derived from a seed. A run is not reproducible, because a kill
//! interrupts other requests each time.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::{collections::BTreeMap, time::Duration};

use anyhow::Context;
use tokio::task::JoinHandle;

use super::{CrashPlan, ExternalService};
use crate::{
    program::{Program, ProgramPlan},
    wallet,
};
use customer::Customer;
use inbox::Inbox;
use random::Random;
use scenario::WalletScenario;

mod customer;
mod disturbances;
mod inbox;
mod random;
mod reconciliation;
mod requests;
mod scenario;
mod settle;

const BLOCK_MS: u64 = 20;
/// Rounds between two reconciliations, which require that all transactions settle.
const RECONCILED_EVERY_ROUNDS: usize = 10;
/// Time in which a transaction may be cancelled: long enough that some are cancelled and that some are not yet
/// processed at a kill.
const PROCESS_AFTER_MS: u64 = 30;
/// Environment variable with the seed.
const SEED: &str = "TENON_SEED";

#[derive(Clone, Debug, Default)]
pub struct WalletReport {
    pub seed: u64,
    pub rounds: usize,
    /// Requests answered with 2xx.
    pub acknowledged: u64,
    /// Requests that were refused: balance too low, or too late.
    pub refused: u64,
    /// Requests that were sent without a response and repeated after the restart.
    pub repeated: u64,
    /// Number of deposits.
    pub deposits: u64,
    /// Number of transactions by kind and status.
    pub results: BTreeMap<String, usize>,
    /// Webhooks, each counted once, and webhooks that were delivered again because of a kill.
    pub delivered: u64,
    pub redelivered: u64,
}

/// Returns the seed from the environment, or `default`.
pub fn seed_or(default: u64) -> u64 {
    std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or(default)
}

/// Runs all rounds with `plan.program`, whose plugins are ignored. The first violated invariant is the error.
pub async fn run(plan: &CrashPlan, seed: u64) -> anyhow::Result<WalletReport> {
    run_rounds(plan, seed)
        .await
        .with_context(|| format!("repeat the same requests with {SEED}={seed} in the environment"))
}

async fn run_rounds(plan: &CrashPlan, seed: u64) -> anyhow::Result<WalletReport> {
    let inbox = ExternalService::open(Inbox::receive)?;
    let mut program = Program::start(with_wallets(&plan.program)).await?;
    let add_key = |wallet: &wallet::Wallet| inbox.with(|inbox| inbox.add_key(&wallet.id, &wallet.key));
    let scenario = WalletScenario::open(&program, &inbox.url()?, add_key).await?;
    let mut customers = create_customers(&scenario, plan.actors, seed);
    let mut report = WalletReport { seed, ..WalletReport::default() };
    for round in 0..plan.rounds {
        let in_round = || format!("round {round}");
        let after = Random::from_parts((seed, "kill", round)).between(plan.kill_after_ms);
        let load = Load::start(&program, &scenario, &mut customers, (seed, round))?;
        tokio::time::sleep(Duration::from_millis(after)).await;
        let stopped = program.kill()?;
        report.deposits += load.stop(&mut customers).await.with_context(in_round)?;
        inbox.wait_until_disconnected().await;
        inbox.with(Inbox::record_kill);
        program = Program::start(stopped).await.with_context(in_round)?;
        for customer in &mut customers {
            customer.finish(&program).await.with_context(in_round)?;
        }
        report.rounds += 1;
        if report.rounds.is_multiple_of(RECONCILED_EVERY_ROUNDS) || report.rounds == plan.rounds {
            report.results = reconcile(&program, &scenario, &inbox, &customers).await.with_context(in_round)?;
        }
    }
    program.stop().await?;
    for stats in customers.iter().map(|customer| &customer.stats) {
        report.acknowledged += stats.acknowledged;
        report.refused += stats.refused;
        report.repeated += stats.repeated;
    }
    report.redelivered = inbox.with(|inbox| inbox.repeated());
    report.delivered = inbox.with(|inbox| inbox.accepted())?.len() as u64;
    Ok(report)
}

fn with_wallets(program: &ProgramPlan) -> ProgramPlan {
    let mut plugins = wallet::plugins(BLOCK_MS);
    for plugin in plugins.iter_mut().filter(|plugin| plugin.name == wallet::PLUGIN) {
        plugin.extra_toml = format!("settings.process-after-ms = {PROCESS_AFTER_MS}\n{}", plugin.extra_toml);
    }
    ProgramPlan { plugins, ..program.clone() }
}

fn create_customers(scenario: &WalletScenario, count: usize, seed: u64) -> Vec<Customer> {
    let setups = scenario.setups.iter().cycle().take(count).enumerate();
    setups.map(|(number, setup)| Customer::new(format!("c{number}"), seed, Arc::clone(setup))).collect()
}

/// Running customers and disturbances.
struct Load {
    running: Arc<AtomicBool>,
    customers: Vec<JoinHandle<(Customer, anyhow::Result<()>)>>,
    disturbances: Vec<JoinHandle<u64>>,
}

impl Load {
    fn start(
        program: &Program,
        scenario: &WalletScenario,
        customers: &mut Vec<Customer>,
        (seed, round): (u64, usize),
    ) -> anyhow::Result<Load> {
        let running = Arc::new(AtomicBool::new(true));
        let mut disturbances = Vec::new();
        for setup in &scenario.setups {
            let random = Random::from_parts((seed, "weather", setup.network.blockchain, round));
            let run = disturbances::run(program.operator()?, Arc::clone(setup), random, Arc::clone(&running));
            disturbances.push(tokio::spawn(run));
        }
        let start = |mut customer: Customer| {
            let (caller, running) = (customer.caller(program), Arc::clone(&running));
            tokio::spawn(async move {
                let result = customer.run(caller, running).await;
                (customer, result)
            })
        };
        let customers = customers.drain(..).map(start).collect();
        Ok(Load { running, customers, disturbances })
    }

    /// Stops the load and returns the customers to `customers`. Returns the number of deposits.
    async fn stop(self, customers: &mut Vec<Customer>) -> anyhow::Result<u64> {
        self.running.store(false, Ordering::Relaxed);
        let mut first_error = Ok(());
        for task in self.customers {
            let (customer, result) = task.await?;
            customers.push(customer);
            first_error = first_error.and(result);
        }
        let mut deposits = 0;
        for task in self.disturbances {
            deposits += task.await?;
        }
        first_error.map(|()| deposits)
    }
}

/// Waits until all transactions have settled, and compares them with the acknowledged requests, the webhooks and the
/// blockchains.
async fn reconcile(
    program: &Program,
    scenario: &WalletScenario,
    inbox: &ExternalService<Inbox>,
    customers: &[Customer],
) -> anyhow::Result<BTreeMap<String, usize>> {
    let reconciliation = settle::wait_until_settled(program, scenario, inbox).await?;
    let acknowledged: Vec<(String, String)> =
        customers.iter().flat_map(|customer| customer.stats.transactions.clone()).collect();
    let webhooks = inbox.with(|inbox| inbox.accepted())?;
    reconciliation.check(&acknowledged, &webhooks)?;
    settle::check_external_balances(program, scenario, &reconciliation).await?;
    Ok(reconciliation.counts())
}
