//! Coins of customers: an address for each order, what arrives there, and what is done then.
//!
//! Owns every change of an order that coins, or their absence, bring about.

use serde::Deserialize;
use tenon_plugin::chains::Watching;
use tenon_plugin::tasks::{FiredTask, TaskOutcome, Verdict};
use tenon_plugin::{Call, Stop, json};

use crate::rules::amount::Units;
use crate::rules::fate::{self, Standing};
use crate::rules::limits::{CONFIRMATIONS, DEPOSIT_INDEX, DEPOSIT_MS, INDEX_MAX, PAYOUT_MS};
use crate::rules::order::{Asset, Deposit, Kind, Next, Order, Way};
use crate::tasks::{DEPOSIT_ARRIVED, DEPOSIT_MISSING, Of, PAY_OUT};
use crate::{api, callbacks, delivery, records, settings};

/// An address of its own, watched from now on.
pub fn open(call: &Call, kind: Kind, id: &str, asset: Asset, units: Units) -> Result<Deposit, Stop> {
    let index = call.next("deposit-index").saturating_add(DEPOSIT_INDEX).min(INDEX_MAX);
    let index = u32::try_from(index).map_err(|error| Stop::fault(error.to_string()))?;
    let address = call.keyring().account(&asset.blockchain, index).address;
    let (order, expires_at) = (records::order_key(kind, id), call.now().saturating_add(DEPOSIT_MS));
    let context = json::to_text(&Of { order: order.clone() })?;
    call.tasks().schedule(DEPOSIT_MISSING, &order, expires_at, &context);
    call.chains().watch(&Watching {
        blockchain: asset.blockchain.clone(),
        address: address.clone(),
        confirmations: CONFIRMATIONS,
        then: DEPOSIT_ARRIVED.to_owned(),
        context,
    });
    Ok(Deposit { asset, address, units, expires_at, received: None, hash: None })
}

/// As the host tells it.
#[derive(Deserialize)]
struct Arrival {
    context: Of,
    state: String,
    hash: String,
    token: Option<String>,
    amount: String,
}

pub fn arrived(call: &Call, task: &FiredTask) -> TaskOutcome {
    let arrival: Arrival = read(&task.payload)?;
    if arrival.state != "final" {
        return Ok(Verdict::Done);
    }
    let Some(mut order) = records::find_order(call, &arrival.context.order)? else { return Ok(Verdict::Done) };
    let units = Units::of_digits(&arrival.amount).ok_or_else(|| Stop::fault("the amount is no number"))?;
    let Some(deposit) = &order.deposit else { return Ok(Verdict::Done) };
    // Something else than was asked for stays where it is; the customer's deposit may still come.
    if deposit.asset.token != arrival.token || deposit.received.is_some() {
        return Ok(Verdict::Done);
    }
    call.chains().unwatch(&deposit.asset.blockchain, &deposit.address);
    call.tasks().cancel(DEPOSIT_MISSING, &arrival.context.order);
    let next = order.receive(units, arrival.hash);
    proceed(call, &mut order, next)?;
    Ok(Verdict::Done)
}

/// The address stays watched: what comes too late goes back.
pub fn missing(call: &Call, task: &FiredTask) -> TaskOutcome {
    let of: Of = read(&task.payload)?;
    if let Some(mut order) = records::find_order(call, &of.order)?
        && order.expire()
    {
        proceed(call, &mut order, Next::Nothing)?;
    }
    Ok(Verdict::Done)
}

pub fn pay_out(call: &Call, task: &FiredTask) -> TaskOutcome {
    let of: Of = read(&task.payload)?;
    let Some(mut order) = records::find_order(call, &of.order)? else { return Ok(Verdict::Done) };
    let account = order.shown.get("account_identifier").and_then(|account| account.as_str()).unwrap_or_default();
    let is_closed = matches!(fate::of_account(account), Standing::Open(fate::Fate::Fails));
    let next = order.pay_out(is_closed);
    proceed(call, &mut order, next)?;
    Ok(Verdict::Done)
}

/// Does what has to be done next, stores the order and tells the customer.
pub fn proceed(call: &Call, order: &mut Order, next: Next) -> Result<(), Stop> {
    let key = records::order_key(order.kind, &order.id);
    match next {
        Next::Nothing => {}
        Next::PayOut => {
            let pause = call.config::<u64>(settings::PAYOUT_MS)?.unwrap_or(PAYOUT_MS);
            let of = json::to_text(&Of { order: key })?;
            call.tasks().schedule(
                PAY_OUT,
                &records::order_key(order.kind, &order.id),
                call.now().saturating_add(pause),
                &of,
            );
        }
        Next::Credit => {
            let units = order.deposit.as_ref().map(|deposit| deposit.units).unwrap_or_default();
            api::gateway::credit(call, &key, units)?;
        }
        Next::GiveBack => {
            let units = order.way(Way::Delivery).map(|delivery| delivery.units).unwrap_or_default();
            api::gateway::credit(call, &key, units)?;
        }
        Next::Send(way) => delivery::begin(call, order, way)?,
    }
    order.updated_at = call.now();
    records::replace_order(call, order)?;
    callbacks::tell_order(call, order)
}

/// Of what the host or this plugin wrote.
pub fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Stop> {
    serde_json::from_str(text).map_err(|error| Stop::fault(error.to_string()))
}
