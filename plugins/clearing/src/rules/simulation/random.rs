//! Random numbers that a seed repeats (splitmix64).

pub struct Random(u64);

impl Random {
    pub fn of_seed(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}
