//! What comes in as a proof: a signature, photos, a scanned code (research/fleet 1.1). Every part has a bound; a
//! picture is recognised by how its bytes begin, whatever the caller says that it is.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use crate::rules::invalid::Invalid;
use crate::rules::order::ProofMethod;
use crate::rules::refusal::Refusal;
use crate::rules::text::check_lines;

/// Bytes of a signature: a drawing in a few colours.
pub const SIGNATURE_BYTES_MAX: usize = 512 << 10;
/// Bytes of one photo, and of all that come at once: with a third more for base64 they fit a body of 8 MiB.
pub const PHOTO_BYTES_MAX: usize = 4 << 20;
pub const PHOTOS_BYTES_MAX: usize = 5 << 20;
/// That come at once.
pub const PHOTOS_MAX: usize = 10;
pub const REMARKS_CHARS_MAX: usize = 255;
/// Of a scanned code: twice what one of ours holds, and the address of a page around it.
pub const CODE_CHARS_MAX: usize = 512;

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

/// Invariant: the bytes begin as those of its format do, and there are no more than its kind of proof may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub format: Format,
    pub bytes: Vec<u8>,
}

impl Format {
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

    /// Of a file's first bytes.
    pub fn of_bytes(bytes: &[u8]) -> Option<Format> {
        const BEGINNINGS: [(&[u8], Format); 4] = [
            (b"\x89PNG\r\n\x1a\n", Format::Png),
            (b"\xff\xd8\xff", Format::Jpeg),
            (b"GIF87a", Format::Gif),
            (b"GIF89a", Format::Gif),
        ];
        BEGINNINGS.into_iter().find(|(beginning, _)| bytes.starts_with(beginning)).map(|(_, format)| format)
    }
}

/// A drawing as base64, with or without the head of a data URI. `text`: `None` where nothing came.
pub fn read_signature(text: Option<&str>) -> Result<Picture, Refusal> {
    let text = text.filter(|text| !text.is_empty()).ok_or(Refusal::NoProofData(ProofMethod::Signature))?;
    let picture = read_base64("signature", text, SIGNATURE_BYTES_MAX)?;
    // A signature is drawn on a canvas; an animation is none.
    if picture.format == Format::Gif {
        return Err(not_a_picture("signature").into());
    }
    Ok(picture)
}

/// Photos as base64, with or without the head of a data URI.
pub fn read_photos(texts: &[&str]) -> Result<Vec<Picture>, Refusal> {
    check_photo_count(texts.len())?;
    let mut bytes_left = PHOTOS_BYTES_MAX;
    let mut photos = Vec::new();
    for text in texts {
        let photo = read_base64("photos", text, PHOTO_BYTES_MAX.min(bytes_left))?;
        bytes_left = bytes_left.saturating_sub(photo.bytes.len());
        photos.push(photo);
    }
    Ok(photos)
}

/// Photos as files of a form.
pub fn check_photo_count(count: usize) -> Result<(), Refusal> {
    match count {
        0 => Err(Refusal::NoProofData(ProofMethod::Photo)),
        1..=PHOTOS_MAX => Ok(()),
        _ => Err(Invalid::Not { field: "photos", kind: "a list of at most 10 pictures" }.into()),
    }
}

pub fn read_photo(bytes: Vec<u8>) -> Result<Picture, Invalid> {
    read_bytes("photos", bytes, PHOTO_BYTES_MAX)
}

/// `names`: whatever names the subject of the proof, its id or its tracking number; our own codes hold the latter.
pub fn check_code(scanned: Option<&str>, names: &[&str]) -> Result<(), Refusal> {
    let scanned = scanned.map(str::trim).filter(|scanned| !scanned.is_empty());
    let scanned = scanned.ok_or(Refusal::NoProofData(ProofMethod::Scan))?;
    if scanned.len() > CODE_CHARS_MAX || !names.iter().any(|name| !name.is_empty() && *name == scanned) {
        return Err(Refusal::WrongQrCode);
    }
    Ok(())
}

/// What is said of a proof; without a word of the caller, how it came about.
pub fn remarks(given: Option<String>, method: ProofMethod) -> Result<String, Invalid> {
    let remarks = given.filter(|given| !given.trim().is_empty());
    remarks.as_deref().map_or(Ok(()), |given| check_lines("remarks", given, REMARKS_CHARS_MAX))?;
    let default = match method {
        ProofMethod::Signature => "Verified by Signature",
        ProofMethod::Scan => "Verified by QR Code Scan",
        ProofMethod::Photo => "Verified by Photo",
    };
    Ok(remarks.unwrap_or_else(|| default.to_owned()))
}

fn read_base64(field: &'static str, text: &str, bytes_max: usize) -> Result<Picture, Invalid> {
    let text = match text.strip_prefix("data:") {
        Some(uri) => uri.split_once(";base64,").map(|(_, encoded)| encoded).ok_or_else(|| not_a_picture(field))?,
        None => text,
    };
    // Looked at before it is decoded: a text that is too long costs nothing.
    if text.len() / 4 * 3 > bytes_max + 3 {
        return Err(too_large(field, bytes_max));
    }
    let bytes = BASE64.decode(text.trim()).map_err(|_| not_a_picture(field))?;
    read_bytes(field, bytes, bytes_max)
}

fn read_bytes(field: &'static str, bytes: Vec<u8>, bytes_max: usize) -> Result<Picture, Invalid> {
    if bytes.len() > bytes_max {
        return Err(too_large(field, bytes_max));
    }
    let format = Format::of_bytes(&bytes).ok_or_else(|| not_a_picture(field))?;
    Ok(Picture { format, bytes })
}

fn not_a_picture(field: &'static str) -> Invalid {
    Invalid::Not {
        field,
        kind: if field == "signature" { "a PNG or JPEG as base64" } else { "PNG, JPEG or GIF pictures" },
    }
}

fn too_large(field: &'static str, bytes_max: usize) -> Invalid {
    Invalid::NotAccepted { field, why: format!("a picture may not have more than {bytes_max} bytes here") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD};
    use proptest::prelude::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

    fn encoded(bytes: &[u8]) -> String {
        BASE64_STANDARD.encode(bytes)
    }

    #[test]
    fn a_signature_is_read_with_and_without_the_head_of_a_data_uri() {
        let expected = Ok(Picture { format: Format::Png, bytes: PNG.to_vec() });
        let heads = ["", "data:image/png;base64,", "data:;base64,"];
        for head in heads {
            assert_eq!(read_signature(Some(&[head, &encoded(PNG)].concat())), expected, "{head}");
        }
        assert_eq!(read_signature(Some(&BASE64_STANDARD_NO_PAD.encode(PNG))), expected);
        let jpeg = read_signature(Some(&encoded(b"\xff\xd8\xff\xe0"))).unwrap();
        assert_eq!(jpeg.format.media_type(), "image/jpeg");
    }

    #[test]
    fn nothing_is_told_from_something_that_is_no_picture() {
        assert_eq!(read_signature(None), Err(Refusal::NoProofData(ProofMethod::Signature)));
        assert_eq!(read_signature(Some("")), Err(Refusal::NoProofData(ProofMethod::Signature)));
        let wrong = Err(Refusal::from(not_a_picture("signature")));
        let texts = ["!", "data:image/png,abc", "data:image/png;base64,", &encoded(b"<svg>"), &encoded(b"GIF89a")];
        for text in texts {
            assert_eq!(read_signature(Some(text)), wrong, "{text}");
        }
    }

    #[test]
    fn pictures_have_bounds_alone_and_together() {
        let of = |bytes: usize| encoded(&[PNG, &vec![0; bytes - PNG.len()]].concat());
        assert!(read_signature(Some(&of(SIGNATURE_BYTES_MAX))).is_ok());
        assert_eq!(
            read_signature(Some(&of(SIGNATURE_BYTES_MAX + 1))),
            Err(too_large("signature", SIGNATURE_BYTES_MAX).into())
        );
        let (large, small) = (of(PHOTO_BYTES_MAX), of(100));
        assert_eq!(read_photos(&[&large, &small]).unwrap().len(), 2);
        assert!(read_photos(&[&large, &large]).is_err() && read_photos(&[&of(PHOTO_BYTES_MAX + 1)]).is_err());
        assert_eq!(read_photos(&[]), Err(Refusal::NoProofData(ProofMethod::Photo)));
        assert!(read_photos(&[small.as_str(); 10]).is_ok() && read_photos(&[small.as_str(); 11]).is_err());
        assert!(read_photo(b"GIF87a".to_vec()).is_ok() && read_photo(b"%PDF".to_vec()).is_err());
    }

    #[test]
    fn a_scanned_code_names_what_it_proves() {
        let names = ["order_1", "ACM4820193755SG", ""];
        assert_eq!(check_code(Some("ACM4820193755SG\n"), &names), Ok(()));
        assert_eq!(check_code(Some("order_1"), &names), Ok(()));
        for nothing in [None, Some(""), Some(" ")] {
            assert_eq!(check_code(nothing, &names), Err(Refusal::NoProofData(ProofMethod::Scan)));
        }
        for other in ["order_2", "ORDER_1", "order_1order_1"] {
            assert_eq!(check_code(Some(other), &names), Err(Refusal::WrongQrCode));
        }
    }

    #[test]
    fn a_proof_says_how_it_came_about() {
        assert_eq!(remarks(None, ProofMethod::Scan).unwrap(), "Verified by QR Code Scan");
        assert_eq!(remarks(Some("  ".to_owned()), ProofMethod::Photo).unwrap(), "Verified by Photo");
        assert_eq!(remarks(Some("left at the door".to_owned()), ProofMethod::Photo).unwrap(), "left at the door");
        assert!(remarks(Some("x".repeat(256)), ProofMethod::Signature).is_err());
    }

    proptest! {
        #[test]
        fn no_text_makes_a_picture_of_what_is_none(text in "\\PC{0,64}") {
            if let Ok(picture) = read_signature(Some(&text)) {
                prop_assert!(Format::of_bytes(&picture.bytes) == Some(picture.format));
            }
        }
    }
}
