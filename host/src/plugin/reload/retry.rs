//! When a change is prepared again that was refused for a cause outside of its component, such as a full disk.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits;

#[derive(Debug, Default)]
pub struct Retry {
    /// Refusals in a row.
    refusals: u32,
    due: Option<Instant>,
}

impl Retry {
    /// Plans the next attempt after a refusal, and returns the pause before it. Pauses double.
    pub fn plan(&mut self) -> Duration {
        let doubled = limits::SWAP_RETRY_MS.saturating_mul(2_u64.saturating_pow(self.refusals));
        let pause = Duration::from_millis(doubled.min(limits::SWAP_RETRY_MS_MAX));
        self.refusals = self.refusals.saturating_add(1);
        self.due = Some(Instant::now() + pause);
        pause
    }

    /// Puts an attempt off while another change of the plugin is prepared.
    pub fn postpone(&mut self) {
        self.due = Some(Instant::now() + Duration::from_millis(limits::SWAP_RETRY_MS));
    }

    /// An attempt begins.
    pub fn begin(&mut self) {
        self.due = None;
    }

    /// An attempt was refused for its component. Another planned one stays.
    pub fn end(&mut self) {
        if self.due.is_none() {
            self.refusals = 0;
        }
    }

    /// When the next attempt begins; `None` if none is planned.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_double_up_to_their_limit() {
        let mut retry = Retry::default();
        let first = retry.plan();
        assert_eq!(retry.due(), Some(Instant::now() + first));
        assert_eq!(retry.plan(), first * 2);
        let longest = (0..100).map(|_| retry.plan()).last();
        assert_eq!(longest, Some(Duration::from_millis(limits::SWAP_RETRY_MS_MAX)));
        retry.begin();
        retry.end();
        assert_eq!(retry.plan(), first);
    }
}
