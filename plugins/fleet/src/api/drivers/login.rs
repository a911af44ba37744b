//! How a driver comes to his token (research/fleet 2): by a password, or by a code that is sent to him. Asked with the key of
//! his organization.
//!
//! Invariant: neither an answer nor its time reveals who is a driver, except for a phone number that no driver has,
//! which the interface names. A wrong password is counted although its caller is refused, and so is one of an unknown
//! identity.

use std::net::{IpAddr, Ipv6Addr};

use serde::Serialize;
use tenon_plugin::{Answer, Call, Outcome, Stop, json};

use super::codes::{self, Shown};
use super::{messages, show, tokens};
use crate::api::actor::manage;
use crate::api::errors;
use crate::api::form::Form;
use crate::api::unknown::Unknown;
use crate::records::logins::Login;
use crate::records::{drivers, logins};
use crate::rules::driver::code::Purpose;
use crate::rules::driver::identity::{Identity, phone_key};
use crate::rules::driver::password;
use crate::rules::invalid::Invalid;
use crate::rules::refusal::Refusal;

/// Longer than any identity, so that none is called too long by its spaces.
const IDENTITY_CHARS_MAX: usize = 256;

#[derive(Serialize)]
struct Sent {
    status: &'static str,
    method: &'static str,
}

pub fn login(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let identity = identity(&mut form);
    let password = secret(&mut form, "password");
    let unknown = form.finish()?;
    let identity = Identity::read(&identity).unwrap_or_else(|| Identity::Email(identity.trim().to_lowercase()));
    let Some((driver, stored)) = find_driving(call, &identity)? else {
        return refuse_unknown_identity(call, &identity, &password);
    };
    match compare(call, &driver, stored, &password)?.1 {
        Ok(()) => open(call, &driver, unknown),
        Err(refused) => Ok(errors::answer(call, &refused)),
    }
}

/// Refuses a login with an identity that no driver has: the answer, its time and the wait are those of a wrong password.
fn refuse_unknown_identity(call: &Call, identity: &Identity, password: &str) -> Outcome {
    let (guesses, address) = (logins::unknown_identity_guesses(call, identity.key())?, address(call));
    if let Err(refused) = guesses.check(&address, call.now()) {
        return Ok(errors::answer(call, &refused));
    }
    is_right(call, password, None);
    logins::put_unknown_identity_guesses(call, identity.key(), guesses.note(&address, false, call.now()))?;
    Ok(errors::answer(call, &Refusal::WrongPassword))
}

pub fn login_with_sms(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let phone = required(&mut form, "phone", IDENTITY_CHARS_MAX);
    let unknown = form.finish()?;
    let identity = phone_key(&phone).map(Identity::Phone).ok_or(Refusal::UnknownPhone)?;
    let known = find_driving(call, &identity)?.ok_or(Refusal::UnknownPhone)?;
    codes::send(call, Some(known), Purpose::Login, &identity)?;
    let sent = Sent { status: "OK", method: messages::method(&identity) };
    Ok(unknown.tell(Answer::ok(json::to_text(&sent)?)))
}

/// `for`: "create_driver" is a purpose of the real interface; nothing sends such a code here, so that none is right.
pub fn verify_code(call: &Call) -> Outcome {
    manage(call)?;
    let mut form = Form::of(call)?;
    let identity = identity(&mut form);
    let code = secret(&mut form, "code");
    let purpose = purpose(&mut form);
    let unknown = form.finish()?;
    match codes::verify(call, &identity, &code, purpose)? {
        Shown::Driver(driver, _) => open(call, &driver, unknown),
        Shown::Refused(answer) => Ok(answer),
    }
}

/// Who has this identity and drives for the organization now. Who is inactive is told from nobody by nothing.
pub fn find_driving(call: &Call, identity: &Identity) -> Result<Option<(String, Login)>, Stop> {
    let Some((driver, login)) = logins::find(call, identity)? else { return Ok(None) };
    let Some(body) = drivers::find_one(call, &driver) else { return Ok(None) };
    Ok(drivers::status_of(&body)?.drives().then_some((driver, login)))
}

/// The driver with a new token.
pub fn open(call: &Call, driver: &str, unknown: Unknown) -> Outcome {
    let entry = drivers::load(call, driver)?;
    let token = tokens::issue(call, driver);
    Ok(unknown.tell(Answer::ok(show::with_token(call, &entry.body, &token)?)))
}

/// `hash`: `None` takes as long, and is never right. Neither is a password that is longer than any.
pub fn is_right(call: &Call, password: &str, hash: Option<&str>) -> bool {
    let is_possible = password.chars().nth(password::CHARS_MAX).is_none();
    let (password, hash) = if is_possible { (password, hash) } else { ("", None) };
    call.credentials().verify_password(password, hash)
}

/// Compares a password with that of the driver and counts a wrong one. During a wait no password is compared. Returns the
/// login as it is stored now, and the verdict.
pub fn compare(call: &Call, driver: &str, stored: Login, password: &str) -> Result<(Login, Result<(), Refusal>), Stop> {
    let (before, address) = (stored.guesses(), address(call));
    if let Err(refused) = before.check(&address, call.now()) {
        return Ok((stored, Err(refused)));
    }
    let is_right = is_right(call, password, stored.password.as_deref());
    let outcome = if is_right { Ok(()) } else { Err(Refusal::WrongPassword) };
    let after = before.clone().note(&address, is_right, call.now());
    if after == before {
        return Ok((stored, outcome));
    }
    let counted = stored.with_guesses(after);
    logins::put(call, driver, &counted)?;
    Ok((counted, outcome))
}

/// Returns the origin of the request: an address, or the network of 2^64 addresses that one subscriber of IPv6 has.
fn address(call: &Call) -> String {
    let text = call.context("client-address").unwrap_or_default();
    match text.parse().map(|address: IpAddr| address.to_canonical()) {
        Ok(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).to_string()
        }
        Ok(address) => address.to_string(),
        Err(_) => text.to_owned(),
    }
}

pub fn identity(form: &mut Form) -> String {
    required(form, "identity", IDENTITY_CHARS_MAX)
}

/// Any text: whether it is right, the comparison says.
pub fn secret(form: &mut Form, field: &'static str) -> String {
    let text = form.text_change(field).over(None).unwrap_or_default();
    if text.is_empty() {
        form.refuse(Invalid::Required(field));
    }
    text
}

fn required(form: &mut Form, field: &'static str, characters_max: usize) -> String {
    let text = form.text(field, characters_max).unwrap_or_default();
    if text.trim().is_empty() {
        form.refuse(Invalid::Required(field));
    }
    text
}

fn purpose(form: &mut Form) -> Purpose {
    let Some(name) = form.text("for", IDENTITY_CHARS_MAX) else { return Purpose::Login };
    let found = Purpose::of_name(&name).filter(|purpose| *purpose != Purpose::ResetPassword);
    let allowed = "driver_login, create_driver";
    form.keep(found.ok_or(Invalid::NotOneOf { field: "for", allowed })).unwrap_or(Purpose::Login)
}
