//! What a caller writes of a driver.

use tenon_plugin::records::Entry;
use tenon_plugin::{Call, Stop};

use crate::api::form::Form;
use crate::api::places;
use crate::records::drivers::{self, Extras};
use crate::records::files;
use crate::rules::change::Change;
use crate::rules::driver::password;
use crate::rules::driver::profile::{Asked, Photo, Profile, TEXTS};
use crate::rules::invalid::Invalid;
use crate::rules::location::Position;

/// Of the real interface, and not here: there are no vendors.
const NOT_SUPPORTED: [&str; 1] = ["vendor"];
/// Members of a driver that clients send back as they have read them.
const READ_ONLY: [&str; 18] = [
    "id",
    "user",
    "company",
    "company_name",
    "photo_url",
    "avatar_url",
    "vehicle_avatar",
    "current_job",
    "heading",
    "altitude",
    "speed",
    "location_recorded_at",
    "token",
    "updated_at",
    "created_at",
    "jobs",
    "fleets",
    "current_shift",
];

pub fn asked(form: &mut Form) -> Asked {
    form.not_supported(&NOT_SUPPORTED);
    form.pass_over(&READ_ONLY);
    Asked {
        name: form.text_change("name"),
        email: form.text_change("email"),
        phone: form.text_change("phone"),
        status: form.text_change("status"),
        texts: TEXTS.iter().map(|(field, _)| (*field, form.text_change(field))).collect(),
        photo: photo(form),
        license_expiry_ms: form.date_change("license_expiry"),
        vehicle: form.reference("vehicle"),
    }
}

/// The file that is to be his photo, if another one is than `before`; 404 where there is no such file.
pub fn find_photo(call: &Call, asked: &Asked, before: Option<&Photo>) -> Result<Option<Entry>, Stop> {
    match &asked.photo {
        Change::To(photo) if before == Some(photo) => Ok(None),
        Change::To(Photo::File(id)) => files::load(call, id).map(Some),
        _ => Ok(None),
    }
}

fn photo(form: &mut Form) -> Change<Photo> {
    match form.text_change("photo") {
        Change::Absent => Change::Absent,
        Change::Cleared => Change::Cleared,
        Change::To(text) => Change::To(drivers::photo(text.trim().to_owned())),
    }
}

pub fn extras(form: &mut Form) -> Result<Extras, Stop> {
    let meta = match (form.has("meta"), form.object("meta")) {
        (_, Some(meta)) => Change::To(meta),
        (true, None) => Change::Cleared,
        (false, None) => Change::Absent,
    };
    Ok(Extras { meta, position: position(form)?, online: form.boolean("online"), job: form.reference("job") })
}

/// `location` in any form, or latitude and longitude beside the other fields. A location of [0,0] is how one that nobody
/// knows is shown, and is not taken for one when it comes back.
fn position(form: &mut Form) -> Result<Option<Position>, Stop> {
    for (field, with) in [("latitude", "longitude"), ("longitude", "latitude")] {
        if form.given(field).is_none() && form.given(with).is_some() {
            form.refuse(Invalid::RequiredWith { field, with });
        }
    }
    let numbers = (form.number("latitude"), form.number("longitude"));
    if let Some(location) = form.given("location").map(str::to_owned) {
        let position = places::position("location", &location)?;
        return Ok((position.latitude() != 0.0 || position.longitude() != 0.0).then_some(position));
    }
    Ok(match numbers {
        (Some(latitude), Some(longitude)) => form.keep(Position::new(latitude, longitude)),
        _ => None,
    })
}

/// A new password, where there is one and it may be one.
pub fn password(form: &mut Form, profile: Option<&Profile>) -> Option<String> {
    let Change::To(password) = form.text_change("password") else { return None };
    let own = profile.map(|profile| [&profile.driver.name, &profile.driver.email, &profile.driver.phone]);
    let own: Vec<&str> = own.iter().flatten().map(|text| text.as_str()).collect();
    form.keep(password::check("password", &password, &own))?;
    Some(password)
}
