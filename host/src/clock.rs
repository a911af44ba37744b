//! The one clock: milliseconds since 1970-01-01T00:00:00Z, of the system or of a test that moves it.
//!
//! Owns the only reading of `SystemTime` in the host. Never waits: timeouts belong to `tokio::time`, whose clock is
//! monotonic. The system's clock can be set back by its operator, so nothing may rely on two readings being in order.

use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

/// Milliseconds since 1970-01-01T00:00:00Z.
pub type Timestamp = u64;

#[derive(Clone, Debug)]
pub struct Clock(Source);

#[derive(Clone, Debug)]
enum Source {
    System,
    Manual(watch::Sender<Timestamp>),
}

/// Follows a clock that tests move; on the system's clock there is nothing to follow.
#[derive(Clone, Debug)]
pub struct Moves(Option<watch::Receiver<Timestamp>>);

impl Moves {
    /// Returns once for all moves since it was asked last: who sleeps until a time looks again.
    pub async fn next(&mut self) {
        let moved = match &mut self.0 {
            Some(moves) => moves.changed().await.is_ok(),
            None => false,
        };
        if !moved {
            std::future::pending().await
        }
    }
}

impl Clock {
    /// The time of this machine.
    pub fn system() -> Clock {
        Clock(Source::System)
    }

    /// A clock that stands still until [`Clock::advance`] moves it. Clones move together.
    pub fn manual(start: Timestamp) -> Clock {
        Clock(Source::Manual(watch::Sender::new(start)))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z; 0 where the system's clock stands before that.
    #[expect(clippy::disallowed_methods, reason = "the one source of time")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            Source::Manual(time) => *time.borrow(),
        }
    }

    /// Moves a manual clock forward. The system's clock is not ours to move, so there it does nothing.
    pub fn advance(&self, milliseconds: u64) {
        if let Source::Manual(time) = &self.0 {
            time.send_modify(|time| *time = time.saturating_add(milliseconds));
        }
    }

    pub fn moves(&self) -> Moves {
        match &self.0 {
            Source::System => Moves(None),
            Source::Manual(time) => Moves(Some(time.subscribe())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_moves_only_when_told_and_with_its_clones() {
        let clock = Clock::manual(1_000);
        let seen_elsewhere = clock.clone();
        assert_eq!(clock.now(), 1_000);
        clock.advance(250);
        assert_eq!(seen_elsewhere.now(), 1_250);
    }

    #[test]
    fn the_clock_of_the_system_is_past_2024() {
        assert!(Clock::system().now() > 1_704_067_200_000);
    }
}
