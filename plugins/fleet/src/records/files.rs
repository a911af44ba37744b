//! Pictures as they are stored: what is known of a file, and its bytes in chunks of base64, since a record has a bound. A file
//! is of an order, by way of a proof, or came by itself.
//!
//! Invariant: a file has all of its chunks, which together are its bytes; they never change.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use super::shapes::raw;
use crate::rules::file::Said;
use crate::rules::picture::{Format, Picture};

pub const FILES: &str = "files";
const CHUNKS: &str = "file-chunks";
const PREFIX: &str = "file";

pub const COLLECTIONS: &[Collection] = &[
    Collection::new(
        FILES,
        &[
            BY_CREATED,
            BY_UPDATED,
            Index::on("by-order", &["order_id", "@created-at"]),
            Index::on("by-driver", &["driver", "@created-at"]),
        ],
    ),
    Collection::new(CHUNKS, &[]),
];

const FILES_PATH: &str = "/v1/files/";
const DOWNLOAD: &str = "/download";

/// Bytes of one chunk: with a third more for base64 it stays below the bound of a record.
const CHUNK_BYTES: usize = 720_000;

/// Whose a file is: of an order, or of the driver who has sent it; of neither, it is the organization's.
#[derive(Clone, Copy, Default)]
pub struct Of<'a> {
    pub order: Option<&'a str>,
    pub driver: Option<&'a str>,
}

/// What a file is made from. `meta` is a JSON text.
pub struct NewFile<'a> {
    pub of: Of<'a>,
    pub said: &'a Said,
    pub meta: Option<&'a str>,
    pub picture: &'a Picture,
}

#[derive(Serialize)]
struct FileText<'a> {
    id: &'a str,
    order_id: Option<&'a str>,
    driver: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'a str,
    original_filename: &'a str,
    content_type: &'static str,
    file_size: usize,
    caption: Option<&'a str>,
    meta: Box<RawValue>,
    chunks: usize,
    updated_at: &'a str,
    created_at: &'a str,
}

#[derive(Serialize)]
struct ChunkText {
    data: String,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    data: &'a str,
}

/// Draws its id, which it gives with the text.
pub fn insert(call: &Call, file: &NewFile) -> Result<(String, String), Stop> {
    let (id, text) = common::insert_drawn(call, FILES, PREFIX, |id| file_text(call, id, file))?;
    for (number, chunk) in file.picture.bytes.chunks(CHUNK_BYTES).enumerate() {
        let body = json::to_text(&ChunkText { data: BASE64_STANDARD.encode(chunk) })?;
        call.records(CHUNKS).insert(&chunk_id(&id, number), &body)?;
    }
    Ok((id, text))
}

fn file_text(call: &Call, id: &str, file: &NewFile) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    json::to_text(&FileText {
        id,
        order_id: file.of.order,
        driver: file.of.driver,
        kind: &file.said.kind,
        original_filename: &file.said.filename,
        content_type: file.picture.format.media_type(),
        file_size: file.picture.bytes.len(),
        caption: file.said.caption.as_deref(),
        meta: raw(file.meta.unwrap_or("{}"))?,
        chunks: file.picture.bytes.len().div_ceil(CHUNK_BYTES),
        updated_at: &now,
        created_at: &now,
    })
}

/// What is said of it; `meta` is a JSON text, where it changes. Gives the text.
pub fn replace(call: &Call, entry: &Entry, said: &Said, meta: Option<String>) -> Result<String, Stop> {
    let mut file: Object = json::from_text(&entry.body)?;
    file.set("type", &said.kind)?;
    file.set("original_filename", &said.filename)?;
    file.set("caption", &said.caption)?;
    if let Some(meta) = meta {
        file.set_raw("meta", meta);
    }
    file.set("updated_at", &time::to_text(call.now()))?;
    let text = file.to_text();
    common::replace(call, FILES, &entry.id, &text)?;
    Ok(text)
}

/// A file as the rules know it.
pub fn said(file: &Object) -> Said {
    let text = |name: &str| file.text(name).ok().flatten();
    Said {
        kind: text("type").unwrap_or_default(),
        filename: text("original_filename").unwrap_or_default(),
        caption: text("caption"),
    }
}

pub fn format_of(file: &Object) -> Result<Format, Stop> {
    let stored = file.text("content_type").ok().flatten();
    let format = Format::ALL.into_iter().find(|format| stored.as_deref() == Some(format.media_type()));
    format.ok_or_else(|| Stop::fault("a file is no picture"))
}

/// Of whom it is the photo: of several drivers, the last one who got it. No caller sees it, hence it is no change of the file.
pub fn note_photo_of(call: &Call, entry: &Entry, driver: &str) -> Result<(), Stop> {
    let mut file: Object = json::from_text(&entry.body)?;
    file.set("photo_of", driver)?;
    Ok(common::replace(call, FILES, &entry.id, &file.to_text())?)
}

/// Files of one driver are added one call after the other, so that they can be counted.
pub fn guard(call: &Call, driver: &str) {
    call.guard(&["files ", driver].concat());
}

/// How many a driver has sent; no further than `most`.
pub fn count_of_driver(call: &Call, driver: &str, most: u32) -> u32 {
    call.records(FILES).count(&Search::first(most).is("driver", driver), most)
}

fn chunk_id(file: &str, number: usize) -> String {
    [file, ".", &number.to_string()].concat()
}

fn chunk_ids(file: &str, body: &str) -> Result<Vec<String>, Stop> {
    #[derive(Deserialize)]
    struct Stored {
        chunks: usize,
    }
    let stored: Stored = json::from_text(body)?;
    Ok((0..stored.chunks).map(|number| chunk_id(file, number)).collect())
}

fn is_id(text: &str) -> bool {
    common::is_public_id(PREFIX, text)
}

pub fn load(call: &Call, id: &str) -> Result<Entry, Stop> {
    common::load(call, FILES, PREFIX, id)
}

/// What it is, and its bytes.
pub fn load_picture(call: &Call, entry: &Entry) -> Result<Picture, Stop> {
    let mut bytes = Vec::new();
    for chunk in call.records(CHUNKS).get_many(&chunk_ids(&entry.id, &entry.body)?) {
        let chunk = chunk.ok_or_else(|| Stop::fault("a file has lost a part"))?;
        let Chunk { data } = json::from_text(&chunk.body)?;
        let decoded = BASE64_STANDARD.decode_vec(data, &mut bytes);
        decoded.map_err(|_| Stop::fault("a part of a file is no base64"))?;
    }
    let format = Format::of_beginning(&bytes).ok_or_else(|| Stop::fault("a file is no picture"))?;
    Ok(Picture { format, bytes })
}

/// As a caller sees it, with the address of its bytes.
pub fn shown(call: &Call, id: &str, text: &str) -> Result<String, Stop> {
    let mut file: Object = json::from_text(text)?;
    file.remove("chunks");
    file.remove("photo_of");
    file.set("url", &url(call, id))?;
    Ok(file.to_text())
}

/// What of a call's context an answer with a file's address needs: where this interface is.
pub const ADDRESS: &[&str] = &[BASE_URL];
/// The same, and where the request comes from.
pub const ADDRESSES: &[&str] = &[BASE_URL, "client-address"];
const BASE_URL: &str = "base-url";

/// Whoever opens it shows a key, like everywhere. Only routes with [`ADDRESS`] know where this interface is.
pub fn url(call: &Call, id: &str) -> String {
    let base = call.context(BASE_URL).unwrap_or_default().trim_end_matches('/');
    [base, &path(id)].concat()
}

/// The id in an id, or in an address of the bytes, wherever the file lay when that was made.
pub fn named(text: &str) -> Option<&str> {
    let in_address = text.strip_suffix(DOWNLOAD).and_then(|rest| rest.rsplit_once(FILES_PATH));
    Some(in_address.map_or(text, |(_, id)| id)).filter(|id| is_id(id))
}

fn path(id: &str) -> String {
    [FILES_PATH, id, DOWNLOAD].concat()
}

/// With its bytes.
pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    let entry = load(call, id)?;
    for chunk in chunk_ids(id, &entry.body)? {
        common::delete(call, CHUNKS, &chunk)?;
    }
    common::delete(call, FILES, id)
}
