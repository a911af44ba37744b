//! What comes in as a proof: a signature, photos, a scanned code (research/fleet 1.1). Every part has a bound.

use crate::rules::invalid::Invalid;
use crate::rules::order::ProofMethod;
use crate::rules::picture::{self, Field, Format, Picture};
use crate::rules::refusal::Refusal;
use crate::rules::text::check_lines;

/// Bytes of a signature: a drawing in a few colours.
pub const SIGNATURE_BYTES_MAX: usize = 512 << 10;
/// Bytes of all photos that come at once: with a third more for base64 they fit a body of 8 MiB.
pub const PHOTOS_BYTES_MAX: usize = 5 << 20;
/// That come at once.
pub const PHOTOS_MAX: usize = 10;
pub const REMARKS_CHARS_MAX: usize = 255;
/// Of a scanned code: twice what one of ours holds, and the address of a page around it.
pub const CODE_CHARS_MAX: usize = 512;

const SIGNATURE: Field = Field { name: "signature", kind: "a PNG or JPEG as base64", bytes_max: SIGNATURE_BYTES_MAX };
const PHOTO: Field = Field { name: "photos", kind: "PNG, JPEG or GIF pictures", bytes_max: picture::BYTES_MAX };

/// A drawing as base64, with or without the head of a data URI. `text`: `None` where nothing came.
pub fn read_signature(text: Option<&str>) -> Result<Picture, Refusal> {
    let text = text.filter(|text| !text.is_empty()).ok_or(Refusal::NoProofData(ProofMethod::Signature))?;
    let picture = SIGNATURE.read_base64(text)?;
    // A signature is drawn on a canvas; an animation is none.
    if picture.format == Format::Gif {
        return Err(SIGNATURE.no_picture().into());
    }
    Ok(picture)
}

/// Photos as base64, with or without the head of a data URI.
pub fn read_photos(texts: &[&str]) -> Result<Vec<Picture>, Refusal> {
    check_photo_count(texts.len())?;
    let mut bytes_left = PHOTOS_BYTES_MAX;
    let mut photos = Vec::new();
    for text in texts {
        let photo = Field { bytes_max: PHOTO.bytes_max.min(bytes_left), ..PHOTO }.read_base64(text)?;
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
    PHOTO.read(bytes)
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

#[cfg(test)]
mod tests {
    use base64::prelude::{BASE64_STANDARD, Engine as _};

    use super::*;
    use crate::rules::picture::BYTES_MAX;
    use crate::rules::picture::samples::{GIF, JPEG, PNG, png_of};

    fn encoded(bytes: &[u8]) -> String {
        BASE64_STANDARD.encode(bytes)
    }

    /// A picture of so many bytes.
    fn of(bytes: usize) -> String {
        encoded(&png_of(&vec![7; bytes - PNG.len()]))
    }

    #[test]
    fn a_signature_is_a_drawing() {
        assert_eq!(read_signature(Some(&encoded(PNG))).unwrap().bytes, PNG);
        assert_eq!(read_signature(Some(&encoded(JPEG))).unwrap().format, Format::Jpeg);
    }

    #[test]
    fn nothing_is_told_from_something_that_is_no_picture() {
        assert_eq!(read_signature(None), Err(Refusal::NoProofData(ProofMethod::Signature)));
        assert_eq!(read_signature(Some("")), Err(Refusal::NoProofData(ProofMethod::Signature)));
        let wrong = Err(Refusal::from(SIGNATURE.no_picture()));
        for text in ["!", "data:image/png,abc", &encoded(b"<svg>"), &encoded(GIF), &encoded(&PNG[..40])] {
            assert_eq!(read_signature(Some(text)), wrong, "{text}");
        }
    }

    #[test]
    fn pictures_have_bounds_alone_and_together() {
        assert!(read_signature(Some(&of(SIGNATURE_BYTES_MAX))).is_ok());
        assert_eq!(read_signature(Some(&of(SIGNATURE_BYTES_MAX + 1))), Err(SIGNATURE.too_large().into()));
        let (large, small) = (of(BYTES_MAX), of(100));
        assert_eq!(read_photos(&[&large, &small]).unwrap().len(), 2);
        assert!(read_photos(&[&large, &large]).is_err() && read_photos(&[&of(BYTES_MAX + 1)]).is_err());
        assert_eq!(read_photos(&[]), Err(Refusal::NoProofData(ProofMethod::Photo)));
        assert!(read_photos(&[small.as_str(); 10]).is_ok() && read_photos(&[small.as_str(); 11]).is_err());
        assert!(read_photo(GIF.to_vec()).is_ok() && read_photo(b"%PDF".to_vec()).is_err());
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
}
