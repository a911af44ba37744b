//! Deposits and disturbances of the blockchains under load: payments to addresses, transactions that fail or get
//! stuck, blocks that are replaced, nodes that are slow or do not respond.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    random::Random,
    scenario::{ADDRESS_KINDS, WalletSetup},
};
use crate::{
    program::Program,
    wallet::{control, fund},
    wire::Client,
};

const PAUSE_MS: (u64, u64) = (20, 200);
/// Maximum number of replaced blocks: fewer than the confirmations of any deposit.
const DEPTH_MAX: u64 = 10;
const SLOW_MS_MAX: u64 = 250;
/// Range of the time for which a node is slow or does not respond.
const DISTURBANCE_MS: (u64, u64) = (50, 400);

/// Runs until `running` is false or the server is gone. Returns the number of deposits,
/// including a last one that may have failed.
pub async fn run(mut operator: Client, setup: Arc<WalletSetup>, mut random: Random, running: Arc<AtomicBool>) -> u64 {
    let mut deposits = 0;
    while running.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(random.between(PAUSE_MS))).await;
        let result = match random.below(100) {
            0..50 => {
                deposits += 1;
                deposit(&mut operator, &setup, &mut random).await
            }
            _ => disturb(&mut operator, setup.network.blockchain, &mut random).await,
        };
        if result.is_err() {
            break;
        }
    }
    deposits
}

/// Ends all disturbances. Stuck transactions continue.
pub async fn end(program: &Program, setups: &[Arc<WalletSetup>]) -> anyhow::Result<()> {
    let mut operator = program.operator()?;
    for setup in setups {
        control(&mut operator, setup.network.blockchain, &json!({ "kind": "off" })).await?;
    }
    Ok(())
}

/// Sends a payment to the master wallet or to one of its addresses.
async fn deposit(operator: &mut Client, setup: &WalletSetup, random: &mut Random) -> anyhow::Result<()> {
    let to = random.choose(&ADDRESS_KINDS).filter(|_| random.percent(85)).and_then(|kind| setup.address(*kind));
    let address = to.map_or(setup.wallet.address.as_str(), |address| address.address.as_str());
    let symbol = random.choose(setup.network.tokens).map(|(symbol, _)| *symbol);
    let amount = format!("{}{}", 1 + random.below(20), random.choose(&["", ".5"]).copied().unwrap_or_default());
    fund(operator, (setup.network.blockchain, address), (symbol, &amount)).await
}

async fn disturb(operator: &mut Client, blockchain: &str, random: &mut Random) -> anyhow::Result<()> {
    let (command, end) = draw_disturbance(random);
    control(operator, blockchain, &command).await?;
    if let Some(end) = end {
        tokio::time::sleep(Duration::from_millis(random.between(DISTURBANCE_MS))).await;
        control(operator, blockchain, &end).await?;
    }
    Ok(())
}

/// Returns a command that starts a disturbance, and a command that ends it unless it ends by itself.
fn draw_disturbance(random: &mut Random) -> (Value, Option<Value>) {
    match random.below(100) {
        0..20 => (json!({ "kind": "fail", "count": 1 + random.below(2) }), None),
        20..35 => (json!({ "kind": "stick", "count": 1 + random.below(3) }), None),
        35..55 => (json!({ "kind": "release" }), None),
        55..80 => {
            let depth = 1 + random.below(DEPTH_MAX);
            (json!({ "kind": "reorganise", "depth": depth, "drop": random.percent(25) }), None)
        }
        80..90 => {
            let slow = json!({ "kind": "slow", "ms": 1 + random.below(SLOW_MS_MAX) });
            (slow, Some(json!({ "kind": "slow", "ms": 0 })))
        }
        _ => {
            let silence = random.choose(&["lost", "taken"]).copied();
            let silent = |silence: Option<&str>| json!({ "kind": "silent", "silence": silence });
            (silent(silence), Some(silent(Some("off"))))
        }
    }
}
