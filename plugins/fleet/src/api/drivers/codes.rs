//! Codes that are sent to a driver and typed in again. A code is kept as its hash alone, which the host makes and compares
//! (argon2id: as long for a wrong one as for a right one); it leaves in the message, and stands in no log.
//!
//! Invariant: a wrong code is counted although its caller is refused, and an identity that nobody has is answered with the
//! same words after the same time.

use tenon_plugin::{Answer, Call, Stop};

use super::{login, messages};
use crate::api::errors;
use crate::records::logins::{self, Code, Login};
use crate::rules::driver::code::{self, Compared, Purpose};
use crate::rules::driver::identity::Identity;
use crate::rules::refusal::Refusal;

/// A driver who has shown that he is one, or what the caller is told.
pub enum Shown {
    Driver(String, Login),
    /// With what it changed.
    Refused(Answer),
}

/// Refused where one was sent a moment ago. Costs as much for nobody, to whom nothing is sent.
pub fn send(call: &Call, known: Option<(String, Login)>, purpose: Purpose, identity: &Identity) -> Result<(), Stop> {
    let random = call.random(8).into_iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(byte));
    let digits = code::digits(random);
    let hash = call.credentials().hash_password(&digits);
    let Some((driver, login)) = known else { return Ok(()) };
    let sent = code::send(login.code.as_ref().and_then(Code::sent), purpose, call.now())?;
    logins::put(call, &driver, &Login { code: Some(Code::new(hash, sent)), ..login })?;
    messages::send_code(call, (&driver, identity), purpose, &digits)
}

/// Whether the code is the one that was sent; it is used up then.
pub fn verify(call: &Call, identity: &str, typed: &str, purpose: Purpose) -> Result<Shown, Stop> {
    let found = match Identity::read(identity) {
        Some(identity) => login::find_driving(call, &identity)?,
        None => None,
    };
    let stored = found.as_ref().and_then(|(_, login)| login.code.clone());
    let hash = stored.as_ref().map(|stored| stored.hash.as_str()).filter(|_| code::is_code(typed));
    let typed = if code::is_code(typed) { typed } else { "" };
    let is_same = call.credentials().verify_password(typed, hash);
    let (Some((driver, login)), Some(stored)) = (found, stored) else { return refused(call) };
    let Some(sent) = stored.sent() else { return refused(call) };
    let compared = if is_same { Compared::Same } else { Compared::Different };
    let verdict = code::verify(sent, purpose, compared, call.now());
    let login = Login { code: Some(Code::new(stored.hash, verdict.stored)), ..login };
    logins::put(call, &driver, &login)?;
    match verdict.outcome {
        Ok(()) => Ok(Shown::Driver(driver, login)),
        Err(_) => refused(call),
    }
}

fn refused(call: &Call) -> Result<Shown, Stop> {
    Ok(Shown::Refused(errors::answer(call, &Refusal::WrongCode)))
}
