//! A file as it comes in: base64 in JSON, or the file of a form, with a few words beside it.
//!
//! Invariant: what is no picture, or a larger one than there may be, is refused before anything is kept of it.

use tenon_plugin::{Call, Content, Stop};

use crate::api::form::{Form, OBJECT_BYTES_MAX};
use crate::api::multipart::{self, Part};
use crate::api::unknown::{Unknown, is_strict};
use crate::api::{errors, free};
use crate::rules::change::Change;
use crate::rules::file::{self, Asked, DATA, FILE, Said};
use crate::rules::invalid::Invalid;
use crate::rules::picture::Picture;

pub struct Sent {
    pub said: Said,
    /// A JSON text.
    pub meta: Option<String>,
    pub picture: Picture,
    /// The field that it came in.
    pub field: &'static str,
    pub unknown: Unknown,
}

/// What a form may have beside its file.
const WORDS: [&str; 4] = ["type", "filename", "caption", "meta"];

pub fn read(call: &Call) -> Result<Sent, Stop> {
    match &call.request().content {
        Content::Other(blob) => of_form(call, &blob.media_type, &blob.bytes),
        Content::Empty | Content::Json(_) => of_json(call),
    }
}

/// What a body says of a file, under the names of the interface. `filenames`: what `filename` is called besides.
pub fn words(form: &mut Form, filenames: &[&'static str]) -> Asked {
    let (kind, filename) = (form.called("type", &["file_type"]), form.called("filename", filenames));
    Asked { kind: form.text_change(kind), filename: form.text_change(filename), caption: form.text_change("caption") }
}

fn of_json(call: &Call) -> Result<Sent, Stop> {
    let mut form = Form::of(call)?;
    let data = form.text_change("data").over(None).filter(|data| !data.is_empty());
    let asked = words(&mut form, &["original_filename", "file_name"]);
    // Which picture it is, its bytes say.
    form.pass_over(&["content_type"]);
    let meta = form.object("meta");
    let picture = data.ok_or(Invalid::Required(DATA.name)).and_then(|data| DATA.read_base64(&data));
    let Some(picture) = form.keep(picture) else { return Err(refused(form)) };
    let (said, unknown) = form.settle(file::settle(None, asked, picture.format))?;
    Ok(Sent { said, meta, picture, field: DATA.name, unknown })
}

/// All that was found until here.
fn refused(form: Form) -> Stop {
    form.finish().err().unwrap_or_else(errors::malformed)
}

/// `file`, and the words.
fn of_form(call: &Call, media_type: &str, body: &[u8]) -> Result<Sent, Stop> {
    let parts = multipart::parse(media_type, body).ok_or_else(errors::malformed)?;
    let known = |name: &str| name == FILE.name || WORDS.contains(&name);
    let unknown = Unknown::of(parts.iter().map(|part| part.name.as_str()).filter(|name| !known(name)));
    if is_strict(call) && !unknown.is_empty() {
        return Err(Invalid::Unknown { what: "fields", names: unknown.listed() }.into());
    }
    let mut sent = parts.iter().filter(|part| part.name == FILE.name);
    let part = match (sent.next(), sent.next()) {
        (Some(part), None) => part,
        (None, _) => return Err(Invalid::Required(FILE.name).into()),
        (Some(_), Some(_)) => return Err(Invalid::Not { field: FILE.name, kind: "one file" }.into()),
    };
    let meta = word(&parts, "meta")?.filter(|meta| !meta.trim().is_empty());
    meta.as_deref().map_or(Ok(()), |meta| free::check_object("meta", meta, OBJECT_BYTES_MAX))?;
    let change = |text: Option<String>| text.map_or(Change::Absent, Change::To);
    let filename = word(&parts, "filename")?.or_else(|| part.file_name.clone());
    let asked = Asked {
        kind: change(word(&parts, "type")?),
        filename: change(filename),
        caption: change(word(&parts, "caption")?),
    };
    let picture = FILE.read(part.bytes.to_vec())?;
    let said = file::settle(None, asked, picture.format).map_err(|faults| errors::invalid(&faults))?;
    Ok(Sent { said, meta, picture, field: FILE.name, unknown })
}

/// Of several of one name the last.
fn word(parts: &[Part], name: &'static str) -> Result<Option<String>, Invalid> {
    let found = parts.iter().rfind(|part| part.name == name);
    let text = found.map(|part| String::from_utf8(part.bytes.to_vec()));
    text.transpose().map_err(|_| Invalid::Not { field: name, kind: "a text" })
}
