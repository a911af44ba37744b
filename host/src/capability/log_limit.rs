//! Limits the log output of plugins: lines and bytes of one call, and of one plugin in one second.
//!
//! A line over a limit is counted and dropped. The first dropped line of a call, and of a second, is replaced by a
//! line that reports the loss.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus::IntCounter;

const WINDOW: Duration = Duration::from_secs(1);

/// A number of lines and bytes.
#[derive(Clone, Copy, Debug)]
pub struct LogShare {
    pub lines: u32,
    pub bytes: usize,
}

/// Decision about one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    Write,
    /// The first dropped line of its call or second. A line that reports the loss is logged instead.
    Announce,
    Drop,
}

/// Remaining part of a share.
#[derive(Clone, Copy, Debug)]
pub struct LogBudget {
    left: LogShare,
    is_used_up: bool,
}

impl LogBudget {
    pub fn new(share: LogShare) -> LogBudget {
        LogBudget { left: share, is_used_up: false }
    }

    /// Charges one line to the share. A share that was used up stays used up, even if the next line would fit.
    fn take(&mut self, bytes: usize) -> Admission {
        match (self.left.lines.checked_sub(1), self.left.bytes.checked_sub(bytes)) {
            _ if self.is_used_up => Admission::Drop,
            (Some(lines), Some(bytes)) => {
                self.left = LogShare { lines, bytes };
                Admission::Write
            }
            _ => {
                self.is_used_up = true;
                Admission::Announce
            }
        }
    }
}

/// The share of one plugin in each second.
pub struct LogLimit {
    each_second: LogShare,
    second: Mutex<Second>,
    dropped: IntCounter,
}

struct Second {
    began: Instant,
    budget: LogBudget,
}

impl LogLimit {
    /// Creates a limit. `dropped` counts the lines that were not written.
    pub fn new(each_second: LogShare, dropped: IntCounter) -> LogLimit {
        let second = Second { began: Instant::now(), budget: LogBudget::new(each_second) };
        LogLimit { each_second, second: Mutex::new(second), dropped }
    }

    pub fn admit(&self, bytes: usize) -> Admission {
        self.admit_at(Instant::now(), bytes)
    }

    /// Admits a line of a call. The call's own share is charged first.
    pub fn admit_for_call(&self, call: &mut LogBudget, bytes: usize) -> Admission {
        let admission = call.take(bytes);
        if admission == Admission::Write {
            return self.admit(bytes);
        }
        self.dropped.inc();
        admission
    }

    fn admit_at(&self, now: Instant, bytes: usize) -> Admission {
        let mut second = self.second.lock();
        if now.duration_since(second.began) >= WINDOW {
            *second = Second { began: now, budget: LogBudget::new(self.each_second) };
        }
        let admission = second.budget.take(bytes);
        drop(second);
        if admission != Admission::Write {
            self.dropped.inc();
        }
        admission
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(lines: u32, bytes: usize) -> LogLimit {
        LogLimit::new(LogShare { lines, bytes }, IntCounter::new("dropped", "dropped").unwrap())
    }

    #[test]
    fn lines_over_the_share_of_a_second_are_dropped_and_announced_once() {
        let limit = limit(2, 100);
        let began = limit.second.lock().began;
        let admitted: Vec<Admission> = (0..4).map(|_| limit.admit_at(began, 10)).collect();
        assert_eq!(admitted, [Admission::Write, Admission::Write, Admission::Announce, Admission::Drop]);
        assert_eq!(limit.dropped.get(), 2);
        assert_eq!(limit.admit_at(began + WINDOW, 10), Admission::Write, "another second");
    }

    #[test]
    fn bytes_over_the_share_are_dropped_and_announced_once() {
        let limit = limit(10, 100);
        let began = limit.second.lock().began;
        let admitted: Vec<Admission> = (0..3).map(|_| limit.admit_at(began, 60)).collect();
        assert_eq!(admitted, [Admission::Write, Admission::Announce, Admission::Drop]);
    }

    #[test]
    fn call_share_is_charged_before_the_plugin_share() {
        let limit = limit(10, 1_000);
        let mut call = LogBudget::new(LogShare { lines: 1, bytes: 1_000 });
        let admitted: Vec<Admission> = (0..3).map(|_| limit.admit_for_call(&mut call, 10)).collect();
        assert_eq!(admitted, [Admission::Write, Admission::Announce, Admission::Drop]);
        assert_eq!(limit.second.lock().budget.left.lines, 9);
        assert_eq!(limit.dropped.get(), 2);
    }
}
