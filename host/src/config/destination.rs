//! One `[plugins.NAME.destinations.DEST]` section as a [`DestinationConfig`].
//!
//! Invariants: the file contains no secret, and no message about a mistake contains one.

use std::{io::Read, ops::Range, path::Path, sync::Arc};

use zeroize::Zeroizing;

use super::{
    DestinationConfig, DestinationKind, Environment, Purpose, Variables, is_organization, is_tenant,
    keys::{self, ConfigKey},
    mistakes::suggest,
    section::{Located, Section},
};
use crate::{
    limits::{DESTINATION_NAME_BYTES_MAX, DESTINATION_VALUE_BYTES_MAX},
    outbound::{AddressRule, Login, Scheme, Target, check_base_url, check_url},
    regular_file,
    secrets::SecretText,
};

/// Values outside of a plugin's section that its reader requires.
#[derive(Clone, Copy)]
pub struct PluginContext<'a> {
    /// Folder of plugins.toml. Paths in the file are relative to it.
    pub folder: &'a Path,
    pub variables: &'a Variables,
    pub purpose: Purpose,
    pub environment: Environment,
    /// Names of all plugins of the file.
    pub plugins: &'a [&'a str],
}

/// Checks the name of a destination that an operator or a tenant defines.
pub fn check_destination_name(name: &str) -> Result<(), String> {
    let letters = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if letters && (1..=DESTINATION_NAME_BYTES_MAX).contains(&name.len()) {
        return Ok(());
    }
    Err(format!(
        "{name:.80?} is not a valid destination name: it must consist of letters, digits, \"-\", \"_\" and \".\", at most \
         {DESTINATION_NAME_BYTES_MAX} of them"
    ))
}

/// Reads the section and reports its mistakes. Returns `None` if no destination can be built from it.
pub fn read(mut section: Section<'_>, context: PluginContext<'_>) -> Option<Arc<DestinationConfig>> {
    let timeout_ms = section.take_number(&keys::DESTINATION_TIMEOUT);
    let (test, live) = read_environments(&mut section);
    let tenants = read_tenants(&mut section);
    let plain_http = section.take_bool(&keys::PLAIN_HTTP).unwrap_or(false);
    let kind_key = section.take_string(&keys::KIND);
    let base_url = section.take_string(&keys::BASE_URL);
    let kind = kind_key.as_ref().map_or("none", |kind| kind.value.as_str());
    let span = kind_key.as_ref().map_or(section.span(), |kind| &kind.span).clone();
    let kind = match kind {
        "outbox" => read_outbox(&section, &span, base_url.as_ref(), context.environment),
        "plugin" => read_plugin_destination(&mut section, base_url.as_ref(), &tenants, context),
        kind => read_server(&mut section, (kind, &span), base_url, context),
    };
    if let (Some(DestinationKind::Server { base_url, login }), true, false) = (&kind, live, plain_http) {
        require_https(&section, base_url, login);
    }
    section.finish();
    Some(Arc::new(DestinationConfig { kind: kind?, timeout_ms, test, live, tenants }))
}

fn read_environments(section: &mut Section<'_>) -> (bool, bool) {
    let given = section.take_strings(&keys::ENVIRONMENTS);
    let path = section.path(keys::ENVIRONMENTS.name);
    let (mut test, mut live) = (given.is_empty(), given.is_empty());
    for environment in given {
        match environment.value.as_str() {
            "test" => test = true,
            "live" => live = true,
            _ => section.mistakes().at(&environment.span, format!("`{path}` must contain only \"test\" and \"live\".")),
        }
    }
    (test, live)
}

fn read_tenants(section: &mut Section<'_>) -> Vec<String> {
    let given = section.take_strings(&keys::TENANTS);
    let path = section.path(keys::TENANTS.name);
    for tenant in given.iter().filter(|given| !is_organization(&given.value) && !is_tenant(&given.value)) {
        let text = format!("`{path}` must contain only organizations (\"acme\") and tenants (\"acme/live\").");
        section.mistakes().at(&tenant.span, text);
    }
    given.into_iter().map(|given| given.value).collect()
}

fn read_outbox(
    section: &Section<'_>,
    span: &Range<usize>,
    base_url: Option<&Located<String>>,
    environment: Environment,
) -> Option<DestinationKind> {
    let mistakes = section.mistakes();
    if let Some(base_url) = base_url {
        mistakes.at(&base_url.span, format!("`{}`: an outbox has no URL.", section.path(keys::BASE_URL.name)));
    }
    if environment == Environment::Production {
        let path = section.path(keys::KIND.name);
        mistakes.at(span, format!("`{path}` must not be \"outbox\" in production: nothing would be sent."));
    }
    Some(DestinationKind::Outbox)
}

/// Reads a destination that is a plugin. Whether that plugin is serving is only known when a call is made.
fn read_plugin_destination(
    section: &mut Section<'_>,
    base_url: Option<&Located<String>>,
    tenants: &[String],
    context: PluginContext<'_>,
) -> Option<DestinationKind> {
    if let Some(base_url) = base_url {
        let path = section.path(keys::BASE_URL.name);
        section.mistakes().at(&base_url.span, format!("`{path}`: a plugin has no URL."));
    }
    let organization = read_organization(section, tenants);
    let Some(plugin) = section.take_string(&keys::DESTINATION_PLUGIN) else {
        let path = section.path(keys::DESTINATION_PLUGIN.name);
        section
            .mistakes()
            .at(section.span(), format!("`{path}` is missing: {}.", keys::DESTINATION_PLUGIN.description));
        return None;
    };
    if !context.plugins.contains(&plugin.value.as_str()) {
        let (path, hint) = (section.path(keys::DESTINATION_PLUGIN.name), suggest(&plugin.value, context.plugins));
        let text = format!("`{path}`: there is no plugin \"{}\".{hint}", plugin.value.escape_debug());
        match context.purpose {
            Purpose::Check => section.mistakes().at(&plugin.span, text),
            // Only calls to this destination fail. Nothing else that the host serves depends on it.
            _ => section.mistakes().warn_at(&plugin.span, text),
        }
    }
    Some(DestinationKind::Plugin { name: plugin.value.into(), organization })
}

/// Reads the organization to act for. Requires `tenants`, because "all" would include tenants that are created later.
fn read_organization(section: &mut Section<'_>, tenants: &[String]) -> Option<Arc<str>> {
    let given = section.take_string(&keys::ACTS_FOR)?;
    let (mistakes, path) = (section.mistakes(), section.path(keys::ACTS_FOR.name));
    if !is_organization(&given.value) {
        mistakes.at(&given.span, format!("`{path}` must be an organization (\"globex\")."));
    }
    if tenants.is_empty() {
        let tenants = section.path(keys::TENANTS.name);
        mistakes.at(&given.span, format!("`{path}` requires `{tenants}`: the tenants that may act for it."));
    }
    Some(given.value.into())
}

fn read_server(
    section: &mut Section<'_>,
    (kind, span): (&str, &Range<usize>),
    base_url: Option<Located<String>>,
    context: PluginContext<'_>,
) -> Option<DestinationKind> {
    let mistakes = section.mistakes();
    let settings = keys::LOGIN_SETTINGS.iter().filter_map(|key| {
        let found = section.take_string(key)?;
        Some((key.name.to_owned(), found.value))
    });
    let settings: Vec<_> = settings.collect();
    let secrets = keys::LOGIN_SECRETS.iter().filter_map(|key| {
        let secret = read_secret(section, key, context)?;
        Some((key.name.to_owned(), secret))
    });
    let secrets: Vec<_> = secrets.collect();
    let login = Login::read(kind, &settings, &secrets).map_err(|message| {
        mistakes.at(span, format!("`{}`: {message}.", section.path(keys::KIND.name)));
    });
    let path = section.path(keys::BASE_URL.name);
    let Some(base_url) = base_url else {
        mistakes.at(section.span(), format!("`{path}` is missing: {}.", keys::BASE_URL.description));
        return None;
    };
    if let Err(error) = check_base_url(&base_url.value, &AddressRule::everywhere(), Scheme::HttpOrHttps) {
        mistakes.at(&base_url.span, format!("`{path}`: {error}."));
        return None;
    }
    let login = login.ok()?;
    if let Login::OAuth2(client) = &login
        && let Err(error) = check_url(&client.token_url, &AddressRule::everywhere(), Scheme::HttpOrHttps)
    {
        mistakes.at(span, format!("`{}`: {error}.", section.path(keys::TOKEN_URL.name)));
        return None;
    }
    Some(DestinationKind::Server { base_url: base_url.value, login })
}

/// Requires https:// for destinations of live tenants, except for loopback addresses, so that their calls cannot be
/// read in transit.
fn require_https(section: &Section<'_>, base_url: &str, login: &Login) {
    let is_open = |url: &str| {
        let target = check_url(url, &AddressRule::everywhere(), Scheme::HttpOrHttps);
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
                "`{path}` must begin with https://, because live tenants use it; set `environments` to [\"test\"], or \
                 `{plain}` to true if the network in between is private."
            );
            section.mistakes().at(section.span(), text);
        }
    }
}

/// Reads "env:NAME" or "file:PATH". Returns `None` if the key is absent.
///
/// After a mistake, returns a placeholder, so that the login is not reported as incomplete as well. If the
/// configuration is only inspected, an unreadable secret is accepted: it may be on another machine.
fn read_secret(section: &mut Section<'_>, key: &'static ConfigKey, context: PluginContext<'_>) -> Option<SecretText> {
    let given = section.take_string(key)?;
    let (mistakes, path) = (section.mistakes(), section.path(key.name));
    let placeholder = || Some(SecretText::new("elsewhere".to_owned()));
    let found = if let Some(name) = given.value.strip_prefix("env:") {
        let missing = || format!("`{path}`: the variable {:.80} is not set.", name.escape_debug());
        context.variables.secret(name).ok_or_else(missing)
    } else if let Some(file) = given.value.strip_prefix("file:") {
        first_line(&context.folder.join(file))
            .map_err(|error| format!("`{path}`: {:.200}: {error}.", file.escape_debug()))
    } else {
        let text = format!("`{path}` must be \"env:NAME\" or \"file:PATH\": this file must not contain secrets.");
        mistakes.at(&given.span, text);
        return placeholder();
    };
    match found {
        Ok(secret) => Some(secret),
        Err(_) if context.purpose == Purpose::Inspect => placeholder(),
        Err(text) => {
            mistakes.at(&given.span, text);
            placeholder()
        }
    }
}

fn first_line(path: &Path) -> Result<SecretText, String> {
    let file = regular_file::open(path).map_err(|error| error.to_string())?;
    // Allocated once: a buffer that grows would leave copies behind.
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
