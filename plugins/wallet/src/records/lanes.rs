//! The order of what an address sends: each transaction takes the next number of its lane, and none is left out for ever.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Collection, Stop, json};

use crate::rules::blockchain::Blockchain;

const LANES: &str = "lanes";

/// By blockchain and address.
pub const COLLECTIONS: &[Collection] = &[Collection::new(LANES, &[])];

#[derive(Serialize, Deserialize)]
struct Lane {
    next: u64,
    /// Taken once, and given back while later ones were under way: the next to be taken.
    free: Vec<u64>,
}

/// What becomes of a number that nothing was sent with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Nobody waits for it.
    Free,
    /// Later ones are under way and wait for it: something has to be sent with it.
    Gap,
}

fn id(blockchain: Blockchain, address: &str) -> String {
    [blockchain.slug(), "/", address].concat()
}

fn load(call: &Call, id: &str) -> Result<Option<Lane>, Stop> {
    call.records(LANES).get(id).map(|entry| json::from_text(&entry.body)).transpose()
}

fn save(call: &Call, id: &str, lane: &Lane, is_new: bool) -> Result<(), Stop> {
    let (records, body) = (call.records(LANES), json::to_text(lane)?);
    let saved = if is_new { records.insert(id, &body) } else { records.replace(id, &body) };
    saved.map_err(Stop::from)
}

/// `first` says where the lane begins, where nothing was sent from here before.
pub fn take(
    call: &Call,
    (blockchain, address): (Blockchain, &str),
    first: impl FnOnce() -> Result<u64, Stop>,
) -> Result<u64, Stop> {
    let id = id(blockchain, address);
    let known = load(call, &id)?;
    let is_new = known.is_none();
    let mut lane = match known {
        Some(lane) => lane,
        None => Lane { next: first()?, free: Vec::new() },
    };
    let freed = lane.free.iter().min().copied();
    let taken = freed.unwrap_or(lane.next);
    match freed {
        Some(freed) => lane.free.retain(|number| *number != freed),
        None => lane.next = lane.next.saturating_add(1),
    }
    save(call, &id, &lane, is_new)?;
    Ok(taken)
}

/// Nothing was sent with this number.
pub fn give_back(call: &Call, blockchain: Blockchain, address: &str, number: u64) -> Result<Returned, Stop> {
    let id = id(blockchain, address);
    let Some(mut lane) = load(call, &id)? else { return Ok(Returned::Free) };
    if lane.next == number.saturating_add(1) {
        lane.next = number;
        // What was given back before may now be the last.
        while let Some(last) = lane.next.checked_sub(1).filter(|last| lane.free.contains(last)) {
            lane.free.retain(|free| *free != last);
            lane.next = last;
        }
        save(call, &id, &lane, false)?;
        return Ok(Returned::Free);
    }
    if !lane.free.contains(&number) {
        lane.free.push(number);
        save(call, &id, &lane, false)?;
    }
    Ok(Returned::Gap)
}

/// The blockchain has seen more of this address than was sent from here: what was given back below that is used up.
pub fn skip_to(call: &Call, blockchain: Blockchain, address: &str, number: u64) -> Result<(), Stop> {
    let id = id(blockchain, address);
    let Some(mut lane) = load(call, &id)? else { return Ok(()) };
    lane.next = lane.next.max(number);
    lane.free.retain(|free| *free >= number);
    save(call, &id, &lane, false)
}
