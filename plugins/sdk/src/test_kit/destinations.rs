//! Destinations of tenants in memory. Never calls any: what is stored is what a test looks at.

use std::collections::BTreeMap;

use super::hooks::check_url;
use crate::bindings::tenon::plugin::types::Pair;
use crate::host::{Destination, DestinationRefusal, SubscriptionRefusal};

const DESTINATIONS_MAX: usize = 100;
const NAME_BYTES_MAX: usize = 64;
const VALUE_BYTES_MAX: usize = 8 << 10;

/// Kind, settings that it needs, settings that it may have, secrets that it needs.
type Kind = (&'static str, &'static [&'static str], &'static [&'static str], &'static [&'static str]);

const KINDS: [Kind; 4] = [
    ("none", &[], &[], &[]),
    ("bearer", &[], &[], &["token"]),
    ("basic", &["user"], &[], &["password"]),
    ("oauth2", &["token-url", "client-id"], &["scope", "audience", "client-authentication"], &["client-secret"]),
];

#[derive(Clone, Default)]
pub(super) struct Destinations {
    /// By tenant and name.
    kept: BTreeMap<(String, String), Destination>,
}

impl Destinations {
    pub fn put(&mut self, tenant: &str, destination: &Destination) -> Result<(), DestinationRefusal> {
        check(destination, tenant.ends_with("/live"))?;
        let key = (tenant.to_owned(), destination.name.clone());
        let count = self.kept.keys().filter(|(owner, _)| owner == tenant).count();
        if count >= DESTINATIONS_MAX && !self.kept.contains_key(&key) {
            return Err(DestinationRefusal::Other(format!("a tenant has at most {DESTINATIONS_MAX} destinations")));
        }
        self.kept.insert(key, destination.clone());
        Ok(())
    }

    pub fn remove(&mut self, tenant: &str, name: &str) -> bool {
        self.kept.remove(&(tenant.to_owned(), name.to_owned())).is_some()
    }

    /// With its secrets, for tests.
    pub fn find(&self, tenant: &str, name: &str) -> Option<&Destination> {
        self.kept.get(&(tenant.to_owned(), name.to_owned()))
    }

    pub fn get(&self, tenant: &str, name: &str) -> Option<Destination> {
        self.find(tenant, name).map(|found| Destination { secrets: Vec::new(), ..found.clone() })
    }
}

fn check(destination: &Destination, live: bool) -> Result<(), DestinationRefusal> {
    let Destination { name, base_url, kind, settings, secrets } = destination;
    let malformed = |sentence: String| Err(DestinationRefusal::Malformed(sentence));
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if !letters || !(1..=NAME_BYTES_MAX).contains(&name.len()) {
        return malformed(format!("{name:?} cannot be the name of a destination"));
    }
    check_url(base_url, live).map_err(refusal)?;
    if base_url.contains('?') {
        return malformed("the address must not hold a query (?)".to_owned());
    }
    let Some((_, needed, optional, secret)) = KINDS.into_iter().find(|(known, ..)| known == kind) else {
        return malformed(format!("there is no kind {kind:?}"));
    };
    check_pairs("setting", settings, needed, optional)?;
    check_pairs("secret", secrets, secret, &[])?;
    for pair in settings.iter().filter(|pair| pair.name == "token-url") {
        check_url(&pair.value, live).map_err(refusal)?;
    }
    let authentication = settings.iter().find(|pair| pair.name == "client-authentication");
    if authentication.is_some_and(|pair| !["basic", "post"].contains(&pair.value.as_str())) {
        return malformed("the setting \"client-authentication\" is \"basic\" or \"post\"".to_owned());
    }
    Ok(())
}

fn check_pairs(place: &str, pairs: &[Pair], needed: &[&str], optional: &[&str]) -> Result<(), DestinationRefusal> {
    let malformed = |what: String| Err(DestinationRefusal::Malformed(what));
    let names: Vec<&str> = pairs.iter().map(|pair| pair.name.as_str()).collect();
    if let Some(missing) = needed.iter().find(|name| !names.contains(name)) {
        return malformed(format!("needs the {place} {missing:?}"));
    }
    if let Some(unknown) = names.iter().find(|name| !needed.contains(name) && !optional.contains(name)) {
        return malformed(format!("has no {place} {unknown:?}"));
    }
    let twice = names.iter().any(|name| names.iter().filter(|other| *other == name).count() > 1);
    let sized = pairs.iter().all(|pair| (1..=VALUE_BYTES_MAX).contains(&pair.value.len()));
    if twice || !sized {
        return malformed(format!("a {place} stands there twice, is empty, or longer than {VALUE_BYTES_MAX} bytes"));
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
