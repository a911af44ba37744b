//! /v1/screening: whether an address stands on a list that counts.

use serde_json::json;
use tenon_plugin::{Answer, Call, Outcome, json as text, time};

use crate::records;
use crate::rules::limits::MATCHES_MAX;
use crate::rules::sanctions;
use crate::words;

/// What is looked at as long as nobody has imported a list: so that there is a decision out of the box.
const OWN_LIST: &str = "sandbox";
const OWN_ENTRY: &str = "0x0000000000000000000000000000000000000bad";

pub fn screen(call: &Call) -> Outcome {
    let address = call.query("address").filter(|text| sanctions::is_address(text));
    let address = address.ok_or_else(|| words::wrong("address", "must be an address without blanks"))?;
    let (mut lists, mut matches) = (Vec::new(), Vec::new());
    for list in records::list_lists(call)? {
        let Some(version) = list.current else { continue };
        for entry in records::find_entries(call, &list.name, &version.load, &sanctions::key(address))? {
            matches.push(json!({
                "list": list.name,
                "version": version.version,
                "address": entry.address,
                "asset": entry.asset,
                "name": entry.name,
                "source_id": entry.source_id,
            }));
        }
        lists.push(json!({
            "list": list.name,
            "version": version.version,
            "published_at": time::to_text(version.published_at),
            "imported_at": time::to_text(version.imported_at),
            "entries": version.entries,
        }));
    }
    if lists.is_empty() {
        lists.push(json!({
            "list": OWN_LIST,
            "version": "1",
            "published_at": time::to_text(0),
            "imported_at": time::to_text(0),
            "entries": 1,
        }));
        if sanctions::key(address) == sanctions::key(OWN_ENTRY) {
            let entry = json!({
                "list": OWN_LIST, "version": "1", "address": OWN_ENTRY, "asset": "ETH", "name": "SANDBOX", "source_id": "1",
            });
            matches.push(entry);
        }
    }
    matches.truncate(MATCHES_MAX as usize);
    let answer = json!({
        "address": address,
        "is_sanctioned": !matches.is_empty(),
        "checked_at": time::to_text(call.now()),
        "lists": lists,
        "matches": matches,
    });
    Ok(Answer::ok(text::to_text(&answer)?))
}
