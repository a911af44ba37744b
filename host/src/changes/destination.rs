//! A destination of a tenant: a server that the tenant's calls may be sent to. The body of a record of
//! `host_collections::DESTINATIONS`.
//!
//! A plain value. Its secrets are sealed and bound to the plugin, the tenant, the name, the address, the kind and the
//! settings. A record that was moved to another plugin, tenant or name, or that was given another address, cannot be
//! opened.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::scope::Scope;
use crate::{
    outbound::{Login, LoginSecrets, LoginSettings},
    secrets::{SealingRoot, SecretError, SecretName, SecretText},
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Destination {
    pub base_url: String,
    /// "none", "bearer", "basic", "oauth2"
    pub kind: String,
    pub settings: Vec<(String, String)>,
    /// Base64.
    sealed: String,
}

/// Why a stored destination cannot be used. Reported to operators.
#[derive(Debug, thiserror::Error)]
pub enum DestinationError {
    #[error("its secrets cannot be opened: {0}")]
    Sealed(#[from] SecretError),
    /// The message contains no secret.
    #[error("{0}")]
    Login(String),
}

impl Destination {
    /// Seals the secrets. `named` is the scope and the name of the destination.
    pub fn new(
        named: (&Scope, &str),
        (base_url, kind): (String, String),
        settings: &LoginSettings,
        secrets: &LoginSecrets,
        root: &SealingRoot,
    ) -> Result<Destination, SecretError> {
        let mut destination = Destination { base_url, kind, settings: settings.to_vec(), sealed: String::new() };
        let plain: Vec<(&str, &str)> = secrets.iter().map(|(name, secret)| (name.as_str(), secret.expose())).collect();
        let plain = Zeroizing::new(serde_json::to_vec(&plain).map_err(|_| SecretError::CannotOpen)?);
        destination.sealed = BASE64_STANDARD.encode(root.seal(&destination.secret_name(named), &plain)?);
        Ok(destination)
    }

    /// Parses the body of a record.
    pub fn parse(body: &str) -> Result<Destination, serde_json::Error> {
        serde_json::from_str(body)
    }

    /// Returns the credentials that the host sends to the destination.
    pub fn login(&self, named: (&Scope, &str), root: &SealingRoot) -> Result<Login, DestinationError> {
        let sealed = BASE64_STANDARD.decode(&self.sealed).map_err(|_| SecretError::CannotOpen)?;
        let plain = root.open(&self.secret_name(named), &sealed)?;
        let secrets: Vec<(String, String)> = serde_json::from_slice(&plain).map_err(|_| SecretError::CannotOpen)?;
        let secrets: Vec<_> = secrets.into_iter().map(|(name, text)| (name, SecretText::new(text))).collect();
        Login::read(&self.kind, &self.settings, &secrets).map_err(DestinationError::Login)
    }

    fn secret_name(&self, (scope, name): (&Scope, &str)) -> SecretName {
        let all = serde_json::json!([**scope.plugin(), name, self.base_url, self.kind, self.settings]);
        SecretName { tenant: scope.tenant().to_string(), purpose: "destination".to_owned(), name: all.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(tenant: &str) -> Scope {
        Scope::new("notes".into(), tenant.into()).unwrap()
    }

    fn bearer(scope: &Scope, root: &SealingRoot) -> Destination {
        let address = ("https://bank.example".to_owned(), "bearer".to_owned());
        let secrets = [("token".to_owned(), SecretText::new("hunter2".to_owned()))];
        Destination::new((scope, "bank"), address, &[], &secrets, root).unwrap()
    }

    #[test]
    fn secrets_are_sealed_in_the_record_and_opened_for_a_call() {
        let (root, scope) = (SealingRoot::new(Default::default()), scope("acme/test"));
        let body = serde_json::to_string(&bearer(&scope, &root)).unwrap();
        assert!(!body.contains("hunter2") && !body.contains(&BASE64_STANDARD.encode("hunter2")), "{body}");
        let login = Destination::parse(&body).unwrap().login((&scope, "bank"), &root).unwrap();
        assert_eq!(login, Login::Bearer { token: SecretText::new("hunter2".to_owned()) });
    }

    #[test]
    fn record_that_was_moved_or_given_another_address_cannot_be_opened() {
        let (root, mine) = (SealingRoot::new(Default::default()), scope("acme/test"));
        let stored = bearer(&mine, &root);
        let elsewhere = Destination { base_url: "https://thief.example".to_owned(), ..stored.clone() };
        for (destination, tenant, name) in
            [(&elsewhere, "acme/test", "bank"), (&stored, "other/test", "bank"), (&stored, "acme/test", "bank2")]
        {
            let opened = destination.login((&scope(tenant), name), &root);
            assert!(matches!(opened, Err(DestinationError::Sealed(_))), "{tenant} {name}");
        }
    }
}
