//! `[oauth]` and `[oauth.issuers.NAME]`: the tokens that the host gives out, and those that it takes of others.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Environment, IssuerConfig, IssuerKeys, OAuthConfig, Purpose,
    destination::check_destination_name,
    file::{Source, is_origin},
    is_tenant,
    keys::{self, Word},
    mistakes::suggest,
    section::{Placed, Section},
};
use crate::{
    limits::JWKS_BYTES_MAX,
    outbound::{AddressRule, Scheme, check_url},
    regular_file,
};

const ALGORITHMS: [&str; 3] = ["ES256", "EdDSA", "RS256"];
const TOKEN_TYPE_DEFAULT: &str = "at+jwt";

pub fn read(mut section: Section<'_>, source: &Source<'_>, environment: Environment) -> OAuthConfig {
    let config = OAuthConfig {
        issuer: read_issuer(&mut section, environment),
        algorithm: read_algorithm(&mut section),
        token_ms: section.number(&keys::TOKEN_LIFE),
        issuers: read_issuers(section.take_table("issuers"), source, environment),
    };
    section.finish();
    config
}

/// Clients send secrets there, so in production nobody on the way may read them.
fn read_issuer(section: &mut Section<'_>, environment: Environment) -> Option<String> {
    let issuer = given(section, &keys::ISSUER)?;
    let hidden = environment == Environment::Development || issuer.value.starts_with("https://");
    if is_origin(&issuer.value) && hidden {
        return Some(issuer.value);
    }
    let text = format!("`{}` must be like \"https://api.example.com\", with nothing after it.", section.path("issuer"));
    section.mistakes().at(&issuer.span, text);
    None
}

fn read_algorithm(section: &mut Section<'_>) -> String {
    let Some(given) = section.take_text(&keys::ALGORITHM) else { return "ES256".to_owned() };
    if !ALGORITHMS.contains(&given.value.as_str()) {
        let (path, hint) = (section.path(keys::ALGORITHM.name), suggest(&given.value, &ALGORITHMS));
        section.mistakes().at(&given.span, format!("`{path}` cannot be \"{}\".{hint}", given.value.escape_debug()));
    }
    given.value
}

fn read_issuers(section: Section<'_>, source: &Source<'_>, environment: Environment) -> Vec<IssuerConfig> {
    let mistakes = section.mistakes();
    let mut issuers = Vec::new();
    for (name, span, section) in section.into_tables() {
        if check_destination_name(name).is_err() {
            mistakes.at(&span, "the name of an issuer has letters, digits and -_. only, at most 64.".to_owned());
        }
        issuers.extend(read_foreign(name, section, source, environment));
    }
    issuers
}

fn read_foreign(
    name: &str,
    mut section: Section<'_>,
    source: &Source<'_>,
    environment: Environment,
) -> Option<IssuerConfig> {
    let issuer = required(&mut section, &keys::FOREIGN_ISSUER);
    let plugin = required(&mut section, &keys::FOREIGN_PLUGIN);
    let audience = required(&mut section, &keys::FOREIGN_AUDIENCE);
    let token_type = section.take_text(&keys::TOKEN_TYPE).map_or(TOKEN_TYPE_DEFAULT.to_owned(), |text| text.value);
    let keys = read_keys(&mut section, source, environment);
    let tenant_claim = given(&mut section, &keys::TENANT_CLAIM).map(|text| text.value);
    let clients = read_clients(section.take_table("clients"));
    if tenant_claim.is_none() && clients.is_empty() {
        let text = format!("`[oauth.issuers.{name}]` needs `tenant-claim` or a table `clients`: nobody has a tenant.");
        section.mistakes().at(section.span(), text);
    }
    section.finish();
    Some(IssuerConfig {
        name: Arc::from(name),
        issuer: issuer?,
        plugin: plugin?.into(),
        audience: audience?,
        token_type: token_type.to_ascii_lowercase(),
        keys: keys?,
        tenant_claim,
        clients,
    })
}

/// An empty text is the same as none.
fn given(section: &mut Section<'_>, key: &Word) -> Option<Placed<String>> {
    section.take_text(key).filter(|text| !text.value.is_empty())
}

fn required(section: &mut Section<'_>, key: &Word) -> Option<String> {
    let text = given(section, key).map(|text| text.value);
    if text.is_none() {
        let sentence = format!("`{}` is missing: {}.", section.path(key.name), key.what);
        section.mistakes().at(section.span(), sentence);
    }
    text
}

fn read_keys(section: &mut Section<'_>, source: &Source<'_>, environment: Environment) -> Option<IssuerKeys> {
    match (given(section, &keys::JWKS_URL), given(section, &keys::JWKS_FILE)) {
        (Some(url), None) => read_url(section, url, environment),
        (None, Some(file)) => read_file(section, &file, source),
        _ => {
            let (url, file) = (section.path(keys::JWKS_URL.name), section.path(keys::JWKS_FILE.name));
            section.mistakes().at(section.span(), format!("give either `{url}` or `{file}`."));
            None
        }
    }
}

/// Whoever can change the keys on their way can be anybody: over TLS, or on this machine.
fn read_url(section: &Section<'_>, url: Placed<String>, environment: Environment) -> Option<IssuerKeys> {
    let path = section.path(keys::JWKS_URL.name);
    match check_url(&url.value, &AddressRule::everywhere(), Scheme::HttpToo) {
        Ok(target) if target.is_https() || target.is_loopback() || environment == Environment::Development => {
            return Some(IssuerKeys::Url(url.value));
        }
        Ok(_) => section.mistakes().at(&url.span, format!("`{path}` has to begin with https://.")),
        Err(refusal) => section.mistakes().at(&url.span, format!("`{path}`: {refusal}.")),
    }
    None
}

fn read_file(section: &Section<'_>, file: &Placed<String>, source: &Source<'_>) -> Option<IssuerKeys> {
    if source.purpose == Purpose::Inspect {
        return Some(IssuerKeys::Text(String::new()));
    }
    let place = source.folder().join(&file.value);
    let text = regular_file::read(&place, JWKS_BYTES_MAX)
        .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    match text {
        Ok(text) => Some(IssuerKeys::Text(text)),
        Err(error) => {
            let path = section.path(keys::JWKS_FILE.name);
            section.mistakes().at(&file.span, format!("`{path}`: {}: {error}.", place.display()));
            None
        }
    }
}

fn read_clients(section: Section<'_>) -> BTreeMap<String, String> {
    let (mistakes, path) = (section.mistakes(), section.path(""));
    let mut clients = BTreeMap::new();
    for (client, value) in section.into_values() {
        match value.value.as_str() {
            Some(tenant) if is_tenant(tenant) => {
                clients.insert(client.to_owned(), tenant.to_owned());
            }
            _ => {
                mistakes.at(&value.span, format!("`{path}{}` must be a tenant: \"acme/test\".", client.escape_debug()))
            }
        }
    }
    clients
}

#[cfg(test)]
mod tests;
