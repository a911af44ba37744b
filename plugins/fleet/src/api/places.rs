//! Places: create, list, search, read, update, delete (research/fleet 1.5). Changing a place changes what the orders show
//! that go there.

pub mod geocoding;
pub mod mixed;
mod search;
#[cfg(test)]
mod tests;

use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::form::Form;
use super::lists::{self, Filter, Listing};
use super::{actor, deleted, events};
use crate::records::places::{self, COLLECTION, NewPlace};
use crate::rules::change::Change;
use crate::rules::place::{self, Asked, DETAILS};

pub use mixed::position;
pub use search::search;

pub const CREATED_EVENT: &str = "place.created";
pub const UPDATED_EVENT: &str = "place.updated";
pub const DELETED_EVENT: &str = "place.deleted";

/// Clients send back what they have read.
const SHOWN: [&str; 3] = ["id", "updated_at", "created_at"];

const LISTING: Listing = Listing {
    collection: COLLECTION,
    filters: &[
        Filter::text("name", "name"),
        Filter::text("street1", "street1"),
        Filter::text("city", "city"),
        Filter::text("province", "province"),
        Filter::text("postal_code", "postal_code"),
        Filter::word("country", "country"),
        Filter::text("phone", "phone"),
        Filter::word("type", "type"),
        Filter::word("owner", "owner"),
    ],
    sorts: &[],
    own: &[],
};

pub fn create(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let asked = read_body(&mut form)?;
    let meta = form.object("meta");
    let (place, unknown) = form.settle(place::settle(None, asked))?;
    let (id, shown) = places::insert(call, &NewPlace { place, meta })?;
    events::emit(call, CREATED_EVENT, &id, &shown, &[])?;
    Ok(unknown.tell(Answer::created(shown)))
}

pub fn list(call: &Call) -> Outcome {
    actor::manage(call)?;
    lists::list_as(call, &LISTING, |entry| places::shown(&entry.body))
}

pub fn read(call: &Call) -> Outcome {
    actor::manage(call)?;
    Ok(Answer::ok(places::load(call, call.parameter("id"))?.body))
}

pub fn update(call: &Call) -> Outcome {
    actor::manage(call)?;
    let mut form = Form::of(call)?;
    let entry = places::load_stored(call, call.parameter("id"))?;
    let asked = read_body(&mut form)?;
    let meta = form.object_change("meta");
    let (place, unknown) = form.settle(place::settle(Some(places::place_of(&entry.body)?), asked))?;
    let shown = places::replace(call, &entry, &place, meta)?;
    events::emit(call, UPDATED_EVENT, &entry.id, &shown, &[])?;
    Ok(unknown.tell(Answer::ok(shown)))
}

pub fn delete(call: &Call) -> Outcome {
    actor::manage(call)?;
    let entry = places::load(call, call.parameter("id"))?;
    places::delete(call, &entry.id)?;
    events::emit(call, DELETED_EVENT, &entry.id, &entry.body, &[])?;
    deleted::answer(call, &entry.id, "place")
}

/// A one-line `address` is the street where none is given; what is shown of it is not read back beside one.
pub fn read_body(form: &mut Form) -> Result<Asked, Stop> {
    form.pass_over(&SHOWN);
    let mut details: Vec<(&'static str, Change<String>)> =
        DETAILS.iter().map(|name| (*name, form.text_change(name))).collect();
    let address = form.text_change("address");
    if let Some((_, street)) = details.iter_mut().find(|(name, _)| *name == "street1")
        && *street == Change::Absent
        && matches!(address, Change::To(_))
    {
        *street = address;
    }
    Ok(Asked { details, position: mixed::position_change(form)? })
}
