//! When a raw transaction is sent again (spec/wallet: Limits): one attempt and ten repeats, five minutes apart, always the same
//! bytes.

use super::limits::{BROADCAST_PAUSE_MS, BROADCAST_RETRIES};

/// How an attempt was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A node has it, or had it already.
    Taken,
    /// A node says that it can never be valid; no repeat helps.
    Refused,
    /// No answer, or a node that is out of order: a node may have it or not.
    Silent,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for its confirmation.
    Await,
    /// Send the same bytes again.
    Again { at_ms: u64 },
    /// signed.failed.
    GiveUp,
}

/// After the attempt number `attempt`, counted from one.
pub fn after(attempt: u32, reply: Reply, now_ms: u64) -> Next {
    match reply {
        Reply::Taken => Next::Await,
        Reply::Refused => Next::GiveUp,
        Reply::Silent if attempt <= BROADCAST_RETRIES => {
            Next::Again { at_ms: now_ms.saturating_add(BROADCAST_PAUSE_MS) }
        }
        Reply::Silent => Next::GiveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_network_is_asked_eleven_times_in_fifty_minutes() {
        let (mut now_ms, mut attempts) = (0, 1);
        while let Next::Again { at_ms } = after(attempts, Reply::Silent, now_ms) {
            (now_ms, attempts) = (at_ms, attempts + 1);
        }
        assert_eq!((attempts, now_ms), (11, 50 * 60_000));
    }

    #[test]
    fn an_answer_ends_the_repeats() {
        assert_eq!(after(1, Reply::Taken, 7), Next::Await);
        assert_eq!(after(11, Reply::Taken, 7), Next::Await);
        assert_eq!(after(1, Reply::Refused, 7), Next::GiveUp);
    }
}
