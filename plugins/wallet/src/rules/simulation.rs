//! A wallet in a seeded world in which blockchains take other turns, results come late, twice or never, and whatever is being
//! done may be forgotten before it is stored. Owns what must hold when everything has come to rest; the world is in `world`.

mod books;
mod node;
mod random;
mod world;

use std::collections::BTreeMap;

use super::books::Account;
use super::outgoing::{Hold, Outgoing, Task};
use super::status::Status;
use world::{World, is_over};

const WORLDS: u64 = 40;
const TURNS: usize = 1_000;

#[test]
fn books_and_blockchains_agree_when_a_hostile_world_comes_to_rest() {
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for seed in 0..WORLDS {
        let world = World::run(seed, TURNS);
        check_rest(&world, seed);
        check_money(&world, seed);
        check_payments(&world, seed);
        for record in world.records.values() {
            *seen.entry((name(&record.task), record.status.name())).or_default() += 1;
        }
        let credited = world.deposits.values().filter(|deposit| deposit.status == Status::Success).count();
        let returned = world.lost - (world.deposits.len() - credited);
        for (what, times) in [("credited", credited), ("lost", world.lost), ("returned", returned)] {
            *seen.entry(("deposit", what)).or_default() += times;
        }
    }
    for task in ["withdraw", "offramp", "swap", "gateway deposit", "gateway withdraw", "sweep", "fund"] {
        for status in ["success", "failed", "incomplete", "cancelled"] {
            assert!(seen.get(&(task, status)).is_some_and(|count| *count > 5), "hardly ever {task} {status}: {seen:?}");
        }
    }
    assert!(["credited", "lost", "returned"].iter().all(|what| seen[&("deposit", *what)] > 10), "{seen:?}");
}

fn name(task: &Task) -> &'static str {
    match task {
        Task::Withdraw { .. } => "withdraw",
        Task::Offramp { .. } => "offramp",
        Task::Swap { .. } => "swap",
        Task::GatewayDeposit { .. } => "gateway deposit",
        Task::GatewayWithdraw { .. } => "gateway withdraw",
        Task::Sweep { .. } => "sweep",
        Task::Fund { .. } => "fund",
        Task::Salvage { .. } => "salvage",
        Task::Broadcast { .. } => "broadcast",
    }
}

/// Nothing waits for ever, and what waits no more holds nothing.
fn check_rest(world: &World, seed: u64) {
    for record in world.records.values() {
        assert!(is_over(record) && record.hold != Hold::Held, "seed {seed}: {record:?}");
    }
    assert!(world.deposits.values().all(|deposit| deposit.status.is_final()), "seed {seed}");
    for ((account, asset), units) in &world.books.balances {
        let is_aside = matches!(account, Account::Held(_) | Account::Pending(_));
        assert!(!is_aside || *units == 0, "seed {seed}: {units} {} in {}", asset.key(), account.name());
    }
}

/// Each asset sums to zero; what the books say that somebody has, the blockchain says too.
fn check_money(world: &World, seed: u64) {
    let mut sums: BTreeMap<String, i128> = BTreeMap::new();
    for ((account, asset), units) in &world.books.balances {
        *sums.entry(asset.key()).or_default() += units;
        if let Account::Available(holder) = account {
            let real = world.node.balance(holder, *asset);
            assert_eq!(*units, real, "seed {seed}: {} of {}", asset.key(), holder.name());
        }
    }
    assert!(sums.values().all(|sum| *sum == 0), "seed {seed}: {sums:?}");
}

/// However often it was retried or resumed: paid at most once, and told exactly once for each that has ended.
fn check_payments(world: &World, seed: u64) {
    let mut paid: BTreeMap<&str, usize> = BTreeMap::new();
    for record in world.records.values().filter(|record| record.status == Status::Success) {
        *paid.entry(root(world, record)).or_default() += 1;
    }
    assert!(paid.values().all(|times| *times == 1), "seed {seed}: {paid:?}");
    assert_eq!(world.node.successes(), paid.len(), "seed {seed}: what went out and what is known to have gone");
    let silent = |record: &&Outgoing| !matches!(record.task, Task::Fund { .. });
    let told = world.events.iter().filter(|name| name.ends_with(".success") && **name != "deposit.success").count();
    let ended = world.records.values().filter(|record| record.status == Status::Success).filter(silent).count();
    assert_eq!(told, ended, "seed {seed}");
}

fn root<'a>(world: &'a World, record: &'a Outgoing) -> &'a str {
    record.continues.as_ref().map_or(&record.id, |old| root(world, &world.records[old]))
}
