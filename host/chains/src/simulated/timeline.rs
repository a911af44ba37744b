//! Heights, times and hashes of blocks, computed from the clock. There is no timer, and an empty block has no row.
//!
//! Invariant: a hash determines its height (its first eight bytes), the network, and the number of reorganisations of
//! that height.

use sha2::{Digest, Sha256};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timeline {
    /// Name of this network that is unique across files.
    pub label: String,
    /// Height of the reference block. Later blocks follow every `block_time_ms`.
    pub base_height: u64,
    /// Time of the reference block.
    pub base_time_ms: u64,
    pub block_time_ms: u64,
    /// Lowest height that each reorganisation replaced.
    pub forks: Vec<u64>,
}

impl Timeline {
    pub fn height(&self, now_ms: u64) -> u64 {
        let passed = now_ms.saturating_sub(self.base_time_ms);
        self.base_height.saturating_add(passed / self.block_time_ms.max(1))
    }

    pub fn time_ms(&self, height: u64) -> u64 {
        let span = |blocks: u64| blocks.saturating_mul(self.block_time_ms);
        match height.checked_sub(self.base_height) {
            Some(after) => self.base_time_ms.saturating_add(span(after)),
            None => self.base_time_ms.saturating_sub(span(self.base_height.saturating_sub(height))),
        }
    }

    /// Returns the timeline advanced by this many blocks.
    pub fn moved(&self, blocks: u64) -> Timeline {
        Timeline { base_height: self.base_height.saturating_add(blocks), ..self.clone() }
    }

    pub fn hash(&self, height: u64) -> [u8; 32] {
        let forks = self.forks.iter().filter(|from| **from <= height).count();
        let digest = Sha256::digest(format!("block/{}/{height}/{forks}", self.label));
        let mut hash: [u8; 32] = digest.into();
        hash.iter_mut().zip(height.to_be_bytes()).for_each(|(byte, height_byte)| *byte = height_byte);
        hash
    }

    /// Returns the height of the block with this hash, if it is at most `depth` blocks below `head`.
    pub fn find_hash(&self, hash: &[u8; 32], head: u64, depth: u64) -> Option<u64> {
        let height = u64::from_be_bytes(*hash.first_chunk::<8>()?);
        let is_near = head.checked_sub(height)? <= depth;
        (is_near && self.hash(height) == *hash).then_some(height)
    }
}

#[cfg(test)]
mod tests;
