//! Which sequence the treasury's next transaction has, on each blockchain: those that were given, and those that are free again.

use serde::{Deserialize, Serialize};
use tenon_plugin::{Call, Stop};

use super::TREASURIES;

#[derive(Default, Serialize, Deserialize)]
struct Treasury {
    next: u64,
    /// Given to transactions that no node will ever take: whoever comes next fills them.
    gaps: Vec<u64>,
}

/// `count`: of the treasury's transactions that stand in blocks.
pub fn take_sequence(call: &Call, blockchain: &str, count: u64) -> Result<u64, Stop> {
    let mut treasury = load(call, blockchain)?;
    treasury.gaps.retain(|gap| *gap >= count);
    treasury.gaps.sort_unstable();
    let sequence = if treasury.gaps.is_empty() {
        let sequence = treasury.next.max(count);
        treasury.next = sequence.saturating_add(1);
        sequence
    } else {
        treasury.gaps.remove(0)
    };
    super::put(call, TREASURIES, blockchain, &treasury)?;
    Ok(sequence)
}

/// Nothing will ever stand there with this sequence.
pub fn note_gap(call: &Call, blockchain: &str, sequence: u64) -> Result<(), Stop> {
    let mut treasury = load(call, blockchain)?;
    if !treasury.gaps.contains(&sequence) {
        treasury.gaps.push(sequence);
    }
    super::put(call, TREASURIES, blockchain, &treasury)
}

fn load(call: &Call, blockchain: &str) -> Result<Treasury, Stop> {
    Ok(super::find(call, TREASURIES, blockchain)?.unwrap_or_default())
}
