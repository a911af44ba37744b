//! Log of events: when the change of each event was acknowledged, and when the event arrived.
//!
//! An event is identified by its mark: the latitude of the change in millionths of a degree, which its event carries
//! to the receiver. Load and receiver write concurrently without a lock. Times are microseconds since the start of the
//! log.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use crate::histogram::Histogram;

/// Maximum number of events in one run of the program. Takes 48 MB.
const MARKS_MAX: usize = 2_000_000;

pub struct EventLog {
    started: Instant,
    next: AtomicU64,
    entries: Vec<Entry>,
}

/// Endpoint and times of an event. A time of 0 has not been recorded yet.
#[derive(Default)]
struct Entry {
    endpoint: AtomicU64,
    answered_us: AtomicU64,
    /// Time of the first arrival.
    arrived_us: AtomicU64,
}

/// Events of one round: the marks `from..to`, without `to`.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub from: u64,
    pub to: u64,
}

/// Statistics of a span. `latencies` holds the times from the response to a change until the arrival of its event.
#[derive(Default)]
pub struct SpanStats {
    pub accepted: u64,
    pub arrived: u64,
    pub last_arrival_us: u64,
    pub latencies: Histogram,
}

impl EventLog {
    pub fn start() -> EventLog {
        let mut entries = Vec::new();
        entries.resize_with(MARKS_MAX, Entry::default);
        // Marks start at 1: a latitude of 0 is not a mark.
        EventLog { started: Instant::now(), next: AtomicU64::new(1), entries }
    }

    pub fn now_us(&self) -> u64 {
        self.started.elapsed().as_micros() as u64
    }

    /// Returns the mark of the next event, which goes to this endpoint. Returns `None` if the log is full.
    pub fn mark(&self, endpoint: usize) -> Option<u64> {
        let mark = self.next.fetch_add(1, Ordering::Relaxed);
        self.entry(mark)?.endpoint.store(endpoint as u64, Ordering::Relaxed);
        Some(mark)
    }

    pub fn next_mark(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    pub fn record_answer(&self, mark: u64) {
        if let Some(entry) = self.entry(mark) {
            entry.answered_us.store(self.now_us(), Ordering::Relaxed);
        }
    }

    pub fn record_arrival(&self, mark: u64) {
        if let Some(entry) = self.entry(mark) {
            // An error means that the event has arrived before. Only the first arrival counts.
            let _ = entry.arrived_us.compare_exchange(0, self.now_us(), Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Returns the statistics of a span, without the events of endpoints below `first_endpoint`.
    pub fn stats(&self, span: Span, first_endpoint: usize) -> SpanStats {
        let mut stats = SpanStats::default();
        for entry in (span.from..span.to).filter_map(|mark| self.entry(mark)) {
            let [endpoint, answered_us, arrived_us] =
                [&entry.endpoint, &entry.answered_us, &entry.arrived_us].map(|value| value.load(Ordering::Relaxed));
            if endpoint < first_endpoint as u64 || answered_us == 0 {
                continue;
            }
            stats.accepted += 1;
            if arrived_us > 0 {
                stats.arrived += 1;
                stats.last_arrival_us = stats.last_arrival_us.max(arrived_us);
                // The event may arrive before the client has read the response.
                stats.latencies.record(arrived_us.saturating_sub(answered_us));
            }
        }
        stats
    }

    fn entry(&self, mark: u64) -> Option<&Entry> {
        self.entries.get(usize::try_from(mark).ok()?)
    }
}

/// Parses the mark in the body of a webhook. The latitude may be any JSON number.
pub fn mark_of(body: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"\"latitude\":";
    let at = body.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    let number = body.get(at..)?.split(|byte| matches!(byte, b',' | b'}')).next()?;
    let degrees: f64 = std::str::from_utf8(number).ok()?.trim().parse().ok()?;
    Some((degrees * 1_000_000.0).round() as u64)
}

/// Returns the latitude of a mark, exact in decimal digits.
pub fn latitude_of(mark: u64) -> String {
    format!("{}.{:06}", mark / 1_000_000, mark % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_parsed_from_json_numbers() {
        for mark in [1, 9, 999_999, 1_000_000, 1_234_567] {
            let text = format!("{{\"data\":{{\"latitude\":{},\"longitude\":8.5}}}}", latitude_of(mark));
            assert_eq!(mark_of(text.as_bytes()), Some(mark), "{text}");
        }
        assert_eq!(mark_of(b"{\"latitude\":1e-6}"), Some(1));
        assert_eq!(mark_of(b"{\"longitude\":1}"), None);
    }

    #[test]
    fn missing_arrivals_and_excluded_endpoints_are_not_counted() {
        let log = EventLog::start();
        let marks: Vec<u64> = [0, 1, 1, 1].into_iter().filter_map(|endpoint| log.mark(endpoint)).collect();
        marks[..3].iter().for_each(|mark| log.record_answer(*mark));
        marks[..2].iter().for_each(|mark| log.record_arrival(*mark));
        let span = Span { from: 1, to: log.next_mark() };
        let counted = |first| Some(log.stats(span, first)).map(|stats| (stats.accepted, stats.arrived));
        assert_eq!(counted(0), Some((3, 2)));
        assert_eq!(counted(1), Some((2, 1)), "the first endpoint is excluded");
    }
}
