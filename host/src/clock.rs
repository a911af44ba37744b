//! The clock of the host: milliseconds since 1970-01-01T00:00:00Z, of the system or of a test that advances it.
//!
//! Owns the only reading of `SystemTime` in the host. Never waits: timeouts belong to `tokio::time`, whose clock is
//! monotonic. An operator can set the system's clock back, so no code may rely on two readings being in order.

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

/// Notifies of advances of a manual clock. Never notifies on the system's clock.
#[derive(Clone, Debug)]
pub struct Moves(Option<watch::Receiver<Timestamp>>);

impl Moves {
    /// Waits for an advance since the last call, so that a task that sleeps until a time can check the clock again.
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
    /// Returns the clock of this machine.
    pub fn system() -> Clock {
        Clock(Source::System)
    }

    /// Returns a clock that stands still until [`Clock::advance`] moves it. Clones share their time.
    pub fn manual(start: Timestamp) -> Clock {
        Clock(Source::Manual(watch::Sender::new(start)))
    }

    /// Returns milliseconds since 1970-01-01T00:00:00Z, or 0 if the system's clock is before that.
    #[expect(clippy::disallowed_methods, reason = "the one source of time")]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)),
            Source::Manual(time) => *time.borrow(),
        }
    }

    /// Advances a manual clock. Does nothing on the system's clock.
    pub fn advance(&self, milliseconds: u64) {
        if let Source::Manual(time) = &self.0 {
            time.send_modify(|time| *time = time.saturating_add(milliseconds));
        }
    }

    /// Returns a subscription to advances of the clock.
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
    fn manual_clock_shares_its_time_with_its_clones() {
        let clock = Clock::manual(1_000);
        let clone = clock.clone();
        assert_eq!(clock.now(), 1_000);
        clock.advance(250);
        assert_eq!(clone.now(), 1_250);
    }

    #[test]
    fn system_clock_is_past_2024() {
        assert!(Clock::system().now() > 1_704_067_200_000);
    }
}
