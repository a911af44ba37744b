//! Photos as they come in: base64 in JSON, or files of a form.
//!
//! Invariant: what is no picture, or more than there may be, is refused before anything is kept of it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use tenon_plugin::{Call, Content, Stop};

use crate::api::form::Form;
use crate::api::multipart;
use crate::api::unknown::{Unknown, is_strict};
use crate::api::{errors, free};
use crate::rules::invalid::Invalid;
use crate::rules::picture::Picture;
use crate::rules::proof::capture::{self, PHOTOS_BYTES_MAX, PHOTOS_MAX, REMARKS_CHARS_MAX};
use crate::rules::refusal::Refusal;

/// JSON beside a picture: a hundred proofs with two such texts each come in one page of the host.
const DATA_BYTES_MAX: usize = 16 << 10;

pub struct Sent {
    /// At least one.
    pub photos: Vec<Picture>,
    pub remarks: Option<String>,
    /// A JSON text.
    pub data: Option<String>,
    pub unknown: Unknown,
}

pub fn read(call: &Call) -> Result<Sent, Stop> {
    match &call.request().content {
        Content::Other(blob) => of_form(call, &blob.media_type, &blob.bytes),
        Content::Empty | Content::Json(_) => of_json(call),
    }
}

fn of_json(call: &Call) -> Result<Sent, Stop> {
    let mut form = Form::of(call)?;
    let texts = form.given("photos").map(serde_json::from_str::<Texts>).transpose();
    let texts =
        form.keep(texts.map_err(|_| Invalid::Not { field: "photos", kind: "a list of base64 texts" })).flatten();
    let remarks = form.lines("remarks", REMARKS_CHARS_MAX);
    let data = data(&mut form);
    let unknown = form.finish()?;
    let texts = texts.unwrap_or_default().0;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Ok(Sent { photos: capture::read_photos(&texts)?, remarks, data, unknown })
}

/// `photos`, `photos[]`, `photos[0]`, …; `remarks`; `data`, which is JSON.
fn of_form(call: &Call, media_type: &str, body: &[u8]) -> Result<Sent, Stop> {
    let parts = multipart::parse(media_type, body).ok_or_else(errors::malformed)?;
    let of_name = |wanted: &'static str| parts.iter().filter(move |part| base_name(&part.name) == wanted);
    let known = |name: &str| ["photos", "remarks", "data"].contains(&base_name(name));
    let unknown = Unknown::of(parts.iter().map(|part| part.name.as_str()).filter(|name| !known(name)));
    if is_strict(call) && !unknown.is_empty() {
        return Err(Invalid::Unknown { what: "fields", names: unknown.listed() }.into());
    }
    let remarks = of_name("remarks").next_back().map(|part| written("remarks", part.bytes)).transpose()?;
    let data = of_name("data").next_back().map(|part| written("data", part.bytes)).transpose()?;
    let data = data.filter(|data| !data.trim().is_empty());
    data.as_deref().map_or(Ok(()), |data| free::check_json("data", data, DATA_BYTES_MAX))?;
    capture::check_photo_count(of_name("photos").count())?;
    if of_name("photos").map(|part| part.bytes.len()).sum::<usize>() > PHOTOS_BYTES_MAX {
        return Err(too_many_bytes().into());
    }
    let photos = of_name("photos").map(|part| capture::read_photo(part.bytes.to_vec())).collect::<Result<_, _>>()?;
    Ok(Sent { photos, remarks, data, unknown })
}

/// Without the index that some clients write behind it.
fn base_name(name: &str) -> &str {
    match name.split_once('[') {
        Some((base, index)) if index.ends_with(']') => base,
        _ => name,
    }
}

fn written(field: &'static str, bytes: &[u8]) -> Result<String, Invalid> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Invalid::Not { field, kind: "a text" })
}

/// Whatever the device that scanned a code says of it: a JSON text.
pub fn raw_data(form: &mut Form) -> Option<String> {
    let raw = form.given("raw_data")?.to_owned();
    form.keep(free::check_json("raw_data", &raw, DATA_BYTES_MAX)).map(|()| raw)
}

/// A free-form object, as its JSON text.
pub fn data(form: &mut Form) -> Option<String> {
    if form.given("data").is_some_and(|text| text.len() > DATA_BYTES_MAX) {
        form.refuse(Invalid::ObjectTooLarge { field: "data", bytes_max: DATA_BYTES_MAX });
        return None;
    }
    form.object("data")
}

fn too_many_bytes() -> Refusal {
    let why = format!("all pictures together may not have more than {PHOTOS_BYTES_MAX} bytes");
    Invalid::NotAccepted { field: "photos", why }.into()
}

/// A list of texts, or one text. Of more than there may be, one more is kept, so that it is noticed.
#[derive(Default)]
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Texts, D::Error> {
        deserializer.deserialize_any(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<Texts, E> {
        Ok(Texts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Texts, A::Error> {
        let mut texts = Vec::new();
        while texts.len() <= PHOTOS_MAX {
            match items.next_element()? {
                Some(text) => texts.push(text),
                None => return Ok(Texts(texts)),
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Texts(texts))
    }
}
