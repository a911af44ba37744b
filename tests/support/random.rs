//! A seeded random number generator (splitmix64) that tasks can share.

use parking_lot::Mutex;

pub struct Random(Mutex<u64>);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(Mutex::new(seed))
    }

    pub fn next(&self) -> u64 {
        let mut state = self.0.lock();
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
