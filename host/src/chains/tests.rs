//! End-to-end tests of watching simulated networks: blocks, lost transactions, and the payloads of plugin tasks.

use std::{sync::Arc, time::Duration};

use ethnum::U256;
use serde_json::Value;
use tenon_chains::{
    Chain, NewTransfer, Signed, Submission, sign_transfer,
    simulated::{Faults, Network, Options, Orphans, Simulated, SimulatedChain},
};
use tenon_keyring::Seed;
use tokio::{
    sync::{broadcast, watch},
    time::timeout,
};

use super::{ChainWatchers, Chains, NetworkKind, Parts};
use crate::changes::host_collections::TASKS;
use crate::{
    changes::chain::{ChainNote, Following},
    clock::Clock,
    commit::{committer::CommitNotification, testing::Bench},
};

const HOUR_MS: u64 = 60 * 60 * 1_000;
const BLOCK_MS: u64 = 250;

/// A simulated network with a plugin that follows transactions on it.
struct Fixture {
    bench: Bench,
    clock: Clock,
    chain: Arc<SimulatedChain>,
    _simulated: Simulated,
    seed: Seed,
    watching: ChainWatchers,
    notifications: broadcast::Receiver<Arc<CommitNotification>>,
    stop: watch::Sender<bool>,
}

impl Fixture {
    async fn open(blockchain: &str) -> Fixture {
        let bench = Bench::open().await;
        let clock = Clock::manual(1_800_000_000_000);
        let time = clock.clone();
        let file = bench.folder.path().join("chains.db");
        let simulated =
            Simulated::open(&file, &Options::default(), Arc::new(move || time.now())).await.expect("a file of chains");
        let chain = Arc::clone(simulated.find(blockchain, Network::Test).expect("a network"));
        let network: Arc<dyn Chain> = chain.clone();
        let parts = Parts {
            chains: Chains::new([(NetworkKind::Test, network)]),
            database: bench.database.clone(),
            committer: bench.committer.clone(),
            clock: clock.clone(),
        };
        let (stop, stopped) = watch::channel(false);
        let notifications = bench.committer.subscribe();
        let watching = ChainWatchers::start(parts, stopped).await.unwrap();
        let seed = Seed::from_bytes(&[7; 64]).unwrap();
        let fixture = Fixture { bench, clock, chain, _simulated: simulated, seed, watching, notifications, stop };
        fixture.chain.fund(&fixture.address(0), None, fixture.coin()).await.unwrap();
        fixture.chain.mine(10).await.unwrap();
        fixture
    }

    fn coin(&self) -> U256 {
        U256::new(10).pow(self.chain.facts().decimals.into())
    }

    fn address(&self, index: u32) -> String {
        let family = self.chain.facts().family;
        family.address(&self.seed, &family.path(index).unwrap()).unwrap()
    }

    /// Signs a transfer of the first key with sequence 0.
    async fn sign(&self, recipient: u32) -> Signed {
        let (terms, to) = (self.chain.terms().await.unwrap(), self.address(recipient));
        let transfer = NewTransfer { recipient: &to, token: None, amount: self.coin() / 8, sequence: 0 };
        let path = self.chain.facts().family.path(0).unwrap();
        sign_transfer(self.chain.facts(), &self.seed, &path, &transfer, &terms).unwrap()
    }

    async fn submit(&self, signed: &Signed) {
        let submission = self.chain.submit(&signed.raw).await.unwrap();
        assert!(matches!(submission, Submission::Accepted { .. }), "{submission:?}");
    }

    async fn follow(&self, signed: &Signed, confirmations: u32) {
        let note = ChainNote::Following(Following {
            blockchain: self.chain.facts().blockchain.clone(),
            hash: signed.hash.clone(),
            confirmations,
            then: "ended".into(),
            key: "k".into(),
            context: r#"{"of":"mine"}"#.into(),
            raw: Some(signed.raw.clone()),
        });
        self.bench.run(async |draft| draft.put_chain_note(&note).await.map(|_| ())).await.unwrap();
    }

    /// Returns the payload of the plugin's next task, or `None` if there is none within this many blocks.
    async fn next_payload(&mut self, blocks: u64) -> Option<Value> {
        for _ in 0..blocks {
            self.clock.advance(BLOCK_MS);
            // Gives the watcher time to poll before the next block.
            if let Ok(payload) = timeout(Duration::from_millis(60), next_task(&mut self.notifications)).await {
                return Some(payload);
            }
        }
        None
    }

    async fn stop(self) {
        self.stop.send(true).unwrap();
        self.watching.stop().await;
    }
}

async fn next_task(notifications: &mut broadcast::Receiver<Arc<CommitNotification>>) -> Value {
    loop {
        let notification = notifications.recv().await.unwrap();
        let CommitNotification::Durable(outgoing) = &*notification else {
            panic!("the outcome of a commit is not known")
        };
        let task = outgoing.host_records.iter().find(|record| &*record.collection == TASKS);
        if let Some(body) = task.and_then(|task| task.body.as_deref()) {
            return serde_json::from_str::<Value>(body).unwrap()["payload"].clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_that_expires_while_stuck_is_reported_as_dropped_once() {
    let mut fixture = Fixture::open("tron").await;
    let signed = fixture.sign(1).await;
    fixture.chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    fixture.submit(&signed).await;
    fixture.follow(&signed, 3).await;
    assert_eq!(fixture.next_payload(3).await, None, "it waits");
    fixture.clock.advance(3 * HOUR_MS);
    let payload = fixture.next_payload(200).await.expect("a payload");
    assert_eq!((&payload["state"], &payload["hash"]), (&"dropped".into(), &signed.hash.clone().into()), "{payload}");
    assert_eq!((&payload["block"], &payload["confirmations"], &payload["fee"]), (&Value::Null, &0.into(), &"0".into()));
    assert_eq!((&payload["movements"], &payload["context"]["of"]), (&Value::Array(vec![]), &"mine".into()));
    assert!(payload["reason"].as_str().unwrap().contains("expired"), "{payload}");
    assert_eq!(fixture.next_payload(8).await, None, "once");
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_revived_by_a_reorganisation_is_reported_as_done() {
    let mut fixture = Fixture::open("base").await;
    let (first, late) = (fixture.sign(1).await, fixture.sign(2).await);
    fixture.submit(&first).await;
    fixture.chain.mine(2).await.unwrap();
    fixture.follow(&late, 20).await;
    assert_eq!(fixture.next_payload(10).await, None, "fewer blocks than confirmations");
    fixture.chain.reorganise(30, Orphans::Drop).await.unwrap();
    fixture.chain.fund(&fixture.address(0), None, fixture.coin()).await.unwrap();
    let payload = fixture.next_payload(200).await.expect("a payload");
    assert_eq!((&payload["state"], &payload["hash"]), (&"done".into(), &late.hash.clone().into()), "{payload}");
    assert!(payload.get("reason").is_none());
    fixture.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_without_coins_is_followed_until_it_is_funded_and_included() {
    let mut fixture = Fixture::open("base").await;
    let late = fixture.sign(2).await;
    // Drops the blocks that funded the sender, so that it has no coins.
    fixture.chain.reorganise(30, Orphans::Drop).await.unwrap();
    fixture.follow(&late, 2).await;
    assert_eq!(fixture.next_payload(40).await, None, "rejected at present");
    fixture.chain.fund(&fixture.address(0), None, fixture.coin()).await.unwrap();
    let payload = fixture.next_payload(200).await.expect("a payload");
    assert_eq!(payload["state"], "done", "{payload}");
    fixture.stop().await;
}
