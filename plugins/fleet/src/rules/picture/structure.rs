//! Whether a picture goes to its end: every part has the size that it gives, the parts that make a picture are there, and the
//! mark of the end stands behind them. What the parts say is not looked at: that would be decoding.
//!
//! Behind the end of a JPEG or GIF there may be more, since cameras write their own there; behind that of a PNG there is
//! nothing. Every byte is looked at once.

use memchr::memchr;

use super::Format;

/// `bytes` begin as those of the format do.
pub fn is_whole(format: Format, bytes: &[u8]) -> bool {
    let mut rest = Rest(bytes);
    let end = match format {
        Format::Png => png(&mut rest),
        Format::Jpeg => jpeg(&mut rest),
        Format::Gif => gif(&mut rest),
    };
    end.is_some()
}

/// What has not been looked at.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    /// `None`: there are not so many.
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        let [byte] = self.array()?;
        Some(byte)
    }
}

/// Chunks of length, kind, data and checksum: the header first, data somewhere, the end last.
fn png(rest: &mut Rest) -> Option<()> {
    rest.take(8)?;
    let (mut is_first, mut has_data) = (true, false);
    loop {
        let length = usize::try_from(u32::from_be_bytes(rest.array()?)).ok()?;
        let kind: [u8; 4] = rest.array()?;
        let data = rest.take(length)?;
        rest.take(4)?;
        match &kind {
            b"IHDR" if is_first && length == 13 && has_extent(data, 4) => {}
            _ if is_first => return None,
            b"IDAT" => has_data = true,
            b"IEND" => return (has_data && length == 0 && rest.0.is_empty()).then_some(()),
            _ => {}
        }
        is_first = false;
    }
}

/// Width and height, of so many bytes each, are not zero.
fn has_extent(data: &[u8], bytes: usize) -> bool {
    let mut sides = data.chunks_exact(bytes).take(2);
    sides.len() == 2 && sides.all(|side| side.iter().any(|byte| *byte != 0))
}

/// Segments that begin with 0xff and their kind, most of them with a length; behind the head of a scan, its bytes.
fn jpeg(rest: &mut Rest) -> Option<()> {
    const END: u8 = 0xd9;
    const SCAN: u8 = 0xda;
    rest.take(2)?;
    let (mut has_frame, mut has_scan) = (false, false);
    loop {
        let kind = marker(rest)?;
        match kind {
            END => return (has_frame && has_scan).then_some(()),
            // Without a length.
            0x01 | 0xd0..=0xd7 => continue,
            0x00 | 0xd8 => return None,
            // What stands between the frames is tables.
            0xc4 | 0xc8 | 0xcc => {}
            0xc0..=0xcf => has_frame = true,
            SCAN => has_scan = true,
            _ => {}
        }
        let length = usize::from(u16::from_be_bytes(rest.array()?));
        rest.take(length.checked_sub(2)?)?;
        if kind == SCAN {
            skip_scan(rest)?;
        }
    }
}

/// Any number of 0xff, and what follows.
fn marker(rest: &mut Rest) -> Option<u8> {
    if rest.byte()? != 0xff {
        return None;
    }
    loop {
        match rest.byte()? {
            0xff => {}
            kind => return Some(kind),
        }
    }
}

/// Up to the next segment: within a scan, 0xff is followed by zero, or by the number of a restart.
fn skip_scan(rest: &mut Rest) -> Option<()> {
    loop {
        let at = memchr(0xff, rest.0)?;
        rest.take(at)?;
        match rest.0.get(1)? {
            0x00 | 0xd0..=0xd7 => rest.take(2)?,
            _ => return Some(()),
        };
    }
}

/// A head, and blocks of one byte and lists of parts, each part with its length before it.
fn gif(rest: &mut Rest) -> Option<()> {
    const EXTENSION: u8 = 0x21;
    const IMAGE: u8 = 0x2c;
    const END: u8 = 0x3b;
    rest.take(6)?;
    let [_, _, _, _, flags, _, _] = rest.array()?;
    skip_colours(rest, flags)?;
    let mut has_image = false;
    loop {
        match rest.byte()? {
            END => return has_image.then_some(()),
            EXTENSION => {
                rest.byte()?;
                skip_parts(rest)?;
            }
            IMAGE => {
                let [_, _, _, _, _, _, _, _, flags] = rest.array()?;
                skip_colours(rest, flags)?;
                rest.byte()?;
                skip_parts(rest)?;
                has_image = true;
            }
            _ => return None,
        }
    }
}

/// The table of colours, where the flags say that there is one.
fn skip_colours(rest: &mut Rest, flags: u8) -> Option<()> {
    if flags & 0x80 != 0 {
        rest.take(3 << ((flags & 0x07) + 1))?;
    }
    Some(())
}

fn skip_parts(rest: &mut Rest) -> Option<()> {
    loop {
        match usize::from(rest.byte()?) {
            0 => return Some(()),
            length => rest.take(length)?,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rules::picture::samples::{GIF, JPEG, PNG, png_of};

    fn samples() -> [(Format, Vec<u8>); 4] {
        [
            (Format::Png, PNG.to_vec()),
            (Format::Png, png_of(&[7; 70_000])),
            (Format::Jpeg, JPEG.to_vec()),
            (Format::Gif, GIF.to_vec()),
        ]
    }

    #[test]
    fn what_is_cut_off_anywhere_is_not_whole() {
        for (format, bytes) in samples() {
            assert!(is_whole(format, &bytes), "{format:?}");
            for length in (0..bytes.len()).step_by(1 + bytes.len() / 500) {
                assert!(!is_whole(format, &bytes[..length]), "{format:?} of {length} bytes");
            }
        }
    }

    #[test]
    fn more_may_stand_behind_what_a_camera_writes() {
        for (format, bytes) in samples() {
            let more = [bytes.as_slice(), b"<script>"].concat();
            assert_eq!(is_whole(format, &more), format != Format::Png, "{format:?}");
        }
    }

    #[test]
    fn the_parts_of_a_picture_are_there() {
        let chunk =
            |kind: &str, length: u8| [&[0, 0, 0, length], kind.as_bytes(), &vec![1; usize::from(length) + 4]].concat();
        let of = |chunks: &[Vec<u8>]| [b"\x89PNG\r\n\x1a\n".as_slice(), &chunks.concat()].concat();
        let (head, data, end) = (chunk("IHDR", 13), chunk("IDAT", 9), chunk("IEND", 0));
        assert!(is_whole(Format::Png, &of(&[head.clone(), data.clone(), end.clone()])));
        for chunks in [
            vec![head.clone(), end.clone()],
            vec![data.clone(), end.clone()],
            vec![chunk("IHDR", 12), data.clone(), end],
            vec![head, data, chunk("IEND", 1)],
        ] {
            assert!(!is_whole(Format::Png, &of(&chunks)), "{chunks:?}");
        }
        for jpeg in
            [b"\xff\xd8\xff\xd9".as_slice(), b"\xff\xd8\xff\xda\x00\x02\xff\xd9", b"\xff\xd8\xff\xc0\x00\x02\xff\xd9"]
        {
            assert!(!is_whole(Format::Jpeg, jpeg), "{jpeg:?}");
        }
        assert!(!is_whole(Format::Jpeg, b"\xff\xd8\xff\xc0\x00\x01\xff\xda\x00\x02\xff\xd9"), "a length below its own");
        assert!(!is_whole(Format::Gif, b"GIF89a\x01\x00\x01\x00\x00\x00\x00\x3b"));
    }

    #[test]
    fn a_picture_has_an_extent() {
        let mut flat = PNG.to_vec();
        flat[16..20].fill(0);
        assert!(!is_whole(Format::Png, &flat));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes: Vec<u8>, at in 0_usize..60, with: u8) {
            for (format, sample) in samples() {
                is_whole(format, &bytes);
                let mut changed = sample;
                if let Some(byte) = changed.get_mut(at) {
                    *byte = with;
                }
                is_whole(format, &changed);
                is_whole(format, &[changed, bytes.clone()].concat());
            }
        }
    }
}
