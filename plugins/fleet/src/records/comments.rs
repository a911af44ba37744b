//! What people have written beside an order.

use tenon_plugin::json::Object;
use tenon_plugin::records::Search;
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED};
use crate::rules::invalid::Invalid;

pub const COLLECTION: &str = "comments";
const PREFIX: &str = "comment";

/// Of one order: with them it still goes away in one call.
pub const COMMENTS_MAX: u32 = 200;

pub const COLLECTIONS: &[Collection] =
    &[Collection::new(COLLECTION, &[BY_CREATED, BY_UPDATED, Index::on("by-order", &["order", "@created-at"])])];

/// `author`: the driver who wrote it; `None`: the organization. Gives the text.
pub fn insert(call: &Call, order: &str, content: &str, author: Option<&str>) -> Result<String, Stop> {
    guard(call, order);
    if call.records(COLLECTION).count(&Search::first(1).is("order", order), COMMENTS_MAX) >= COMMENTS_MAX {
        return Err(Invalid::NotAccepted { field: "content", why: "the order has 200 comments".to_owned() }.into());
    }
    let now = time::to_text(call.now());
    let (_, text) = common::insert_drawn(call, COLLECTION, PREFIX, |id| {
        let mut text = Object::default();
        text.set("id", id)?;
        text.set("content", content)?;
        text.set("order", order)?;
        text.set("author", &author)?;
        text.set("updated_at", &now)?;
        text.set("created_at", &now)?;
        Ok(text.to_text())
    })?;
    Ok(text)
}

pub fn delete_of_order(call: &Call, order: &str) -> Result<(), Stop> {
    guard(call, order);
    let search = Search::first(COMMENTS_MAX).is("order", order).ascending("@created-at");
    let found = common::find(call, COLLECTION, &search)?;
    found.entries.iter().try_for_each(|entry| common::delete(call, COLLECTION, &entry.id))
}

/// Comments of one order are counted: one call after the other.
fn guard(call: &Call, order: &str) {
    call.guard(&["comments ", order].concat());
}
