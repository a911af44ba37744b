//! Authentication: API keys, tokens issued by plugins, OAuth tokens, and the place of the credential in a request.
//!
//! - `key`: the text of a key, its hash and its stored row. `keys`: create, list, revoke, authenticate, last use.
//! - `known_key`: a key prepared for requests. `cache`: short-lived cache of key lookups.
//! - `credential`: extracts the credential from a request and removes it.
//! - `signing`: copies of keys that sign webhooks. `store`: the database interface of keys.
//! - `guess_limiter`: limits wrong credentials per address. `oauth`: clients and their tokens.
//!
//! A caller never learns why a key was rejected. The text of a key is returned once and never logged. It is stored
//! only for keys that sign webhooks, and then sealed.

use std::sync::Arc;

use crate::secrets::SecretError;

mod cache;
pub mod credential;
pub mod guess_limiter;
pub mod key;
pub mod keys;
mod known_key;
pub mod oauth;
mod signing;
pub mod store;

pub use key::{Environment, KeyRow};
pub use keys::Keys;

/// The identity on whose behalf a call is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// "acme/test". Empty for an anonymous principal, which has no data.
    pub tenant: Arc<str>,
    /// "test" or "live". Empty for an anonymous principal.
    pub environment: &'static str,
    pub kind: PrincipalKind,
    /// The id of the key, token or client, or the name of the calling plugin ("plugin:notes"). Empty for an anonymous
    /// principal.
    pub subject: Arc<str>,
    /// Scope of idempotency keys. It does not change when a key is rotated.
    pub owner: Arc<str>,
    /// Empty means no scope at all for a token or an OAuth client, and unrestricted for every other kind.
    pub scopes: Vec<String>,
    /// Attributes given when the key was issued. A plugin that calls another organization has its own organization
    /// here.
    pub attributes: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrincipalKind {
    ApiKey,
    /// Issued by the plugin, usually with an expiry time.
    Token,
    OAuthClient,
    /// A plugin of this host that the operator has allowed to call.
    Plugin,
    Anonymous,
}

impl PrincipalKind {
    /// Returns the name used in the contract (`types.principal.kind`).
    pub fn name(self) -> &'static str {
        match self {
            PrincipalKind::ApiKey => "api-key",
            PrincipalKind::Token => "token",
            PrincipalKind::OAuthClient => "oauth-client",
            PrincipalKind::Plugin => "plugin",
            PrincipalKind::Anonymous => "anonymous",
        }
    }
}

impl Principal {
    /// Returns the principal of open routes, which can neither read nor change data.
    pub fn anonymous() -> Principal {
        Principal {
            tenant: Arc::from(""),
            environment: "",
            kind: PrincipalKind::Anonymous,
            subject: Arc::from(""),
            owner: Arc::from(""),
            scopes: Vec::new(),
            attributes: Vec::new(),
        }
    }

    /// Returns the principal of a plugin of this host that calls on behalf of `tenant`.
    ///
    /// If `tenant` belongs to another organization, the operator has configured that organization, and the attribute
    /// `organization` holds the organization that the call comes from.
    pub fn plugin((name, from): (&str, &str), tenant: &Arc<str>) -> Principal {
        let own = from.rsplit_once('/').map_or(from, |(organization, _)| organization);
        let from_elsewhere = (*from != **tenant).then(|| ("organization".to_owned(), own.to_owned()));
        let environment = if tenant.ends_with("/live") { Environment::Live } else { Environment::Test };
        // Callers of two organizations must not share a subject: it owns idempotency records and is visible to plugins.
        let subject: Arc<str> = match &from_elsewhere {
            None => format!("plugin:{name}").into(),
            Some((_, organization)) => format!("plugin:{name}@{organization}").into(),
        };
        Principal {
            tenant: tenant.clone(),
            environment: environment.name(),
            kind: PrincipalKind::Plugin,
            owner: subject.clone(),
            subject,
            scopes: Vec::new(),
            attributes: from_elsewhere.into_iter().collect(),
        }
    }

    /// Returns true if the principal has all of `scopes`. A principal without scopes is unrestricted, unless it is a
    /// token or an OAuth client.
    pub fn has_scopes(&self, scopes: &[String]) -> bool {
        let limited = matches!(self.kind, PrincipalKind::OAuthClient | PrincipalKind::Token);
        let unlimited = self.scopes.is_empty() && !limited;
        unlimited || scopes.iter().all(|scope| self.scopes.contains(scope))
    }
}

/// Why a credential is not valid for a plugin, or could not be checked.
///
/// The messages are for logs. Callers receive the error `unauthenticated` for every variant except `Store`, or
/// `not-found` for a token in a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialError {
    #[error("no credential")]
    Missing,
    #[error("malformed credential")]
    Malformed,
    #[error("two different credentials")]
    Ambiguous,
    #[error("unknown key")]
    Unknown,
    #[error("the key has expired")]
    Expired,
    #[error("the key was revoked")]
    Revoked,
    #[error("the key is for another plugin")]
    OtherPlugin,
    #[error("the token: {0}")]
    Token(&'static str),
    #[error("failed to look up the key: {0}")]
    Store(#[from] store::StoreError),
}

/// Why an operator's request about keys or clients failed. Each message is a sentence without its full stop.
#[derive(Debug, thiserror::Error)]
pub enum AuthAdminError {
    #[error("\"{0}\" is not a valid organization: it must be 1 to 64 letters, digits, \".\", \"_\" or \"-\"")]
    Organization(String),
    #[error("\"{0}\" is not a valid scope: it must be 1 to 64 visible characters without a comma")]
    Scope(String),
    #[error("{0} scopes are too many: a key has at most {max}", max = crate::limits::KEY_SCOPES_MAX)]
    Scopes(usize),
    #[error("owner \"{0}\" has no active key for this plugin, organization and environment")]
    OwnerUnknown(String),
    #[error("owner \"{0}\" already has two active keys: revoke one first")]
    OwnerFull(String),
    #[error("\"{0}\" cannot be the scope of a token: it contains a quote or a backslash")]
    ScopeToken(String),
    #[error("the JWKS {0}")]
    ClientKeys(&'static str),
    #[error("there are already {max} clients, including revoked ones", max = crate::limits::CLIENTS_MAX)]
    Clients,
    #[error("the system returned no random bytes")]
    Random,
    #[error("the copy of the signing key: {0}")]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plugin_calling_another_organization_carries_its_own_as_attribute() {
        let called = |from: &str, tenant: &str| Principal::plugin(("notes", from), &tenant.into());
        let own = called("acme/test", "acme/test");
        assert_eq!((&*own.subject, own.environment, own.attributes.len()), ("plugin:notes", "test", 0));
        let linked = called("acme/live", "globex/live");
        assert_eq!((&*linked.tenant, linked.environment, linked.kind), ("globex/live", "live", PrincipalKind::Plugin));
        assert_eq!(linked.attributes, [("organization".to_owned(), "acme".to_owned())]);
        assert_eq!((&*linked.subject, &*linked.owner), ("plugin:notes@acme", "plugin:notes@acme"));
    }
}
