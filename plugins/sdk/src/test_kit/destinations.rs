//! Destinations of tenants in memory. They are stored for the test and never called.

use std::collections::BTreeMap;

use super::webhooks::check_url;
use crate::bindings::tenon::plugin::types::Pair;
use crate::host::{Destination, DestinationRefusal, SubscriptionRefusal};

const DESTINATIONS_MAX: usize = 100;
const NAME_BYTES_MAX: usize = 64;
const VALUE_BYTES_MAX: usize = 8 << 10;

/// Kind, required settings, optional settings, required secrets.
type KindFields = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const KINDS: [KindFields; 4] = [
    ("none", &[], &[], &[]),
    ("bearer", &[], &[], &["token"]),
    ("basic", &["user"], &[], &["password"]),
    ("oauth2", &["token-url", "client-id"], &["scope", "audience", "client-authentication"], &["client-secret"]),
];

#[derive(Clone, Default)]
pub(super) struct Destinations {
    /// Destinations by tenant and name.
    stored: BTreeMap<(String, String), Destination>,
}

impl Destinations {
    pub fn put(&mut self, tenant: &str, destination: &Destination) -> Result<(), DestinationRefusal> {
        check(destination, tenant.ends_with("/live"))?;
        let key = (tenant.to_owned(), destination.name.clone());
        let count = self.stored.keys().filter(|(owner, _)| owner == tenant).count();
        if count >= DESTINATIONS_MAX && !self.stored.contains_key(&key) {
            return Err(DestinationRefusal::Other(format!("a tenant has at most {DESTINATIONS_MAX} destinations")));
        }
        self.stored.insert(key, destination.clone());
        Ok(())
    }

    pub fn remove(&mut self, tenant: &str, name: &str) -> bool {
        self.stored.remove(&(tenant.to_owned(), name.to_owned())).is_some()
    }

    /// Returns a destination with its secrets, for tests.
    pub fn find(&self, tenant: &str, name: &str) -> Option<&Destination> {
        self.stored.get(&(tenant.to_owned(), name.to_owned()))
    }

    pub fn get(&self, tenant: &str, name: &str) -> Option<Destination> {
        self.find(tenant, name).map(|found| Destination { secrets: Vec::new(), ..found.clone() })
    }
}

fn check(destination: &Destination, live: bool) -> Result<(), DestinationRefusal> {
    let Destination { name, base_url, kind, settings, secrets } = destination;
    let malformed = |message: String| Err(DestinationRefusal::Malformed(message));
    let has_valid_characters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !has_valid_characters || !(1..=NAME_BYTES_MAX).contains(&name.len()) {
        return malformed(format!("{name:?} is not a valid destination name"));
    }
    check_url(base_url, live).map_err(refusal)?;
    if base_url.contains('?') {
        return malformed("the address must not contain a query (?)".to_owned());
    }
    let Some((_, required, optional, secret)) = KINDS.into_iter().find(|(known, ..)| known == kind) else {
        return malformed(format!("the kind {kind:?} does not exist"));
    };
    check_pairs("setting", settings, required, optional)?;
    check_pairs("secret", secrets, secret, &[])?;
    for pair in settings.iter().filter(|pair| pair.name == "token-url") {
        check_url(&pair.value, live).map_err(refusal)?;
    }
    let authentication = settings.iter().find(|pair| pair.name == "client-authentication");
    if authentication.is_some_and(|pair| !["basic", "post"].contains(&pair.value.as_str())) {
        return malformed("the setting \"client-authentication\" must be \"basic\" or \"post\"".to_owned());
    }
    Ok(())
}

fn check_pairs(field: &str, pairs: &[Pair], required: &[&str], optional: &[&str]) -> Result<(), DestinationRefusal> {
    let malformed = |message: String| Err(DestinationRefusal::Malformed(message));
    let names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
    if let Some(missing) = required.iter().find(|name| !names.contains(name)) {
        return malformed(format!("the {field} {missing:?} is required"));
    }
    if let Some(unknown) = names.iter().find(|name| !required.contains(name) && !optional.contains(name)) {
        return malformed(format!("the {field} {unknown:?} is unknown"));
    }
    let is_repeated = names.iter().any(|name| names.iter().filter(|other| *other == name).count() > 1);
    let has_valid_sizes = pairs.iter().all(|pair| (1..=VALUE_BYTES_MAX).contains(&pair.value.len()));
    if is_repeated || !has_valid_sizes {
        return malformed(format!("a {field} is repeated, empty, or longer than {VALUE_BYTES_MAX} bytes"));
    }
    Ok(())
}

fn refusal(refusal: SubscriptionRefusal) -> DestinationRefusal {
    match refusal {
        SubscriptionRefusal::HttpsRequired => DestinationRefusal::HttpsRequired,
        SubscriptionRefusal::AddressNotAllowed(_) => DestinationRefusal::AddressNotAllowed,
        _ => DestinationRefusal::NotAUrl,
    }
}
