//! Pictures by themselves and the pictures of proofs: send, list, read, change what is said of them, delete, download
//! (research/fleet 1.5).
//!
//! An organization sees all of them, a driver those that he has sent; who may see an order sees its pictures. Invariants: the
//! picture of a proof is there as long as its order, and changed by the organization alone; the photo of a driver is there as
//! long as he has it.

mod sent;
#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Outcome, Route, Stop, delete, get, patch, post, put};

use super::actor::{self, actor};
use super::deleted;
use super::form::Form;
use super::lists::{self, Asked, Filter, Listing};
use super::multipart::MEDIA_TYPE;
use super::unknown::HEADERS;
use crate::records::drivers;
use crate::records::files::{self, ADDRESS, FILES, NewFile, Of};
use crate::records::orders::{self, Holder};
use crate::rules::authority::{Actor, Operation, Subject};
use crate::rules::file::{self, OF_DRIVER_MAX};
use crate::rules::invalid::Invalid;
use crate::rules::picture::BYTES_MAX;
use crate::rules::refusal::Refusal;
use sent::Sent;

/// A picture as base64, with `meta` and words beside it.
const BODY_BYTES_MAX: u64 = BYTES_MAX as u64 / 3 * 4 + (256 << 10);

pub const ROUTES: &[Route] = &[
    sending(post("/v1/files", "create-file", create)).media_types(&[MEDIA_TYPE]),
    sending(post("/v1/files/base64", "create-file-base64", create)),
    get("/v1/files", "list-files", list).headers(lists::HEADERS).context(ADDRESS),
    get("/v1/files/{id}", "read-file", read).context(ADDRESS),
    put("/v1/files/{id}", "update-file", update).headers(HEADERS).context(ADDRESS),
    patch("/v1/files/{id}", "patch-file", update).headers(HEADERS).context(ADDRESS),
    delete("/v1/files/{id}", "delete-file", remove),
    get("/v1/files/{id}/download", "download-file", download),
];

const fn sending(route: Route) -> Route {
    route.headers(HEADERS).context(ADDRESS).body_bytes_max(BODY_BYTES_MAX)
}

/// Clients send back what they have read.
const SHOWN: [&str; 8] = ["id", "order_id", "driver", "content_type", "file_size", "url", "updated_at", "created_at"];

const LISTING: Listing = Listing {
    collection: FILES,
    filters: &[
        Filter::word("order", "order_id"),
        Filter::word("order_id", "order_id"),
        Filter::word("driver", "driver"),
        Filter::word("type", "type"),
        Filter::word("content_type", "content_type"),
        Filter::number("file_size", "file_size"),
    ],
    sorts: &[],
    own: &[],
};

pub fn create(call: &Call) -> Outcome {
    actor::allow(call, Operation::KeepFiles, Subject::Organization)?;
    let Sent { said, meta, picture, field, unknown } = sent::read(call)?;
    let of = match actor(call) {
        Actor::Driver(me) => Of { order: None, driver: Some(me) },
        Actor::Organization => Of::default(),
    };
    if let Some(driver) = of.driver {
        files::guard(call, driver);
        if files::count_of_driver(call, driver, OF_DRIVER_MAX) >= OF_DRIVER_MAX {
            let why = ["a driver has at most ", &OF_DRIVER_MAX.to_string(), " files"].concat();
            return Err(Invalid::NotAccepted { field, why }.into());
        }
    }
    let (id, text) = files::insert(call, &NewFile { of, said: &said, meta: meta.as_deref(), picture: &picture })?;
    Ok(unknown.tell(Answer::created(files::shown(call, &id, &text)?)))
}

pub fn list(call: &Call) -> Outcome {
    actor::allow(call, Operation::KeepFiles, Subject::Organization)?;
    let mut asked = Asked::of(call, &LISTING)?;
    if let Actor::Driver(me) = actor(call) {
        asked.narrow_to("driver", me);
    }
    let found = asked.find(call)?;
    let shown = found.entries.iter().map(|entry| files::shown(call, &entry.id, &entry.body));
    let shown: Vec<String> = shown.collect::<Result<_, _>>()?;
    found.answer(call, &shown)
}

pub fn read(call: &Call) -> Outcome {
    let entry = find(call)?.entry;
    Ok(Answer::ok(files::shown(call, &entry.id, &entry.body)?))
}

/// What is said of it: the bytes stay.
pub fn update(call: &Call) -> Outcome {
    let found = find(call)?;
    found.check_change(call)?;
    let mut form = Form::of(call)?;
    form.pass_over(&SHOWN);
    let (asked, meta) = (sent::words(&mut form, &["original_filename"]), form.object_change("meta"));
    let file: Object = json::from_text(&found.entry.body)?;
    let settled = file::settle(Some(files::said(&file)), asked, files::format_of(&file)?);
    let (said, unknown) = form.settle(settled)?;
    let text = files::replace(call, &found.entry, &said, meta)?;
    Ok(unknown.tell(Answer::ok(files::shown(call, &found.entry.id, &text)?)))
}

pub fn remove(call: &Call) -> Outcome {
    let found = find(call)?;
    found.check_change(call)?;
    if found.is_proof {
        return Err(Refusal::PictureBelongs.into());
    }
    if found.photo_of.is_some_and(|driver| is_photo(call, &found.entry.id, &driver)) {
        return Err(Refusal::PictureIsPhoto.into());
    }
    files::delete(call, &found.entry.id)?;
    deleted::answer(call, &found.entry.id, "file")
}

/// The bytes as they came in: they are those of a picture, and no browser is to take them for anything else. A driver gets his
/// photo too, whoever has sent it.
pub fn download(call: &Call) -> Outcome {
    let id = call.parameter("id");
    let entry = match actor(call) {
        Actor::Driver(me) if is_photo(call, id, me) => files::load(call, id)?,
        _ => find(call)?.entry,
    };
    let picture = files::load_picture(call, &entry)?;
    let name = ["inline; filename=\"", &entry.id, ".", picture.format.extension(), "\""].concat();
    let answer = Answer::with_media_type(picture.format.media_type(), picture.bytes)
        .header("content-disposition", name)
        .header("content-security-policy", "default-src 'none'; sandbox".to_owned())
        .header("x-content-type-options", "nosniff".to_owned())
        // It never changes; only who was shown it keeps it.
        .header("cache-control", "private, max-age=86400, immutable".to_owned());
    Ok(answer)
}

/// A file that the caller may see.
struct Found {
    entry: Entry,
    /// Of an order.
    is_proof: bool,
    /// The driver who got it for a photo last.
    photo_of: Option<String>,
}

impl Found {
    fn check_change(&self, call: &Call) -> Result<(), Stop> {
        if self.is_proof { actor::manage(call) } else { Ok(()) }
    }
}

fn find(call: &Call) -> Result<Found, Stop> {
    let entry = files::load(call, call.parameter("id"))?;
    let file: Object = json::from_text(&entry.body)?;
    let order = file.text("order_id").ok().flatten();
    match &order {
        Some(id) => {
            let order = orders::load(call, id)?;
            let order: Object = json::from_text(&order.body)?;
            actor::allow(call, Operation::ReadOrder, Subject::Order(Holder::of(&order).held()))?;
        }
        None => {
            let driver = file.text("driver").ok().flatten();
            actor::allow(call, Operation::UseFile, Subject::File(driver.as_deref()))?;
        }
    }
    Ok(Found { is_proof: order.is_some(), photo_of: file.text("photo_of").ok().flatten(), entry })
}

/// Whether the driver has it for a photo now.
fn is_photo(call: &Call, id: &str, driver: &str) -> bool {
    drivers::photo_of(call, driver).as_deref() == Some(id)
}
