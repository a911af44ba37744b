//! Destinations of partners: kept by the host under the partner's id; here is how they look to callers.
//!
//! Invariant: a secret is never shown.

use serde::Serialize;
use tenon_plugin::destinations::{Destination, DestinationRefusal};
use tenon_plugin::{Call, Pair, Stop};

use crate::words;

/// The members of a destination, and what the host calls them.
pub const SETTINGS: [(&str, &str); 6] = [
    ("user", "user"),
    ("token_url", "token-url"),
    ("client_id", "client-id"),
    ("scope", "scope"),
    ("audience", "audience"),
    ("client_authentication", "client-authentication"),
];
pub const SECRETS: [(&str, &str); 3] =
    [("token", "token"), ("password", "password"), ("client_secret", "client-secret")];

#[derive(Serialize)]
pub struct DestinationText {
    base_url: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_authentication: Option<String>,
}

/// `None`: the tenant has none of this name; the operator may.
pub fn find_destination(call: &Call, name: &str) -> Option<DestinationText> {
    let Destination { base_url, kind, settings, .. } = call.destinations().get(name)?;
    let setting = |name: &str| settings.iter().find(|pair| pair.name == name).map(|pair| pair.value.clone());
    Some(DestinationText {
        base_url,
        kind,
        user: setting("user"),
        token_url: setting("token-url"),
        client_id: setting("client-id"),
        scope: setting("scope"),
        audience: setting("audience"),
        client_authentication: setting("client-authentication"),
    })
}

/// In place of the one with its name.
pub fn put_destination(call: &Call, destination: &Destination) -> Result<(), Stop> {
    call.destinations().put(destination).map_err(|refusal| match refusal {
        DestinationRefusal::NotAUrl => words::wrong("destination", "must have addresses that begin with https://"),
        DestinationRefusal::HttpsRequired => words::wrong("destination", "must have addresses with https://"),
        DestinationRefusal::AddressNotAllowed => words::wrong("destination", "must have public addresses"),
        DestinationRefusal::Malformed(why) | DestinationRefusal::Other(why) => {
            words::wrong("destination", &["is not accepted: ", &why].concat())
        }
    })
}

pub fn remove_destination(call: &Call, name: &str) {
    call.destinations().remove(name);
}

/// Of a name that the host knows.
pub fn pair(name: &str, value: String) -> Pair {
    Pair { name: name.to_owned(), value }
}
