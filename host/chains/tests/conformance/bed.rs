//! A test bed: a chain, what makes things happen on it, and keys.
//!
//! An adapter that is to conform brings a [`Lab`]; nothing in `conformance` knows which one it is.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use ethnum::U256;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tenon_chains::{
    Chain, NewTransfer, Signed, Submission, Transaction, TransferQuestion, sign_transfer,
    simulated::{Network, Options, Orphans, Simulated, SimulatedChain},
};
use tenon_keyring::{Path, Seed};

/// What a test bed can make happen.
pub trait Lab: Send + Sync {
    /// Coins or tokens out of nothing; they stand in a block when this ends.
    fn fund<'a>(&'a self, address: &'a str, token: Option<&'a str>, amount: U256) -> BoxFuture<'a, ()>;
    /// At least so many blocks more.
    fn mine(&self, blocks: u64) -> BoxFuture<'_, ()>;
    /// The last blocks are replaced; what stood in them waits again, or is gone.
    fn reorganise(&self, depth: u64, drops: bool) -> BoxFuture<'_, ()>;
}

pub struct Bed {
    pub chain: Arc<dyn Chain>,
    pub lab: Arc<dyn Lab>,
    seed: Seed,
}

/// One network of each kind: usual gas, gas of few decimals, and the two other families.
pub const NETWORKS: [&str; 4] = ["base", "tempo", "tron", "solana"];

pub const START_MS: u64 = 1_800_000_000_000;

/// A clock that tests move.
pub type Hands = Arc<AtomicU64>;

pub struct Simulation {
    pub simulated: Simulated,
    pub now_ms: Hands,
    pub folder: TempDir,
}

impl Simulation {
    pub async fn open() -> Simulation {
        let now_ms = Arc::new(AtomicU64::new(START_MS));
        let folder = tempfile::tempdir().unwrap();
        let simulated = open_file(folder.path(), &now_ms).await;
        Simulation { simulated, now_ms, folder }
    }

    pub fn chain(&self, blockchain: &str) -> Arc<SimulatedChain> {
        Arc::clone(self.simulated.find(blockchain, Network::Test).unwrap())
    }

    pub fn bed(&self, blockchain: &str) -> Bed {
        let chain = self.chain(blockchain);
        Bed { chain: chain.clone(), lab: chain_lab(chain), seed: seed() }
    }
}

pub async fn open_file(folder: &std::path::Path, now_ms: &Hands) -> Simulated {
    let hands = Arc::clone(now_ms);
    let clock = Arc::new(move || hands.load(SeqCst));
    Simulated::open(&folder.join("chains.sqlite"), &Options::default(), clock).await.unwrap()
}

pub fn seed() -> Seed {
    Seed::from_bytes(&[7; 64]).unwrap()
}

struct SimulatedLab(Arc<SimulatedChain>);

fn chain_lab(chain: Arc<SimulatedChain>) -> Arc<dyn Lab> {
    Arc::new(SimulatedLab(chain))
}

impl Lab for SimulatedLab {
    fn fund<'a>(&'a self, address: &'a str, token: Option<&'a str>, amount: U256) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let given = self.0.give(address, token, amount).await.unwrap();
            assert!(matches!(given, Submission::Taken { .. }), "{given:?}");
            self.0.mine(1).await.unwrap();
        })
    }

    fn mine(&self, blocks: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.0.mine(blocks).await.unwrap();
        })
    }

    fn reorganise(&self, depth: u64, drops: bool) -> BoxFuture<'_, ()> {
        let orphans = if drops { Orphans::Drop } else { Orphans::Return };
        Box::pin(async move {
            self.0.reorganise(depth, orphans).await.unwrap();
        })
    }
}

/// One that stands by itself on each kind of network.
pub async fn on_each(check: impl AsyncFn(Bed)) {
    let simulation = Simulation::open().await;
    for blockchain in NETWORKS {
        check(simulation.bed(blockchain)).await;
    }
}

impl Bed {
    pub fn path(&self, index: u32) -> Path {
        self.chain.facts().family.path(index).unwrap()
    }

    pub fn address(&self, index: u32) -> String {
        self.chain.facts().family.address(&self.seed, &self.path(index)).unwrap()
    }

    /// One whole coin.
    pub fn coin(&self) -> U256 {
        U256::new(10).pow(self.chain.facts().decimals.into())
    }

    pub fn token(&self) -> Option<String> {
        self.chain.facts().tokens.first().map(|token| token.address.clone())
    }

    /// A signed transfer of key `from`, under the terms of now.
    pub async fn sign(&self, from: u32, to: &str, token: Option<&str>, amount: U256) -> Signed {
        let sequence = self.chain.sequence(&self.address(from)).await.unwrap();
        self.sign_as(from, sequence, NewTransfer { recipient: to, token, amount, sequence }).await
    }

    pub async fn sign_as(&self, from: u32, sequence: u64, wanted: NewTransfer<'_>) -> Signed {
        let terms = self.chain.terms().await.unwrap();
        let wanted = NewTransfer { sequence, ..wanted };
        sign_transfer(self.chain.facts(), &self.seed, &self.path(from), &wanted, &terms).unwrap()
    }

    pub async fn take(&self, signed: &Signed) {
        let taken = self.chain.submit(&signed.raw).await.unwrap();
        assert_eq!(taken, Submission::Taken { hash: signed.hash.clone() }, "{}", self.chain.facts().blockchain);
    }

    /// The sentence with which these bytes are refused as things stand.
    pub async fn refusal(&self, raw: &str) -> String {
        match self.chain.submit(raw).await.unwrap() {
            Submission::Refused { reason } => reason,
            other => panic!("{} says {other:?}", self.chain.facts().blockchain),
        }
    }

    /// The sentence with which these bytes are refused for good.
    pub async fn void(&self, raw: &str) -> String {
        match self.chain.submit(raw).await.unwrap() {
            Submission::Void { reason } => reason,
            other => panic!("{} says {other:?}", self.chain.facts().blockchain),
        }
    }

    pub async fn balance(&self, address: &str, token: Option<&str>) -> U256 {
        self.chain.balance(address, token).await.unwrap()
    }

    pub async fn found(&self, hash: &str) -> Transaction {
        self.chain.find_transaction(hash).await.unwrap().expect("somebody has heard of it")
    }

    /// All transfers there are.
    pub async fn all(&self, recipients: Option<Vec<String>>) -> TransferQuestion {
        let to = self.chain.head().await.unwrap().height;
        TransferQuestion { from: 0, to, recipients, after: None, limit: 1_000 }
    }
}
