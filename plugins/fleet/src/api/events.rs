//! What is told of a resource (research/fleet 6.1): its fields, with other resources reduced to their ids and times as
//! events have them, and the keys that the specification names. Of two of one name the specification's counts.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::value::RawValue;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use crate::records::shapes::object_of;

/// Free-form: what looks like a resource in it is the caller's.
const FREE: &str = "meta";

/// `shown`: the resource as the interface shows it. `extra`: names and JSON texts.
pub fn emit(
    call: &Call,
    event_type: &'static str,
    subject: &str,
    shown: &str,
    extra: &[(&'static str, String)],
) -> Result<(), Stop> {
    call.emit(event_type, subject, &data(shown, extra)?);
    Ok(())
}

fn data(shown: &str, extra: &[(&'static str, String)]) -> Result<String, Stop> {
    let shown: Object = json::from_text(shown)?;
    let is_extra = |name: &str| extra.iter().any(|(known, _)| *known == name);
    let own = shown.members().filter(|(name, _)| !is_extra(name));
    let own: Vec<(&str, Cow<str>)> = own.map(|(name, value)| (name, reduced(name, value))).collect();
    let own = own.iter().map(|(name, value)| (*name, value.as_ref()));
    object_of(own.chain(extra.iter().map(|(name, value)| (*name, value.as_str()))))
}

fn reduced<'v>(name: &str, value: &'v str) -> Cow<'v, str> {
    match value.as_bytes().first() {
        _ if name == FREE => Cow::Borrowed(value),
        Some(b'{') => id_of(value).map_or(Cow::Borrowed(value), Cow::Owned),
        Some(b'[') => ids_of(value).map_or(Cow::Borrowed(value), Cow::Owned),
        Some(b'"') if name.ends_with("_at") => time_of(value).map_or(Cow::Borrowed(value), Cow::Owned),
        _ => Cow::Borrowed(value),
    }
}

/// Its JSON text; `None`: not a resource.
fn id_of(value: &str) -> Option<String> {
    let object = Object::parse(value).ok()?;
    object.given("id").map(str::to_owned)
}

/// `None`: not a list of resources, or an empty one.
fn ids_of(value: &str) -> Option<String> {
    let items: Vec<&RawValue> = serde_json::from_str(value).ok()?;
    let ids: Vec<String> = items.iter().map(|item| id_of(item.get())).collect::<Option<_>>()?;
    (!ids.is_empty()).then(|| json::array(ids.iter().map(String::as_str)))
}

/// "2026-05-07T08:30:00.000000Z" as "2026-05-07 08:30:00", both within quotes.
fn time_of(value: &str) -> Option<String> {
    let time = value.strip_prefix('"')?.strip_suffix("Z\"")?;
    let (date, clock) = time.split_once('T').filter(|_| time.len() == 26)?;
    Some(["\"", date, " ", clock.get(..8)?, "\""].concat())
}
