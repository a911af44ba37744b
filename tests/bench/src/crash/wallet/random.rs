//! Pseudo-random numbers that depend only on the given parts, such as seed, name and position.

use std::hash::Hash;

use crate::crash::hash_of;

pub struct Random(u64);

impl Random {
    pub fn from_parts(parts: impl Hash) -> Random {
        Random(hash_of(parts))
    }

    /// Returns a number below `end` (splitmix64).
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    /// Returns a number in the range, without its end.
    pub fn between(&mut self, (from, to): (u64, u64)) -> u64 {
        from + self.below(to.saturating_sub(from))
    }

    pub fn percent(&mut self, probability: u64) -> bool {
        self.below(100) < probability
    }

    /// Selects an element. Returns `None` if `all` is empty.
    pub fn choose<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(usize::try_from(self.below(all.len() as u64)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequence_depends_only_on_the_parts() {
        let draw = |parts: (u64, &str, u64)| {
            let mut random = Random::from_parts(parts);
            (0..8).map(|_| random.below(1_000_000)).collect::<Vec<_>>()
        };
        assert_eq!(draw((1, "a", 3)), draw((1, "a", 3)));
        assert_ne!(draw((1, "a", 3)), draw((2, "a", 3)));
        assert_ne!(draw((1, "a", 3)), draw((1, "b", 3)));
        let mut random = Random::from_parts(7);
        assert!((0..1_000).all(|_| (10..20).contains(&random.between((10, 20)))));
        assert_eq!(random.choose::<u8>(&[]), None);
    }
}
