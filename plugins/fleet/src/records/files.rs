//! Pictures as they are stored: what is known of a file, and its bytes in chunks of base64, since a record has a bound.
//!
//! Invariant: a file has all of its chunks, which together are its bytes; they never change.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize};
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use crate::rules::proof::capture::{Format, Picture};

pub const FILES: &str = "files";
const CHUNKS: &str = "file-chunks";
const PREFIX: &str = "file";

pub const COLLECTIONS: &[Collection] = &[
    Collection::new(FILES, &[BY_CREATED, BY_UPDATED, Index::on("by-order", &["order_id", "@created-at"])]),
    Collection::new(CHUNKS, &[]),
];

/// Bytes of one chunk: with a third more for base64 it stays below the bound of a record.
const CHUNK_BYTES: usize = 720_000;

/// What a file is made from.
pub struct NewFile<'a> {
    /// The order that it belongs to.
    pub order: &'a str,
    /// What it is of: "signature", "photo".
    pub kind: &'static str,
    pub picture: &'a Picture,
}

#[derive(Serialize)]
struct FileText<'a> {
    id: &'a str,
    order_id: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
    original_filename: String,
    content_type: &'static str,
    file_size: usize,
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

/// Draws its id, which it gives.
pub fn insert(call: &Call, file: &NewFile) -> Result<String, Stop> {
    let (id, _) = common::insert_drawn(call, FILES, PREFIX, |id| file_text(call, id, file))?;
    for (number, chunk) in file.picture.bytes.chunks(CHUNK_BYTES).enumerate() {
        let body = json::to_text(&ChunkText { data: BASE64_STANDARD.encode(chunk) })?;
        call.records(CHUNKS).insert(&chunk_id(&id, number), &body)?;
    }
    Ok(id)
}

fn file_text(call: &Call, id: &str, file: &NewFile) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    json::to_text(&FileText {
        id,
        order_id: file.order,
        kind: file.kind,
        original_filename: [file.kind, ".", file.picture.format.extension()].concat(),
        content_type: file.picture.format.media_type(),
        file_size: file.picture.bytes.len(),
        chunks: file.picture.bytes.len().div_ceil(CHUNK_BYTES),
        updated_at: &now,
        created_at: &now,
    })
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
    let format = Format::of_bytes(&bytes).ok_or_else(|| Stop::fault("a file is no picture"))?;
    Ok(Picture { format, bytes })
}

/// As a caller sees it, with the address of its bytes.
pub fn shown(call: &Call, entry: &Entry) -> Result<String, Stop> {
    let mut file: Object = json::from_text(&entry.body)?;
    file.remove("chunks");
    file.set("url", &url(call, &entry.id))?;
    Ok(file.to_text())
}

/// The id of the order that it belongs to.
pub fn order_of(entry: &Entry) -> Result<String, Stop> {
    let file: Object = json::from_text(&entry.body)?;
    file.text("order_id").ok().flatten().ok_or_else(|| Stop::fault("a file belongs to no order"))
}

/// Whoever opens it shows a key, like everywhere.
pub fn url(call: &Call, id: &str) -> String {
    let base = call.context("base-url").unwrap_or_default().trim_end_matches('/');
    [base, "/v1/files/", id, "/download"].concat()
}

/// With its bytes.
pub fn delete(call: &Call, id: &str) -> Result<(), Stop> {
    let entry = load(call, id)?;
    for chunk in chunk_ids(id, &entry.body)? {
        common::delete(call, CHUNKS, &chunk)?;
    }
    common::delete(call, FILES, id)
}
