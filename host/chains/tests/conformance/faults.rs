//! What only simulated networks do: the faucet, faults on demand, and outliving their process.

use std::sync::atomic::Ordering::SeqCst;

use ethnum::U256;
use tenon_chains::{
    Chain, ChainError, NewTransfer, State, Submission, Wish,
    simulated::{Faults, Network, Silence},
};

use crate::bed::{Simulation, open_file};

fn wish(key: &str, address: String, amount: U256) -> Wish {
    Wish { key: key.to_owned(), address, token: None, amount }
}

#[tokio::test]
async fn the_faucet_gives_once_for_each_wish_and_not_too_much() {
    let simulation = Simulation::open().await;
    let bed = simulation.bed("base");
    let address = bed.address(3);
    let first = bed.chain.request_coins(&wish("a", address.clone(), bed.coin())).await.unwrap();
    assert_eq!(bed.chain.request_coins(&wish("a", address.clone(), bed.coin())).await.unwrap(), first);
    bed.lab.mine(1).await;
    assert_eq!(bed.balance(&address, None).await, bed.coin());
    for amount in [U256::ZERO, bed.coin() * 1_000 + 1, U256::MAX] {
        let refused = bed.chain.request_coins(&wish("b", address.clone(), amount)).await.unwrap();
        assert!(matches!(refused, Submission::Refused { .. }));
    }
    let live = simulation.simulated.find("base", Network::Main).unwrap();
    assert_eq!(live.request_coins(&wish("a", address, bed.coin())).await, Err(ChainError::NoFaucet));
}

#[tokio::test]
async fn a_transaction_fails_on_demand_and_the_next_one_does_not() {
    let simulation = Simulation::open().await;
    for blockchain in crate::bed::NETWORKS {
        let (bed, chain) = (simulation.bed(blockchain), simulation.chain(blockchain));
        bed.lab.fund(&bed.address(0), None, bed.coin()).await;
        chain.set_faults(Faults { fail_next: 1, ..Faults::default() });
        for (expected, sequence) in [(State::Failed, 0), (State::Done, 1)] {
            let (to, amount) = (bed.address(1), bed.coin() / 8);
            let wanted = NewTransfer { recipient: &to, token: None, amount, sequence };
            let signed = bed.sign_as(0, sequence, wanted).await;
            bed.take(&signed).await;
            bed.lab.mine(1).await;
            assert_eq!(bed.found(&signed.hash).await.state, expected);
        }
        assert_eq!(bed.balance(&bed.address(1), None).await, bed.coin() / 8);
    }
}

#[tokio::test]
async fn a_stuck_transaction_waits_until_it_is_released_and_others_behind_it() {
    let simulation = Simulation::open().await;
    let (bed, chain) = (simulation.bed("base"), simulation.chain("base"));
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    let to = bed.address(1);
    let wanted = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence: 0 };
    for sequence in [0, 1] {
        bed.take(&bed.sign_as(0, sequence, wanted).await).await;
    }
    bed.lab.mine(100).await;
    assert_eq!(bed.balance(&to, None).await, U256::ZERO);
    assert_eq!(chain.release().await, Ok(1));
    bed.lab.mine(1).await;
    assert_eq!(bed.balance(&to, None).await, U256::new(2));
}

#[tokio::test]
async fn a_gap_waits_for_what_fills_it() {
    let simulation = Simulation::open().await;
    let bed = simulation.bed("base");
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    let to = bed.address(1);
    let wanted = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence: 0 };
    for (sequence, arrived) in [(2, 0), (1, 0), (0, 3)] {
        bed.take(&bed.sign_as(0, sequence, wanted).await).await;
        bed.lab.mine(2).await;
        assert_eq!(bed.balance(&to, None).await, U256::new(arrived));
    }
    let used = bed.sign_as(0, 1, NewTransfer { amount: U256::new(7), ..wanted }).await;
    assert!(bed.void(&used.raw).await.contains("used"));
}

#[tokio::test]
async fn who_offers_more_replaces_what_waits_at_its_sequence() {
    let simulation = Simulation::open().await;
    let (bed, chain) = (simulation.bed("base"), simulation.chain("base"));
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    let to = bed.address(1);
    let wanted = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence: 0 };
    let stuck = bed.sign_as(0, 0, wanted).await;
    bed.take(&stuck).await;
    let same_price = bed.sign_as(0, 0, NewTransfer { amount: U256::new(5), ..wanted }).await;
    assert!(bed.refusal(&same_price.raw).await.contains("a tenth more"));
    let mut terms = bed.chain.terms().await.unwrap();
    terms.price *= 2;
    terms.coin_fee *= 2;
    terms.anchor = "200000000".to_owned();
    let path = bed.path(0);
    let wanted = NewTransfer { amount: U256::new(9), ..wanted };
    let quicker = tenon_chains::sign_transfer(bed.chain.facts(), &crate::bed::seed(), &path, &wanted, &terms).unwrap();
    bed.take(&quicker).await;
    bed.lab.mine(1).await;
    assert_eq!(bed.found(&quicker.hash).await.state, State::Done);
    assert_eq!(bed.chain.find_transaction(&stuck.hash).await.unwrap(), None);
    assert_eq!(bed.balance(&to, None).await, U256::new(9));
}

#[tokio::test]
async fn a_silent_node_may_have_taken_the_bytes_or_not() {
    let simulation = Simulation::open().await;
    let (bed, chain) = (simulation.bed("tron"), simulation.chain("tron"));
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
    for (silence, is_known) in [(Silence::Lost, false), (Silence::Taken, true)] {
        chain.set_faults(Faults { silence, ..Faults::default() });
        assert_eq!(bed.chain.submit(&signed.raw).await, Err(ChainError::Timeout));
        assert_eq!(bed.chain.head().await, Err(ChainError::Timeout));
        chain.set_faults(Faults::default());
        assert_eq!(bed.chain.find_transaction(&signed.hash).await.unwrap().is_some(), is_known);
    }
}

#[tokio::test]
async fn a_slow_node_takes_its_time() {
    let simulation = Simulation::open().await;
    let chain = simulation.chain("base");
    chain.set_faults(Faults { slow_ms: 3_000, ..Faults::default() });
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    chain.head().await.unwrap();
    assert!(before.elapsed().as_millis() >= 3_000);
}

#[tokio::test]
async fn blocks_come_with_the_time_and_never_go_with_it() {
    let simulation = Simulation::open().await;
    let bed = simulation.bed("base");
    assert_eq!(bed.chain.head().await.unwrap().height, 0);
    simulation.now_ms.fetch_add(1_000, SeqCst);
    assert_eq!(bed.chain.head().await.unwrap().height, 4);
    simulation.now_ms.fetch_sub(500, SeqCst);
    assert_eq!(bed.chain.head().await.unwrap().height, 4);
    bed.lab.mine(3).await;
    assert_eq!(bed.chain.head().await.unwrap().height, 7);
}

#[tokio::test]
async fn everything_outlives_the_process() {
    let simulation = Simulation::open().await;
    let bed = simulation.bed("solana");
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
    bed.take(&signed).await;
    bed.lab.reorganise(1, false).await;
    let head = bed.chain.head().await.unwrap();
    // Not closed: what was answered is in the file.
    let again = open_file(simulation.folder.path(), &simulation.now_ms).await;
    let chain = again.find("solana", Network::Test).unwrap();
    assert_eq!(chain.head().await.unwrap(), head);
    assert_eq!(chain.find_transaction(&signed.hash).await.unwrap().unwrap().state, State::Waiting);
    chain.mine(1).await.unwrap();
    assert_eq!(chain.balance(&bed.address(1), None).await.unwrap(), bed.coin() / 8);
}

#[tokio::test]
async fn a_transaction_of_tron_that_is_stuck_expires_for_good_and_one_in_a_block_does_not() {
    let simulation = Simulation::open().await;
    let (bed, chain) = (simulation.bed("tron"), simulation.chain("tron"));
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    let standing = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
    bed.take(&standing).await;
    let stuck = bed.sign(0, &bed.address(2), None, bed.coin() / 8).await;
    simulation.now_ms.fetch_add(50 * 60 * 1_000, SeqCst);
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    bed.take(&stuck).await;
    simulation.now_ms.fetch_add(2 * 60 * 60 * 1_000, SeqCst);
    assert_eq!(bed.chain.find_transaction(&stuck.hash).await.unwrap(), None);
    assert!(bed.void(&stuck.raw).await.contains("expired"));
    bed.take(&standing).await;
    assert_eq!(bed.found(&standing.hash).await.state, State::Done);
}

#[tokio::test]
async fn a_transaction_of_solana_that_is_stuck_expires_for_good_with_its_block() {
    let simulation = Simulation::open().await;
    let (bed, chain) = (simulation.bed("solana"), simulation.chain("solana"));
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    bed.take(&signed).await;
    bed.lab.mine(65_000).await;
    bed.take(&signed).await;
    bed.lab.mine(1_000).await;
    assert_eq!(bed.chain.find_transaction(&signed.hash).await.unwrap(), None);
    assert!(bed.void(&signed.raw).await.contains("expired"));
}

#[tokio::test]
async fn who_waits_hears_of_a_block_that_comes_with_the_time() {
    let simulation = Simulation::open().await;
    let bed = simulation.bed("base");
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    let signed = bed.sign(0, &bed.address(1), None, bed.coin() / 8).await;
    bed.take(&signed).await;
    let changed = bed.chain.changed();
    simulation.now_ms.fetch_add(250, SeqCst);
    changed.await;
    assert_eq!(bed.found(&signed.hash).await.state, State::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_are_all_taken_and_stand_once() {
    const COUNT: u64 = 300;
    let simulation = Simulation::open().await;
    let bed = simulation.bed("base");
    bed.lab.fund(&bed.address(0), None, bed.coin()).await;
    let to = bed.address(1);
    let mut all = Vec::new();
    for sequence in 0..COUNT {
        let wanted = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence };
        all.push(bed.sign_as(0, sequence, wanted).await);
    }
    let submitted = all.iter().map(|signed| bed.take(signed));
    futures_util::future::join_all(submitted).await;
    bed.lab.mine(1).await;
    assert_eq!(bed.balance(&to, None).await, U256::from(COUNT));
    assert_eq!(bed.chain.sequence(&bed.address(0)).await.unwrap(), COUNT);
}
