//! What a provider says that it has sent to us, as the blockchain shows it.
//!
//! Invariant: only what is final at a balance of ours, and in the books as no deposit, is booked as a delivery or a refund.

use tenon_plugin::chains::TransactionState;
use tenon_plugin::{Call, Stop};

use crate::records::{addresses, transactions, wallets};
use crate::rules::amount::{Money, Units};
use crate::rules::asset::Asset;
use crate::rules::books::Holder;
use crate::rules::deposit::Sighting;
use crate::rules::status::Status;
use crate::tasks::incoming;

/// How much of an asset this transaction has brought to the holder. `None`: it is not final yet, or nobody says so. Nothing: it
/// has brought none, or what it has brought is a deposit, or is several things, none of which is what was said.
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
    let is_said = said.filter(|said| brought.contains(said));
    let only = brought.first().copied().filter(|_| brought.len() == 1);
    Ok(Some(is_said.or(only).unwrap_or_default()))
}
