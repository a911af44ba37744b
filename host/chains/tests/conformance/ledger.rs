//! Thousands of random steps: what the faucet gave is held or burnt, after each of them, and every transaction counts once.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering::SeqCst},
};

use ethnum::U256;
use tenon_chains::{
    Chain, Facts, NewTransfer, Signed, State, TransferQuestion,
    simulated::{Faults, Orphans, SimulatedChain},
};

use crate::bed::{Bed, NETWORKS, Simulation};

const STEPS: u32 = 700;
const KEYS: u64 = 5;

/// The same numbers in every run (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

struct Story {
    simulation: Simulation,
    bed: Bed,
    chain: Arc<SimulatedChain>,
    dice: Dice,
    sent: Vec<Signed>,
    salt: u64,
}

#[tokio::test]
async fn what_was_given_is_held_or_burnt_after_every_step() {
    // Beside each other: most of the time is waiting for files.
    futures_util::future::join_all(NETWORKS.into_iter().zip(1..).map(tell)).await;
}

async fn tell((blockchain, seed): (&str, u64)) {
    let simulation = Simulation::open().await;
    let (bed, chain) = (simulation.bed(blockchain), simulation.chain(blockchain));
    let mut story = Story { simulation, bed, chain, dice: Dice(seed), sent: Vec::new(), salt: 0 };
    for step in 0..STEPS {
        story.step().await;
        story.check_sums(step).await;
        if step % 50 == 0 {
            story.check_movements().await;
        }
    }
    let states = story.check_movements().await;
    assert!(states.0 > 60 && states.1 > 10, "{blockchain}: {states:?}: too little happened to show anything");
}

impl Story {
    async fn step(&mut self) {
        match self.dice.roll(20) {
            0 | 1 => self.fund().await,
            2..=10 => self.transfer().await,
            11 => self.send_again().await,
            12..=14 => {
                let later_ms = self.dice.roll(900);
                self.simulation.now_ms.fetch_add(later_ms, SeqCst);
            }
            15 => {
                self.chain.mine(self.dice.roll(4)).await.unwrap();
            }
            16 => {
                let orphans = if self.dice.roll(3) == 0 { Orphans::Drop } else { Orphans::Return };
                self.chain.reorganise(self.dice.roll(8), orphans).await.unwrap();
            }
            17 => self.chain.set_faults(Faults { fail_next: 1, ..Faults::default() }),
            18 if self.dice.roll(3) == 0 => self.chain.set_faults(Faults { stick_next: 1, ..Faults::default() }),
            _ => {
                self.chain.release().await.unwrap();
            }
        }
    }

    fn facts(&self) -> &Facts {
        self.chain.facts()
    }

    fn token(&mut self) -> Option<String> {
        // Few of them, so that who pays often has some.
        let tokens = self.chain.facts().tokens.get(..1).unwrap_or_default();
        let at = self.dice.roll(tokens.len() as u64 + 1) as usize;
        tokens.get(at).map(|token| token.address.clone())
    }

    fn key(&mut self) -> u32 {
        self.dice.roll(KEYS) as u32
    }

    async fn fund(&mut self) {
        let (key, token) = (self.key(), self.token());
        let amount = if token.is_some() { U256::new(1_000) } else { self.bed.coin() * 30 };
        self.chain.give(&self.bed.address(key), token.as_deref(), amount).await.unwrap();
    }

    /// Some are refused, some fail, some wait for a gap: whatever a node makes of them.
    async fn transfer(&mut self) {
        let (from, to, token) = (self.key(), self.key(), self.token());
        let amount = match token {
            Some(_) => U256::from(self.dice.roll(1_500) + 1),
            None => self.bed.coin() / 10 * U256::from(self.dice.roll(120) + 1),
        };
        self.salt += 1;
        let next = self.bed.chain.sequence(&self.bed.address(from)).await.unwrap();
        // Where sequences are counted, near the next one; elsewhere they only tell transfers apart.
        let sequence = if self.facts().chain_id == 0 { self.salt } else { next + self.dice.roll(3) };
        let recipient = self.bed.address(to);
        let wanted = NewTransfer { recipient: &recipient, token: token.as_deref(), amount, sequence };
        let signed = self.bed.sign_as(from, sequence, wanted).await;
        self.bed.chain.submit(&signed.raw).await.unwrap();
        self.sent.push(signed);
    }

    async fn send_again(&mut self) {
        let at = self.dice.roll(self.sent.len() as u64 + 1) as usize;
        if let Some(signed) = self.sent.get(at) {
            self.bed.chain.submit(&signed.raw).await.unwrap();
        }
    }

    async fn check_sums(&self, step: u32) {
        for (token, total) in self.chain.totals().await.unwrap() {
            assert_eq!(total.held + total.burnt, total.given, "{} {token:?} step {step}", self.facts().blockchain);
        }
    }

    /// Every balance is what arrived, less what left and what was burnt. Returns how many are done and failed.
    async fn check_movements(&self) -> (usize, usize) {
        let mut sums: BTreeMap<(String, Option<String>), (U256, U256)> = BTreeMap::new();
        let mut places = BTreeSet::new();
        for transfer in self.all_transfers().await {
            assert!(places.insert(transfer.place), "a place is told twice");
            let movement = transfer.movement;
            let token = movement.token;
            sums.entry((movement.recipient, token.clone())).or_default().0 += movement.amount;
            sums.entry((movement.sender, token)).or_default().1 += movement.amount;
        }
        let (mut done, mut failed) = (BTreeSet::new(), BTreeSet::new());
        let hashes: Vec<String> = self.sent.iter().map(|signed| signed.hash.clone()).collect();
        for found in self.bed.chain.find_transactions(&hashes).await.unwrap().into_iter().flatten() {
            let set = if found.state == State::Failed { &mut failed } else { &mut done };
            if found.state != State::Waiting && set.insert(found.hash) {
                sums.entry((found.sender, None)).or_default().1 += found.fee;
            }
        }
        for key in 0..KEYS as u32 {
            let address = self.bed.address(key);
            let tokens = self.facts().tokens.iter().map(|token| Some(token.address.clone()));
            for token in tokens.chain([None]) {
                let (came, went) = sums.remove(&(address.clone(), token.clone())).unwrap_or_default();
                assert_eq!(self.bed.balance(&address, token.as_deref()).await, came - went);
            }
        }
        (done.len(), failed.len())
    }

    async fn all_transfers(&self) -> Vec<tenon_chains::Transfer> {
        let mut question = TransferQuestion { limit: 97, ..self.bed.all(None).await };
        let mut all = Vec::new();
        loop {
            let page = self.bed.chain.transfers(&question).await.unwrap();
            all.extend(page.transfers);
            question.after = page.next;
            if question.after.is_none() {
                return all;
            }
        }
    }
}
