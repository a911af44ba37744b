//! How drivers log in: their emails and phone numbers as they are looked up, the hash of a password, the hash of a code.
//! By the driver's id, apart from the driver, so that nothing of it can be shown by mistake.

use serde::{Deserialize, Serialize};
use tenon_plugin::records::{RecordRefusal, Search};
use tenon_plugin::{Call, Collection, Index, Stop, json};

use super::common;
use crate::rules::driver::code::{Purpose, Sent};
use crate::rules::driver::guess::{Count, Guesses, Source};
use crate::rules::driver::identity::Identity;

const LOGINS: &str = "driver-logins";
/// Guesses for identities that no driver has: a table of fixed size.
const UNKNOWN_IDENTITIES: &str = "login-guesses";
/// Its rows. Two identities may share one: then the later takes it over.
const UNKNOWN_IDENTITIES_MAX: u64 = 4_096;
const BY_EMAIL: &str = "by-email";
const BY_PHONE: &str = "by-phone";

pub const COLLECTIONS: &[Collection] = &[
    Collection::new(LOGINS, &[Index::unique(BY_EMAIL, &["email"]), Index::unique(BY_PHONE, &["phone"])]),
    Collection::new(UNKNOWN_IDENTITIES, &[]),
];

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
    #[serde(default, skip_serializing_if = "Guessed::is_empty")]
    pub guessed: Guessed,
}

/// Wrong passwords, and the addresses that they come from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Guessed {
    sources: Vec<SourceText>,
    strangers: CountText,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SourceText {
    address: String,
    familiar: bool,
    #[serde(flatten)]
    count: CountText,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct CountText {
    wrong: u8,
    last_ms: u64,
}

impl Guessed {
    fn is_empty(&self) -> bool {
        *self == Guessed::default()
    }

    fn of(guesses: Guesses) -> Guessed {
        let count = |count: Count| CountText { wrong: count.wrong, last_ms: count.last_ms };
        let source = |source: Source| SourceText {
            address: source.address,
            familiar: source.is_familiar,
            count: count(source.count),
        };
        Guessed { sources: guesses.sources.into_iter().map(source).collect(), strangers: count(guesses.strangers) }
    }

    fn read(&self) -> Guesses {
        let count = |count: CountText| Count { wrong: count.wrong, last_ms: count.last_ms };
        let source = |source: &SourceText| Source {
            address: source.address.clone(),
            count: count(source.count),
            is_familiar: source.familiar,
        };
        Guesses { sources: self.sources.iter().map(source).collect(), strangers: count(self.strangers) }
    }
}

impl Login {
    pub fn guesses(&self) -> Guesses {
        self.guessed.read()
    }

    pub fn with_guesses(self, guesses: Guesses) -> Login {
        Login { guessed: Guessed::of(guesses), ..self }
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

/// Guesses for an identity that no driver has, so that it is answered as one that a driver has.
#[derive(Serialize, Deserialize)]
struct UnknownIdentityText {
    identity: String,
    pub guessed: Guessed,
}

fn unknown_identity_row(identity: &str) -> String {
    // FNV-1a: it only has to spread.
    let hash = identity
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash % UNKNOWN_IDENTITIES_MAX).to_string()
}

pub fn unknown_identity_guesses(call: &Call, identity: &str) -> Result<Guesses, Stop> {
    let Some(entry) = call.records(UNKNOWN_IDENTITIES).get(&unknown_identity_row(identity)) else {
        return Ok(Guesses::default());
    };
    let text: UnknownIdentityText = json::from_text(&entry.body)?;
    Ok(if text.identity == identity { text.guessed.read() } else { Guesses::default() })
}

pub fn put_unknown_identity_guesses(call: &Call, identity: &str, guesses: Guesses) -> Result<(), Stop> {
    let text = json::to_text(&UnknownIdentityText { identity: identity.to_owned(), guessed: Guessed::of(guesses) })?;
    let (records, row) = (call.records(UNKNOWN_IDENTITIES), unknown_identity_row(identity));
    match records.replace(&row, &text) {
        Err(RecordRefusal::NotFound) => Ok(records.insert(&row, &text)?),
        done => Ok(done?),
    }
}
