//! What lies at an address of ours and is in no book: what came before there was a wallet for it, what a salvage has left of
//! that, tokens that nobody here books. A salvage moves that and nothing else, and what arrives is a deposit as far as it is
//! still there.
//!
//! Invariant: whoever decides by it takes the guard of the address, so that nothing is both salvaged and booked.

use tenon_plugin::chains::TransactionState;
use tenon_plugin::{Call, Stop};

use crate::records::addresses::Address;
use crate::records::outgoing::Out;
use crate::records::sweeps::{self, Lot};
use crate::records::wallets::{self, Wallet};
use crate::records::{provided, transactions};
use crate::rules::amount::Units;
use crate::rules::asset::{self, Asset};
use crate::rules::blockchain::Blockchain;
use crate::rules::books::{Account, Holder};
use crate::rules::outgoing::{Hold, Task};
use crate::rules::status::Status;
use crate::show::asset::balance_of;
use crate::tasks::incoming::asset_of;
use crate::{sending, words};

/// A token, or without one the coin, at an address of ours.
#[derive(Clone)]
pub struct Place {
    pub blockchain: Blockchain,
    /// The wallet that its address is under: salvages are listed there.
    pub wallet: String,
    pub holder: Holder,
    pub address: String,
    pub token: Option<String>,
}

/// In base units.
#[derive(Clone, Copy, Debug)]
pub struct Lying {
    /// What the blockchain says.
    pub all: Units,
    pub booked: Units,
    /// Neither in the books nor on its way from there. Nothing, while something of ours is on its way there: it is in no book
    /// before it is final.
    pub free: Units,
    pub is_awaited: bool,
}

impl Place {
    /// Of an address under a wallet, or of the wallet itself.
    pub fn new(blockchain: Blockchain, wallet: &Wallet, address: Option<&Address>, token: Option<&str>) -> Place {
        let (owner, holder, text) = match address {
            None => (&wallet.id, wallet.holder(), &wallet.body.address),
            Some(address) => (&address.body.wallet, address.holder(), &address.body.address),
        };
        let (wallet, address, token) = (owner.clone(), text.clone(), token.map(str::to_owned));
        Place { blockchain, wallet, holder, address, token }
    }

    /// The coins of the same address.
    pub fn coins(&self) -> Place {
        Place { token: None, ..self.clone() }
    }

    fn guard(&self, call: &Call) {
        call.guard(&["salvage/", self.blockchain.slug(), "/", &self.address].concat());
    }

    /// Refused (503) where the blockchain does not answer.
    pub fn lying(&self, call: &Call) -> Result<Lying, Stop> {
        self.guard(call);
        // First what is on its way: what leaves in between is taken off twice, and never forgotten.
        let leaving = self.leaving(call)?;
        let text = call.chains().balance(self.blockchain.slug(), &self.address, self.token.as_deref())?;
        let text = text.map_err(|_| words::unanswered("The blockchain does not answer"))?;
        let all = Units::of_base(&text).ok_or_else(|| Stop::fault("a balance is no number"))?;
        let asset = asset_of(call, self.blockchain, self.token.as_deref());
        let booked = asset.map_or(Units::ZERO, |asset| self.booked(call, asset));
        let is_awaited = asset.map_or(Ok(false), |asset| self.is_awaited(call, asset))?;
        let free = all.saturating_sub(booked).saturating_sub(leaving);
        Ok(Lying { all, booked, free: if is_awaited { Units::ZERO } else { free }, is_awaited })
    }

    fn booked(&self, call: &Call, asset: Asset) -> Units {
        let accounts =
            [Account::Available, Account::Held, Account::Pending].map(|account| account(self.holder.clone()));
        accounts.iter().fold(Units::ZERO, |sum, account| sum.saturating_add(balance_of(call, account, asset)))
    }

    /// Whether a provider may deliver there, or the master wallet sends coins for gas.
    fn is_awaited(&self, call: &Call, asset: Asset) -> Result<bool, Stop> {
        let delivery = provided::delivery_place(&self.holder, asset);
        if !provided::waiting(call, "outgoing.way.provider.delivers", &delivery, 1)?.is_empty() {
            return Ok(true);
        }
        let Some(address) = self.holder.address_id().filter(|_| asset.is_native) else { return Ok(false) };
        for swept in asset::on(self.blockchain) {
            let lot = Lot { wallet: self.wallet.clone(), address: address.to_owned(), asset: swept };
            if sweeps::underway(call, &lot)?.is_some() {
                return Ok(true);
            }
        }
        let under_way = transactions::under_way_of(call, address)?;
        Ok(under_way.iter().filter_map(Out::of).any(|out| out.way.promised.is_some()))
    }

    /// What salvages that are signed will take away.
    fn leaving(&self, call: &Call) -> Result<Units, Stop> {
        let mut sum = Units::ZERO;
        for out in self.salvages(call)? {
            // Of what is incomplete nobody knows, unless another goes on from it.
            let is_unclear = out.record.status == Status::Incomplete && out.record.hold != Hold::Passed;
            let is_under_way = out.way.raw.is_some() && (!out.record.status.is_final() || is_unclear);
            let (Some(transfer), Some(hash)) = (&out.way.transfer, &out.record.hash) else { continue };
            if is_under_way && !has_gone(call, self.blockchain, hash)? {
                sum = sum.saturating_add(transfer.units);
            }
        }
        Ok(sum)
    }

    /// All that were ever asked for.
    fn salvages(&self, call: &Call) -> Result<Vec<Out>, Stop> {
        let is_same = |out: &Out| {
            let transfer = out.way.transfer.as_ref();
            let is_token = transfer.is_some_and(|transfer| transfer.token == self.token);
            out.way.blockchain == self.blockchain && out.way.sender == self.address && is_token
        };
        Ok(transactions::salvages(call, &self.wallet)?.iter().filter_map(Out::of).filter(is_same).collect())
    }

    /// Nothing is held for a salvage of what is in no book: there is one at a time.
    pub fn check_alone(&self, call: &Call) -> Result<(), Stop> {
        self.guard(call);
        let is_under_way = self.salvages(call)?.iter().any(|out| !out.record.status.is_final());
        if is_under_way { Err(words::conflict("A salvage of this is under way")) } else { Ok(()) }
    }

    /// Whether so much that came in this block has left again, as far as can be said: it may have been salvaged before anybody
    /// told of it.
    pub fn has_left(&self, call: &Call, units: Units, block: Option<u64>) -> Result<bool, Stop> {
        self.guard(call);
        let took = |out: &Out| {
            let later = out.about.block.is_none_or(|taken| block.is_some_and(|seen| seen <= taken));
            // What is not signed yet fails when it is taken up, if the money is in the books by then.
            out.way.raw.is_some() && later && !matches!(out.record.status, Status::Failed | Status::Cancelled)
        };
        if !self.salvages(call)?.iter().any(took) {
            return Ok(false);
        }
        Ok(self.lying(call)?.free < units)
    }
}

fn has_gone(call: &Call, blockchain: Blockchain, hash: &str) -> Result<bool, Stop> {
    let found = call.chains().transaction(blockchain.slug(), hash)?;
    let found = found.map_err(|_| words::unanswered("The blockchain does not answer"))?;
    Ok(found.is_some_and(|found| found.state != TransactionState::Waiting))
}

/// Where a salvage takes it from.
pub fn place_of(out: &Out) -> Option<Place> {
    let (Task::Salvage { blockchain, .. }, Some(transfer)) = (&out.record.task, &out.way.transfer) else { return None };
    Some(Place {
        blockchain: *blockchain,
        wallet: out.record.wallet_id.clone(),
        holder: out.record.from.clone(),
        address: out.way.sender.clone(),
        token: transfer.token.clone(),
    })
}

/// Whether what a salvage was to move is in the books since, or the coins that it burns. Before there is a wallet of that
/// blockchain nothing there is.
pub fn is_booked_since(call: &Call, out: &Out) -> Result<bool, Stop> {
    let (Some(place), Some(transfer)) = (place_of(out), &out.way.transfer) else { return Ok(false) };
    if out.way.raw.is_some() || wallets::of_blockchain(call, place.blockchain)?.is_none() {
        return Ok(false);
    }
    let is_token = place.token.is_some();
    let fee = sending::gas(call, place.blockchain, is_token)?.units;
    // What is held for gas is in the books on purpose.
    let burnt = if out.record.gas.is_none() { fee } else { Units::ZERO };
    let (moved, coins) =
        if is_token { (transfer.units, burnt) } else { (Units::ZERO, transfer.units.saturating_add(burnt)) };
    Ok(place.lying(call)?.free < moved || place.coins().lying(call)?.free < coins)
}
