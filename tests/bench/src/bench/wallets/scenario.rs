//! The host under load, its wallets, and the receiver of their webhooks.

use std::{
    collections::HashSet,
    fs,
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context, ensure};
use parking_lot::Mutex;

use serde_json::Value;

use super::drive::{FundedWallet, LoadTarget, Pace, RunStats, Work, drive};
use crate::{
    bench::BenchPlan,
    guests,
    program::{Program, ProgramPlan, sibling_binary},
    receiver::{Receiver, ReceiverResponse},
    wallet::{self, Caller, Wallet},
};

const BLOCK_MS: u64 = 250;
const TENANTS: usize = 8;
/// A blockchain of each family, and a second one that shares its addresses with the first, each with the token that
/// is transferred there.
const BLOCKCHAINS: [(&str, &str); 4] = [("base", "USDC"), ("ethereum", "USDT"), ("tron", "USDT"), ("solana", "USDC")];
/// Funds of each wallet, in coins and in the token: more than any load transfers.
const FUNDS: [&str; 2] = ["10000000", "1000000000"];
/// Text in the webhook of a withdrawal that has ended.
const SUCCEEDED: &str = r#""event":"withdraw.success""#;
const FAILED: &str = r#""event":"withdraw.failed""#;
/// Pause between two deploys, so that each generation is under load.
const PAUSE: Duration = Duration::from_millis(250);
/// Timeout for tokens to arrive, and for the consequences of the last request.
const COMPLETE_TIMEOUT: Duration = Duration::from_secs(300);
/// Timeout of the comparison after all withdrawals have ended.
const RECONCILE_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

pub struct WalletScenario {
    program: Program,
    wallets: Arc<Vec<FundedWallet>>,
    ended: Arc<Mutex<EndedWithdrawals>>,
    /// Number of accepted withdrawals.
    accepted: Mutex<u64>,
    /// Components that are deployed in rotation. Empty if nothing is swapped.
    components: Vec<Vec<u8>>,
    /// Dropped last, because it must respond while the host stops.
    _receiver: Receiver,
}

/// Creates and funds the wallets of all tenants. Returns after the tokens have arrived.
async fn open_wallets(program: &Program, webhook_url: &str) -> anyhow::Result<Vec<FundedWallet>> {
    let mut opened = Vec::new();
    for tenant in 1..=TENANTS {
        let key = program.create_key(wallet::PLUGIN, &format!("shop-{tenant}"))?;
        for (blockchain, token) in BLOCKCHAINS {
            let wallet = Wallet::create(&mut Caller::new(program, &key), blockchain, webhook_url).await?;
            for (symbol, amount) in [None, Some(token)].into_iter().zip(FUNDS) {
                wallet::fund(&mut program.operator()?, (blockchain, &wallet.address), (symbol, amount)).await?;
            }
            let asset = wallet.asset(&mut wallet.caller(program), token).await?;
            opened.push(FundedWallet { wallet, asset });
        }
    }
    let started = Instant::now();
    for FundedWallet { wallet, asset } in &opened {
        let path = wallet.path(&format!("/balance?asset_id={asset}"));
        while wallet::text(&wallet.caller(program).get(&path).await?, "available")? == "0" {
            ensure!(started.elapsed() < COMPLETE_TIMEOUT, "the funds of a wallet do not arrive");
            tokio::time::sleep(POLL).await;
        }
    }
    Ok(opened)
}

/// Ids of the webhooks of ended withdrawals.
#[derive(Default)]
struct EndedWithdrawals {
    succeeded: HashSet<String>,
    failed: HashSet<String>,
}

impl WalletScenario {
    pub async fn start(plan: &BenchPlan) -> anyhow::Result<WalletScenario> {
        let binary = sibling_binary("tenon").context("no tenon beside this program: build it")?;
        let folder = plan.folder.join("wallets");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        let ended = Arc::new(Mutex::new(EndedWithdrawals::default()));
        let received = ended.clone();
        let receiver = Receiver::start(1, move |request| {
            let body = String::from_utf8_lossy(request.body);
            if body.contains(SUCCEEDED) {
                received.lock().succeeded.insert(request.id.to_owned());
            } else if body.contains(FAILED) {
                received.lock().failed.insert(request.id.to_owned());
            }
            ReceiverResponse::Status(200)
        })?;
        let url = receiver.urls().next().context("a receiver without an address")?;
        let program = Program::start(ProgramPlan { binary, folder, plugins: wallet::plugins(BLOCK_MS) }).await?;
        let wallets = open_wallets(&program, &url).await?;
        let (wallets, components) = (Arc::new(wallets), Vec::new());
        Ok(WalletScenario { program, wallets, ended, accepted: Mutex::default(), components, _receiver: receiver })
    }

    /// Runs one round. Returns its statistics and the number of swaps.
    pub async fn run(&self, work: Work, pace: Pace, duration: Duration) -> anyhow::Result<(RunStats, usize)> {
        let target = LoadTarget { address: self.program.public, wallets: self.wallets.clone(), work };
        let mut driving = std::pin::pin!(drive(target, pace, duration));
        let (mut swaps, mut components) = (0, self.components.iter().cycle());
        let stats = loop {
            let Some(component) = components.next() else { break driving.await? };
            tokio::select! {
                stats = &mut driving => break stats?,
                swapped = self.swap_after_pause(component) => { swapped?; swaps += 1 }
            }
        };
        if work == Work::Withdraw {
            *self.accepted.lock() += stats.latencies.count();
        }
        Ok((stats, swaps))
    }

    /// Waits until all accepted requests and their consequences are complete. Returns the duration of the wait.
    pub async fn wait_until_complete(&self, work: Work) -> anyhow::Result<Duration> {
        let started = Instant::now();
        loop {
            let open = match work {
                Work::Withdraw => {
                    let ended = self.ended.lock();
                    let count = (ended.succeeded.len() + ended.failed.len()) as u64;
                    count < *self.accepted.lock()
                }
                Work::Address => self.is_screening().await?,
                Work::Sign => false,
            };
            if !open {
                return Ok(started.elapsed());
            }
            ensure!(started.elapsed() < COMPLETE_TIMEOUT, "still in progress after {COMPLETE_TIMEOUT:?}");
            tokio::time::sleep(POLL).await;
        }
    }

    async fn is_screening(&self) -> anyhow::Result<bool> {
        let path = "/v1/tasks?kind=timer&plugin=wallet&limit=1000";
        let waiting = self.program.operator()?.call("GET", path, &Value::Null).await?;
        Ok(waiting.to_string().contains("\"screen"))
    }

    /// Starts swapping: components with the same behaviour and different bytes are deployed in rotation. They are
    /// compiled in advance, so that the compiler does not affect the load.
    pub async fn start_swapping(&mut self) -> anyhow::Result<()> {
        let component = guests::component(wallet::PLUGIN)?;
        self.components = ["one", "two"].map(|note| guests::stamped(&component, note)).to_vec();
        for component in &self.components {
            self.swap(component).await?;
        }
        Ok(())
    }

    pub fn stop_swapping(&mut self) {
        self.components.clear();
    }

    async fn swap_after_pause(&self, component: &[u8]) -> anyhow::Result<()> {
        tokio::time::sleep(PAUSE).await;
        self.swap(component).await
    }

    async fn swap(&self, component: &[u8]) -> anyhow::Result<()> {
        let response = self.program.deploy(wallet::PLUGIN, component).await?;
        let text = String::from_utf8_lossy(&response.body);
        ensure!((200..300).contains(&response.status), "a deploy was refused: {} {text}", response.status);
        Ok(())
    }

    pub fn cpu_time_ms(&self) -> anyhow::Result<u64> {
        self.program.cpu_time_ms()
    }

    /// Compares ledger, blockchains and webhooks. Returns the differences.
    pub async fn close(self) -> anyhow::Result<Vec<String>> {
        let mut wrong = Vec::new();
        for wallet in self.wallets.iter() {
            wrong.extend(self.compare(wallet).await.err().map(|error| format!("{error:#}")));
        }
        wrong.extend(self.program.command(&["ledger", "check"]).err().map(|error| format!("{error:#}")));
        let (accepted, ended) = (*self.accepted.lock(), std::mem::take(&mut *self.ended.lock()));
        let (succeeded, failed) = (ended.succeeded.len() as u64, ended.failed.len());
        if succeeded != accepted {
            wrong.push(format!("{accepted} withdrawals were accepted, {succeeded} succeeded, {failed} failed"));
        }
        self.program.stop().await?;
        Ok(wrong)
    }

    /// Waits until the ledger matches the balance on the blockchain.
    async fn compare(&self, FundedWallet { wallet, .. }: &FundedWallet) -> anyhow::Result<()> {
        let (mut caller, started) = (wallet.caller(&self.program), Instant::now());
        loop {
            let compared = caller.get(&wallet.path("/reconciliation")).await?;
            if compared.get("matches") == Some(&Value::Bool(true)) {
                return Ok(());
            }
            ensure!(started.elapsed() < RECONCILE_TIMEOUT, "ledger and blockchain differ: {compared}");
            tokio::time::sleep(POLL).await;
        }
    }
}
