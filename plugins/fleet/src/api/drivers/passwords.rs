//! Passwords of drivers: changed by who knows the old one, set anew by who has the code. Either ends every token that the
//! driver has.

use serde::Serialize;
use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::codes::{self, Shown};
use super::{login, tokens};
use crate::api::actor::{allow, manage};
use crate::api::errors;
use crate::api::form::Form;
use crate::records::logins::Login;
use crate::records::{drivers, logins};
use crate::rules::authority::{Operation, Subject};
use crate::rules::driver::code::Purpose;
use crate::rules::driver::guess::Guesses;
use crate::rules::driver::identity::Identity;
use crate::rules::driver::password::{CHANGED, Fields, RESET, check_new};
use crate::rules::refusal::Refusal;

#[derive(Serialize)]
struct Status {
    status: &'static str,
}

/// The driver with a new token: all that he had before are gone.
pub fn change(call: &Call) -> Outcome {
    let id = call.parameter("id");
    allow(call, Operation::ChangePassword, Subject::Driver(id))?;
    let mut form = Form::of(call)?;
    let password = login::secret(&mut form, "password");
    let (new, confirmation) = new_password(&mut form, &CHANGED);
    let entry = drivers::load(call, id)?;
    let driver = drivers::profile_of(&json::from_text(&entry.body)?).driver;
    let own = [driver.name.as_str(), driver.email.as_str(), driver.phone.as_str()];
    let (_, unknown) = form.settle(check_new(&CHANGED, &new, confirmation.as_deref(), &own))?;
    let stored = logins::load(call, id)?;
    // An inactive driver is refused as at the login, and nothing is counted.
    if !driver.status.drives() {
        login::is_right(call, &password, None);
        return Ok(errors::answer(call, &Refusal::WrongPassword));
    }
    let (stored, outcome) = login::compare(call, id, stored, &password)?;
    if let Err(refused) = outcome {
        return Ok(errors::answer(call, &refused));
    }
    set(call, id, stored, &new)?;
    login::open(call, id, unknown)
}

/// The same answer whoever is asked for, and whether or not a code was sent a moment ago.
pub fn forget(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let identity = login::identity(&mut form);
    let unknown = form.finish()?;
    let identity = Identity::read(&identity).unwrap_or(Identity::Email(String::new()));
    let known = login::find_driving(call, &identity)?;
    match codes::send(call, known, Purpose::ResetPassword, &identity) {
        Ok(()) | Err(Stop::Refusal(_)) => {}
        Err(stop) => return Err(stop),
    }
    Ok(unknown.tell(Answer::ok(json::to_text(&Status { status: "OK" })?)))
}

pub fn reset(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let identity = login::identity(&mut form);
    let code = login::secret(&mut form, "code");
    let (new, confirmation) = new_password(&mut form, &RESET);
    let (_, unknown) = form.settle(check_new(&RESET, &new, confirmation.as_deref(), &[&identity]))?;
    match codes::verify(call, &identity, &code, Purpose::ResetPassword)? {
        Shown::Refused(answer) => Ok(answer),
        Shown::Driver(driver, stored) => {
            set(call, &driver, stored, &new)?;
            Ok(unknown.tell(Answer::ok(json::to_text(&Status { status: "OK" })?)))
        }
    }
}

/// With its confirmation.
fn new_password(form: &mut Form, fields: &Fields) -> (String, Option<String>) {
    (login::secret(form, fields.password), form.text_change(fields.confirmation).over(None))
}

fn set(call: &Call, driver: &str, stored: Login, new: &str) -> Result<(), Stop> {
    let password = Some(call.credentials().hash_password(new));
    logins::put(call, driver, &Login { password, ..stored.with_guesses(Guesses::default()) })?;
    tokens::revoke(call, driver);
    Ok(())
}
