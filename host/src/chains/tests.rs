//! The watching of simulated networks, whole: blocks come, transactions get lost, a plugin's task says what became of them.

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

use super::{Chains, Parts, Side, Watching};
use crate::changes::host_collections::TASKS;
use crate::{
    changes::chain::{ChainNote, Following},
    clock::Clock,
    commit::{committer::News, testing::Bench},
};

const HOUR_MS: u64 = 60 * 60 * 1_000;
const BLOCK_MS: u64 = 250;

/// One network with a plugin that follows what happens on it.
struct Scene {
    bench: Bench,
    clock: Clock,
    chain: Arc<SimulatedChain>,
    _simulated: Simulated,
    seed: Seed,
    watching: Watching,
    news: broadcast::Receiver<Arc<News>>,
    stop: watch::Sender<bool>,
}

impl Scene {
    async fn open(blockchain: &str) -> Scene {
        let bench = Bench::open().await;
        let clock = Clock::manual(1_800_000_000_000);
        let time = clock.clone();
        let file = bench.folder.path().join("chains.db");
        let simulated =
            Simulated::open(&file, &Options::default(), Arc::new(move || time.now())).await.expect("a file of chains");
        let chain = Arc::clone(simulated.find(blockchain, Network::Test).expect("a network"));
        let network: Arc<dyn Chain> = chain.clone();
        let parts = Parts {
            chains: Chains::new([(Side::Test, network)]),
            database: bench.database.clone(),
            committer: bench.committer.clone(),
            clock: clock.clone(),
        };
        let (stop, stopped) = watch::channel(false);
        let news = bench.committer.follow();
        let watching = Watching::start(parts, stopped).await.unwrap();
        let seed = Seed::from_bytes(&[7; 64]).unwrap();
        let scene = Scene { bench, clock, chain, _simulated: simulated, seed, watching, news, stop };
        scene.chain.give(&scene.address(0), None, scene.coin()).await.unwrap();
        scene.chain.mine(10).await.unwrap();
        scene
    }

    fn coin(&self) -> U256 {
        U256::new(10).pow(self.chain.facts().decimals.into())
    }

    fn address(&self, index: u32) -> String {
        let family = self.chain.facts().family;
        family.address(&self.seed, &family.path(index).unwrap()).unwrap()
    }

    /// A transfer of the first key's first sequence.
    async fn sign(&self, recipient: u32) -> Signed {
        let (terms, to) = (self.chain.terms().await.unwrap(), self.address(recipient));
        let wanted = NewTransfer { recipient: &to, token: None, amount: self.coin() / 8, sequence: 0 };
        let path = self.chain.facts().family.path(0).unwrap();
        sign_transfer(self.chain.facts(), &self.seed, &path, &wanted, &terms).unwrap()
    }

    async fn take(&self, signed: &Signed) {
        let said = self.chain.submit(&signed.raw).await.unwrap();
        assert!(matches!(said, Submission::Taken { .. }), "{said:?}");
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

    /// What the plugin is told, within so many blocks.
    async fn told(&mut self, blocks: u64) -> Option<Value> {
        for _ in 0..blocks {
            self.clock.advance(BLOCK_MS);
            // A block comes when the one before was looked at, on any machine but a very slow one.
            if let Ok(told) = timeout(Duration::from_millis(60), next_task(&mut self.news)).await {
                return Some(told);
            }
        }
        None
    }

    async fn stop(self) {
        self.stop.send(true).unwrap();
        self.watching.stop().await;
    }
}

async fn next_task(news: &mut broadcast::Receiver<Arc<News>>) -> Value {
    loop {
        let heard = news.recv().await.unwrap();
        let News::Durable(outgoing) = &*heard else { panic!("the outcome of a commit is not known") };
        let task = outgoing.host_records.iter().find(|record| &*record.collection == TASKS);
        if let Some(body) = task.and_then(|task| task.body.as_deref()) {
            return serde_json::from_str::<Value>(body).unwrap()["payload"].clone();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expires_while_it_is_stuck_is_told_as_dropped_and_only_once() {
    let mut scene = Scene::open("tron").await;
    let signed = scene.sign(1).await;
    scene.chain.set_faults(Faults { stick_next: 1, ..Faults::default() });
    scene.take(&signed).await;
    scene.follow(&signed, 3).await;
    assert_eq!(scene.told(3).await, None, "it waits");
    scene.clock.advance(3 * HOUR_MS);
    let told = scene.told(200).await.expect("it is told");
    assert_eq!((&told["state"], &told["hash"]), (&"dropped".into(), &signed.hash.clone().into()), "{told}");
    assert_eq!((&told["block"], &told["confirmations"], &told["fee"]), (&Value::Null, &0.into(), &"0".into()));
    assert_eq!((&told["movements"], &told["context"]["of"]), (&Value::Array(vec![]), &"mine".into()));
    assert!(told["reason"].as_str().unwrap().contains("expired"), "{told}");
    assert_eq!(scene.told(8).await, None, "once");
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_transaction_overtook_comes_back_with_a_reorganisation_and_is_told_as_done() {
    let mut scene = Scene::open("base").await;
    let (first, late) = (scene.sign(1).await, scene.sign(2).await);
    scene.take(&first).await;
    scene.chain.mine(2).await.unwrap();
    scene.follow(&late, 20).await;
    assert_eq!(scene.told(10).await, None, "fewer blocks than confirmations");
    scene.chain.reorganise(30, Orphans::Drop).await.unwrap();
    scene.chain.give(&scene.address(0), None, scene.coin()).await.unwrap();
    let told = scene.told(200).await.expect("it is told");
    assert_eq!((&told["state"], &told["hash"]), (&"done".into(), &late.hash.clone().into()), "{told}");
    assert!(told.get("reason").is_none());
    scene.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lacks_coins_is_followed_on_and_stands_in_a_block_once_they_have_come() {
    let mut scene = Scene::open("base").await;
    let late = scene.sign(2).await;
    // All that it has goes elsewhere, and its sequence with it: back in time, where there is nothing yet.
    scene.chain.reorganise(30, Orphans::Drop).await.unwrap();
    scene.follow(&late, 2).await;
    assert_eq!(scene.told(40).await, None, "refused as things stand");
    scene.chain.give(&scene.address(0), None, scene.coin()).await.unwrap();
    let told = scene.told(200).await.expect("it is told");
    assert_eq!(told["state"], "done", "{told}");
    scene.stop().await;
}
