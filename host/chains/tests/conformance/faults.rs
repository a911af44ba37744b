//! Features of simulated networks only: the faucet, injected faults, persistence.

use std::sync::atomic::Ordering::SeqCst;

use ethnum::U256;
use tenon_chains::{
    Chain, ChainError, FaucetRequest, NewTransfer, State, Submission,
    simulated::{Faults, Network, Outage},
};

use crate::testbed::{Simulation, open_file};

fn request(key: &str, address: String, amount: U256) -> FaucetRequest {
    FaucetRequest { key: key.to_owned(), address, token: None, amount }
}

#[tokio::test]
async fn faucet_grants_each_key_once_up_to_its_maximum() {
    let simulation = Simulation::open().await;
    let testbed = simulation.testbed("base");
    let address = testbed.address(3);
    let first = testbed.chain.request_coins(&request("a", address.clone(), testbed.coin())).await.unwrap();
    assert_eq!(testbed.chain.request_coins(&request("a", address.clone(), testbed.coin())).await.unwrap(), first);
    testbed.control.mine(1).await;
    assert_eq!(testbed.balance(&address, None).await, testbed.coin());
    for amount in [U256::ZERO, testbed.coin() * 1_000 + 1, U256::MAX] {
        let submission = testbed.chain.request_coins(&request("b", address.clone(), amount)).await.unwrap();
        assert!(matches!(submission, Submission::Rejected { .. }));
    }
    let live = simulation.simulated.find("base", Network::Main).unwrap();
    assert_eq!(live.request_coins(&request("a", address, testbed.coin())).await, Err(ChainError::NoFaucet));
}

#[tokio::test]
async fn fail_next_fails_one_transaction() {
    let simulation = Simulation::open().await;
    for blockchain in crate::testbed::NETWORKS {
        let (testbed, chain) = (simulation.testbed(blockchain), simulation.chain(blockchain));
        testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
        chain.set_faults(Faults { fail_next: 1, ..Faults::default() });
        for (expected, sequence) in [(State::Failed, 0), (State::Done, 1)] {
            let (to, amount) = (testbed.address(1), testbed.coin() / 8);
            let new_transfer = NewTransfer { recipient: &to, token: None, amount, sequence };
            let signed = testbed.sign_as(0, sequence, new_transfer).await;
            testbed.submit(&signed).await;
            testbed.control.mine(1).await;
            assert_eq!(testbed.transaction(&signed.hash).await.state, expected);
        }
        assert_eq!(testbed.balance(&testbed.address(1), None).await, testbed.coin() / 8);
    }
}

#[tokio::test]
async fn stuck_transaction_and_its_successors_wait_until_release() {
    let simulation = Simulation::open().await;
    let (testbed, chain) = (simulation.testbed("base"), simulation.chain("base"));
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    let to = testbed.address(1);
    let new_transfer = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence: 0 };
    for sequence in [0, 1] {
        testbed.submit(&testbed.sign_as(0, sequence, new_transfer).await).await;
    }
    testbed.control.mine(100).await;
    assert_eq!(testbed.balance(&to, None).await, U256::ZERO);
    assert_eq!(chain.release().await, Ok(1));
    testbed.control.mine(1).await;
    assert_eq!(testbed.balance(&to, None).await, U256::new(2));
}

#[tokio::test]
async fn transactions_above_a_sequence_gap_wait_until_it_is_filled() {
    let simulation = Simulation::open().await;
    let testbed = simulation.testbed("base");
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    let to = testbed.address(1);
    let new_transfer = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence: 0 };
    for (sequence, arrived) in [(2, 0), (1, 0), (0, 3)] {
        testbed.submit(&testbed.sign_as(0, sequence, new_transfer).await).await;
        testbed.control.mine(2).await;
        assert_eq!(testbed.balance(&to, None).await, U256::new(arrived));
    }
    let used = testbed.sign_as(0, 1, NewTransfer { amount: U256::new(7), ..new_transfer }).await;
    assert!(testbed.invalid_reason(&used.raw).await.contains("used"));
}

#[tokio::test]
async fn higher_price_replaces_a_waiting_transaction_with_the_same_sequence() {
    let simulation = Simulation::open().await;
    let (testbed, chain) = (simulation.testbed("base"), simulation.chain("base"));
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    let to = testbed.address(1);
    let new_transfer = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence: 0 };
    let stuck = testbed.sign_as(0, 0, new_transfer).await;
    testbed.submit(&stuck).await;
    let same_price = testbed.sign_as(0, 0, NewTransfer { amount: U256::new(5), ..new_transfer }).await;
    assert!(testbed.rejection_reason(&same_price.raw).await.contains("a tenth more"));
    let mut terms = testbed.chain.terms().await.unwrap();
    terms.price *= 2;
    terms.coin_fee *= 2;
    terms.anchor = "200000000".to_owned();
    let path = testbed.path(0);
    let new_transfer = NewTransfer { amount: U256::new(9), ..new_transfer };
    let quicker =
        tenon_chains::sign_transfer(testbed.chain.facts(), &crate::testbed::seed(), &path, &new_transfer, &terms)
            .unwrap();
    testbed.submit(&quicker).await;
    testbed.control.mine(1).await;
    assert_eq!(testbed.transaction(&quicker.hash).await.state, State::Done);
    assert_eq!(testbed.chain.find_transaction(&stuck.hash).await.unwrap(), None);
    assert_eq!(testbed.balance(&to, None).await, U256::new(9));
}

#[tokio::test]
async fn outage_times_out_whether_or_not_the_submission_is_accepted() {
    let simulation = Simulation::open().await;
    let (testbed, chain) = (simulation.testbed("tron"), simulation.chain("tron"));
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
    for (outage, is_known) in [(Outage::RequestsLost, false), (Outage::ResponsesLost, true)] {
        chain.set_faults(Faults { outage, ..Faults::default() });
        assert_eq!(testbed.chain.submit(&signed.raw).await, Err(ChainError::Timeout));
        assert_eq!(testbed.chain.head().await, Err(ChainError::Timeout));
        chain.set_faults(Faults::default());
        assert_eq!(testbed.chain.find_transaction(&signed.hash).await.unwrap().is_some(), is_known);
    }
}

#[tokio::test]
async fn slow_node_delays_queries() {
    let simulation = Simulation::open().await;
    let chain = simulation.chain("base");
    chain.set_faults(Faults { slow_ms: 3_000, ..Faults::default() });
    tokio::time::pause();
    let before = tokio::time::Instant::now();
    chain.head().await.unwrap();
    assert!(before.elapsed().as_millis() >= 3_000);
}

#[tokio::test]
async fn height_grows_with_time_and_never_decreases() {
    let simulation = Simulation::open().await;
    let testbed = simulation.testbed("base");
    assert_eq!(testbed.chain.head().await.unwrap().height, 0);
    simulation.now_ms.fetch_add(1_000, SeqCst);
    assert_eq!(testbed.chain.head().await.unwrap().height, 4);
    simulation.now_ms.fetch_sub(500, SeqCst);
    assert_eq!(testbed.chain.head().await.unwrap().height, 4);
    testbed.control.mine(3).await;
    assert_eq!(testbed.chain.head().await.unwrap().height, 7);
}

#[tokio::test]
async fn state_survives_a_restart() {
    let simulation = Simulation::open().await;
    let testbed = simulation.testbed("solana");
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
    testbed.submit(&signed).await;
    testbed.control.reorganise(1, false).await;
    let head = testbed.chain.head().await.unwrap();
    // The first instance is not closed: every returned result is already in the file.
    let again = open_file(simulation.folder.path(), &simulation.now_ms).await;
    let chain = again.find("solana", Network::Test).unwrap();
    assert_eq!(chain.head().await.unwrap(), head);
    assert_eq!(chain.find_transaction(&signed.hash).await.unwrap().unwrap().state, State::Waiting);
    chain.mine(1).await.unwrap();
    assert_eq!(chain.balance(&testbed.address(1), None).await.unwrap(), testbed.coin() / 8);
}

#[tokio::test]
async fn tron_transaction_expires_while_stuck_and_not_in_a_block() {
    let simulation = Simulation::open().await;
    let (testbed, chain) = (simulation.testbed("tron"), simulation.chain("tron"));
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    let included = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
    testbed.submit(&included).await;
    let stuck = testbed.sign(0, &testbed.address(2), None, testbed.coin() / 8).await;
    simulation.now_ms.fetch_add(50 * 60 * 1_000, SeqCst);
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    testbed.submit(&stuck).await;
    simulation.now_ms.fetch_add(2 * 60 * 60 * 1_000, SeqCst);
    assert_eq!(testbed.chain.find_transaction(&stuck.hash).await.unwrap(), None);
    assert!(testbed.invalid_reason(&stuck.raw).await.contains("expired"));
    testbed.submit(&included).await;
    assert_eq!(testbed.transaction(&included.hash).await.state, State::Done);
}

#[tokio::test]
async fn stuck_solana_transaction_expires_with_its_anchor_block() {
    let simulation = Simulation::open().await;
    let (testbed, chain) = (simulation.testbed("solana"), simulation.chain("solana"));
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
    chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    testbed.submit(&signed).await;
    testbed.control.mine(65_000).await;
    testbed.submit(&signed).await;
    testbed.control.mine(1_000).await;
    assert_eq!(testbed.chain.find_transaction(&signed.hash).await.unwrap(), None);
    assert!(testbed.invalid_reason(&signed.raw).await.contains("expired"));
}

#[tokio::test]
async fn changed_resolves_when_time_fills_a_block() {
    let simulation = Simulation::open().await;
    let testbed = simulation.testbed("base");
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    let signed = testbed.sign(0, &testbed.address(1), None, testbed.coin() / 8).await;
    testbed.submit(&signed).await;
    let changed = testbed.chain.changed();
    simulation.now_ms.fetch_add(250, SeqCst);
    changed.await;
    assert_eq!(testbed.transaction(&signed.hash).await.state, State::Done);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_submissions_are_each_included_once() {
    const COUNT: u64 = 300;
    let simulation = Simulation::open().await;
    let testbed = simulation.testbed("base");
    testbed.control.fund(&testbed.address(0), None, testbed.coin()).await;
    let to = testbed.address(1);
    let mut all = Vec::new();
    for sequence in 0..COUNT {
        let new_transfer = NewTransfer { recipient: &to, token: None, amount: U256::ONE, sequence };
        all.push(testbed.sign_as(0, sequence, new_transfer).await);
    }
    let submitted = all.iter().map(|signed| testbed.submit(signed));
    futures_util::future::join_all(submitted).await;
    testbed.control.mine(1).await;
    assert_eq!(testbed.balance(&to, None).await, U256::from(COUNT));
    assert_eq!(testbed.chain.sequence(&testbed.address(0)).await.unwrap(), COUNT);
}
