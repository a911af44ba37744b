//! Connects a call with its caller: until the call begins, it ends when the caller disconnects.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

/// Shared by a caller and the task that performs its call. Until the first run of the call begins, the call is dropped
/// together with its caller. From then on it is performed to its end, because it may have sent a question.
#[derive(Debug, Default)]
pub struct Attachment {
    state: AtomicU8,
    has_questions: AtomicBool,
}

impl Attachment {
    /// Detaches the call from its caller. Returns `false` if the caller has disconnected; nothing may be run then.
    pub fn begin(&self) -> bool {
        self.state.compare_exchange(WAITING, BEGUN, Ordering::AcqRel, Ordering::Acquire) != Err(ABANDONED)
    }

    /// Records that the caller has disconnected. Returns true if the call has not begun and must be dropped.
    pub fn abandon(&self) -> bool {
        self.state.compare_exchange(WAITING, ABANDONED, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Records that the call has sent a question, on any generation.
    pub fn note_question(&self) {
        self.has_questions.store(true, Ordering::Release);
    }

    pub fn has_questions(&self) -> bool {
        self.has_questions.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_dropped_with_its_caller_until_it_begins() {
        let waits = Attachment::default();
        assert!(waits.abandon());
        assert!(!waits.begin(), "it must not run");
        let runs = Attachment::default();
        assert!(runs.begin());
        assert!(!runs.abandon());
        assert!(runs.begin(), "it may run again");
    }
}
