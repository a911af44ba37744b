//! Tokens of a driver: how long one is good, and how many he may have (research/fleet 2).

pub const LIFETIME_MS: u64 = 7 * 24 * 60 * 60 * 1_000;
/// Devices that are logged in at the same time; the oldest login makes room.
pub const TOKENS_MAX: usize = 20;

/// When a token that is given out now ends.
pub fn ends_at(now_ms: u64) -> u64 {
    now_ms.saturating_add(LIFETIME_MS)
}

/// How many of the oldest tokens end, so that there is room for one more.
pub fn ended_by_one_more(valid: usize) -> usize {
    (valid + 1).saturating_sub(TOKENS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_a_week() {
        assert_eq!(ends_at(1_000), 604_801_000);
        assert_eq!(ends_at(u64::MAX), u64::MAX);
    }

    #[test]
    fn one_more_login_never_makes_too_many() {
        assert_eq!([0, TOKENS_MAX - 1, TOKENS_MAX, TOKENS_MAX + 5].map(ended_by_one_more), [0, 0, 1, 6]);
    }
}
