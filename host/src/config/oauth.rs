//! `[oauth]` and `[oauth.issuers.NAME]`: tokens that the host issues, and external issuers that it accepts.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Environment, IssuerConfig, IssuerKeys, OAuthConfig, Purpose,
    destination::check_destination_name,
    file::{Source, is_origin},
    is_tenant,
    keys::{self, ConfigKey},
    mistakes::suggest,
    section::{Located, Section},
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
        token_ms: section.number(&keys::TOKEN_LIFETIME),
        issuers: read_issuers(section.take_table("issuers"), source, environment),
    };
    section.finish();
    config
}

/// Reads the issuer. It must use https:// in production, because clients send secrets to it.
fn read_issuer(section: &mut Section<'_>, environment: Environment) -> Option<String> {
    let issuer = take_nonempty(section, &keys::ISSUER)?;
    let is_encrypted = environment == Environment::Development || issuer.value.starts_with("https://");
    if is_origin(&issuer.value) && is_encrypted {
        return Some(issuer.value);
    }
    let text = format!("`{}` must be like \"https://api.example.com\", without a path.", section.path("issuer"));
    section.mistakes().at(&issuer.span, text);
    None
}

fn read_algorithm(section: &mut Section<'_>) -> String {
    let Some(given) = section.take_string(&keys::ALGORITHM) else { return "ES256".to_owned() };
    if !ALGORITHMS.contains(&given.value.as_str()) {
        let (path, hint) = (section.path(keys::ALGORITHM.name), suggest(&given.value, &ALGORITHMS));
        section.mistakes().at(&given.span, format!("`{path}` must not be \"{}\".{hint}", given.value.escape_debug()));
    }
    given.value
}

fn read_issuers(section: Section<'_>, source: &Source<'_>, environment: Environment) -> Vec<IssuerConfig> {
    let mistakes = section.mistakes();
    let mut issuers = Vec::new();
    for (name, span, section) in section.into_tables() {
        if check_destination_name(name).is_err() {
            mistakes.at(
                &span,
                "the name of an issuer must consist of letters, digits, \"-\", \"_\" and \".\", at most 64.".to_owned(),
            );
        }
        issuers.extend(read_external(name, section, source, environment));
    }
    issuers
}

fn read_external(
    name: &str,
    mut section: Section<'_>,
    source: &Source<'_>,
    environment: Environment,
) -> Option<IssuerConfig> {
    let issuer = required(&mut section, &keys::EXTERNAL_ISSUER);
    let plugin = required(&mut section, &keys::EXTERNAL_PLUGIN);
    let audience = required(&mut section, &keys::EXTERNAL_AUDIENCE);
    let token_type = section.take_string(&keys::TOKEN_TYPE).map_or(TOKEN_TYPE_DEFAULT.to_owned(), |text| text.value);
    let keys = read_keys(&mut section, source, environment);
    let tenant_claim = take_nonempty(&mut section, &keys::TENANT_CLAIM).map(|text| text.value);
    let clients = read_clients(section.take_table("clients"));
    if tenant_claim.is_none() && clients.is_empty() {
        let text =
            format!("`[oauth.issuers.{name}]` requires `tenant-claim` or a table `clients`: no client has a tenant.");
        section.mistakes().at(section.span(), text);
    }
    section.finish();
    Some(IssuerConfig {
        name: Arc::from(name),
        issuer: issuer?,
        plugin: plugin?.into(),
        audience: audience?,
        token_type: normalize_token_type(&token_type),
        keys: keys?,
        tenant_claim,
        clients,
    })
}

/// Normalizes a token type in the same way as `typ` of a received token: in lower case, without "application/".
fn normalize_token_type(text: &str) -> String {
    let text = text.to_ascii_lowercase();
    text.strip_prefix("application/").unwrap_or(&text).to_owned()
}

/// Takes a string. An empty string counts as absent.
fn take_nonempty(section: &mut Section<'_>, key: &ConfigKey) -> Option<Located<String>> {
    section.take_string(key).filter(|text| !text.value.is_empty())
}

fn required(section: &mut Section<'_>, key: &ConfigKey) -> Option<String> {
    let text = take_nonempty(section, key).map(|text| text.value);
    if text.is_none() {
        let message = format!("`{}` is missing: {}.", section.path(key.name), key.description);
        section.mistakes().at(section.span(), message);
    }
    text
}

fn read_keys(section: &mut Section<'_>, source: &Source<'_>, environment: Environment) -> Option<IssuerKeys> {
    match (take_nonempty(section, &keys::JWKS_URL), take_nonempty(section, &keys::JWKS_FILE)) {
        (Some(url), None) => read_url(section, url, environment),
        (None, Some(file)) => read_file(section, &file, source),
        _ => {
            let (url, file) = (section.path(keys::JWKS_URL.name), section.path(keys::JWKS_FILE.name));
            section.mistakes().at(section.span(), format!("set either `{url}` or `{file}`."));
            None
        }
    }
}

/// Reads the URL of the keys. In production, keys must be fetched over TLS or from this machine, because an attacker
/// who changes them in transit can forge tokens.
fn read_url(section: &Section<'_>, url: Located<String>, environment: Environment) -> Option<IssuerKeys> {
    let path = section.path(keys::JWKS_URL.name);
    match check_url(&url.value, &AddressRule::everywhere(), Scheme::HttpOrHttps) {
        Ok(target) if target.is_https() || target.is_loopback() || environment == Environment::Development => {
            return Some(IssuerKeys::Url(url.value));
        }
        Ok(_) => section.mistakes().at(&url.span, format!("`{path}` must begin with https://.")),
        Err(error) => section.mistakes().at(&url.span, format!("`{path}`: {error}.")),
    }
    None
}

fn read_file(section: &Section<'_>, file: &Located<String>, source: &Source<'_>) -> Option<IssuerKeys> {
    if source.purpose == Purpose::Inspect {
        return Some(IssuerKeys::Text(String::new()));
    }
    let location = source.folder().join(&file.value);
    let text = regular_file::read(&location, JWKS_BYTES_MAX)
        .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    match text {
        Ok(text) => Some(IssuerKeys::Text(text)),
        Err(error) => {
            let path = section.path(keys::JWKS_FILE.name);
            section.mistakes().at(&file.span, format!("`{path}`: {}: {error}.", location.display()));
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
