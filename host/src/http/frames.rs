//! Control frames of HTTP/2, counted in the bytes of a connection.
//!
//! The library below answers SETTINGS and PING and follows PRIORITY and WINDOW_UPDATE as fast as they come, on a thread that
//! others share. Requests and answers cause a few of them: what comes beyond is counted here. Only the heads of frames are read,
//! no payload. Floods of HEADERS, CONTINUATION and DATA are bounded elsewhere: by streams, windows and the library.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{
    HTTP2_BYTES_PER_CONTROL_FRAME, HTTP2_CONTROL_FRAME_BYTES, HTTP2_CONTROL_FRAMES_MAX,
    HTTP2_CONTROL_FRAMES_PER_REQUEST, HTTP2_CONTROL_MS,
};

/// First bytes of a connection of HTTP/2 (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEAD_BYTES: u8 = 9;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

pub(super) struct Frames {
    place: Place,
    /// Control frames since then, less those that requests and answers account for.
    excess: u64,
    since: Instant,
    /// Written bytes that account for no whole frame yet.
    written: u64,
}

/// Part of the connection that the next byte belongs to.
enum Place {
    /// So many bytes of the preface have come.
    Preface(usize),
    /// Another version of HTTP.
    Other,
    Head(Head),
    Payload(usize),
}

/// The beginning of a frame, as far as it has come.
#[derive(Default)]
struct Head {
    bytes: u8,
    length: usize,
    kind: u8,
}

impl Frames {
    pub fn new() -> Frames {
        Frames { place: Place::Preface(0), excess: 0, since: Instant::now(), written: 0 }
    }

    /// Counts what the peer sent. Returns false if it sends more control frames than it may.
    pub fn accept(&mut self, bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = match &mut self.place {
                Place::Other => return true,
                Place::Preface(known) => {
                    let expected = PREFACE.get(*known..).unwrap_or_default();
                    let equal = expected.iter().zip(rest).take_while(|(expected, byte)| expected == byte).count();
                    *known += equal;
                    if *known == PREFACE.len() {
                        self.place = Place::Head(Head::default());
                    } else if equal < rest.len() {
                        self.place = Place::Other;
                    }
                    rest.get(equal..).unwrap_or_default()
                }
                Place::Head(head) => {
                    let missing = usize::from(HEAD_BYTES - head.bytes).min(rest.len());
                    let (of_head, rest) = rest.split_at(missing);
                    of_head.iter().for_each(|byte| head.push(*byte));
                    if head.bytes == HEAD_BYTES {
                        let (kind, length) = (head.kind, head.length);
                        self.count(kind, length);
                        self.place = Place::Payload(length);
                    }
                    rest
                }
                Place::Payload(left) => {
                    let skipped = rest.len().min(*left);
                    *left -= skipped;
                    if *left == 0 {
                        self.place = Place::Head(Head::default());
                    }
                    rest.get(skipped..).unwrap_or_default()
                }
            };
        }
        self.excess <= HTTP2_CONTROL_FRAMES_MAX || self.begin_again()
    }

    /// Bytes that the peer has taken: it says so in frames of its own.
    pub fn note_written(&mut self, bytes: usize) {
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

    /// Whether the frames took long enough to come.
    fn begin_again(&mut self) -> bool {
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
    async fn control_frames_beyond_their_number_are_refused_however_their_bytes_arrive() {
        for size in [1, 7, 17, 4_096] {
            let mut frames = frames();
            let pings = times(&frame(PING, 8), HTTP2_CONTROL_FRAMES_MAX);
            assert!(pings.chunks(size).all(|bytes| frames.accept(bytes)), "{size}");
            assert!(!frame(PING, 8).chunks(size).all(|bytes| frames.accept(bytes)), "{size}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn payload_counts_as_frames() {
        let mut frames = frames();
        let settings = frame(4, 16_380);
        assert!(frames.accept(&times(&settings, HTTP2_CONTROL_FRAMES_MAX / 512)));
        assert!(!frames.accept(&times(&settings, 8)));
    }

    #[tokio::test(start_paused = true)]
    async fn requests_bodies_and_answers_account_for_control_frames() {
        let mut frames = frames();
        let pings = times(&frame(PING, 8), HTTP2_CONTROL_FRAMES_PER_REQUEST);
        let request = [frame(HEADERS, 30), frame(DATA, 5_000), pings].concat();
        assert!(frames.accept(&times(&request, HTTP2_CONTROL_FRAMES_MAX / 8)));
        for _ in 0..4 * HTTP2_CONTROL_FRAMES_MAX {
            frames.note_written(HTTP2_BYTES_PER_CONTROL_FRAME as usize);
            assert!(frames.accept(&frame(8, 4)));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answers_to_pings_account_for_none_and_time_does() {
        let mut frames = frames();
        let mut ping = || {
            frames.note_written(17);
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
