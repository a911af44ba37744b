//! Proofs as they are stored (research/fleet 1.1.2): who or what proves that something was handed over.
//!
//! A picture is a file of its own; the proof has its id. Never decides what proves what: that is `rules::proof`.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common;
use super::files;
use super::shapes::raw;
use crate::rules::order::ProofMethod;
use crate::rules::proof::{Captured, PROOFS_MAX, Subject};

pub const PROOFS: &str = "proofs";
const PREFIX: &str = "proof";

pub const COLLECTIONS: &[Collection] =
    &[Collection::new(PROOFS, &[Index::on("by-order", &["order_id", "@created-at"])])];

/// What a proof is made from. `raw` and `data` are JSON texts.
pub struct NewProof<'a> {
    pub order: &'a str,
    pub subject: &'a Subject,
    /// The subject as the caller named it.
    pub named: &'a str,
    pub method: ProofMethod,
    pub remarks: &'a str,
    pub raw: Option<&'a str>,
    pub data: Option<&'a str>,
    /// The id of the picture.
    pub file: Option<&'a str>,
}

#[derive(Serialize)]
struct ProofText<'a> {
    id: &'a str,
    subject_id: &'a str,
    order_id: &'a str,
    remarks: &'a str,
    raw: Option<Box<RawValue>>,
    data: Option<Box<RawValue>>,
    method: &'static str,
    /// The id of the stop or entity; `subject_id` may be that of a stop's place.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    updated_at: &'a str,
    created_at: &'a str,
}

/// What the rules ask of a stored proof.
#[derive(Deserialize)]
struct Stored {
    id: String,
    method: String,
    stop: Option<String>,
    entity: Option<String>,
}

/// Draws its id; gives its text.
pub fn insert(call: &Call, proof: &NewProof) -> Result<String, Stop> {
    let (_, body) = common::insert_drawn(call, PROOFS, PREFIX, |id| proof_text(call, id, proof))?;
    Ok(body)
}

fn proof_text(call: &Call, id: &str, proof: &NewProof) -> Result<String, Stop> {
    let now = time::to_text(call.now());
    let (stop, entity) = match proof.subject {
        Subject::Order => (None, None),
        Subject::Stop(stop) => (Some(stop.as_str()), None),
        Subject::Entity(entity) => (None, Some(entity.as_str())),
    };
    json::to_text(&ProofText {
        id,
        subject_id: proof.named,
        order_id: proof.order,
        remarks: proof.remarks,
        raw: proof.raw.map(raw).transpose()?,
        data: proof.data.map(raw).transpose()?,
        method: proof.method.name(),
        stop,
        entity,
        file: proof.file,
        updated_at: &now,
        created_at: &now,
    })
}

/// Those of an order, the newest first.
pub fn list(call: &Call, order_id: &str) -> Result<Vec<Entry>, Stop> {
    let search = of(order_id).descending("@created-at");
    let mut page = common::find(call, PROOFS, &search)?;
    let mut entries = page.entries;
    while let Some(next) = page.next {
        page = common::find(call, PROOFS, &search.clone().after(next))?;
        entries.append(&mut page.entries);
    }
    Ok(entries)
}

/// How many an order has; no further than there may be.
pub fn count(call: &Call, order_id: &str) -> usize {
    let count = call.records(PROOFS).count(&of(order_id), most());
    usize::try_from(count).unwrap_or(usize::MAX)
}

fn of(order_id: &str) -> Search {
    Search::first(most()).is("order_id", order_id)
}

fn most() -> u32 {
    u32::try_from(PROOFS_MAX).unwrap_or(u32::MAX)
}

/// Proofs of one order are added one call after the other, so that they can be counted.
pub fn guard(call: &Call, order_id: &str) {
    call.guard(&["proofs ", order_id].concat());
}

/// The proofs of an order, as the rules see them.
pub fn of_order(call: &Call, order_id: &str) -> Result<Vec<Captured>, Stop> {
    list(call, order_id)?.iter().map(|entry| captured(&entry.body)).collect()
}

/// A proof as the rules see it.
pub fn captured(body: &str) -> Result<Captured, Stop> {
    let stored: Stored = json::from_text(body)?;
    let subject = match (stored.stop, stored.entity) {
        (Some(stop), _) => Subject::Stop(stop),
        (None, Some(entity)) => Subject::Entity(entity),
        (None, None) => Subject::Order,
    };
    let method = ProofMethod::of_name(&stored.method).map_err(|_| Stop::fault("a proof has an unknown method"))?;
    Ok(Captured { id: stored.id, subject, method })
}

/// The proof as a caller sees it, with the address of its picture.
pub fn shown(call: &Call, body: &str) -> Result<String, Stop> {
    let mut proof: Object = json::from_text(body)?;
    let file = proof.text("file").ok().flatten();
    ["stop", "entity", "file"].into_iter().for_each(|member| proof.remove(member));
    proof.set("url", &file.map(|file| files::url(call, &file)))?;
    Ok(proof.to_text())
}

/// All of an order that goes away, with their pictures.
pub fn delete_of_order(call: &Call, order_id: &str) -> Result<(), Stop> {
    guard(call, order_id);
    for entry in list(call, order_id)? {
        let proof: Object = json::from_text(&entry.body)?;
        if let Some(file) = proof.text("file").ok().flatten() {
            files::delete(call, &file)?;
        }
        common::delete(call, PROOFS, &entry.id)?;
    }
    Ok(())
}
