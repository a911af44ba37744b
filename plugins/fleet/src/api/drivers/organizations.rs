//! The organizations of a driver: his own, and those that the operator has linked to it and that know him (`linked` asks
//! them). A token opens one organization's data; who switches gets another one, and keeps the one that he has.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::linked::{self, Reply};
use crate::api::actor::allow;
use crate::api::form::Form;
use crate::api::{errors, organizations as companies};
use crate::records::{drivers, logins};
use crate::rules::authority::{Operation, Subject};
use crate::rules::driver::TEXT_CHARS_MAX;
use crate::rules::driver::membership::{self, Person};
use crate::rules::invalid::Invalid;
use crate::rules::refusal::Refusal;

/// His own first. One that does not answer is left out.
pub fn list(call: &Call) -> Outcome {
    let id = check(call)?;
    let (person, named) = (person(call, id)?, companies::named(call)?);
    let names = membership::linked(call.organization(), &named);
    // All are asked before one is waited for.
    let replies: Vec<Option<Reply>> = names.iter().map(|name| linked::ask_whether(call, name, &person)).collect();
    let mut shown = vec![companies::text(call)?];
    for (name, reply) in names.into_iter().zip(replies) {
        if let Reply::Known(_) = reply.ok_or(Stop::Wait)? {
            shown.push(companies::text_of(name)?);
        }
    }
    Ok(Answer::ok(json::array(shown.iter().map(String::as_str))))
}

pub fn current(call: &Call) -> Outcome {
    check(call)?;
    Ok(Answer::ok(companies::text(call)?))
}

pub fn switch(call: &Call) -> Outcome {
    let id = check(call)?;
    let mut form = Form::of(call)?;
    let next = form.text("next", TEXT_CHARS_MAX).unwrap_or_default();
    if next.is_empty() {
        form.refuse(Invalid::Required("next"));
    }
    let unknown = form.finish()?;
    let named = companies::named(call)?;
    let aim = membership::aim(call.organization(), companies::name_of(&next), &named)?;
    match linked::ask_to_open(call, aim, &person(call, id)?).ok_or(Stop::Wait)? {
        Reply::Known(opened) => Ok(unknown.tell(Answer::ok(with_photo(call, &opened)?))),
        Reply::Unknown => Err(Refusal::NotAMember.into()),
        Reply::Silent => Err(errors::unavailable()),
    }
}

/// Where his app reaches the photo, only its own request says.
fn with_photo(call: &Call, opened: &str) -> Result<String, Stop> {
    let mut opened: Object = json::from_text(opened)?;
    let mut driver: Object = json::from_text(opened.given("driver").unwrap_or("{}"))?;
    drivers::show_photo(call, &mut driver)?;
    let driver = driver.to_text();
    opened.set_raw("driver", driver);
    Ok(opened.to_text())
}

/// The id of the driver, who is there.
fn check<'a>(call: &Call<'a>) -> Result<&'a str, Stop> {
    let id = call.parameter("id");
    allow(call, Operation::UseOrganizations, Subject::Driver(id))?;
    drivers::load(call, id).map(|_| id)
}

fn person(call: &Call, driver: &str) -> Result<Person, Stop> {
    let login = logins::load(call, driver)?;
    Ok(Person::read(&login.phone, &login.email))
}
