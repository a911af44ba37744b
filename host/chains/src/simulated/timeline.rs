//! Heights, times and hashes of blocks as arithmetic: nothing ticks, and an empty block is no row anywhere.
//!
//! Invariant: a hash tells its height (its first eight bytes), the network, and how often that height was reorganised.

use sha2::{Digest, Sha256};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timeline {
    /// What tells this network from all others, those of other files too.
    pub label: String,
    /// A block and when it was made; those after it come one every `block_time_ms`.
    pub base_height: u64,
    pub base_time_ms: u64,
    pub block_time_ms: u64,
    /// The lowest height that each reorganisation replaced.
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

    /// The same, so many blocks further.
    pub fn moved(&self, blocks: u64) -> Timeline {
        Timeline { base_height: self.base_height.saturating_add(blocks), ..self.clone() }
    }

    pub fn hash(&self, height: u64) -> [u8; 32] {
        let forks = self.forks.iter().filter(|from| **from <= height).count();
        let digest = Sha256::digest(format!("block/{}/{height}/{forks}", self.label));
        let mut hash: [u8; 32] = digest.into();
        hash.iter_mut().zip(height.to_be_bytes()).for_each(|(byte, of_height)| *byte = of_height);
        hash
    }

    /// The block below `head` that has this hash, if it is at most `depth` below.
    pub fn find_hash(&self, hash: &[u8; 32], head: u64, depth: u64) -> Option<u64> {
        let height = u64::from_be_bytes(*hash.first_chunk::<8>()?);
        let is_near = head.checked_sub(height)? <= depth;
        (is_near && self.hash(height) == *hash).then_some(height)
    }
}

#[cfg(test)]
mod tests;
