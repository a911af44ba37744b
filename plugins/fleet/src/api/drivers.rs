//! Drivers: created, listed, read, changed and deleted by their organization (spec/fleet; research/fleet 1.2). What a driver
//! does himself is in the files below.

pub mod codes;
pub mod devices;
pub mod events;
pub mod linked;
mod listing;
pub mod login;
pub mod messages;
pub mod organizations;
pub mod passwords;
mod profile;
pub mod show;
mod tokens;
mod track;

#[cfg(test)]
mod tests;

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use super::actor::{allow, manage};
use super::form::Form;
use super::orders::releasing;
use super::{deleted, driving, organizations as companies};
use crate::records::drivers::Extras;
use crate::records::logins::Login;
use crate::records::{self, drivers, files, logins, orders};
use crate::rules::authority::{Operation, Subject};
use crate::rules::change::Change;
use crate::rules::driver::device;
use crate::rules::driver::guess::Guesses;
use crate::rules::driver::identity::phone_key;
use crate::rules::driver::profile::{Profile, amend, create as create_profile};

pub use listing::list;
pub use track::track;

pub fn create(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let asked = profile::asked(&mut form);
    let photo = profile::find_photo(call, &asked, None)?;
    let mut extras = profile::extras(&mut form)?;
    let outcome = create_profile(asked);
    let password = profile::password(&mut form, outcome.as_ref().ok());
    let (profile, unknown) = form.settle(outcome)?;
    settle_job(call, &mut extras)?;
    let company = companies::id(call);
    let (id, body) = drivers::insert(call, |id| drivers::new_text(call, (id, &company), &profile, &extras))?;
    logins::put(call, &id, &login_of(Login::default(), &profile, password.map(|text| hash(call, &text))))?;
    if profile.vehicle.is_some() {
        driving::driver_changes_vehicle(call, &id, profile.vehicle.as_deref())?;
    }
    if let Some(file) = &photo {
        files::note_photo_of(call, file, &id)?;
    }
    let shown = show::one(call, &body)?;
    events::emit(call, events::CREATED, &id, &shown)?;
    tell_assignment(call, &id, (&Profile::default(), &profile), &extras, &shown)?;
    Ok(unknown.tell(Answer::created(shown)))
}

pub fn read(call: &Call) -> Outcome {
    let id = call.parameter("id");
    allow(call, Operation::ReadDriver, Subject::Driver(id))?;
    Ok(Answer::ok(show::one(call, &drivers::load(call, id)?.body)?))
}

/// PUT and PATCH: the fields that are there. A new password ends what the driver is logged in with, and so does `inactive`.
pub fn update(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let entry = drivers::load(call, call.parameter("id"))?;
    let mut driver: Object = json::from_text(&entry.body)?;
    let before = drivers::profile_of(&driver);
    let asked = profile::asked(&mut form);
    let photo = profile::find_photo(call, &asked, before.photo.as_ref())?;
    let mut extras = profile::extras(&mut form)?;
    // A client that sends back what it has read does not move the driver.
    extras.position = extras.position.filter(|position| drivers::position_of(&entry.body) != Some(*position));
    let names_vehicle = asked.vehicle != Change::Absent;
    let outcome = amend(before.clone(), asked);
    let password = profile::password(&mut form, outcome.as_ref().ok());
    let (profile, unknown) = form.settle(outcome)?;
    settle_job(call, &mut extras)?;
    drivers::apply(call, &mut driver, &profile, &extras)?;
    let body = driver.to_text();
    drivers::replace(call, &entry.id, &body)?;
    let login = logins::load(call, &entry.id)?;
    let changed = login_of(login.clone(), &profile, password.map(|text| hash(call, &text)));
    // Whoever rested already may have tokens of a version that let him in.
    let rests = !profile.driver.status.drives();
    if rests || changed.password != login.password {
        tokens::revoke(call, &entry.id);
    }
    if changed != login {
        logins::put(call, &entry.id, &changed)?;
    }
    if names_vehicle {
        driving::driver_changes_vehicle(call, &entry.id, profile.vehicle.as_deref())?;
    }
    if let Some(file) = &photo {
        files::note_photo_of(call, file, &entry.id)?;
    }
    let shown = show::one(call, &body)?;
    events::emit(call, events::UPDATED, &entry.id, &shown)?;
    tell_assignment(call, &entry.id, (&before, &profile), &extras, &shown)?;
    Ok(unknown.tell(Answer::ok(shown)))
}

/// With what he logs in by, his tokens and his devices; orders that he has not started are nobody's again.
pub fn delete(call: &Call) -> Outcome {
    manage(call)?;
    let entry = drivers::load(call, call.parameter("id"))?;
    releasing::release(call, &entry.id)?;
    driving::driver_changes_vehicle(call, &entry.id, None)?;
    drivers::delete(call, &entry.id)?;
    logins::delete(call, &entry.id)?;
    records::devices::forget(call, &entry.id)?;
    tokens::revoke(call, &entry.id);
    events::emit(call, events::DELETED, &entry.id, &show::one(call, &entry.body)?)?;
    deleted::answer(call, &entry.id, "driver")
}

pub fn toggle_online(call: &Call) -> Outcome {
    let id = call.parameter("id");
    allow(call, Operation::ToggleOnline, Subject::Driver(id))?;
    let mut form = Form::of(call)?;
    let asked = form.boolean("online");
    let unknown = form.finish()?;
    let entry = drivers::load(call, id)?;
    let mut driver: Object = json::from_text(&entry.body)?;
    let before = driver.boolean("online").ok().flatten().unwrap_or_default();
    driver.set("online", &device::toggle_online(before, asked))?;
    driver.set("updated_at", &time::to_text(call.now()))?;
    let body = driver.to_text();
    drivers::replace(call, &entry.id, &body)?;
    let shown = show::one(call, &body)?;
    events::emit(call, events::UPDATED, &entry.id, &shown)?;
    Ok(unknown.tell(Answer::ok(shown)))
}

/// The order that a driver is at must be there; named by its `internal_id`, it is kept by its own.
fn settle_job(call: &Call, extras: &mut Extras) -> Result<(), Stop> {
    if let Change::To(order) = &mut extras.job {
        *order = orders::load(call, order)?.id;
    }
    Ok(())
}

/// Email and phone as they are looked up; without a new password the old one stays, and what was guessed of it. Who rests
/// has no code.
fn login_of(before: Login, profile: &Profile, password: Option<String>) -> Login {
    let phone = phone_key(&profile.driver.phone).unwrap_or_else(|| profile.driver.phone.clone());
    let before = if password.is_some() { before.with_guesses(Guesses::default()) } else { before };
    let password = password.or_else(|| before.password.clone());
    let code = before.code.clone().filter(|_| profile.driver.status.drives());
    Login { email: profile.driver.email.clone(), phone, password, code, ..before }
}

fn hash(call: &Call, password: &str) -> String {
    call.credentials().hash_password(password)
}

/// Told where the driver has got a vehicle or an order.
fn tell_assignment(
    call: &Call,
    id: &str,
    (before, after): (&Profile, &Profile),
    extras: &Extras,
    shown: &str,
) -> Result<(), Stop> {
    let has_vehicle = after.vehicle.is_some() && after.vehicle != before.vehicle;
    if has_vehicle || matches!(extras.job, Change::To(_)) {
        events::emit(call, events::ASSIGNED, id, shown)?;
    }
    Ok(())
}
