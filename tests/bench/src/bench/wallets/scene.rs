//! The host under load, its wallets, and who hears their webhooks.

use std::{
    collections::HashSet,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use parking_lot::Mutex;

use serde_json::Value;

use super::drive::{Driven, Funded, Pace, Tally, Work, drive};
use crate::{
    bench::BenchPlan,
    guests,
    program::{Program, ProgramPlan, sibling_binary},
    receiver::{Receiver, Reply},
    wallet::{self, Caller, Wallet},
};

const BLOCK_MS: u64 = 250;
const TENANTS: usize = 8;
/// One of each family, and one more that shares its addresses; the token that is moved there.
const BLOCKCHAINS: [(&str, &str); 4] = [("base", "USDC"), ("ethereum", "USDT"), ("tron", "USDT"), ("solana", "USDC")];
/// Given to each wallet, of the coin and of the token: more than any load moves.
const GIFTS: [&str; 2] = ["10000000", "1000000000"];
/// In the webhook of a withdrawal that has ended.
const SUCCEEDED: &str = r#""event":"withdraw.success""#;
const FAILED: &str = r#""event":"withdraw.failed""#;
/// From one verdict to the next deploy: load has time to run on each generation.
const PAUSE: Duration = Duration::from_millis(250);
/// For coins to arrive. After the last request: what is still to be done by then never is.
const SETTLED_WITHIN: Duration = Duration::from_secs(300);
/// Nothing moves any more: what is final has been told.
const AGREED_WITHIN: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(50);

pub struct Scene {
    program: Program,
    wallets: Arc<Vec<Funded>>,
    told: Arc<Mutex<Told>>,
    /// Withdrawals that were accepted.
    accepted: Mutex<u64>,
    /// What takes turns; empty: nothing is swapped.
    turns: Vec<Vec<u8>>,
    /// Dropped last: it answers while the host ends.
    _receiver: Receiver,
}

/// Every tenant's wallets; returns when what was given to them has arrived.
async fn open_wallets(program: &Program, webhook_url: &str) -> anyhow::Result<Vec<Funded>> {
    let mut opened = Vec::new();
    for tenant in 1..=TENANTS {
        let key = program.create_key(wallet::PLUGIN, &format!("shop-{tenant}"))?;
        for (blockchain, token) in BLOCKCHAINS {
            let wallet = Wallet::create(&mut Caller::new(program, &key), blockchain, webhook_url).await?;
            for (symbol, amount) in [None, Some(token)].into_iter().zip(GIFTS) {
                wallet::give(&mut program.operator()?, (blockchain, &wallet.address), (symbol, amount)).await?;
            }
            let asset = wallet.asset(&mut wallet.caller(program), token).await?;
            opened.push(Funded { wallet, asset });
        }
    }
    let begun = Instant::now();
    for Funded { wallet, asset } in &opened {
        let path = wallet.path(&format!("/balance?asset_id={asset}"));
        while wallet::text(&wallet.caller(program).get(&path).await?, "available")? == "0" {
            ensure!(begun.elapsed() < SETTLED_WITHIN, "what was given to a wallet does not arrive");
            tokio::time::sleep(LOOK).await;
        }
    }
    Ok(opened)
}

/// Ids of webhooks about the ends of withdrawals.
#[derive(Default)]
struct Told {
    succeeded: HashSet<String>,
    failed: HashSet<String>,
}

impl Scene {
    pub async fn start(plan: &BenchPlan) -> anyhow::Result<Scene> {
        let binary = sibling_binary("tenon").context("no tenon beside this program: build it")?;
        let folder = plan.folder.join("wallets");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let told = Arc::new(Mutex::new(Told::default()));
        let heard = told.clone();
        let receiver = Receiver::start(1, move |post| {
            let body = String::from_utf8_lossy(post.body);
            if body.contains(SUCCEEDED) {
                heard.lock().succeeded.insert(post.id.to_owned());
            } else if body.contains(FAILED) {
                heard.lock().failed.insert(post.id.to_owned());
            }
            Reply::Status(200)
        })?;
        let url = receiver.urls().next().context("a receiver without an address")?;
        let program = Program::start(ProgramPlan { binary, folder, plugins: wallet::plugins(BLOCK_MS) }).await?;
        let wallets = open_wallets(&program, &url).await?;
        let (wallets, turns) = (Arc::new(wallets), Vec::new());
        Ok(Scene { program, wallets, told, accepted: Mutex::default(), turns, _receiver: receiver })
    }

    /// One round, and how often the plugin was swapped in it.
    pub async fn run(&self, work: Work, pace: Pace, duration: Duration) -> anyhow::Result<(Tally, usize)> {
        let driven = Driven { address: self.program.public, wallets: self.wallets.clone(), work };
        let mut driving = std::pin::pin!(drive(driven, pace, duration));
        let (mut swaps, mut turns) = (0, self.turns.iter().cycle());
        let tally = loop {
            let Some(component) = turns.next() else { break driving.await? };
            tokio::select! {
                tally = &mut driving => break tally?,
                swapped = self.swap_after_pause(component) => { swapped?; swaps += 1 }
            }
        };
        if work == Work::Withdraw {
            *self.accepted.lock() += tally.latencies.count();
        }
        Ok((tally, swaps))
    }

    /// Waits until everything that was accepted is done; how long that took.
    pub async fn settle(&self, work: Work) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        loop {
            let open = match work {
                Work::Withdraw => {
                    let told = self.told.lock();
                    let ended = (told.succeeded.len() + told.failed.len()) as u64;
                    ended < *self.accepted.lock()
                }
                Work::Address => self.is_screening().await?,
                Work::Sign => false,
            };
            if !open {
                return Ok(begun.elapsed());
            }
            ensure!(begun.elapsed() < SETTLED_WITHIN, "still under way after {SETTLED_WITHIN:?}");
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn is_screening(&self) -> anyhow::Result<bool> {
        let path = "/v1/tasks?kind=timer&plugin=wallet&limit=1000";
        let waiting = self.program.operator()?.call("GET", path, &Value::Null).await?;
        Ok(waiting.to_string().contains("\"screen"))
    }

    /// From now on components that behave alike and differ in their bytes take turns. Compiled once before, so that the load
    /// meets swaps and not the compiler.
    pub async fn begin_swapping(&mut self) -> anyhow::Result<()> {
        let component = guests::component(wallet::PLUGIN)?;
        self.turns = ["one", "two"].map(|note| guests::stamped(&component, note)).to_vec();
        for component in &self.turns {
            self.swap(component).await?;
        }
        Ok(())
    }

    pub fn end_swapping(&mut self) {
        self.turns.clear();
    }

    async fn swap_after_pause(&self, component: &[u8]) -> anyhow::Result<()> {
        tokio::time::sleep(PAUSE).await;
        self.swap(component).await
    }

    async fn swap(&self, component: &[u8]) -> anyhow::Result<()> {
        let answer = self.program.deploy(wallet::PLUGIN, component).await?;
        let text = String::from_utf8_lossy(&answer.body);
        ensure!((200..300).contains(&answer.status), "a deploy was refused: {} {text}", answer.status);
        Ok(())
    }

    pub fn computed_ms(&self) -> anyhow::Result<u64> {
        self.program.computed_ms()
    }

    /// Holds ledger, blockchains and webhooks against each other; what is wrong.
    pub async fn close(self) -> anyhow::Result<Vec<String>> {
        let mut wrong = Vec::new();
        for wallet in self.wallets.iter() {
            wrong.extend(self.compare(wallet).await.err().map(|error| format!("{error:#}")));
        }
        wrong.extend(self.program.command(&["ledger", "check"]).err().map(|error| format!("{error:#}")));
        let (accepted, told) = (*self.accepted.lock(), std::mem::take(&mut *self.told.lock()));
        let (succeeded, failed) = (told.succeeded.len() as u64, told.failed.len());
        if succeeded != accepted {
            wrong.push(format!("{accepted} withdrawals were accepted, {succeeded} succeeded, {failed} failed"));
        }
        self.program.stop().await?;
        Ok(wrong)
    }

    /// The ledger has what stands on the blockchain, once everything has arrived there.
    async fn compare(&self, Funded { wallet, .. }: &Funded) -> anyhow::Result<()> {
        let (mut caller, begun) = (wallet.caller(&self.program), Instant::now());
        loop {
            let compared = caller.get(&wallet.path("/reconciliation")).await?;
            if compared.get("matches") == Some(&Value::Bool(true)) {
                return Ok(());
            }
            ensure!(begun.elapsed() < AGREED_WITHIN, "ledger and blockchain disagree: {compared}");
            tokio::time::sleep(LOOK).await;
        }
    }
}
