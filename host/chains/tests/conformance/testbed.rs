//! A test bed: a chain, its control, and keys.
//!
//! Each adapter under test provides a [`ChainControl`]. `conformance` is independent of the adapter.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use ethnum::U256;
use futures_util::future::BoxFuture;
use tempfile::TempDir;
use tenon_chains::{
    Chain, NewTransfer, Signed, Submission, Transaction, TransferQuery, sign_transfer,
    simulated::{Network, Options, Orphans, Simulated, SimulatedChain},
};
use tenon_keyring::{Path, Seed};

/// Control over the chain of a test bed.
pub trait ChainControl: Send + Sync {
    /// Creates coins or tokens at an address. They are in a block when the future resolves.
    fn fund<'a>(&'a self, address: &'a str, token: Option<&'a str>, amount: U256) -> BoxFuture<'a, ()>;
    /// Adds at least this many blocks.
    fn mine(&self, blocks: u64) -> BoxFuture<'_, ()>;
    /// Replaces the last `depth` blocks. Their transactions are dropped, or wait again.
    fn reorganise(&self, depth: u64, drops: bool) -> BoxFuture<'_, ()>;
}

pub struct Testbed {
    pub chain: Arc<dyn Chain>,
    pub control: Arc<dyn ChainControl>,
    seed: Seed,
}

/// Networks, one of each kind: EVM with 18 decimals, EVM with few decimals, Tron and Solana.
pub const NETWORKS: [&str; 4] = ["base", "tempo", "tron", "solana"];

pub const START_MS: u64 = 1_800_000_000_000;

/// A clock in milliseconds that tests advance.
pub type ManualClock = Arc<AtomicU64>;

pub struct Simulation {
    pub simulated: Simulated,
    pub now_ms: ManualClock,
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

    pub fn testbed(&self, blockchain: &str) -> Testbed {
        let chain = self.chain(blockchain);
        Testbed { chain: chain.clone(), control: chain_control(chain), seed: seed() }
    }
}

pub async fn open_file(folder: &std::path::Path, now_ms: &ManualClock) -> Simulated {
    let clock_ms = Arc::clone(now_ms);
    let clock = Arc::new(move || clock_ms.load(SeqCst));
    Simulated::open(&folder.join("chains.sqlite"), &Options::default(), clock).await.unwrap()
}

pub fn seed() -> Seed {
    Seed::from_bytes(&[7; 64]).unwrap()
}

struct SimulatedControl(Arc<SimulatedChain>);

fn chain_control(chain: Arc<SimulatedChain>) -> Arc<dyn ChainControl> {
    Arc::new(SimulatedControl(chain))
}

impl ChainControl for SimulatedControl {
    fn fund<'a>(&'a self, address: &'a str, token: Option<&'a str>, amount: U256) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let submission = self.0.fund(address, token, amount).await.unwrap();
            assert!(matches!(submission, Submission::Accepted { .. }), "{submission:?}");
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

/// Runs a check on each kind of network.
pub async fn on_each(check: impl AsyncFn(Testbed)) {
    let simulation = Simulation::open().await;
    for blockchain in NETWORKS {
        check(simulation.testbed(blockchain)).await;
    }
}

impl Testbed {
    pub fn path(&self, index: u32) -> Path {
        self.chain.facts().family.path(index).unwrap()
    }

    pub fn address(&self, index: u32) -> String {
        self.chain.facts().family.address(&self.seed, &self.path(index)).unwrap()
    }

    /// Returns one whole coin in base units.
    pub fn coin(&self) -> U256 {
        U256::new(10).pow(self.chain.facts().decimals.into())
    }

    pub fn token(&self) -> Option<String> {
        self.chain.facts().tokens.first().map(|token| token.address.clone())
    }

    /// Signs a transfer of key `from` under the current terms.
    pub async fn sign(&self, from: u32, to: &str, token: Option<&str>, amount: U256) -> Signed {
        let sequence = self.chain.sequence(&self.address(from)).await.unwrap();
        self.sign_as(from, sequence, NewTransfer { recipient: to, token, amount, sequence }).await
    }

    pub async fn sign_as(&self, from: u32, sequence: u64, new_transfer: NewTransfer<'_>) -> Signed {
        let terms = self.chain.terms().await.unwrap();
        let new_transfer = NewTransfer { sequence, ..new_transfer };
        sign_transfer(self.chain.facts(), &self.seed, &self.path(from), &new_transfer, &terms).unwrap()
    }

    pub async fn submit(&self, signed: &Signed) {
        let submission = self.chain.submit(&signed.raw).await.unwrap();
        assert_eq!(submission, Submission::Accepted { hash: signed.hash.clone() }, "{}", self.chain.facts().blockchain);
    }

    /// Submits bytes that must be rejected at present. Returns the reason.
    pub async fn rejection_reason(&self, raw: &str) -> String {
        match self.chain.submit(raw).await.unwrap() {
            Submission::Rejected { reason } => reason,
            other => panic!("{} returned {other:?}", self.chain.facts().blockchain),
        }
    }

    /// Submits bytes that must be permanently invalid. Returns the reason.
    pub async fn invalid_reason(&self, raw: &str) -> String {
        match self.chain.submit(raw).await.unwrap() {
            Submission::Invalid { reason } => reason,
            other => panic!("{} returned {other:?}", self.chain.facts().blockchain),
        }
    }

    pub async fn balance(&self, address: &str, token: Option<&str>) -> U256 {
        self.chain.balance(address, token).await.unwrap()
    }

    pub async fn transaction(&self, hash: &str) -> Transaction {
        self.chain.find_transaction(hash).await.unwrap().expect("the transaction is known")
    }

    /// Returns a query for all transfers.
    pub async fn transfer_query(&self, recipients: Option<Vec<String>>) -> TransferQuery {
        let to = self.chain.head().await.unwrap().height;
        TransferQuery { from: 0, to, recipients, after: None, limit: 1_000 }
    }
}
