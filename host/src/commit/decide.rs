//! Decides whether a call may commit: a pure function of the accepted changes. No clock, no database, no waiting.
//!
//! The rule: every value that the call read must be unchanged. The overlay contains every write since the call began,
//! unless the call is outdated, so a key that is not in the overlay has not changed. An outdated call conflicts. Ledger
//! balances are the exception that makes busy accounts fast: if the plugin commits, a balance may have changed, as long
//! as it is within its bounds after this call.

use ethnum::I256;

use super::overlay::{CallStart, Content, Overlay, ReservationId};
use crate::changes::change_set::Key;

mod proposal;
#[cfg(test)]
mod tests;

pub use proposal::{InvalidProposal, Proposal, Purpose};

/// The change of one call to one balance, summed over all of its transfers.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerLine {
    pub key: Key,
    /// The balance that the call read. It is current as long as the overlay has no newer one.
    pub read: I256,
    pub delta: I256,
    /// True if the account may go below zero.
    pub external: bool,
    pub at_least: Option<I256>,
    pub at_most: Option<I256>,
}

/// Why a call cannot commit now.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictReason {
    /// The value has changed since the call read it: run the call again.
    Changed(Key),
    /// The balance has changed and would be out of bounds after this call: run the call again, so that the plugin reads
    /// it.
    Balance(Key),
    /// The balance would be out of bounds although it has not changed since the call read it: a fault of the plugin.
    Never(Key),
    /// The overlay was emptied since the call began, or it no longer pins the entries of this old call: run the call
    /// again.
    Outdated,
    /// Another call has reserved the key: wait, then decide again.
    Reserved(Key),
}

/// The balances after the call, one for each ledger line with a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Accepted {
    pub balances: Vec<(Key, I256)>,
}

/// Decides on a proposal. Reservations are checked last, so that a call with a conflict runs again without waiting for
/// one.
pub fn decide(
    overlay: &Overlay,
    proposal: &Proposal,
    reservation: Option<ReservationId>,
) -> Result<Accepted, ConflictReason> {
    check_start(overlay, &proposal.began)?;
    check_reads(overlay, proposal)?;
    let balances = match proposal.purpose {
        Purpose::Commit => balances_after(overlay, &proposal.ledger)?,
        Purpose::Refusal => check_balances_unchanged(overlay, &proposal.ledger)?,
    };
    check_reservations(overlay, proposal, reservation)?;
    Ok(Accepted { balances })
}

fn check_start(overlay: &Overlay, began: &CallStart) -> Result<(), ConflictReason> {
    if overlay.is_current(began) { Ok(()) } else { Err(ConflictReason::Outdated) }
}

fn check_reads(overlay: &Overlay, proposal: &Proposal) -> Result<(), ConflictReason> {
    for read in &proposal.changes.reads {
        if overlay.version(&read.key).is_some_and(|current| current != read.seen) {
            return Err(ConflictReason::Changed(read.key.clone()));
        }
    }
    Ok(())
}

fn balances_after(overlay: &Overlay, ledger: &[LedgerLine]) -> Result<Vec<(Key, I256)>, ConflictReason> {
    let mut balances = Vec::new();
    for line in ledger {
        let now = overlay.balance(&line.key).unwrap_or(line.read);
        match now.checked_add(line.delta) {
            Some(after) if line.allows(after) => {
                if line.delta != I256::ZERO {
                    balances.push((line.key.clone(), after));
                }
            }
            // The balance is the one that the call read, so another run would have the same result.
            _ if now == line.read => return Err(ConflictReason::Never(line.key.clone())),
            _ => return Err(ConflictReason::Balance(line.key.clone())),
        }
    }
    Ok(balances)
}

impl LedgerLine {
    /// Returns true if the balance may be `after` after this call.
    pub fn allows(&self, after: I256) -> bool {
        let overdrawn = self.delta < I256::ZERO && after < I256::ZERO && !self.external;
        !overdrawn && self.at_least.is_none_or(|least| after >= least) && self.at_most.is_none_or(|most| after <= most)
    }
}

/// Checks the balances of a refusal. They must be unchanged, because the host cannot determine how the refusal depends
/// on them.
fn check_balances_unchanged(overlay: &Overlay, ledger: &[LedgerLine]) -> Result<Vec<(Key, I256)>, ConflictReason> {
    for line in ledger {
        if overlay.balance(&line.key).is_some_and(|now| now != line.read) {
            return Err(ConflictReason::Balance(line.key.clone()));
        }
    }
    Ok(Vec::new())
}

fn check_reservations(
    overlay: &Overlay,
    proposal: &Proposal,
    reservation: Option<ReservationId>,
) -> Result<(), ConflictReason> {
    let balances = proposal.ledger.iter().filter(|line| line.delta != I256::ZERO).map(|line| &line.key);
    for key in proposal.writes.iter().map(|(key, _)| key).chain(balances) {
        if overlay.is_reserved(key, reservation) {
            return Err(ConflictReason::Reserved(key.clone()));
        }
    }
    Ok(())
}

/// Returns the content of each key after the proposal is accepted. The overlay assigns the version.
pub fn into_writes(writes: Vec<(Key, Content)>, accepted: &Accepted) -> Vec<(Key, Content)> {
    let mut writes = writes;
    writes.extend(accepted.balances.iter().map(|(key, amount)| (key.clone(), Content::Balance(*amount))));
    writes
}
