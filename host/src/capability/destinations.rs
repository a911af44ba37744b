//! `destinations`: targets of the tenant's outgoing calls. Checks addresses and seals secrets. The draft implements the
//! rest.
//!
//! Secrets are never returned, and neither are their names.

use tenon_bindings::tenon::plugin::{
    destinations::{self as wit, Host},
    types::Pair,
};
use wasmtime::bail;

use super::trap;
use crate::{
    capability::CallState,
    changes::destination::Destination,
    config::check_destination_name,
    limits::{DESTINATION_VALUES_MAX, DESTINATIONS_MAX},
    outbound::{Login, UrlError},
    secrets::SecretText,
};

impl Host for CallState {
    async fn put(&mut self, destination: wit::Destination) -> wasmtime::Result<Result<(), wit::Refusal>> {
        self.count(size_of(&destination))?;
        let wit::Destination { name, base_url, kind, settings, secrets } = destination;
        let settings: Vec<_> = settings.into_iter().map(|pair| (pair.name, pair.value)).collect();
        let secrets: Vec<_> = secrets.into_iter().map(|pair| (pair.name, SecretText::new(pair.value))).collect();
        if let Err(refusal) = self.check_destination(&name, &base_url) {
            return Ok(Err(refusal));
        }
        if settings.len().max(secrets.len()) > DESTINATION_VALUES_MAX {
            return Ok(Err(malformed(format!(
                "a destination has at most {DESTINATION_VALUES_MAX} settings and secrets"
            ))));
        }
        let login = match Login::read(&kind, &settings, &secrets) {
            Ok(login) => login,
            Err(sentence) => return Ok(Err(malformed(sentence))),
        };
        if let Login::OAuth2(client) = &login
            && let Err(refusal) = self.check_url(&client.token_url)
        {
            return Ok(Err(url_refusal(&refusal)));
        }
        let Some(scope) = self.draft().call().scope.clone() else {
            bail!("an open route has no tenant: its calls can change nothing");
        };
        let made =
            Destination::new((&scope, &name), (base_url, kind), &settings, &secrets, &self.outbound_context().sealing)?;
        let wait_started = self.begin_wait();
        let done = self.draft().put_destination(&name, &made).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        let too_many = |_| wit::Refusal::Other(format!("a tenant has at most {DESTINATIONS_MAX} destinations"));
        Ok(done.map_err(too_many))
    }

    async fn remove(&mut self, name: String) -> wasmtime::Result<bool> {
        self.count(name.len())?;
        if check_destination_name(&name).is_err() {
            return Ok(false);
        }
        let wait_started = self.begin_wait();
        let removed = self.draft().remove_destination(&name).await.map_err(trap);
        self.end_wait(wait_started).await;
        removed
    }

    async fn get(&mut self, name: String) -> wasmtime::Result<Option<wit::Destination>> {
        self.count(name.len())?;
        if check_destination_name(&name).is_err() {
            return Ok(None);
        }
        let wait_started = self.begin_wait();
        let found = self.draft().find_destination(&name).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        let Some(Destination { base_url, kind, settings, .. }) = found else { return Ok(None) };
        let settings = settings.into_iter().map(|(name, value)| Pair { name, value }).collect();
        let found = wit::Destination { name, base_url, kind, settings, secrets: Vec::new() };
        self.meter_result(size_of(&found))?;
        Ok(Some(found))
    }
}

impl CallState {
    fn check_destination(&self, name: &str, base_url: &str) -> Result<(), wit::Refusal> {
        check_destination_name(name).map_err(malformed)?;
        if self.is_operator_destination(name) {
            return Err(wit::Refusal::Other(format!("the operator has a destination {name:?}")));
        }
        self.check_base_url(base_url).map_err(|refusal| url_refusal(&refusal))
    }
}

fn size_of(destination: &wit::Destination) -> usize {
    let pairs = destination.settings.iter().chain(&destination.secrets);
    let pairs = pairs.map(|pair| pair.name.len() + pair.value.len() + 16).sum::<usize>();
    destination.name.len() + destination.base_url.len() + destination.kind.len() + pairs
}

fn malformed(sentence: String) -> wit::Refusal {
    wit::Refusal::Malformed(sentence)
}

fn url_refusal(refusal: &UrlError) -> wit::Refusal {
    match refusal {
        UrlError::HttpsRequired => wit::Refusal::HttpsRequired,
        UrlError::Address(_) => wit::Refusal::AddressNotAllowed,
        UrlError::NotAUrl => wit::Refusal::NotAUrl,
        other => malformed(other.to_string()),
    }
}

#[cfg(test)]
mod tests;
