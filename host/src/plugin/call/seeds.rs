//! Seeds of calls: random numbers of the operating system, read for several calls at a time.
//!
//! Invariant: a seed leaves the buffer of its thread when it is used, so that no two calls have the same.

use std::cell::RefCell;

use crate::limits::CALL_SEEDS_PER_READ;

pub type Seed = [u8; 32];

/// Seeds that no call has used yet. A read costs half a microsecond, and hardly more for all of them.
struct Unused {
    seeds: [Seed; CALL_SEEDS_PER_READ],
    count: usize,
}

thread_local! {
    static UNUSED: RefCell<Unused> = const { RefCell::new(Unused { seeds: [[0; 32]; CALL_SEEDS_PER_READ], count: 0 }) };
}

/// Returns the seed of one call.
///
/// # Errors
///
/// The operating system has no random numbers.
pub fn next() -> Result<Seed, getrandom::Error> {
    UNUSED.with_borrow_mut(|unused| {
        if unused.count == 0 {
            getrandom::fill(unused.seeds.as_flattened_mut())?;
            unused.count = CALL_SEEDS_PER_READ;
        }
        unused.count -= 1;
        Ok(unused.seeds.get_mut(unused.count).map(std::mem::take).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_two_calls_have_the_same_seed() {
        let seeds: HashSet<Seed> = (0..3 * CALL_SEEDS_PER_READ).map(|_| next().unwrap()).collect();
        assert_eq!(seeds.len(), 3 * CALL_SEEDS_PER_READ);
        assert!(!seeds.contains(&Seed::default()));
    }

    #[test]
    fn used_seed_is_not_kept() {
        let seed = next().unwrap();
        UNUSED.with_borrow(|unused| assert!(!unused.seeds.contains(&seed)));
    }
}
