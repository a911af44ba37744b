//! Deposits go to the master wallet (spec/wallet: Auto-sweep): the coins for gas first, where the address has too few.

use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, Task, task};

use super::outgoing::{send_coins, start};
use crate::records::addresses::{self, Address};
use crate::records::outgoing::Follow;
use crate::records::sweeps::{self, Lot};
use crate::records::transactions;
use crate::records::wallets::{self, Wallet};
use crate::rules::amount::Money;
use crate::rules::asset;
use crate::rules::fee::{Way, way};
use crate::rules::outgoing::{Gas, Order, Task as Outgoing};
use crate::{carry, following, sending};

pub const TASKS: &[Task] = &[task("sweep", sweep)];

/// Until a blockchain that does not answer is asked again.
const PAUSE_MS: u64 = 10_000;

fn sweep(call: &Call, _task: &FiredTask) -> TaskOutcome {
    let lot: Lot = call.json()?;
    let (Some(wallet), Some(address)) = (wallets::load(call, &lot.wallet)?, addresses::load(call, &lot.address)?)
    else {
        return Ok(Verdict::Done);
    };
    // It goes on when the one that is under way has ended.
    if !address.body.is_active || sweeps::underway(call, &lot)?.is_some() {
        return Ok(Verdict::Done);
    }
    let terms = match sending::terms(call, wallet.body.blockchain)? {
        Ok(terms) => terms,
        Err(_) => return Ok(Verdict::Later(call.now().saturating_add(PAUSE_MS))),
    };
    let is_token = !lot.asset.is_native;
    let gas = sending::gas_of(&terms, wallet.body.blockchain, is_token)?;
    let coin_gas = sending::gas_of(&terms, wallet.body.blockchain, false)?;
    begin(call, &lot, (&wallet, &address), (gas, coin_gas))?;
    Ok(Verdict::Done)
}

/// `gas`: of the sweep, and of a transfer of coins.
fn begin(
    call: &Call,
    lot: &Lot,
    (wallet, address): (&Wallet, &Address),
    (gas, coin_gas): (Money, Money),
) -> Result<(), Stop> {
    let balance = carry::available(call, &address.holder(), lot.asset);
    if balance.is_zero() {
        return Ok(());
    }
    let by = match lot.asset.is_native {
        // What is swept pays for itself.
        true => move_all(call, lot, (wallet, address), Money::new(lot.asset, balance.saturating_sub(gas.units)), gas)?,
        false => {
            let own = carry::available(call, &address.holder(), asset::gas(wallet.body.blockchain));
            let missing = gas.units.saturating_sub(own);
            match way(wallet.body.blockchain, gas.units, own) {
                Way::Own => move_all(call, lot, (wallet, address), Money::new(lot.asset, balance), gas)?,
                Way::Sponsored | Way::Funded(_) => {
                    let money = Money::new(gas.asset, missing);
                    let recipient = (address.holder(), address.body.address.clone());
                    send_coins(call, &wallet.id, recipient, (money, coin_gas), Follow::Sweep(lot.clone()))?
                }
            }
        }
    };
    match by {
        Some(by) => sweeps::begin(call, lot, &by),
        None => following::refuse_sweep(call, lot, &call.uuid()),
    }
}

fn move_all(
    call: &Call,
    lot: &Lot,
    (wallet, address): (&Wallet, &Address),
    money: Money,
    gas: Money,
) -> Result<Option<String>, Stop> {
    let Some(index) = address.body.index.filter(|_| !money.units.is_zero()) else { return Ok(None) };
    let order = Order {
        id: call.uuid(),
        wallet_id: wallet.id.clone(),
        from: address.holder(),
        task: Outgoing::Sweep { money, master: wallet.holder() },
        gas: Some(Gas { payer: address.holder(), held: gas }),
    };
    let key = (index, address.body.address.as_str());
    let mut way = sending::way(call, key, money, &wallet.body.address)?;
    way.follow = Follow::Sweep(lot.clone());
    let Some(by) = start(call, order, way)? else { return Ok(None) };
    for stored in transactions::sweepable(call, lot, following::DEPOSITS_MAX)? {
        let Some(mut incoming) = stored.incoming() else { continue };
        let taken = incoming.sweep.begin(&by);
        following::change(call, &stored, &mut incoming, taken)?;
    }
    Ok(Some(by))
}
