//! Codes that are sent to a phone or an email and typed in again (research/fleet 2: six digits, one hour).
//!
//! Always holds: a code is good once, for what it was sent for, within its hour; of a million codes somebody who
//! guesses tries a few an hour, however often a new one is sent. The comparison itself takes the same time whatever was
//! typed: that is the border's, as is keeping no code in clear.

use crate::rules::refusal::Refusal;

pub const DIGITS: usize = 6;
pub const LIFETIME_MS: u64 = 60 * 60 * 1_000;
/// Between two codes to one person.
pub const PAUSE_MS: u64 = 30 * 1_000;
/// Wrong ones, within an hour.
pub const WRONG_MAX: u8 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Login,
    CreateDriver,
    ResetPassword,
}

/// What is known of a code that was sent to one identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    pub purpose: Purpose,
    pub at_ms: u64,
    /// Whether it may still be used.
    pub open: bool,
    /// Wrong codes of this identity since `counted_from_ms`.
    pub wrong: u8,
    pub counted_from_ms: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    Same,
    Different,
}

/// What is stored afterwards either way; the answer is given with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub stored: Sent,
    pub outcome: Result<(), Refusal>,
}

impl Purpose {
    pub const ALL: [Purpose; 3] = [Purpose::Login, Purpose::CreateDriver, Purpose::ResetPassword];

    /// As a caller writes it in `for`.
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Login => "driver_login",
            Purpose::CreateDriver => "create_driver",
            Purpose::ResetPassword => "driver_password_reset",
        }
    }

    pub fn of_name(name: &str) -> Option<Purpose> {
        Purpose::ALL.into_iter().find(|purpose| purpose.name() == name)
    }
}

/// The digits of a code. 2^64 is so much more than a million that each comes as often as any other.
pub fn digits(random: u64) -> String {
    format!("{:0width$}", random % 1_000_000, width = DIGITS)
}

pub fn is_code(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A new code for an identity. Wrong ones are counted on, so that a new code is no new try.
pub fn send(before: Option<Sent>, purpose: Purpose, now_ms: u64) -> Result<Sent, Refusal> {
    let fresh = Sent { purpose, at_ms: now_ms, open: true, wrong: 0, counted_from_ms: now_ms };
    let Some(before) = before.map(|before| forget(before, now_ms)) else { return Ok(fresh) };
    let pause_ms = before.at_ms.saturating_add(PAUSE_MS).saturating_sub(now_ms);
    let forgotten_ms = before.counted_from_ms.saturating_add(LIFETIME_MS).saturating_sub(now_ms);
    let wait_ms = if before.wrong >= WRONG_MAX { pause_ms.max(forgotten_ms) } else { pause_ms };
    if wait_ms > 0 {
        return Err(Refusal::CodeSentJustNow { retry_after_s: wait_ms.div_ceil(1_000) });
    }
    Ok(Sent { wrong: before.wrong, counted_from_ms: before.counted_from_ms, ..fresh })
}

/// Somebody has typed one.
pub fn verify(sent: Sent, purpose: Purpose, compared: Compared, now_ms: u64) -> Verdict {
    let sent = forget(sent, now_ms);
    let is_alive = sent.open && now_ms.saturating_sub(sent.at_ms) < LIFETIME_MS && sent.wrong < WRONG_MAX;
    if is_alive && sent.purpose == purpose && compared == Compared::Same {
        return Verdict { stored: Sent { open: false, wrong: 0, ..sent }, outcome: Ok(()) };
    }
    Verdict { stored: Sent { wrong: sent.wrong.saturating_add(1), ..sent }, outcome: Err(Refusal::WrongCode) }
}

/// An hour later nobody remembers.
fn forget(sent: Sent, now_ms: u64) -> Sent {
    if now_ms.saturating_sub(sent.counted_from_ms) < LIFETIME_MS {
        return sent;
    }
    Sent { wrong: 0, counted_from_ms: now_ms, ..sent }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: u64 = 1_000_000_000;

    fn sent() -> Sent {
        send(None, Purpose::Login, NOW).unwrap()
    }

    fn check(sent: Sent, purpose: Purpose, compared: Compared, after_ms: u64, good: bool) {
        let verdict = verify(sent, purpose, compared, NOW + after_ms);
        assert_eq!(verdict.outcome, if good { Ok(()) } else { Err(Refusal::WrongCode) }, "{sent:?} {after_ms}");
    }

    #[test]
    fn a_code_is_good_for_its_hour_and_what_it_was_sent_for() {
        check(sent(), Purpose::Login, Compared::Same, LIFETIME_MS - 1, true);
        check(sent(), Purpose::Login, Compared::Same, LIFETIME_MS, false);
        check(sent(), Purpose::Login, Compared::Different, 0, false);
        check(sent(), Purpose::ResetPassword, Compared::Same, 0, false);
    }

    #[test]
    fn a_code_is_good_once() {
        let used = verify(sent(), Purpose::Login, Compared::Same, NOW).stored;
        check(used, Purpose::Login, Compared::Same, 1, false);
    }

    #[test]
    fn too_many_wrong_ones_close_it_even_for_a_new_code() {
        let wrong = |sent, _| verify(sent, Purpose::Login, Compared::Different, NOW).stored;
        let guessed = (1..WRONG_MAX).fold(sent(), wrong);
        check(guessed, Purpose::Login, Compared::Same, 0, true);
        let resent = send(Some(guessed), Purpose::Login, NOW + PAUSE_MS).unwrap();
        assert_eq!(resent.wrong, WRONG_MAX - 1);
        let closed = wrong(guessed, 0);
        check(closed, Purpose::Login, Compared::Same, 0, false);
        let rest_s = (LIFETIME_MS - PAUSE_MS) / 1_000;
        let refused = Err(Refusal::CodeSentJustNow { retry_after_s: rest_s });
        assert_eq!(send(Some(closed), Purpose::Login, NOW + PAUSE_MS), refused);
        assert!(send(Some(closed), Purpose::Login, NOW + LIFETIME_MS).is_ok());
    }

    #[test]
    fn codes_are_sent_at_intervals() {
        let refused = Err(Refusal::CodeSentJustNow { retry_after_s: 1 });
        assert_eq!(send(Some(sent()), Purpose::Login, NOW + PAUSE_MS - 1), refused);
        assert!(send(Some(sent()), Purpose::Login, NOW + PAUSE_MS).is_ok());
    }

    #[test]
    fn purposes_have_names() {
        assert_eq!(Purpose::of_name("driver_login"), Some(Purpose::Login));
        assert!(Purpose::ALL.into_iter().all(|purpose| Purpose::of_name(purpose.name()) == Some(purpose)));
        assert_eq!(Purpose::of_name("customer_login"), None);
    }

    proptest! {
        #[test]
        fn codes_are_six_digits(random: u64) {
            prop_assert!(is_code(&digits(random)));
        }

        /// Whoever guesses, asking for new codes as often as he may, is heard a few times an hour.
        #[test]
        fn guesses_are_few(steps in prop::collection::vec((any::<bool>(), 0u64..120_000), 1..400)) {
            let (mut known, mut now, mut heard) = (sent(), NOW, Vec::new());
            for (resends, wait) in steps {
                now += wait;
                if resends {
                    known = send(Some(known), Purpose::Login, now).unwrap_or(known);
                } else {
                    let would_open = verify(known, Purpose::Login, Compared::Same, now).outcome.is_ok();
                    heard.extend(would_open.then_some(now));
                    known = verify(known, Purpose::Login, Compared::Different, now).stored;
                }
            }
            for from in &heard {
                let within = heard.iter().filter(|at| (*from..from + LIFETIME_MS).contains(*at)).count();
                prop_assert!(within <= 2 * usize::from(WRONG_MAX));
            }
        }
    }
}
