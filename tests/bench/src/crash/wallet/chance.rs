//! What looks like chance, and is the same for the same seed, name and position.

use std::hash::Hash;

use crate::crash::hash_of;

pub struct Chance(u64);

impl Chance {
    pub fn of(parts: impl Hash) -> Chance {
        Chance(hash_of(parts))
    }

    /// splitmix64.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end.max(1)
    }

    /// From the first to the second, without that.
    pub fn between(&mut self, (from, to): (u64, u64)) -> u64 {
        from + self.below(to.saturating_sub(from))
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// `None` where there is none.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(usize::try_from(self.below(all.len() as u64)).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_parts_draw_the_same_and_others_draw_others() {
        let draw = |parts: (u64, &str, u64)| {
            let mut chance = Chance::of(parts);
            (0..8).map(|_| chance.below(1_000_000)).collect::<Vec<_>>()
        };
        assert_eq!(draw((1, "a", 3)), draw((1, "a", 3)));
        assert_ne!(draw((1, "a", 3)), draw((2, "a", 3)));
        assert_ne!(draw((1, "a", 3)), draw((1, "b", 3)));
        let mut chance = Chance::of(7);
        assert!((0..1_000).all(|_| (10..20).contains(&chance.between((10, 20)))));
        assert_eq!(chance.one_of::<u8>(&[]), None);
    }
}
