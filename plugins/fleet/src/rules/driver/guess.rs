//! Wrong passwords of one driver: whoever guesses is heard a few times an hour, wherever he types them.
//!
//! Always holds: a password that comes after too many wrong ones is not looked at, right or not.

use super::code::{LIFETIME_MS, WRONG_MAX};
use crate::rules::refusal::Refusal;

/// Wrong ones since `counted_from_ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guesses {
    pub wrong: u8,
    pub counted_from_ms: u64,
}

/// What is stored afterwards either way, and whether the driver is let in.
pub fn judge(before: Guesses, is_right: bool, now_ms: u64) -> (Guesses, Result<(), Refusal>) {
    let is_recent = now_ms.saturating_sub(before.counted_from_ms) < LIFETIME_MS;
    let known = if before.wrong > 0 && is_recent { before } else { Guesses { wrong: 0, counted_from_ms: now_ms } };
    if known.wrong >= WRONG_MAX {
        return (known, Err(Refusal::TooManyPasswords));
    }
    if is_right {
        return (Guesses::default(), Ok(()));
    }
    (Guesses { wrong: known.wrong + 1, ..known }, Err(Refusal::WrongPassword))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;

    fn guessed(times: u8) -> Guesses {
        (0..times).fold(Guesses::default(), |known, _| judge(known, false, NOW).0)
    }

    #[test]
    fn a_password_is_guessed_ten_times_an_hour() {
        assert_eq!(judge(guessed(WRONG_MAX - 1), false, NOW).1, Err(Refusal::WrongPassword));
        let closed = guessed(WRONG_MAX);
        for is_right in [false, true] {
            assert_eq!(judge(closed, is_right, NOW + LIFETIME_MS - 1), (closed, Err(Refusal::TooManyPasswords)));
        }
        assert_eq!(judge(closed, true, NOW + LIFETIME_MS), (Guesses::default(), Ok(())));
        let again = Guesses { wrong: 1, counted_from_ms: NOW + LIFETIME_MS };
        assert_eq!(judge(closed, false, NOW + LIFETIME_MS), (again, Err(Refusal::WrongPassword)));
    }

    #[test]
    fn a_right_one_forgets_the_wrong_ones() {
        assert_eq!(judge(guessed(WRONG_MAX - 1), true, NOW), (Guesses::default(), Ok(())));
    }
}
