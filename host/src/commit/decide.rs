//! Whether a call may commit: a pure function over what was accepted already. No clock, no database, no waiting.
//!
//! The one rule: whatever the call saw must still stand. The overlay knows every write since the oldest running call
//! began, so a key that it does not know has not changed. Ledger balances are the exception that makes busy accounts fast:
//! what counts is not that a balance is unchanged, but that it stays within what is allowed after this call.

use ethnum::I256;

use super::overlay::{Began, Content, Overlay, TurnId};
use crate::changes::change_set::Key;

mod proposal;
#[cfg(test)]
mod tests;

pub use proposal::{Proposal, Purpose, Unsound};

/// What one call does to one balance, all of its transfers taken together.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerLine {
    pub key: Key,
    /// What the call read. It stands as long as the overlay has nothing newer.
    pub read: I256,
    pub delta: I256,
    /// May go below zero.
    pub external: bool,
    pub at_least: Option<I256>,
    pub at_most: Option<I256>,
}

/// Why a call may not commit now.
#[derive(Clone, Debug, PartialEq)]
pub enum Objection {
    /// What stands there is not what the call saw: run again.
    Changed(Key),
    /// After this call the balance would not be allowed: run again, and let the rule see it.
    Balance(Key),
    /// The call wants a balance that is not allowed, and knew it: a fault of the plugin.
    Never(Key),
    /// The call began before the overlay was emptied: run again.
    Outdated,
    /// The key belongs to a call whose turn it is: wait, then decide again.
    Reserved(Key),
}

/// The balances after the call, one for each line that moves something.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    pub balances: Vec<(Key, I256)>,
}

/// The order matters only for what is reported: whoever lost anyway does not wait for a turn.
pub fn decide(overlay: &Overlay, proposal: &Proposal, turn: Option<TurnId>) -> Result<Accepted, Objection> {
    began_in_time(overlay, &proposal.began)?;
    reads_hold(overlay, proposal)?;
    let balances = match proposal.purpose {
        Purpose::Commit => balances_after(overlay, &proposal.ledger)?,
        Purpose::Refusal => balances_unchanged(overlay, &proposal.ledger)?,
    };
    nothing_reserved(overlay, proposal, turn)?;
    Ok(Accepted { balances })
}

fn began_in_time(overlay: &Overlay, began: &Began) -> Result<(), Objection> {
    if overlay.is_current(began) { Ok(()) } else { Err(Objection::Outdated) }
}

fn reads_hold(overlay: &Overlay, proposal: &Proposal) -> Result<(), Objection> {
    for read in &proposal.changes.reads {
        if overlay.version(&read.key).is_some_and(|stands| stands != read.seen) {
            return Err(Objection::Changed(read.key.clone()));
        }
    }
    Ok(())
}

fn balances_after(overlay: &Overlay, ledger: &[LedgerLine]) -> Result<Vec<(Key, I256)>, Objection> {
    let mut balances = Vec::new();
    for line in ledger {
        let now = overlay.balance(&line.key).unwrap_or(line.read);
        match now.checked_add(line.delta) {
            Some(after) if line.allows(after) => {
                if line.delta != I256::ZERO {
                    balances.push((line.key.clone(), after));
                }
            }
            // On the very balance that the call saw: it would fare no better another time.
            _ if now == line.read => return Err(Objection::Never(line.key.clone())),
            _ => return Err(Objection::Balance(line.key.clone())),
        }
    }
    Ok(balances)
}

impl LedgerLine {
    /// Whether the balance may be `after` once this call is done.
    pub fn allows(&self, after: I256) -> bool {
        let overdrawn = self.delta < I256::ZERO && after < I256::ZERO && !self.external;
        !overdrawn && self.at_least.is_none_or(|least| after >= least) && self.at_most.is_none_or(|most| after <= most)
    }
}

/// A refusal may rest on a balance in ways that only the plugin knows: it goes out if the balance is what it saw.
fn balances_unchanged(overlay: &Overlay, ledger: &[LedgerLine]) -> Result<Vec<(Key, I256)>, Objection> {
    for line in ledger {
        if overlay.balance(&line.key).is_some_and(|now| now != line.read) {
            return Err(Objection::Balance(line.key.clone()));
        }
    }
    Ok(Vec::new())
}

fn nothing_reserved(overlay: &Overlay, proposal: &Proposal, turn: Option<TurnId>) -> Result<(), Objection> {
    let balances = proposal.ledger.iter().filter(|line| line.delta != I256::ZERO).map(|line| &line.key);
    for key in proposal.writes.iter().map(|(key, _)| key).chain(balances) {
        if overlay.is_reserved(key, turn) {
            return Err(Objection::Reserved(key.clone()));
        }
    }
    Ok(())
}

/// What stands at each key once the proposal is accepted; the overlay gives it the version.
pub fn into_writes(writes: Vec<(Key, Content)>, accepted: &Accepted) -> Vec<(Key, Content)> {
    let mut writes = writes;
    writes.extend(accepted.balances.iter().map(|(key, amount)| (key.clone(), Content::Balance(*amount))));
    writes
}
