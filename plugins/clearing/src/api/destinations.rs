//! /v1/clearing/destinations: where a partner's messages go, "platform" for its responses, "bank" for its own system. Names are
//! those of its settings.
//!
//! Owns how a destination is read, those of a platform's partners included. Never shows a secret. What the operator has named
//! in plugins.toml counts before.

use serde::Serialize;
use tenon_plugin::destinations::Destination;
use tenon_plugin::json;
use tenon_plugin::{Answer, Call, Outcome, Pair, Stop};

use super::form::Form;
use crate::records::{self, SECRETS, SETTINGS};
use crate::rules::limits::TEXT_CHARS_MAX;
use crate::settings::{self, Side};
use crate::{wire, words};

pub fn show(call: &Call) -> Outcome {
    let name = name(call)?;
    let found = records::find_destination(call, name).ok_or_else(words::not_found)?;
    Ok(Answer::ok(json::to_text(&found)?))
}

/// In place of the one that was there: secrets that are not given again are gone.
pub fn put(call: &Call) -> Outcome {
    let name = name(call)?;
    records::put_destination(call, &read(Form::new(wire::body(call)?), name)?)?;
    show(call)
}

pub fn delete(call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Deleted<'a> {
        id: &'a str,
        deleted: bool,
    }
    let name = name(call)?;
    records::find_destination(call, name).ok_or_else(words::not_found)?;
    records::remove_destination(call, name);
    Ok(Answer::ok(json::to_text(&Deleted { id: name, deleted: true })?))
}

/// One of the two that a partner calls.
fn name<'a>(call: &'a Call) -> Result<&'a str, Stop> {
    let (settings, name) = (settings::of_side(call, Side::Partner)?, call.parameter("id"));
    if [&settings.platform, &settings.bank].iter().any(|known| *known == name) {
        Ok(name)
    } else {
        Err(words::not_found())
    }
}

/// `base_url`, `kind` ("none" where it is not given), and what that kind needs.
pub fn read(mut form: Form, name: &str) -> Result<Destination, Stop> {
    let mut pairs = |names: &[(&str, &str)]| -> Vec<Pair> {
        let given = names.iter().map(|(field, name)| (*name, form.text(field, TEXT_CHARS_MAX)));
        given.filter_map(|(name, value)| Some(records::pair(name, value?))).collect()
    };
    let (settings, secrets) = (pairs(&SETTINGS), pairs(&SECRETS));
    let destination = Destination {
        name: name.to_owned(),
        base_url: form.required_text("base_url", TEXT_CHARS_MAX),
        kind: form.text("kind", TEXT_CHARS_MAX).unwrap_or_else(|| "none".to_owned()),
        settings,
        secrets,
    };
    form.finish()?;
    Ok(destination)
}
