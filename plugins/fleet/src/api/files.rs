//! The pictures of proofs: list, read, download (research/fleet 1.5). Who may see the order sees its pictures.

#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Outcome, Route, Stop, get};

use super::actor;
use super::lists::{self, Filter, Listing};
use crate::records::files::{self, FILES};
use crate::records::orders::{self, Holder};
use crate::rules::authority::{Operation, Subject};

pub const ROUTES: &[Route] = &[
    get("/v1/files", "list-files", list).headers(lists::HEADERS).context(&["base-url"]),
    get("/v1/files/{id}", "read-file", read).context(&["base-url"]),
    get("/v1/files/{id}/download", "download-file", download),
];

const LISTING: Listing = Listing {
    collection: FILES,
    filters: &[
        Filter::word("order", "order_id"),
        Filter::word("order_id", "order_id"),
        Filter::word("type", "type"),
        Filter::word("content_type", "content_type"),
        Filter::number("file_size", "file_size"),
    ],
    sorts: &[],
    own: &[],
};

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    lists::list_as(call, &LISTING, |entry| files::shown(call, entry))
}

pub fn read(call: &Call) -> Outcome {
    Ok(Answer::ok(files::shown(call, &find(call)?)?))
}

/// The bytes as they came in: they begin as those of a picture do, and no browser is to take them for anything else.
pub fn download(call: &Call) -> Outcome {
    let entry = find(call)?;
    let picture = files::load_picture(call, &entry)?;
    let name = ["inline; filename=\"", &entry.id, ".", picture.format.extension(), "\""].concat();
    let answer = Answer::of_media_type(picture.format.media_type(), picture.bytes)
        .header("content-disposition", name)
        .header("content-security-policy", "default-src 'none'; sandbox".to_owned())
        .header("x-content-type-options", "nosniff".to_owned())
        // It never changes; only who was shown it keeps it.
        .header("cache-control", "private, max-age=86400, immutable".to_owned());
    Ok(answer)
}

fn find(call: &Call) -> Result<Entry, Stop> {
    let entry = files::load(call, call.parameter("id"))?;
    let order = orders::load(call, &files::order_of(&entry)?)?;
    let order: Object = json::from_text(&order.body)?;
    actor::allow(call, Operation::ReadOrder, Subject::Order(Holder::of(&order).held()))?;
    Ok(entry)
}
