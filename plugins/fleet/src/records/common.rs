//! What all collections have in common: ids are drawn until one is free, what is not there is not found, what the host
//! refuses is said in the words of the interface.
//!
//! Invariant: no id reaches the host that is not of the form of this interface's ids.

use std::collections::{BTreeMap, BTreeSet};

use tenon_plugin::json::Object;
use tenon_plugin::records::{Comparison, Entry, Page, RecordRefusal, Search, Value};
use tenon_plugin::{Call, Index, Stop, time};

use crate::api::errors;
use crate::rules::invalid::Invalid;

/// How often a random id or number that is taken already is drawn anew.
pub const DRAWS_MAX: usize = 4;
/// Records of one look at many: the host gives 32 MiB at once, and each has 1 MiB at most.
pub const LOOK_IDS_MAX: usize = 32;

/// Every collection that is listed has both.
pub const BY_CREATED: Index = Index::on("by-created", &["@created-at"]);
pub const BY_UPDATED: Index = Index::on("by-updated", &["@updated-at"]);

/// Why a record was not written.
#[derive(Debug)]
pub enum Refused {
    /// Another record has these values in the index of this name.
    NotUnique(String),
    Stop(Stop),
}

impl Refused {
    /// `fields`: a unique index, and the field that is taken where it refuses.
    pub fn taken(self, fields: &[(&str, &'static str)]) -> Stop {
        if let Refused::NotUnique(index) = &self
            && let Some((_, field)) = fields.iter().find(|(name, _)| name == index)
        {
            return Invalid::Taken(field).into();
        }
        self.into()
    }
}

impl From<Stop> for Refused {
    fn from(stop: Stop) -> Refused {
        Refused::Stop(stop)
    }
}

/// Where nobody foresaw it, a value that is not unique is a fault.
impl From<Refused> for Stop {
    fn from(refused: Refused) -> Stop {
        match refused {
            Refused::NotUnique(index) => RecordRefusal::NotUnique(index).into(),
            Refused::Stop(stop) => stop,
        }
    }
}

/// "order_" and ten letters or digits; ids in the wild have capitals, so case counts (research/fleet 4).
pub fn is_public_id(prefix: &str, id: &str) -> bool {
    let suffix = id.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_')).unwrap_or_default();
    suffix.len() == 10 && suffix.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Gives the id that was drawn, and the text that `text_of` made for it.
pub fn insert_drawn(
    call: &Call,
    collection: &'static str,
    prefix: &str,
    mut text_of: impl FnMut(&str) -> Result<String, Stop>,
) -> Result<(String, String), Refused> {
    for _ in 0..DRAWS_MAX {
        let id = call.public_id(prefix);
        let body = text_of(&id)?;
        match call.records(collection).insert(&id, &body) {
            Ok(()) => return Ok((id, body)),
            Err(RecordRefusal::AlreadyExists) => {}
            Err(refusal) => return Err(refused(refusal)),
        }
    }
    Err(Stop::fault(["no free ", prefix, " id was drawn"].concat()).into())
}

pub fn load(call: &Call, collection: &'static str, prefix: &str, id: &str) -> Result<Entry, Stop> {
    let entry = is_public_id(prefix, id).then(|| call.records(collection).get(id)).flatten();
    entry.ok_or_else(errors::not_found)
}

/// Those that are there, by their ids. Nothing bounds what they have together: whoever shows a page does.
pub fn load_many(call: &Call, collection: &'static str, prefix: &str, ids: &[String]) -> BTreeMap<String, String> {
    let distinct: BTreeSet<&String> = ids.iter().filter(|id| is_public_id(prefix, id)).collect();
    let distinct: Vec<String> = distinct.into_iter().cloned().collect();
    let looks = distinct.chunks(LOOK_IDS_MAX).flat_map(|ids| call.records(collection).get_many(ids));
    looks.flatten().map(|entry| (entry.id, entry.body)).collect()
}

pub fn replace(call: &Call, collection: &'static str, id: &str, body: &str) -> Result<(), Refused> {
    call.records(collection).replace(id, body).map_err(refused)
}

/// The end of a change: `meta` (a JSON text) where it changes as well, and when it was. Gives the text.
pub fn replace_changed(
    call: &Call,
    collection: &'static str,
    id: &str,
    mut text: Object,
    meta: Option<String>,
) -> Result<String, Refused> {
    if let Some(meta) = meta {
        text.set_raw("meta", meta);
    }
    text.set("updated_at", &time::to_text(call.now()))?;
    let text = text.to_text();
    replace(call, collection, id, &text)?;
    Ok(text)
}

pub fn delete(call: &Call, collection: &'static str, id: &str) -> Result<(), Stop> {
    Ok(call.records(collection).delete(id)?)
}

pub fn find(call: &Call, collection: &'static str, search: &Search) -> Result<Page, Stop> {
    Ok(call.records(collection).find(search)?)
}

/// The bounds of the fields keep records far below the host's; what an older version stored may stand closer to it.
pub fn refused(refusal: RecordRefusal) -> Refused {
    match refusal {
        RecordRefusal::NotUnique(index) => Refused::NotUnique(index),
        RecordRefusal::TooLarge => Refused::Stop(errors::too_large()),
        unforeseen => Refused::Stop(unforeseen.into()),
    }
}

/// Only records whose number lies between these two, which belong to it.
pub fn within(search: Search, field: &str, (least, most): (f64, f64)) -> Search {
    search.with(field, Comparison::AtLeast(Value::Number(least))).with(field, Comparison::AtMost(Value::Number(most)))
}
