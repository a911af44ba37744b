//! Proofs of delivery: a signature, a scanned code, photos; listed with the addresses of their pictures (research/fleet 1.1).
//!
//! An organization and the driver who has the order capture them; who may see the order sees them. Invariant: a proof and
//! its picture come in one commit, and the order shows the picture.

mod sent;
mod target;
#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Call, Outcome, Route, Stop, get, json, post};

use super::form::Form;
use super::multipart::MEDIA_TYPE;
use super::unknown::{HEADERS, Unknown};
use crate::records::files::{self, ADDRESS, NewFile, Of};
use crate::records::orders;
use crate::records::proofs::{self, NewProof};
use crate::rules::authority::Operation;
use crate::rules::file::Said;
use crate::rules::invalid::Invalid;
use crate::rules::order::ProofMethod;
use crate::rules::picture::Picture;
use crate::rules::proof::PROOFS_MAX;
use crate::rules::proof::capture::{self, PHOTOS_BYTES_MAX};
use sent::Sent;
use target::Target;

/// Photos as base64, with remarks and data beside them.
const PHOTOS_BODY_BYTES_MAX: u64 = PHOTOS_BYTES_MAX as u64 / 3 * 4 + (256 << 10);
/// The same of a signature.
const SIGNATURE_BODY_BYTES_MAX: u64 = 1 << 20;

pub const ROUTES: &[Route] = &[
    signing(post("/v1/orders/{id}/capture-signature", "capture-signature", capture_signature)),
    signing(post("/v1/orders/{id}/capture-signature/{subject}", "capture-signature-of", capture_signature)),
    capturing(post("/v1/orders/{id}/capture-qr", "capture-qr", capture_qr)),
    capturing(post("/v1/orders/{id}/capture-qr/{subject}", "capture-qr-of", capture_qr)),
    photographing(post("/v1/orders/{id}/capture-photo", "capture-photo", capture_photo)),
    photographing(post("/v1/orders/{id}/capture-photo/{subject}", "capture-photo-of", capture_photo)),
    get("/v1/orders/{id}/proofs", "list-proofs", list).context(ADDRESS),
    get("/v1/orders/{id}/proofs/{subject}", "list-proofs-of", list).context(ADDRESS),
];

const fn capturing(route: Route) -> Route {
    route.headers(HEADERS).context(ADDRESS)
}

const fn signing(route: Route) -> Route {
    capturing(route).body_bytes_max(SIGNATURE_BODY_BYTES_MAX)
}

const fn photographing(route: Route) -> Route {
    capturing(route).body_bytes_max(PHOTOS_BODY_BYTES_MAX).media_types(&[MEDIA_TYPE])
}

/// What was captured, beside what it was captured of. `raw` and `data` are JSON texts.
struct Capture {
    method: ProofMethod,
    /// The field that it came in.
    field: &'static str,
    remarks: String,
    raw: Option<String>,
    data: Option<String>,
}

pub fn capture_signature(call: &Call) -> Outcome {
    let target = target::find(call, Operation::MoveOrder)?;
    let mut form = Form::of(call)?;
    let signature = form.text_change("signature").over(None);
    let remarks = form.lines("remarks", capture::REMARKS_CHARS_MAX);
    let data = sent::data(&mut form);
    let unknown = form.finish()?;
    let picture = capture::read_signature(signature.as_deref())?;
    let method = ProofMethod::Signature;
    let remarks = capture::remarks(remarks, method)?;
    let captured = Capture { method, field: "signature", remarks, raw: None, data };
    store(call, &target, &captured, &[Some(picture)], &unknown)
}

/// The code is the id or the tracking number of what is handed over.
pub fn capture_qr(call: &Call) -> Outcome {
    let target = target::find(call, Operation::MoveOrder)?;
    let mut form = Form::of(call)?;
    let code = form.text_change("code").over(None);
    let remarks = form.lines("remarks", capture::REMARKS_CHARS_MAX);
    let data = sent::data(&mut form);
    let raw = sent::raw_data(&mut form);
    let unknown = form.finish()?;
    let names = target.names(call)?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    capture::check_code(code.as_deref(), &names)?;
    let raw = raw.map_or_else(|| json::to_text(&code), Ok)?;
    let method = ProofMethod::Scan;
    let remarks = capture::remarks(remarks, method)?;
    store(call, &target, &Capture { method, field: "code", remarks, raw: Some(raw), data }, &[None], &unknown)
}

/// Each photo is a proof of its own; the last one is shown.
pub fn capture_photo(call: &Call) -> Outcome {
    let target = target::find(call, Operation::MoveOrder)?;
    let Sent { photos, remarks, data, unknown } = sent::read(call)?;
    let method = ProofMethod::Photo;
    let remarks = capture::remarks(remarks, method)?;
    let photos: Vec<Option<Picture>> = photos.into_iter().map(Some).collect();
    store(call, &target, &Capture { method, field: "photos", remarks, raw: None, data }, &photos, &unknown)
}

/// A proof for each picture, and one without where there is none to have.
fn store(call: &Call, target: &Target, captured: &Capture, pictures: &[Option<Picture>], unknown: &Unknown) -> Outcome {
    proofs::guard(call, &target.order);
    if proofs::count(call, &target.order) + pictures.len() > PROOFS_MAX {
        let why = ["an order has at most ", &PROOFS_MAX.to_string(), " proofs"].concat();
        return Err(Invalid::NotAccepted { field: captured.field, why }.into());
    }
    let (mut last, mut files) = (None, Vec::new());
    for picture in pictures {
        let file = picture.as_ref().map(|picture| keep(call, target, captured, picture)).transpose()?;
        last = Some(store_one(call, target, captured, file.as_deref())?);
        files.extend(file);
    }
    orders::add_files(call, &target.order, files)?;
    let last = last.ok_or_else(|| Stop::fault("nothing was captured"))?;
    Ok(unknown.tell(Answer::created(proofs::shown(call, &last)?)))
}

fn store_one(call: &Call, target: &Target, captured: &Capture, file: Option<&str>) -> Result<String, Stop> {
    proofs::insert(
        call,
        &NewProof {
            order: &target.order,
            subject: &target.subject,
            named: &target.named,
            method: captured.method,
            remarks: &captured.remarks,
            raw: captured.raw.as_deref(),
            data: captured.data.as_deref(),
            file,
        },
    )
}

/// The id of the picture's file.
fn keep(call: &Call, target: &Target, captured: &Capture, picture: &Picture) -> Result<String, Stop> {
    let kind = captured.method.name();
    let filename = [kind, ".", picture.format.extension()].concat();
    let said = Said { kind: kind.to_owned(), filename, caption: None };
    let of = Of { order: Some(&target.order), driver: None };
    Ok(files::insert(call, &NewFile { of, said: &said, meta: None, picture })?.0)
}

/// The newest first: those of the order with all that it carries, or those of one subject.
pub fn list(call: &Call) -> Outcome {
    let target = target::find(call, Operation::ReadOrder)?;
    let mut shown = Vec::new();
    for entry in proofs::list(call, &target.order)? {
        if call.parameter("subject").is_empty() || proofs::captured(&entry.body)?.subject == target.subject {
            shown.push(proofs::shown(call, &entry.body)?);
        }
    }
    Ok(Answer::ok(json::array(shown.iter().map(String::as_str))))
}
