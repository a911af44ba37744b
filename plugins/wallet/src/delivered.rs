//! What a provider says that it has sent to us, as the blockchain shows it.
//!
//! Invariant: only what is final at a balance of ours is a delivery or a refund, and each movement is that of one order.

use tenon_plugin::chains::{Transaction as OnChain, TransactionState};
use tenon_plugin::{Call, Stop};

use crate::providing;
use crate::records::outgoing::Out;
use crate::records::provided::{Kind, Provided};
use crate::records::{addresses, provided, transactions, wallets};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::rules::books::Holder;
use crate::rules::delivery::{Movement, Naming, assign};
use crate::rules::deposit::Sighting;
use crate::rules::outgoing::Hold;
use crate::rules::status::Status;
use crate::tasks::incoming;

/// An asset of a holder, and the transaction that brings it.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub holder: &'a Holder,
    pub asset: Asset,
    pub hash: &'a str,
}

/// The movement of this transaction that belongs to the order. `None`: it is not final yet, or nobody says so. Nothing: none
/// does, or all that could are others'.
pub fn find(call: &Call, out: &Out, place: Place) -> Result<Option<Option<Movement>>, Stop> {
    let Some(blockchain) = place.asset.blockchain else { return Ok(None) };
    let Ok(Some(found)) = call.chains().transaction(blockchain.slug(), place.hash)? else { return Ok(None) };
    if found.state != TransactionState::Done || found.confirmations < blockchain.confirmations() {
        return Ok(None);
    }
    let movements = movements(call, place, &found)?;
    let mut naming = naming(call, place)?;
    // As it is now, and not as it was stored.
    naming.retain(|other| other.record.id != out.record.id);
    naming.push(out.clone());
    let assigned = assign(&movements, &expectations(place, &naming));
    let position = assigned.get(&out.record.id);
    Ok(Some(movements.into_iter().find(|movement| Some(&movement.position) == position)))
}

/// Whose a movement is.
pub enum Owner {
    /// Of the order with this id.
    Order(String),
    Nobody,
    /// The blockchain does not say what else the transaction has brought.
    Unclear,
}

/// Of those who name its transaction.
pub fn owner(call: &Call, place: Place, naming: &[Out], sighting: &Sighting) -> Result<Owner, Stop> {
    let Ok(found) = call.chains().transaction(sighting.blockchain.slug(), place.hash)? else {
        return Ok(Owner::Unclear);
    };
    let mut movements = found.map_or(Ok(Vec::new()), |found| movements(call, place, &found))?;
    if movements.iter().all(|movement| movement.position != sighting.position) {
        let Sighting { position, money, .. } = sighting;
        movements.push(Movement { position: *position, units: money.units, is_credited: false });
    }
    let assigned = assign(&movements, &expectations(place, naming));
    let order = assigned.into_iter().find(|(_, position)| *position == sighting.position);
    Ok(order.map_or(Owner::Nobody, |(order, _)| Owner::Order(order)))
}

/// To the holder, in this asset.
fn movements(call: &Call, place: Place, found: &OnChain) -> Result<Vec<Movement>, Stop> {
    let Some(blockchain) = place.asset.blockchain else { return Ok(Vec::new()) };
    let address = match place.holder {
        Holder::Wallet(id) => wallets::load(call, id)?.map(|wallet| wallet.body.address),
        Holder::Address(id) => addresses::load(call, id)?.map(|address| address.body.address),
    };
    let mut movements = Vec::new();
    for movement in found.movements.iter().filter(|movement| address.as_ref() == Some(&movement.recipient)) {
        let units = Units::of_base(&movement.amount).unwrap_or_default();
        if incoming::asset_of(call, blockchain, movement.token.as_deref()) != Some(place.asset) {
            continue;
        }
        let sighting = Sighting {
            blockchain,
            transaction_hash: found.hash.clone(),
            position: movement.position,
            money: Money::new(place.asset, units),
            confirmations: found.confirmations,
        };
        // Whoever books it as a deposit at the same time sees what is booked here, or is seen.
        incoming::guard(call, &sighting);
        let deposit = transactions::last_sighted(call, &sighting)?;
        let is_credited = deposit.is_some_and(|deposit| deposit.body.status == Status::Success);
        movements.push(Movement { position: movement.position, units, is_credited });
    }
    Ok(movements)
}

/// Orders that name the transaction, as a delivery to the holder or a refund.
pub fn naming(call: &Call, place: Place) -> Result<Vec<Out>, Stop> {
    let mut naming = provided::with_hash(call, "outgoing.way.provider.delivery_hash", place.hash)?;
    naming.extend(provided::with_hash(call, "outgoing.way.provider.refund_hash", place.hash)?);
    naming.retain(|out| is_naming(out, place));
    naming.sort_by(|one, other| one.record.id.cmp(&other.record.id));
    naming.dedup_by(|one, other| one.record.id == other.record.id);
    Ok(naming)
}

/// Whether it expects something there from this transaction, or has had it. Who goes on from it does so in its place.
pub fn is_naming(out: &Out, place: Place) -> bool {
    said(out, place).is_some()
}

/// How much an order says that it gets from this transaction, and whether it takes nothing else; `None`: it does not name it.
fn said(out: &Out, Place { holder, asset, hash }: Place) -> Option<(Option<Units>, bool)> {
    let Provided { kind, delivery_hash, refund_hash, received, .. } = out.way.provider.as_ref()?;
    let is_filled = matches!(out.record.hold, Hold::Held | Hold::Spent) && delivery_hash.as_deref() == Some(hash);
    if is_filled && providing::filled(out).as_ref() == Some(&(holder.clone(), asset)) {
        let said = received.as_deref().and_then(|text| Units::parse(text, asset.decimals).ok());
        return Some((said, *kind == Kind::GatewayWithdrawal));
    }
    let is_back = matches!(out.record.hold, Hold::Held | Hold::Released) && out.record.from == *holder;
    let money = out.record.task.money().filter(|money| is_back && money.asset == asset)?;
    // A refund is all of it.
    (refund_hash.as_deref() == Some(hash)).then_some((Some(money.units), true))
}

fn expectations(place: Place, naming: &[Out]) -> Vec<Naming> {
    let expectation = |out: &Out| {
        let took = out.way.provider.as_ref().and_then(|provider| provider.took);
        let (said, is_exact) = said(out, place)?;
        Some(Naming { order: out.record.id.clone(), said, is_exact, took })
    };
    naming.iter().filter_map(expectation).collect()
}
