//! What a provider says that it has sent to us, as the blockchain shows it.
//!
//! Invariant: only what is final at a balance of ours, and in no book yet, is booked as a delivery or a refund.

use tenon_plugin::chains::TransactionState;
use tenon_plugin::{Call, Stop};

use crate::providing;
use crate::records::outgoing::Out;
use crate::records::{addresses, provided, transactions, wallets};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::rules::books::Holder;
use crate::rules::deposit::Sighting;
use crate::rules::outgoing::Hold;
use crate::rules::status::Status;
use crate::tasks::incoming;

/// How much of an asset this transaction has brought to the holder. `None`: it is not final yet, or nobody says so. Nothing: it
/// has brought none, or what it has brought is booked already, or is several things, none of which is what was said.
pub fn find(
    call: &Call,
    holder: &Holder,
    (asset, said): (Asset, Option<Units>),
    hash: Option<&str>,
) -> Result<Option<Units>, Stop> {
    let (Some(blockchain), Some(hash)) = (asset.blockchain, hash) else { return Ok(None) };
    let Ok(Some(found)) = call.chains().transaction(blockchain.slug(), hash)? else { return Ok(None) };
    if found.state != TransactionState::Done || found.confirmations < blockchain.confirmations() {
        return Ok(None);
    }
    let address = match holder {
        Holder::Wallet(id) => wallets::load(call, id)?.map(|wallet| wallet.body.address),
        Holder::Address(id) => addresses::load(call, id)?.map(|address| address.body.address),
    };
    let mut brought = Vec::new();
    for movement in found.movements.iter().filter(|movement| address.as_ref() == Some(&movement.recipient)) {
        let units = Units::of_base(&movement.amount).unwrap_or_default();
        if incoming::asset_of(call, blockchain, movement.token.as_deref()) != Some(asset) {
            continue;
        }
        let sighting = Sighting {
            blockchain,
            transaction_hash: found.hash.clone(),
            position: movement.position,
            money: Money::new(asset, units),
            confirmations: found.confirmations,
        };
        // Whoever books it as a deposit at the same time sees what is booked here, or is seen.
        incoming::guard(call, &sighting);
        let deposit = transactions::last_sighted(call, &sighting)?;
        if deposit.is_none_or(|deposit| deposit.body.status != Status::Success) {
            brought.push(units);
        }
    }
    // One movement is one delivery: several orders may name it, and one of them has it.
    if brought.len() <= booked(call, holder, asset, hash)? {
        return Ok(Some(Units::ZERO));
    }
    let is_said = said.filter(|said| brought.contains(said));
    let only = brought.first().copied().filter(|_| brought.len() == 1);
    Ok(Some(is_said.or(only).unwrap_or_default()))
}

/// How many orders have ended with this transaction, as a delivery to the holder or a refund.
fn booked(call: &Call, holder: &Holder, asset: Asset, hash: &str) -> Result<usize, Stop> {
    let delivered = provided::with_hash(call, "outgoing.way.provider.delivery_hash", hash)?;
    let returned = provided::with_hash(call, "outgoing.way.provider.refund_hash", hash)?;
    let filled = delivered.iter().filter(|out| out.record.hold == Hold::Spent);
    let filled = filled.filter(|out| providing::filled(out) == Some((holder.clone(), asset)));
    let is_back = |out: &&Out| out.record.from == *holder && out.record.hold == Hold::Released;
    let back = returned.iter().filter(is_back);
    let back = back.filter(|out| out.record.task.money().is_some_and(|money| money.asset == asset));
    Ok(filled.count().saturating_add(back.count()))
}
