//! An address under an EVM wallet receives on every EVM blockchain (spec/wallet: rule 3): on each that the account has a wallet
//! of, those that come later included.

use serde::{Deserialize, Serialize};
use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, json, task};

use super::incoming::watch;
use crate::records::addresses::{self, Address};
use crate::records::wallets::{self, Wallet};

pub const TASKS: &[Task] = &[task("spread", spread)];

/// Addresses of one run.
const ROWS: u32 = 200;

#[derive(Serialize, Deserialize)]
struct Place {
    after: Option<String>,
}

/// A new wallet: the addresses that there are already are watched on its blockchain as well.
pub fn begin(call: &Call, wallet: &Wallet) -> Result<(), Stop> {
    if wallet.body.blockchain.is_evm_compatible() { go_on(call, &wallet.id, None) } else { Ok(()) }
}

fn go_on(call: &Call, wallet: &str, after: Option<String>) -> Result<(), Stop> {
    // Each step has a key of its own: it may be scheduled while the one before it still runs.
    let key = [wallet, "/", after.as_deref().unwrap_or_default()].concat();
    let key = key.get(..128).unwrap_or(&key);
    call.tasks().schedule("spread", key, call.now(), &json::to_text(&Place { after })?);
    Ok(())
}

fn spread(call: &Call, task: &FiredTask) -> TaskOutcome {
    let place: Place = call.json()?;
    let wallet = task.key.split('/').next().unwrap_or_default();
    let Some(wallet) = wallets::load(call, wallet)? else { return Ok(Verdict::Done) };
    let (found, next) = addresses::shared(call, ROWS, place.after)?;
    for address in &found {
        watch(call, &wallet, Some(address))?;
    }
    if next.is_some() {
        go_on(call, &wallet.id, next)?;
    }
    Ok(Verdict::Done)
}

/// A new address: watched on the blockchain of its wallet and on those that share it.
pub fn watch_everywhere(call: &Call, wallet: &Wallet, address: &Address) -> Result<(), Stop> {
    watch(call, wallet, Some(address))?;
    if address.body.index.is_none() || !wallet.body.blockchain.is_evm_compatible() {
        return Ok(());
    }
    for other in wallets::of_family(call, wallet.body.blockchain.family())? {
        if other.id != wallet.id {
            watch(call, &other, Some(address))?;
        }
    }
    Ok(())
}
