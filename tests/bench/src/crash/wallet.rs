//! Wallets under load while the process is killed and the blockchains misbehave: the books are right in the end, no payment went out
//! twice, and every event arrived.
//!
//! Customers order (`customer`, `orders`) at wallets of an account (`scene`) while deposits come and blockchains are disturbed
//! (`weather`); webhooks are judged as they arrive (`mailbox`). What is asked for follows from a seed, when it is interrupted does
//! not. Now and then everything is calmed and comes to `rest`; then the `books` are held against the blockchains.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use std::{collections::BTreeMap, time::Duration};

use anyhow::Context;
use tokio::task::JoinHandle;

use super::{CrashPlan, Outside};
use crate::{
    program::{Program, ProgramPlan},
    wallet,
};
use chance::Chance;
use customer::Customer;
use mailbox::Mailbox;
use scene::Scene;

mod books;
mod chance;
mod customer;
mod mailbox;
mod orders;
mod rest;
mod scene;
mod weather;

const BLOCK_MS: u64 = 20;
/// From one look at the books to the next: for that everything has to come to rest.
const ROUNDS_BETWEEN_BOOKS: usize = 10;
/// How long a transaction may be cancelled: so that some are, and the process dies before some are taken up.
const PROCESS_AFTER_MS: u64 = 30;
/// The variable that says which seed.
const SEED: &str = "TENON_SEED";

#[derive(Clone, Debug, Default)]
pub struct WalletReport {
    pub seed: u64,
    pub rounds: usize,
    /// Requests answered with 2xx.
    pub acknowledged: u64,
    /// Those that were refused: too little money, or too late.
    pub refused: u64,
    /// Sent without an answer, and repeated after the restart.
    pub repeated: u64,
    /// Payments to addresses that nobody here has the key of.
    pub gifts: u64,
    /// Kinds of transactions, and how many came to what.
    pub ends: BTreeMap<String, usize>,
    /// Webhooks, each counted once; and those that came again because of a kill.
    pub delivered: u64,
    pub redelivered: u64,
}

/// The seed that the environment names, or another one.
pub fn seed_or(other: u64) -> u64 {
    std::env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or(other)
}

/// Runs all rounds with `plan.program`, whose plugins do not matter; the first thing that does not hold is the error.
pub async fn run(plan: &CrashPlan, seed: u64) -> anyhow::Result<WalletReport> {
    run_rounds(plan, seed)
        .await
        .with_context(|| format!("with {SEED}={seed} in the environment it is asked the same again"))
}

async fn run_rounds(plan: &CrashPlan, seed: u64) -> anyhow::Result<WalletReport> {
    let mailbox = Outside::open(Mailbox::receive)?;
    let mut program = Program::start(with_wallets(&plan.program)).await?;
    let note_key = |wallet: &wallet::Wallet| mailbox.with(|mailbox| mailbox.note_key(&wallet.id, &wallet.key));
    let scene = Scene::open(&program, &mailbox.url()?, note_key).await?;
    let mut customers = hire(&scene, plan.actors, seed);
    let mut report = WalletReport { seed, ..WalletReport::default() };
    for round in 0..plan.rounds {
        let in_round = || format!("round {round}");
        let after = Chance::of((seed, "kill", round)).between(plan.kill_after_ms);
        let load = Load::start(&program, &scene, &mut customers, (seed, round))?;
        tokio::time::sleep(Duration::from_millis(after)).await;
        let stopped = program.kill()?;
        report.gifts += load.stop(&mut customers).await.with_context(in_round)?;
        mailbox.until_quiet().await;
        mailbox.with(Mailbox::note_kill);
        program = Program::start(stopped).await.with_context(in_round)?;
        for customer in &mut customers {
            customer.finish(&program).await.with_context(in_round)?;
        }
        report.rounds += 1;
        if report.rounds.is_multiple_of(ROUNDS_BETWEEN_BOOKS) || report.rounds == plan.rounds {
            report.ends = close_books(&program, &scene, &mailbox, &customers).await.with_context(in_round)?;
        }
    }
    program.stop().await?;
    for tally in customers.iter().map(|customer| &customer.tally) {
        report.acknowledged += tally.acknowledged;
        report.refused += tally.refused;
        report.repeated += tally.repeated;
    }
    report.redelivered = mailbox.with(|mailbox| mailbox.repeated());
    report.delivered = mailbox.with(|mailbox| mailbox.accepted())?.len() as u64;
    Ok(report)
}

fn with_wallets(program: &ProgramPlan) -> ProgramPlan {
    let mut plugins = wallet::plugins(BLOCK_MS);
    for plugin in plugins.iter_mut().filter(|plugin| plugin.name == wallet::PLUGIN) {
        plugin.more = format!("settings.process-after-ms = {PROCESS_AFTER_MS}\n{}", plugin.more);
    }
    ProgramPlan { plugins, ..program.clone() }
}

fn hire(scene: &Scene, count: usize, seed: u64) -> Vec<Customer> {
    let places = scene.places.iter().cycle().take(count).enumerate();
    places.map(|(number, place)| Customer::new(format!("c{number}"), seed, Arc::clone(place))).collect()
}

/// Customers that order, and what happens to the blockchains meanwhile.
struct Load {
    running: Arc<AtomicBool>,
    ordering: Vec<JoinHandle<(Customer, anyhow::Result<()>)>>,
    blowing: Vec<JoinHandle<u64>>,
}

impl Load {
    fn start(
        program: &Program,
        scene: &Scene,
        customers: &mut Vec<Customer>,
        (seed, round): (u64, usize),
    ) -> anyhow::Result<Load> {
        let running = Arc::new(AtomicBool::new(true));
        let mut blowing = Vec::new();
        for place in &scene.places {
            let chance = Chance::of((seed, "weather", place.facts.blockchain, round));
            let blow = weather::blow(program.operator()?, Arc::clone(place), chance, Arc::clone(&running));
            blowing.push(tokio::spawn(blow));
        }
        let order = |mut customer: Customer| {
            let (caller, running) = (customer.caller(program), Arc::clone(&running));
            tokio::spawn(async move {
                let ended = customer.go_on(caller, running).await;
                (customer, ended)
            })
        };
        let ordering = customers.drain(..).map(order).collect();
        Ok(Load { running, ordering, blowing })
    }

    /// Gives the customers back; how many deposits were made.
    async fn stop(self, customers: &mut Vec<Customer>) -> anyhow::Result<u64> {
        self.running.store(false, Ordering::Relaxed);
        let mut ended = Ok(());
        for one in self.ordering {
            let (customer, its_end) = one.await?;
            customers.push(customer);
            ended = ended.and(its_end);
        }
        let mut gifts = 0;
        for one in self.blowing {
            gifts += one.await?;
        }
        ended.map(|()| gifts)
    }
}

/// Lets everything come to its end, and holds it against what was acknowledged, told, and lies on the blockchains.
async fn close_books(
    program: &Program,
    scene: &Scene,
    mailbox: &Outside<Mailbox>,
    customers: &[Customer],
) -> anyhow::Result<BTreeMap<String, usize>> {
    let books = rest::come_to_rest(program, scene, mailbox).await?;
    let made: Vec<(String, String)> = customers.iter().flat_map(|customer| customer.tally.made.clone()).collect();
    let letters = mailbox.with(|mailbox| mailbox.accepted())?;
    books.check(&made, &letters)?;
    rest::check_outside(program, scene, &books).await?;
    Ok(books.counts())
}
