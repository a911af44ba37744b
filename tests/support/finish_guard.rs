//! A guard that fails a test whose stage is dropped without its final checks.

/// Panics on drop unless `set_finished` was called or the test has panicked already.
#[derive(Default)]
pub struct FinishGuard {
    is_finished: bool,
}

impl FinishGuard {
    /// Marks the stage as finished: its final checks run now.
    pub fn set_finished(&mut self) {
        self.is_finished = true;
    }
}

impl Drop for FinishGuard {
    fn drop(&mut self) {
        assert!(self.is_finished || std::thread::panicking(), "the stage was not finished");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the stage was not finished")]
    fn unfinished_stage_panics() {
        drop(FinishGuard::default());
    }

    #[test]
    fn finished_stage_does_not_panic() {
        let mut guard = FinishGuard::default();
        guard.set_finished();
    }
}
