//! Thousands of random steps. After each of them all issued amounts are held or burnt, and every transaction counts
//! once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering::SeqCst},
};

use ethnum::U256;
use tenon_chains::{
    Chain, Facts, NewTransfer, Signed, State, TransferQuery,
    simulated::{Faults, Orphans, SimulatedChain},
};

use crate::testbed::{NETWORKS, Simulation, Testbed};

const STEPS: u32 = 700;
const KEYS: u64 = 5;

/// A deterministic random number generator (splitmix64).
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

struct RandomRun {
    simulation: Simulation,
    testbed: Testbed,
    chain: Arc<SimulatedChain>,
    rng: SplitMix,
    sent: Vec<Signed>,
    salt: u64,
}

#[tokio::test]
async fn issued_amounts_are_held_or_burnt_after_every_step() {
    // Concurrently, since most of the time is spent on file I/O.
    futures_util::future::join_all(NETWORKS.into_iter().zip(1..).map(run_on)).await;
}

async fn run_on((blockchain, seed): (&str, u64)) {
    let simulation = Simulation::open().await;
    let (testbed, chain) = (simulation.testbed(blockchain), simulation.chain(blockchain));
    let mut run = RandomRun { simulation, testbed, chain, rng: SplitMix(seed), sent: Vec::new(), salt: 0 };
    for step in 0..STEPS {
        run.step().await;
        run.check_sums(step).await;
        if step % 50 == 0 {
            run.check_movements().await;
        }
    }
    let states = run.check_movements().await;
    assert!(states.0 > 60 && states.1 > 10, "{blockchain}: {states:?}: too few transactions for a meaningful test");
}

impl RandomRun {
    async fn step(&mut self) {
        match self.rng.below(20) {
            0 | 1 => self.fund().await,
            2..=10 => self.transfer().await,
            11 => self.send_again().await,
            12..=14 => {
                let later_ms = self.rng.below(900);
                self.simulation.now_ms.fetch_add(later_ms, SeqCst);
            }
            15 => {
                self.chain.mine(self.rng.below(4)).await.unwrap();
            }
            16 => {
                let orphans = if self.rng.below(3) == 0 { Orphans::Drop } else { Orphans::Return };
                self.chain.reorganise(self.rng.below(8), orphans).await.unwrap();
            }
            17 => self.chain.set_faults(Faults { fail_next: 1, ..Faults::default() }),
            18 if self.rng.below(3) == 0 => self.chain.set_faults(Faults { stick_next: 1, ..Faults::default() }),
            _ => {
                self.chain.release().await.unwrap();
            }
        }
    }

    fn facts(&self) -> &Facts {
        self.chain.facts()
    }

    fn token(&mut self) -> Option<String> {
        // At most one token, so that senders often have a balance.
        let tokens = self.chain.facts().tokens.get(..1).unwrap_or_default();
        let at = self.rng.below(tokens.len() as u64 + 1) as usize;
        tokens.get(at).map(|token| token.address.clone())
    }

    fn key(&mut self) -> u32 {
        self.rng.below(KEYS) as u32
    }

    async fn fund(&mut self) {
        let (key, token) = (self.key(), self.token());
        let amount = if token.is_some() { U256::new(1_000) } else { self.testbed.coin() * 30 };
        self.chain.fund(&self.testbed.address(key), token.as_deref(), amount).await.unwrap();
    }

    /// Submits a random transfer. It may be rejected, fail, or wait for a sequence gap.
    async fn transfer(&mut self) {
        let (from, to, token) = (self.key(), self.key(), self.token());
        let amount = match token {
            Some(_) => U256::from(self.rng.below(1_500) + 1),
            None => self.testbed.coin() / 10 * U256::from(self.rng.below(120) + 1),
        };
        self.salt += 1;
        let next = self.testbed.chain.sequence(&self.testbed.address(from)).await.unwrap();
        // Near the next sequence if the network counts sequences. Otherwise it only distinguishes transfers.
        let sequence = if self.facts().chain_id == 0 { self.salt } else { next + self.rng.below(3) };
        let recipient = self.testbed.address(to);
        let new_transfer = NewTransfer { recipient: &recipient, token: token.as_deref(), amount, sequence };
        let signed = self.testbed.sign_as(from, sequence, new_transfer).await;
        self.testbed.chain.submit(&signed.raw).await.unwrap();
        self.sent.push(signed);
    }

    async fn send_again(&mut self) {
        let at = self.rng.below(self.sent.len() as u64 + 1) as usize;
        if let Some(signed) = self.sent.get(at) {
            self.testbed.chain.submit(&signed.raw).await.unwrap();
        }
    }

    async fn check_sums(&self, step: u32) {
        for (token, total) in self.chain.totals().await.unwrap() {
            assert_eq!(total.held + total.burnt, total.issued, "{} {token:?} step {step}", self.facts().blockchain);
        }
    }

    /// Checks that every balance equals its incoming less its outgoing amounts and fees. Returns the number of done and
    /// of failed transactions.
    async fn check_movements(&self) -> (usize, usize) {
        let mut sums: BTreeMap<(String, Option<String>), (U256, U256)> = BTreeMap::new();
        let mut positions = BTreeSet::new();
        for transfer in self.all_transfers().await {
            assert!(positions.insert(transfer.position), "a position is returned twice");
            let movement = transfer.movement;
            let token = movement.token;
            sums.entry((movement.recipient, token.clone())).or_default().0 += movement.amount;
            sums.entry((movement.sender, token)).or_default().1 += movement.amount;
        }
        let (mut done, mut failed) = (BTreeSet::new(), BTreeSet::new());
        let hashes: Vec<String> = self.sent.iter().map(|signed| signed.hash.clone()).collect();
        for found in self.testbed.chain.find_transactions(&hashes).await.unwrap().into_iter().flatten() {
            let set = if found.state == State::Failed { &mut failed } else { &mut done };
            if found.state != State::Waiting && set.insert(found.hash) {
                sums.entry((found.sender, None)).or_default().1 += found.fee;
            }
        }
        for key in 0..KEYS as u32 {
            let address = self.testbed.address(key);
            let tokens = self.facts().tokens.iter().map(|token| Some(token.address.clone()));
            for token in tokens.chain([None]) {
                let (incoming, outgoing) = sums.remove(&(address.clone(), token.clone())).unwrap_or_default();
                assert_eq!(self.testbed.balance(&address, token.as_deref()).await, incoming - outgoing);
            }
        }
        (done.len(), failed.len())
    }

    async fn all_transfers(&self) -> Vec<tenon_chains::Transfer> {
        let mut query = TransferQuery { limit: 97, ..self.testbed.transfer_query(None).await };
        let mut all = Vec::new();
        loop {
            let page = self.testbed.chain.transfers(&query).await.unwrap();
            all.extend(page.transfers);
            query.after = page.next;
            if query.after.is_none() {
                return all;
            }
        }
    }
}
