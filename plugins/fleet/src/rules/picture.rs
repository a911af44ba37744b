//! Pictures as they come in: what they are, and that they are whole. A picture is known by its bytes, whatever the caller says
//! that it is; its parts are walked through to the end by the sizes that they give, and nothing of it is decoded.

mod structure;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use super::invalid::Invalid;

/// Bytes of one picture: with a third more for base64 it fits a body of 8 MiB.
pub const BYTES_MAX: usize = 4 << 20;

/// Some encoders leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
}

/// Invariant: the bytes are those of a whole picture of this format, and no more than its field may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub format: Format,
    pub bytes: Vec<u8>,
}

/// The field that a picture comes in.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    /// What it must be, as the caller is told.
    pub kind: &'static str,
    pub bytes_max: usize,
}

impl Format {
    pub const ALL: [Format; 3] = [Format::Png, Format::Jpeg, Format::Gif];

    pub fn media_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
        }
    }

    pub fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Jpeg => "jpg",
            Format::Gif => "gif",
        }
    }

    /// By how a file begins: enough for one that was looked at when it came in.
    pub fn of_beginning(bytes: &[u8]) -> Option<Format> {
        const BEGINNINGS: [(&[u8], Format); 4] = [
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"\xff\xd8\xff", Format::Jpeg),
            (b"GIF87a", Format::Gif),
            (b"GIF89a", Format::Gif),
        ];
        BEGINNINGS.into_iter().find(|(beginning, _)| bytes.starts_with(beginning)).map(|(_, format)| format)
    }
}

impl Field {
    pub fn read(self, bytes: Vec<u8>) -> Result<Picture, Invalid> {
        if bytes.len() > self.bytes_max {
            return Err(self.too_large());
        }
        let format = Format::of_beginning(&bytes).filter(|format| structure::is_whole(*format, &bytes));
        Ok(Picture { format: format.ok_or_else(|| self.no_picture())?, bytes })
    }

    /// With or without the head of a data URI.
    pub fn read_base64(self, text: &str) -> Result<Picture, Invalid> {
        let text = match text.strip_prefix("data:") {
            Some(uri) => uri.split_once(";base64,").map(|(_, encoded)| encoded).ok_or_else(|| self.no_picture())?,
            None => text,
        };
        // Looked at before it is decoded: a text that is too long costs nothing.
        if text.len() / 4 * 3 > self.bytes_max + 3 {
            return Err(self.too_large());
        }
        self.read(BASE64.decode(text.trim()).map_err(|_| self.no_picture())?)
    }

    pub fn no_picture(self) -> Invalid {
        Invalid::Not { field: self.name, kind: self.kind }
    }

    pub fn too_large(self) -> Invalid {
        let why = format!("a picture may not have more than {} bytes here", self.bytes_max);
        Invalid::NotAccepted { field: self.name, why }
    }
}

/// The smallest pictures that are whole, for tests.
#[cfg(test)]
pub mod samples {
    /// One pixel.
    pub const PNG_BASE64: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==";
    /// A frame without pixels, and a scan of three bytes.
    pub const JPEG: &[u8] = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x08\x08\x00\x01\x00\x01\x00\xff\xda\x00\x02\x01\xff\x00\xff\xd0\x02\xff\xd9";
    pub const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x00\x00\x00\x21\xf9\x04\x00\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";

    /// One pixel, of no data.
    pub const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00IDAT\x00\x00\x00\x00\x00\x00\x00\x00IEND\x00\x00\x00\x00";

    /// The same, of this data: so many bytes more.
    pub fn png_of(data: &[u8]) -> Vec<u8> {
        let (head, end) = PNG.split_at(33);
        let length = u32::try_from(data.len()).unwrap().to_be_bytes();
        [head, &length, b"IDAT", data, &end[8..]].concat()
    }
}

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
    use proptest::prelude::*;

    use super::samples::{GIF, JPEG, PNG, PNG_BASE64, png_of};
    use super::*;

    const FIELD: Field = Field { name: "file", kind: "a picture", bytes_max: 1_000 };

    #[test]
    fn a_picture_is_what_its_bytes_are() {
        for (bytes, format) in [(PNG.to_vec(), Format::Png), (JPEG.to_vec(), Format::Jpeg), (GIF.to_vec(), Format::Gif)]
        {
            assert_eq!(FIELD.read(bytes.clone()), Ok(Picture { format, bytes }));
        }
        for bytes in [b"".to_vec(), b"<svg>".to_vec(), b"%PDF".to_vec(), b"\x89PNG\r\n\x1a\nrest".to_vec()] {
            assert_eq!(FIELD.read(bytes), Err(FIELD.no_picture()));
        }
    }

    #[test]
    fn base64_is_read_with_and_without_the_head_of_a_data_uri() {
        let texts = [BASE64_STANDARD.encode(PNG), BASE64_STANDARD_NO_PAD.encode(PNG)];
        for (text, head) in texts.iter().zip(["", "data:image/png;base64,", "data:;base64,"].into_iter().cycle()) {
            assert_eq!(FIELD.read_base64(&[head, text].concat()).unwrap().bytes, PNG);
        }
        assert_eq!(FIELD.read_base64(PNG_BASE64).unwrap().format, Format::Png);
        for text in ["!", "", "data:image/png,abc", "data:image/png;base64,"] {
            assert_eq!(FIELD.read_base64(text), Err(FIELD.no_picture()), "{text}");
        }
    }

    #[test]
    fn a_picture_has_as_many_bytes_as_its_field_may_have() {
        let data = [7; 1_000];
        let most = png_of(&data[..1_000 - PNG.len()]);
        assert!(FIELD.read(most.clone()).is_ok() && FIELD.read_base64(&BASE64_STANDARD.encode(most)).is_ok());
        assert_eq!(FIELD.read(png_of(&data[..1_001 - PNG.len()])), Err(FIELD.too_large()));
        assert_eq!(FIELD.read_base64(&"A".repeat(2_000_000)), Err(FIELD.too_large()));
    }

    proptest! {
        #[test]
        fn no_text_makes_a_picture_of_what_is_none(text in "\\PC{0,64}") {
            if let Ok(picture) = FIELD.read_base64(&text) {
                prop_assert!(Format::of_beginning(&picture.bytes) == Some(picture.format));
            }
        }
    }
}
