//! Who a request acts for: API keys, tokens that plugins hand out, tokens of OAuth, and where in a request they stand.
//!
//! - `key`: the text of a key, its hash, the row that is kept. `keys`: create, list, revoke, authenticate, last use.
//! - `cache`: what was looked up a moment ago. `credential`: finding the key in a request, and taking it out.
//! - `signing`: copies of keys that webhooks are signed with. `store`: what is asked of the database.
//! - `guesses`: how often one address may be wrong. `oauth`: clients and their tokens.
//!
//! Never says to a caller why a key was refused. The text of a key is shown once, never logged, and stored only where it was
//! made to sign: sealed.

use std::sync::Arc;

use crate::secrets::SecretError;

mod cache;
pub mod credential;
pub mod guesses;
pub mod key;
pub mod keys;
pub mod oauth;
mod signing;
pub mod store;

pub use key::{Environment, KeyRow};
pub use keys::Keys;

/// Who a call acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// "acme/test"; empty for an anonymous one, which has no data at all.
    pub tenant: Arc<str>,
    /// "test" or "live"; empty for an anonymous one.
    pub environment: &'static str,
    pub kind: PrincipalKind,
    /// The id of the key or client; empty for an anonymous one.
    pub subject: Arc<str>,
    /// Stays the same when a key is rotated; the scope of idempotency keys.
    pub owner: Arc<str>,
    /// Of a key, none: everything. Of a token or client, none: nothing that wants a scope.
    pub scopes: Vec<String>,
    /// What was attached when the key was issued; of a plugin, from where it calls.
    pub attributes: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrincipalKind {
    ApiKey,
    /// Handed out by the plugin, for a while as a rule.
    Token,
    OAuthClient,
    /// A plugin of this host, which the operator lets call.
    Plugin,
    Anonymous,
}

impl PrincipalKind {
    /// As the contract spells it (`types.principal.kind`).
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
    /// For open routes: sees nothing and can change nothing.
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

    /// A plugin of this host that calls for this tenant; where that is another one than its own, the operator has named it,
    /// and the attribute `organization` says from where it calls.
    pub fn plugin((name, from): (&str, &str), tenant: &Arc<str>) -> Principal {
        let own = from.rsplit_once('/').map_or(from, |(organization, _)| organization);
        let from_elsewhere = (*from != **tenant).then(|| ("organization".to_owned(), own.to_owned()));
        let environment = if tenant.ends_with("/live") { Environment::Live } else { Environment::Test };
        // The owner of what is kept for it, and whom others may know it by: not the same for two organizations.
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

    /// A key without any scope may do everything; a token says all that it may.
    pub fn may(&self, scopes: &[String]) -> bool {
        let limited = matches!(self.kind, PrincipalKind::OAuthClient | PrincipalKind::Token);
        let unlimited = self.scopes.is_empty() && !limited;
        unlimited || scopes.iter().all(|scope| self.scopes.contains(scope))
    }
}

/// Why a credential does not open this plugin, or could not be judged. For the log; a caller reads one and the same
/// "unauthenticated" for all but the last.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    #[error("no credential")]
    Missing,
    #[error("not the text of a key")]
    Malformed,
    #[error("two different credentials")]
    Ambiguous,
    #[error("no such key")]
    Unknown,
    #[error("the key has expired")]
    Expired,
    #[error("the key was revoked")]
    Revoked,
    #[error("the key is for another plugin")]
    OtherPlugin,
    #[error("the token: {0}")]
    Token(&'static str),
    #[error("the key could not be looked up: {0}")]
    Store(#[from] store::StoreError),
}

/// What can go wrong with keys for an operator. Each is a sentence.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    #[error("\"{0}\" is not an organization: 1 to 64 letters, digits, \".\", \"_\" or \"-\"")]
    Organization(String),
    #[error("\"{0}\" is not a scope: 1 to 64 visible characters without a comma")]
    Scope(String),
    #[error("{0} scopes are too many: a key has {max} at most", max = crate::limits::KEY_SCOPES_MAX)]
    Scopes(usize),
    #[error("no key of owner \"{0}\" is in use for this plugin, organization and environment")]
    OwnerUnknown(String),
    #[error("owner \"{0}\" has two keys in use already: revoke one first")]
    OwnerFull(String),
    #[error("\"{0}\" cannot be the scope of a token: it holds a quote or a backslash")]
    ScopeToken(String),
    #[error("the JWKS {0}")]
    ClientKeys(&'static str),
    #[error("there are {max} clients already, revoked ones included", max = crate::limits::CLIENTS_MAX)]
    Clients,
    #[error("the system gave no random bytes")]
    Random,
    #[error("the copy of a key that signs: {0}")]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_tells_from_which_other_organization_it_calls() {
        let called = |from: &str, tenant: &str| Principal::plugin(("notes", from), &tenant.into());
        let own = called("acme/test", "acme/test");
        assert_eq!((&*own.subject, own.environment, own.attributes.len()), ("plugin:notes", "test", 0));
        let linked = called("acme/live", "globex/live");
        assert_eq!((&*linked.tenant, linked.environment, linked.kind), ("globex/live", "live", PrincipalKind::Plugin));
        assert_eq!(linked.attributes, [("organization".to_owned(), "acme".to_owned())]);
        assert_eq!((&*linked.subject, &*linked.owner), ("plugin:notes@acme", "plugin:notes@acme"));
    }
}
