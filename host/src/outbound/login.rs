//! Authentication at an external server: none, a bearer token, a user with a password, or an OAuth 2.0 client.
//!
//! Owns the values that each kind requires and their format. Secrets are never in `Debug` output or in an error
//! message. Tokens are requested elsewhere, because that needs a call.

use std::sync::Arc;

use crate::{limits::DESTINATION_VALUE_BYTES_MAX, secrets::SecretText};

#[derive(Clone, Debug, PartialEq)]
pub enum Login {
    None,
    Bearer { token: SecretText },
    Basic { user: String, password: SecretText },
    OAuth2(Arc<OAuthClient>),
}

/// The client credentials grant (RFC 6749, 4.4).
#[derive(Clone, Debug, PartialEq)]
pub struct OAuthClient {
    pub token_url: String,
    pub client_id: String,
    pub client_secret: SecretText,
    pub scope: Option<String>,
    pub audience: Option<String>,
    pub authentication: ClientAuthentication,
}

/// How the client authenticates at the token endpoint (RFC 6749, 2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// In the header `authorization`.
    Basic,
    /// In the form.
    Post,
}

/// The values of one kind.
struct Kind {
    name: &'static str,
    settings: &'static [&'static str],
    secrets: &'static [&'static str],
}

const KINDS: [Kind; 4] = [
    Kind { name: "none", settings: &[], secrets: &[] },
    Kind { name: "bearer", settings: &[], secrets: &["token"] },
    Kind { name: "basic", settings: &["user"], secrets: &["password"] },
    Kind {
        name: "oauth2",
        settings: &["token-url", "client-id", "scope", "audience", "client-authentication"],
        secrets: &["client-secret"],
    },
];

/// Values by name.
pub type LoginSettings = [(String, String)];
pub type LoginSecrets = [(String, SecretText)];

impl Login {
    /// Reads a login from values by name. The error is a sentence for the person who configured it, without secrets.
    pub fn read(kind: &str, settings: &LoginSettings, secrets: &LoginSecrets) -> Result<Login, String> {
        let known = KINDS.iter().find(|known| known.name == kind);
        let known = known.ok_or_else(|| {
            format!(
                "there is no kind {kind:.40?}; there are {}",
                KINDS.map(|known| format!("{:?}", known.name)).join(", ")
            )
        })?;
        check_names(known, settings, secrets)?;
        let setting = |name| needed(known, "setting", name, find(settings, name));
        let secret = |name| needed(known, "secret", name, find(secrets, name));
        let login = match kind {
            "bearer" => Login::Bearer { token: secret("token")? },
            "basic" => Login::Basic { user: setting("user")?, password: secret("password")? },
            "oauth2" => Login::OAuth2(Arc::new(OAuthClient {
                token_url: setting("token-url")?,
                client_id: setting("client-id")?,
                client_secret: secret("client-secret")?,
                scope: find(settings, "scope"),
                audience: find(settings, "audience"),
                authentication: authentication(find(settings, "client-authentication"))?,
            })),
            _ => Login::None,
        };
        login.check().map(|()| login)
    }

    /// Checks that headers can carry the values.
    fn check(&self) -> Result<(), String> {
        match self {
            Login::Bearer { token } if !token.expose().bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err("the secret \"token\" holds blanks, or characters that no header can carry".to_owned())
            }
            Login::Basic { user, .. } if user.contains(':') => Err("the setting \"user\" holds a colon".to_owned()),
            _ => Ok(()),
        }
    }
}

fn check_names(kind: &Kind, settings: &LoginSettings, secrets: &LoginSecrets) -> Result<(), String> {
    let values = settings.iter().map(|(name, value)| ("setting", name, value.as_str()));
    let values = values.chain(secrets.iter().map(|(name, value)| ("secret", name, value.expose())));
    let mut seen: Vec<&str> = Vec::new();
    for (list, name, value) in values {
        let (expected, other) = match list {
            "setting" => (kind.settings, kind.secrets),
            _ => (kind.secrets, kind.settings),
        };
        if other.contains(&name.as_str()) {
            return Err(format!("{name:?} is not a {list} of the kind {:?}: it belongs to the other list", kind.name));
        }
        if !expected.contains(&name.as_str()) {
            let allowed = if expected.is_empty() { "none".to_owned() } else { expected.join(", ") };
            return Err(format!("the kind {:?} has no {list} {name:.40?}; it has {allowed}", kind.name));
        }
        if seen.contains(&name.as_str()) {
            return Err(format!("the {list} {name:?} is given twice"));
        }
        if value.is_empty() || value.len() > DESTINATION_VALUE_BYTES_MAX || value.chars().any(char::is_control) {
            return Err(format!(
                "the {list} {name:?} must have from 1 to {DESTINATION_VALUE_BYTES_MAX} bytes, without control characters"
            ));
        }
        seen.push(name);
    }
    Ok(())
}

fn find<T: Clone>(values: &[(String, T)], name: &str) -> Option<T> {
    values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

fn needed<T>(kind: &Kind, list: &str, name: &str, found: Option<T>) -> Result<T, String> {
    found.ok_or_else(|| format!("the kind {:?} needs the {list} {name:?}", kind.name))
}

fn authentication(name: Option<String>) -> Result<ClientAuthentication, String> {
    match name.as_deref() {
        None | Some("basic") => Ok(ClientAuthentication::Basic),
        Some("post") => Ok(ClientAuthentication::Post),
        Some(other) => {
            Err(format!("the setting \"client-authentication\" is \"basic\" or \"post\", and not {other:.40?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: &str, settings: &[(&str, &str)], secrets: &[(&str, &str)]) -> Result<Login, String> {
        let settings: Vec<_> = settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let secrets: Vec<_> =
            secrets.iter().map(|(name, value)| (name.to_string(), SecretText::new(value.to_string()))).collect();
        Login::read(kind, &settings, &secrets)
    }

    const CLIENT: [(&str, &str); 2] = [("token-url", "https://id.example/token"), ("client-id", "me")];

    #[test]
    fn each_kind_is_read_from_its_values() {
        assert_eq!(read("none", &[], &[]), Ok(Login::None));
        assert!(matches!(read("bearer", &[], &[("token", "abc")]), Ok(Login::Bearer { .. })));
        assert!(matches!(read("basic", &[("user", "me")], &[("password", "p: w")]), Ok(Login::Basic { .. })));
        let Ok(Login::OAuth2(client)) = read("oauth2", &CLIENT, &[("client-secret", "s")]) else { panic!("no client") };
        assert_eq!((client.authentication, client.scope.as_deref()), (ClientAuthentication::Basic, None));
    }

    #[test]
    fn missing_misplaced_and_unknown_values_are_named() {
        for (found, expected) in [
            (
                read("digest", &[], &[]),
                "there is no kind \"digest\"; there are \"none\", \"bearer\", \"basic\", \"oauth2\"",
            ),
            (read("bearer", &[], &[]), "the kind \"bearer\" needs the secret \"token\""),
            (read("bearer", &[("token", "abc")], &[]), "\"token\" is not a setting of the kind \"bearer\""),
            (read("none", &[("user", "me")], &[]), "the kind \"none\" has no setting \"user\"; it has none"),
            (read("basic", &[("user", "me"), ("user", "you")], &[("password", "p")]), "is given twice"),
            (read("basic", &[("user", "m:e")], &[("password", "p")]), "holds a colon"),
            (read("basic", &[("user", "me")], &[("password", "")]), "must have from 1 to"),
            (read("oauth2", &CLIENT, &[]), "needs the secret \"client-secret\""),
            (read("oauth2", &[CLIENT[0]], &[("client-secret", "s")]), "needs the setting \"client-id\""),
        ] {
            let found = found.unwrap_err();
            assert!(found.contains(expected), "{found}");
        }
    }

    #[test]
    fn secrets_are_not_in_debug_output_or_errors() {
        let login = read("oauth2", &CLIENT, &[("client-secret", "hunter2")]).unwrap();
        assert!(!format!("{login:?}").contains("hunter2"));
        for secret in ["hunter2 ", "hunter2\u{7f}", "hunter2ü"] {
            assert!(!read("bearer", &[], &[("token", secret)]).unwrap_err().contains("hunter2"));
        }
    }
}
