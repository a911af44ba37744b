//! One `[plugins.NAME.destinations.DEST]` section as a [`DestinationConfig`].
//!
//! Invariants: no secret stands in the file, and no word about a mistake shows one.

use std::{io::Read, ops::Range, path::Path, sync::Arc};

use zeroize::Zeroizing;

use super::{
    DestinationConfig, DestinationKind, Environment, Purpose, Variables, is_organization, is_tenant,
    keys::{self, Word},
    mistakes::suggest,
    section::{Placed, Section},
};
use crate::{
    limits::{DESTINATION_NAME_BYTES_MAX, DESTINATION_VALUE_BYTES_MAX},
    outbound::{AddressRule, Login, Scheme, Target, check_base_url, check_url},
    regular_file,
    secrets::SecretText,
};

/// What a plugin's section is read together with.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Of plugins.toml; paths in it are relative to that.
    pub folder: &'a Path,
    pub variables: &'a Variables,
    pub purpose: Purpose,
    pub environment: Environment,
    /// Names of all plugins of the file.
    pub plugins: &'a [&'a str],
}

/// Why this cannot be the name of a destination, of the operator's or of a tenant's.
pub fn check_destination_name(name: &str) -> Result<(), String> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if letters && (1..=DESTINATION_NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    Err(format!(
        "{name:.80?} cannot be the name of a destination: letters, digits and -_. only, at most {DESTINATION_NAME_BYTES_MAX}"
    ))
}

/// `None` where there is a mistake that leaves nothing to go on with; the mistake is noted.
pub fn read(mut section: Section<'_>, around: Surroundings<'_>) -> Option<Arc<DestinationConfig>> {
    let timeout_ms = section.take_number(&keys::DESTINATION_TIMEOUT);
    let (test, live) = read_environments(&mut section);
    let tenants = read_tenants(&mut section);
    let plain_http = section.take_truth(&keys::PLAIN_HTTP).unwrap_or(false);
    let kind_key = section.take_text(&keys::KIND);
    let base_url = section.take_text(&keys::BASE_URL);
    let kind = kind_key.as_ref().map_or("none", |kind| kind.value.as_str());
    let place = kind_key.as_ref().map_or(section.span(), |kind| &kind.span).clone();
    let kind = match kind {
        "outbox" => read_outbox(&section, &place, base_url.as_ref(), around.environment),
        "plugin" => read_neighbour(&mut section, base_url.as_ref(), &tenants, around),
        kind => read_server(&mut section, (kind, &place), base_url, around),
    };
    if let (Some(DestinationKind::Server { base_url, login }), true, false) = (&kind, live, plain_http) {
        require_https(&section, base_url, login);
    }
    section.finish();
    Some(Arc::new(DestinationConfig { kind: kind?, timeout_ms, test, live, tenants }))
}

fn read_environments(section: &mut Section<'_>) -> (bool, bool) {
    let given = section.take_texts(&keys::ENVIRONMENTS);
    let path = section.path(keys::ENVIRONMENTS.name);
    let (mut test, mut live) = (given.is_empty(), given.is_empty());
    for environment in given {
        match environment.value.as_str() {
            "test" => test = true,
            "live" => live = true,
            _ => section.mistakes().at(&environment.span, format!("`{path}` takes \"test\" and \"live\".")),
        }
    }
    (test, live)
}

fn read_tenants(section: &mut Section<'_>) -> Vec<String> {
    let given = section.take_texts(&keys::TENANTS);
    let path = section.path(keys::TENANTS.name);
    for tenant in given.iter().filter(|given| !is_organization(&given.value) && !is_tenant(&given.value)) {
        let text = format!("`{path}` takes organizations (\"acme\") and tenants (\"acme/live\").");
        section.mistakes().at(&tenant.span, text);
    }
    given.into_iter().map(|given| given.value).collect()
}

fn read_outbox(
    section: &Section<'_>,
    place: &Range<usize>,
    base_url: Option<&Placed<String>>,
    environment: Environment,
) -> Option<DestinationKind> {
    let mistakes = section.mistakes();
    if let Some(base_url) = base_url {
        mistakes.at(&base_url.span, format!("`{}`: an outbox has no address.", section.path(keys::BASE_URL.name)));
    }
    if environment == Environment::Production {
        let path = section.path(keys::KIND.name);
        mistakes.at(place, format!("`{path}` cannot be \"outbox\" in production: nothing would be sent."));
    }
    Some(DestinationKind::Outbox)
}

/// A call finds out whether that plugin serves; the configuration cannot.
fn read_neighbour(
    section: &mut Section<'_>,
    base_url: Option<&Placed<String>>,
    tenants: &[String],
    around: Surroundings<'_>,
) -> Option<DestinationKind> {
    if let Some(base_url) = base_url {
        let path = section.path(keys::BASE_URL.name);
        section.mistakes().at(&base_url.span, format!("`{path}`: a plugin has no address."));
    }
    let organization = read_organization(section, tenants);
    let Some(plugin) = section.take_text(&keys::NEIGHBOUR) else {
        let path = section.path(keys::NEIGHBOUR.name);
        section.mistakes().at(section.span(), format!("`{path}` is missing: {}.", keys::NEIGHBOUR.what));
        return None;
    };
    if !around.plugins.contains(&plugin.value.as_str()) {
        let (path, hint) = (section.path(keys::NEIGHBOUR.name), suggest(&plugin.value, around.plugins));
        let text = format!("`{path}`: there is no plugin \"{}\".{hint}", plugin.value.escape_debug());
        match around.purpose {
            Purpose::Check => section.mistakes().at(&plugin.span, text),
            // Its calls fail; nothing else that the host serves depends on it.
            _ => section.mistakes().warn_at(&plugin.span, text),
        }
    }
    Some(DestinationKind::Plugin { name: plugin.value.into(), organization })
}

/// Who may act for another organization is named, one by one: "for all" would be for those, too, that come later.
fn read_organization(section: &mut Section<'_>, tenants: &[String]) -> Option<Arc<str>> {
    let given = section.take_text(&keys::ACTS_FOR)?;
    let (mistakes, path) = (section.mistakes(), section.path(keys::ACTS_FOR.name));
    if !is_organization(&given.value) {
        mistakes.at(&given.span, format!("`{path}` takes an organization (\"globex\")."));
    }
    if tenants.is_empty() {
        let tenants = section.path(keys::TENANTS.name);
        mistakes.at(&given.span, format!("`{path}` needs `{tenants}`: those who may act for it."));
    }
    Some(given.value.into())
}

fn read_server(
    section: &mut Section<'_>,
    (kind, place): (&str, &Range<usize>),
    base_url: Option<Placed<String>>,
    around: Surroundings<'_>,
) -> Option<DestinationKind> {
    let mistakes = section.mistakes();
    let settings = keys::LOGIN_SETTINGS.into_iter().filter_map(|key| {
        let found = section.take_text(key)?;
        Some((key.name.to_owned(), found.value))
    });
    let settings: Vec<_> = settings.collect();
    let secrets = keys::LOGIN_SECRETS.into_iter().filter_map(|key| {
        let secret = read_secret(section, key, around)?;
        Some((key.name.to_owned(), secret))
    });
    let secrets: Vec<_> = secrets.collect();
    let login = Login::read(kind, &settings, &secrets).map_err(|sentence| {
        mistakes.at(place, format!("`{}`: {sentence}.", section.path(keys::KIND.name)));
    });
    let path = section.path(keys::BASE_URL.name);
    let Some(base_url) = base_url else {
        mistakes.at(section.span(), format!("`{path}` is missing: {}.", keys::BASE_URL.what));
        return None;
    };
    if let Err(refusal) = check_base_url(&base_url.value, &AddressRule::everywhere(), Scheme::HttpToo) {
        mistakes.at(&base_url.span, format!("`{path}`: {refusal}."));
        return None;
    }
    let login = login.ok()?;
    if let Login::OAuth2(client) = &login
        && let Err(refusal) = check_url(&client.token_url, &AddressRule::everywhere(), Scheme::HttpToo)
    {
        mistakes.at(place, format!("`{}`: {refusal}.", section.path(keys::TOKEN_URL.name)));
        return None;
    }
    Some(DestinationKind::Server { base_url: base_url.value, login })
}

/// What live tenants send is read by nobody on the way.
fn require_https(section: &Section<'_>, base_url: &str, login: &Login) {
    let is_open = |url: &str| {
        let target = check_url(url, &AddressRule::everywhere(), Scheme::HttpToo);
        target.is_ok_and(|target: Target| !target.is_https() && !target.is_loopback())
    };
    let token_url = match login {
        Login::OAuth2(client) => Some((&keys::TOKEN_URL, client.token_url.as_str())),
        _ => None,
    };
    for (key, url) in std::iter::once((&keys::BASE_URL, base_url)).chain(token_url) {
        if is_open(url) {
            let (path, plain) = (section.path(key.name), keys::PLAIN_HTTP.name);
            let text = format!(
                "`{path}` has to begin with https://, because live tenants use it; set `environments` to [\"test\"], or \
                 `{plain}` to true where the way there is private."
            );
            section.mistakes().at(section.span(), text);
        }
    }
}

/// Reads "env:NAME" or "file:PATH". Returns `None` if the key is absent. A mistake is reported, and a placeholder takes the place
/// of the secret, so that the login is not reported as incomplete as well. Where nothing is going to be started, a secret that
/// cannot be read is no mistake: it may be on another machine.
fn read_secret(section: &mut Section<'_>, key: &'static Word, around: Surroundings<'_>) -> Option<SecretText> {
    let given = section.take_text(key)?;
    let (mistakes, path) = (section.mistakes(), section.path(key.name));
    let placeholder = || Some(SecretText::new("elsewhere".to_owned()));
    let found = if let Some(name) = given.value.strip_prefix("env:") {
        let missing = || format!("`{path}`: the variable {:.80} is not set.", name.escape_debug());
        around.variables.secret(name).ok_or_else(missing)
    } else if let Some(file) = given.value.strip_prefix("file:") {
        first_line(&around.folder.join(file)).map_err(|why| format!("`{path}`: {:.200}: {why}.", file.escape_debug()))
    } else {
        let text = format!("`{path}` must be \"env:NAME\" or \"file:PATH\": a secret does not stand in this file.");
        mistakes.at(&given.span, text);
        return placeholder();
    };
    match found {
        Ok(secret) => Some(secret),
        Err(_) if around.purpose == Purpose::Inspect => placeholder(),
        Err(text) => {
            mistakes.at(&given.span, text);
            placeholder()
        }
    }
}

fn first_line(path: &Path) -> Result<SecretText, String> {
    let file = regular_file::open(path).map_err(|error| error.to_string())?;
    // Whole at once: a text that grows would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(DESTINATION_VALUE_BYTES_MAX + 1));
    let read = file.take(DESTINATION_VALUE_BYTES_MAX as u64 + 1).read_to_string(&mut text);
    if read.map_err(|error| error.to_string())? > DESTINATION_VALUE_BYTES_MAX {
        return Err(format!("it has more than {DESTINATION_VALUE_BYTES_MAX} bytes"));
    }
    let line = text.lines().next().unwrap_or_default().trim();
    if line.is_empty() { Err("its first line is empty".to_owned()) } else { Ok(SecretText::new(line.to_owned())) }
}

#[cfg(test)]
mod tests;
