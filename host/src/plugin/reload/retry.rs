//! Schedules the next attempt for a change that was refused for a cause outside of its component, such as a full disk.
//! A component whose compiler crashes is prepared again a few times.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::limits;

#[derive(Debug, Default)]
pub struct Retry {
    /// Consecutive failures.
    failures: u32,
    due: Option<Instant>,
    /// Hashes of components whose compiler crashed, with the number of crashes; the latest first.
    crashed: VecDeque<(Arc<str>, u32)>,
}

impl Retry {
    /// Plans the next attempt, and returns the pause before it. Pauses double.
    pub fn plan(&mut self) -> Duration {
        let doubled = limits::SWAP_RETRY_MS.saturating_mul(2_u64.saturating_pow(self.failures));
        let pause = Duration::from_millis(doubled.min(limits::SWAP_RETRY_MS_MAX));
        self.failures = self.failures.saturating_add(1);
        self.due = Some(Instant::now() + pause);
        pause
    }

    /// Plans the next attempt after a crash of the compiler. Returns `None` if it has crashed too often with this
    /// component, so that no attempt is planned for it. Pauses between attempts for other components of the plugin
    /// still double.
    pub fn plan_after_crash(&mut self, hash: &Arc<str>) -> Option<Duration> {
        (self.count_crash(hash) < limits::COMPILE_CRASHES_MAX).then(|| self.plan())
    }

    /// Returns true if the compiler has crashed too often with this component.
    pub fn is_given_up(&self, hash: &str) -> bool {
        self.crashed.iter().any(|(crashed, count)| **crashed == *hash && *count >= limits::COMPILE_CRASHES_MAX)
    }

    fn count_crash(&mut self, hash: &Arc<str>) -> u32 {
        let position = self.crashed.iter().position(|(crashed, _)| crashed == hash);
        let before = position.and_then(|position| self.crashed.remove(position)).map_or(0, |(_, count)| count);
        let count = before.saturating_add(1);
        self.crashed.push_front((hash.clone(), count));
        self.crashed.truncate(limits::CRASHED_COMPONENTS_MAX);
        count
    }

    /// Postpones an attempt while another change of the plugin is prepared.
    pub fn postpone(&mut self) {
        self.due = Some(Instant::now() + Duration::from_millis(limits::SWAP_RETRY_MS));
    }

    /// Records that an attempt begins.
    pub fn begin(&mut self) {
        self.due = None;
    }

    /// Records that the cause of a failure lies in the component. A planned attempt stays.
    pub fn end(&mut self) {
        if self.due.is_none() {
            self.failures = 0;
        }
    }

    /// Returns when the next attempt begins. Returns `None` if no attempt is planned.
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

    #[tokio::test(start_paused = true)]
    async fn component_whose_compiler_crashes_is_prepared_a_few_times() {
        let (mut retry, a, b): (_, Arc<str>, Arc<str>) = (Retry::default(), "a".into(), "b".into());
        for _ in 1..limits::COMPILE_CRASHES_MAX {
            retry.begin();
            assert!(retry.plan_after_crash(&a).is_some());
            assert!(retry.plan_after_crash(&b).is_some());
        }
        retry.begin();
        assert_eq!([&a, &b, &a].map(|hash| retry.plan_after_crash(hash)), [None; 3]);
        assert_eq!(retry.due(), None);
        assert!(retry.plan_after_crash(&"changed".into()).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn pauses_for_another_component_double_after_a_component_was_given_up() {
        let (mut retry, journaled): (_, Arc<str>) = (Retry::default(), "a".into());
        while retry.plan_after_crash(&journaled).is_some() {}
        assert!(retry.is_given_up("a"));
        assert!(!retry.is_given_up("b"));
        let pause = retry.plan();
        retry.begin();
        assert_eq!(retry.plan_after_crash(&journaled), None);
        assert_eq!(retry.plan(), pause * 2);
    }
}
