//! How drivers log in: their emails and phone numbers as they are looked up, the hash of a password, the hash of a code.
//! By the driver's id, apart from the driver, so that nothing of it can be shown by mistake.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::{RecordRefusal, Search};
use tenon_plugin::{Call, Collection, Index, Stop, json};

use super::common;
use crate::rules::driver::code::{Purpose, Sent};
use crate::rules::driver::guess::Guesses;
use crate::rules::driver::identity::Identity;

const LOGINS: &str = "driver-logins";
const BY_EMAIL: &str = "by-email";
const BY_PHONE: &str = "by-phone";

pub const COLLECTIONS: &[Collection] =
    &[Collection::new(LOGINS, &[Index::unique(BY_EMAIL, &["email"]), Index::unique(BY_PHONE, &["phone"])])];

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Login {
    /// Lower case.
    pub email: String,
    /// "+" and digits.
    pub phone: String,
    /// As the host hashed it; a driver without one logs in by a code.
    #[serde(default)]
    pub password: Option<String>,
    #[serde(default)]
    pub code: Option<Code>,
    /// Of passwords that were wrong.
    #[serde(default)]
    pub wrong_passwords: u8,
    #[serde(default)]
    pub wrong_from_ms: u64,
}

impl Login {
    pub fn guesses(&self) -> Guesses {
        Guesses { wrong: self.wrong_passwords, counted_from_ms: self.wrong_from_ms }
    }

    pub fn with_guesses(self, guesses: Guesses) -> Login {
        Login { wrong_passwords: guesses.wrong, wrong_from_ms: guesses.counted_from_ms, ..self }
    }
}

/// The last one that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Code {
    /// As the host hashed it.
    pub hash: String,
    purpose: String,
    at_ms: u64,
    open: bool,
    wrong: u8,
    counted_from_ms: u64,
}

impl Code {
    pub fn new(hash: String, sent: Sent) -> Code {
        Code {
            hash,
            purpose: sent.purpose.name().to_owned(),
            at_ms: sent.at_ms,
            open: sent.open,
            wrong: sent.wrong,
            counted_from_ms: sent.counted_from_ms,
        }
    }

    /// `None`: sent for something that this version does not know.
    pub fn sent(&self) -> Option<Sent> {
        let purpose = Purpose::of_name(&self.purpose)?;
        let Code { at_ms, open, wrong, counted_from_ms, .. } = *self;
        Some(Sent { purpose, at_ms, open, wrong, counted_from_ms })
    }
}

/// With the driver's id.
pub fn find(call: &Call, identity: &Identity) -> Result<Option<(String, Login)>, Stop> {
    let field = match identity {
        Identity::Email(_) => "email",
        Identity::Phone(_) => "phone",
    };
    let page = common::find(call, LOGINS, &Search::first(1).is(field, identity.key()))?;
    let Some(entry) = page.entries.into_iter().next() else { return Ok(None) };
    Ok(Some((entry.id, json::from_text(&entry.body)?)))
}

/// A driver of an earlier version has none until he is changed: nobody logs in as him.
pub fn load(call: &Call, driver: &str) -> Result<Login, Stop> {
    match call.records(LOGINS).get(driver) {
        Some(entry) => json::from_text(&entry.body),
        None => Ok(Login::default()),
    }
}

/// Email and phone are unique within the organization.
pub fn put(call: &Call, driver: &str, login: &Login) -> Result<(), Stop> {
    let (logins, text) = (call.records(LOGINS), json::to_text(login)?);
    let put = match logins.replace(driver, &text) {
        Err(RecordRefusal::NotFound) => logins.insert(driver, &text),
        done => done,
    };
    put.map_err(|refusal| common::refused(refusal).taken(&[(BY_EMAIL, "email"), (BY_PHONE, "phone")]))
}

pub fn delete(call: &Call, driver: &str) -> Result<(), Stop> {
    match call.records(LOGINS).delete(driver) {
        Ok(()) | Err(RecordRefusal::NotFound) => Ok(()),
        Err(refusal) => Err(refusal.into()),
    }
}
