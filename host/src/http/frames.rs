//! Counts HTTP/2 control frames in the bytes of a connection.
//!
//! The HTTP/2 library responds to SETTINGS and PING and processes PRIORITY and WINDOW_UPDATE as fast as they arrive, on
//! a thread that other connections share. Requests and responses account for some of these frames. `Frames` counts the
//! excess. It reads only frame heads, no payload. Streams, windows and the library bound floods of HEADERS,
//! CONTINUATION and DATA.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{
    HTTP2_BYTES_PER_CONTROL_FRAME, HTTP2_CONTROL_FRAME_BYTES, HTTP2_CONTROL_FRAMES_MAX,
    HTTP2_CONTROL_FRAMES_PER_REQUEST, HTTP2_CONTROL_MS,
};

/// First bytes of an HTTP/2 connection (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: u8 = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

pub(super) struct Frames {
    state: State,
    /// Control frames since `since`, minus those that requests and responses account for.
    excess: u64,
    since: Instant,
    /// Written bytes that do not yet account for a whole frame.
    written: u64,
}

/// Part of the connection that the next byte belongs to.
enum State {
    /// The preface, with the number of its bytes received so far.
    Preface(usize),
    /// Another version of HTTP.
    Other,
    Head(Head),
    Payload(usize),
}

/// A frame head, as far as it has been received.
#[derive(Default)]
struct Head {
    bytes: u8,
    length: usize,
    kind: u8,
}

impl Frames {
    pub fn new() -> Frames {
        Frames { state: State::Preface(0), excess: 0, since: Instant::now(), written: 0 }
    }

    /// Counts received bytes. Returns false if the peer exceeds its limit of control frames.
    pub fn accept(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match &mut self.state {
                State::Other => return true,
                State::Preface(matched) => {
                    let expected = PREFACE.get(*matched..).unwrap_or_default();
                    let equal = expected.iter().zip(rest).take_while(|(expected, byte)| expected == byte).count();
                    *matched += equal;
                    if *matched == PREFACE.len() {
                        self.state = State::Head(Head::default());
                    } else if equal < rest.len() {
                        self.state = State::Other;
                    }
                    rest.get(equal..).unwrap_or_default()
                }
                State::Head(head) => {
                    let missing = usize::from(HEAD_BYTES - head.bytes).min(rest.len());
                    let (head_bytes, rest) = rest.split_at(missing);
                    head_bytes.iter().for_each(|byte| head.push(*byte));
                    if head.bytes == HEAD_BYTES {
                        let (kind, length) = (head.kind, head.length);
                        self.count(kind, length);
                        self.state = State::Payload(length);
                    }
                    rest
                }
                State::Payload(left) => {
                    let skipped = rest.len().min(*left);
                    *left -= skipped;
                    if *left == 0 {
                        self.state = State::Head(Head::default());
                    }
                    rest.get(skipped..).unwrap_or_default()
                }
            };
        }
        self.excess <= HTTP2_CONTROL_FRAMES_MAX || self.restart_interval()
    }

    /// Counts bytes that the peer has received, since the peer acknowledges them with control frames.
    pub fn record_written(&mut self, bytes: usize) {
        self.written += bytes as u64;
        self.excess = self.excess.saturating_sub(self.written / HTTP2_BYTES_PER_CONTROL_FRAME);
        self.written %= HTTP2_BYTES_PER_CONTROL_FRAME;
    }

    fn count(&mut self, kind: u8, length: usize) {
        match kind {
            HEADERS => self.excess = self.excess.saturating_sub(HTTP2_CONTROL_FRAMES_PER_REQUEST),
            DATA | CONTINUATION => {}
            _ => self.excess += 1 + length as u64 / HTTP2_CONTROL_FRAME_BYTES,
        }
    }

    /// Starts the next interval. Returns true if the previous interval was long enough for its frames.
    fn restart_interval(&mut self) -> bool {
        let is_slow = self.since.elapsed() >= Duration::from_millis(HTTP2_CONTROL_MS);
        (self.excess, self.since) = (0, Instant::now());
        is_slow
    }
}

impl Head {
    fn push(&mut self, byte: u8) {
        match self.bytes {
            0..=2 => self.length = self.length << 8 | usize::from(byte),
            3 => self.kind = byte,
            _ => {}
        }
        self.bytes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: u8 = 6;

    fn frame(kind: u8, length: usize) -> Vec<u8> {
        let [.., high, middle, low] = length.to_be_bytes();
        [&[high, middle, low, kind, 0, 0, 0, 0, 0], vec![b'P'; length].as_slice()].concat()
    }

    fn frames() -> Frames {
        let mut frames = Frames::new();
        assert!(PREFACE.chunks(5).all(|bytes| frames.accept(bytes)));
        frames
    }

    fn times(frame: &[u8], count: u64) -> Vec<u8> {
        frame.repeat(usize::try_from(count).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn excess_control_frames_are_rejected_for_any_chunking() {
        for size in [1, 7, 17, 4_096] {
            let mut frames = frames();
            let pings = times(&frame(PING, 8), HTTP2_CONTROL_FRAMES_MAX);
            assert!(pings.chunks(size).all(|bytes| frames.accept(bytes)), "{size}");
            assert!(!frame(PING, 8).chunks(size).all(|bytes| frames.accept(bytes)), "{size}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn long_control_frame_counts_as_several() {
        let mut frames = frames();
        let settings = frame(4, 16_380);
        assert!(frames.accept(&times(&settings, HTTP2_CONTROL_FRAMES_MAX / 512)));
        assert!(!frames.accept(&times(&settings, 8)));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_and_responses_account_for_control_frames() {
        let mut frames = frames();
        let pings = times(&frame(PING, 8), HTTP2_CONTROL_FRAMES_PER_REQUEST);
        let request = [frame(HEADERS, 30), frame(DATA, 5_000), pings].concat();
        assert!(frames.accept(&times(&request, HTTP2_CONTROL_FRAMES_MAX / 8)));
        for _ in 0..4 * HTTP2_CONTROL_FRAMES_MAX {
            frames.record_written(HTTP2_BYTES_PER_CONTROL_FRAME as usize);
            assert!(frames.accept(&frame(8, 4)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn ping_responses_account_for_few_frames_and_elapsed_time_resets_the_count() {
        let mut frames = frames();
        let mut ping = || {
            frames.record_written(17);
            frames.accept(&frame(PING, 8))
        };
        let accepted = (0..2 * HTTP2_CONTROL_FRAMES_MAX).take_while(|_| ping()).count() as u64;
        assert!(accepted < HTTP2_CONTROL_FRAMES_MAX * 11 / 10, "{accepted}");
        for _ in 0..3 {
            assert!((1..HTTP2_CONTROL_FRAMES_MAX).all(|_| ping()));
            tokio::time::advance(Duration::from_millis(HTTP2_CONTROL_MS)).await;
        }
    }

    #[tokio::test]
    async fn http_1_is_not_counted() {
        let mut frames = Frames::new();
        assert!(frames.accept(b"PRINT / HTTP/1.1\r\n"));
        assert!(frames.accept(&times(&frame(PING, 8), 2 * HTTP2_CONTROL_FRAMES_MAX)));
    }
}
