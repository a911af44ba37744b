//! The text of a tracking number: what is shown of it, and what it keeps for itself.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop, time};

use super::Issued;
use crate::rules::tracking::{NewNumber, images};

/// Kept to itself: the ids of its statuses, the oldest first.
const STATUS_IDS: &str = "statuses";
/// Kept to itself: whether it came with its subject.
const BELONGS: &str = "belongs";

#[derive(Serialize)]
struct NumberText<'a> {
    id: &'a str,
    tracking_number: &'a str,
    subject: &'a str,
    region: &'a str,
    status: Option<&'a str>,
    status_code: Option<&'a str>,
    qr_code: String,
    barcode: String,
    /// A page for everybody would need a name that nobody guesses; a number can be guessed.
    url: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'a str,
    updated_at: &'a str,
    created_at: &'a str,
    statuses: [&'a str; 0],
    belongs: bool,
}

/// Without a status yet.
pub fn number_text(call: &Call, (id, text): (&str, &str), number: &NewNumber, issued: Issued) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    json::to_text(&NumberText {
        id,
        tracking_number: text,
        subject: &number.owner,
        region: &number.region,
        status: None,
        status_code: None,
        qr_code: as_base64(images::qr_code(text))?,
        barcode: as_base64(images::barcode(text))?,
        url: None,
        kind: number.kind,
        updated_at: &now,
        created_at: &now,
        statuses: [],
        belongs: issued == Issued::WithSubject,
    })
}

fn as_base64(picture: Option<images::Picture>) -> Result<String, Stop> {
    let file = picture.and_then(|picture| picture.to_png()).ok_or_else(|| Stop::fault("a number was not drawn"))?;
    Ok(BASE64_STANDARD.encode(file))
}

/// The number as a caller sees it.
pub fn shown(body: &str) -> Result<String, Stop> {
    let mut number: Object = json::from_text(body)?;
    number.remove(STATUS_IDS);
    number.remove(BELONGS);
    Ok(number.to_text())
}

/// The ids of its statuses, the oldest first.
pub fn status_ids(number: &Object) -> Vec<String> {
    number.read(STATUS_IDS).ok().flatten().unwrap_or_default()
}

pub fn set_status_ids(number: &mut Object, ids: &[String]) -> Result<(), Stop> {
    number.set(STATUS_IDS, ids)
}

/// Whether its subject came with it, and shows it.
pub fn belongs(number: &Object) -> bool {
    number.boolean(BELONGS) == Ok(Some(true))
}

/// The id of what the number names.
pub fn subject_of(number: &str) -> Result<String, Stop> {
    text_of(&json::from_text(number)?, "subject")
}

/// A text that every number has.
pub fn text_of(number: &Object, field: &str) -> Result<String, Stop> {
    number.text(field).ok().flatten().ok_or_else(|| Stop::fault(["a tracking number without ", field].concat()))
}
