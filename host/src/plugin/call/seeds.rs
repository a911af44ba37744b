//! Seeds of calls: random numbers of the operating system, read for several calls at a time.
//!
//! Invariant: a seed is removed from the buffer of its thread when it is used, so that no two calls have the same.

use std::cell::RefCell;

use crate::limits::CALL_SEEDS_PER_READ;

pub type Seed = [u8; 32];

thread_local! {
    /// Seeds that no call has used yet. Reading one costs half a microsecond, and reading several costs hardly more.
    static UNUSED: RefCell<Vec<Seed>> = const { RefCell::new(Vec::new()) };
}

/// Returns the seed of one call.
///
/// # Errors
///
/// The operating system returned no random numbers.
pub fn next() -> Result<Seed, getrandom::Error> {
    UNUSED.with_borrow_mut(|unused| {
        if unused.is_empty() {
            unused.resize(CALL_SEEDS_PER_READ, Seed::default());
            if let Err(error) = getrandom::fill(unused.as_flattened_mut()) {
                unused.clear();
                return Err(error);
            }
        }
        let seed = unused.last_mut().map(std::mem::take);
        unused.pop();
        seed.ok_or(getrandom::Error::UNEXPECTED)
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
    fn used_seed_is_removed() {
        let seed = next().unwrap();
        UNUSED.with_borrow(|unused| assert!(!unused.contains(&seed)));
    }
}
