//! What became of each event: when its change was acknowledged, and when it arrived.
//!
//! Events are known by their mark: the latitude that the change sends, in millionths of a degree, which its event carries
//! to the receiver. Written by load and receiver at the same time, without a lock. Times are microseconds since the log began.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use crate::histogram::Histogram;

/// In one run of one program; 48 MB.
const MARKS_MAX: usize = 2_000_000;

pub struct Log {
    begun: Instant,
    next: AtomicU64,
    entries: Vec<Entry>,
}

/// 0: not yet.
#[derive(Default)]
struct Entry {
    endpoint: AtomicU64,
    answered_us: AtomicU64,
    /// For the first time.
    arrived_us: AtomicU64,
}

/// Events of one round: those from this mark on, up to the one that was next when it ended.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

/// What a span came to. `latencies`: from the answer to the change until the event arrived.
#[derive(Default)]
pub struct Tally {
    pub accepted: u64,
    pub arrived: u64,
    pub last_arrival_us: u64,
    pub latencies: Histogram,
}

impl Log {
    pub fn begin() -> Log {
        let mut entries = Vec::new();
        entries.resize_with(MARKS_MAX, Entry::default);
        // A latitude of 0 is no mark.
        Log { begun: Instant::now(), next: AtomicU64::new(1), entries }
    }

    pub fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }

    /// The mark of the next event, which goes to this endpoint; none where the log is full.
    pub fn mark(&self, endpoint: usize) -> Option<u64> {
        let mark = self.next.fetch_add(1, Ordering::Relaxed);
        self.entry(mark)?.endpoint.store(endpoint as u64, Ordering::Relaxed);
        Some(mark)
    }

    pub fn next_mark(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    pub fn answered(&self, mark: u64) {
        if let Some(entry) = self.entry(mark) {
            entry.answered_us.store(self.now_us(), Ordering::Relaxed);
        }
    }

    pub fn arrived(&self, mark: u64) {
        if let Some(entry) = self.entry(mark) {
            // Only the first time counts.
            let _ = entry.arrived_us.compare_exchange(0, self.now_us(), Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Without the events for endpoints below `first_endpoint`.
    pub fn tally(&self, span: Span, first_endpoint: usize) -> Tally {
        let mut tally = Tally::default();
        for entry in (span.from..span.to).filter_map(|mark| self.entry(mark)) {
            let [endpoint, answered_us, arrived_us] =
                [&entry.endpoint, &entry.answered_us, &entry.arrived_us].map(|value| value.load(Ordering::Relaxed));
            if endpoint < first_endpoint as u64 || answered_us == 0 {
                continue;
            }
            tally.accepted += 1;
            if arrived_us > 0 {
                tally.arrived += 1;
                tally.last_arrival_us = tally.last_arrival_us.max(arrived_us);
                // The receiver may be faster than the caller.
                tally.latencies.record(arrived_us.saturating_sub(answered_us));
            }
        }
        tally
    }

    fn entry(&self, mark: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(mark).ok()?)
    }
}

/// As it stands in a body. The exact text is the plugin's affair, its value is not.
pub fn mark_of(body: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"\"latitude\":";
    let at = body.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    let number = body.get(at..)?.split(|byte| matches!(byte, b',' | b'}')).next()?;
    let degrees: f64 = std::str::from_utf8(number).ok()?.trim().parse().ok()?;
    Some((degrees * 1_000_000.0).round() as u64)
}

/// The other way: exact in the digits of JSON.
pub fn latitude_of(mark: u64) -> String {
    format!("{}.{:06}", mark / 1_000_000, mark % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_survive_their_way_through_json() {
        for mark in [1, 9, 999_999, 1_000_000, 1_234_567] {
            let text = format!("{{\"data\":{{\"latitude\":{},\"longitude\":8.5}}}}", latitude_of(mark));
            assert_eq!(mark_of(text.as_bytes()), Some(mark), "{text}");
        }
        assert_eq!(mark_of(b"{\"latitude\":1e-6}"), Some(1));
        assert_eq!(mark_of(b"{\"longitude\":1}"), None);
    }

    #[test]
    fn what_did_not_arrive_and_what_is_left_out_is_seen() {
        let log = Log::begin();
        let marks: Vec<u64> = [0, 1, 1, 1].into_iter().filter_map(|endpoint| log.mark(endpoint)).collect();
        marks[..3].iter().for_each(|mark| log.answered(*mark));
        marks[..2].iter().for_each(|mark| log.arrived(*mark));
        let span = Span { from: 1, to: log.next_mark() };
        let counted = |first| Some(log.tally(span, first)).map(|tally| (tally.accepted, tally.arrived));
        assert_eq!(counted(0), Some((3, 2)));
        assert_eq!(counted(1), Some((2, 1)), "the first endpoint is left out");
    }
}
