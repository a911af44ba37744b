//! External issuers: the plugins that accept their tokens, the tenants that tokens stand for, and their public keys.
//!
//! The keys of a URL are fetched when a token first needs them. They are fetched again when they are old or do not
//! include the key of a token, but only once in `JWKS_PAUSE_MS`. A separate task fetches them, so that a caller that
//! hangs up does not end the request. A token with a known key does not wait for the request. If the request fails,
//! the known keys stay.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use parking_lot::RwLock;

use super::{
    KeySet,
    jws::{Claims, Jws},
};
use crate::{
    auth::{Environment, Principal, PrincipalKind, keys::check_organization},
    clock::Timestamp,
    limits::{JWKS_AGE_MS_MAX, JWKS_BYTES_MAX, JWKS_PAUSE_MS, JWKS_REQUEST_MS, KEY_BYTES_MAX},
    outbound::{AddressRule, BodyEnd, Client, OutboundCall, Party, Scheme, check_url},
};

/// An external issuer, as configured by the operator.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// Name in plugins.toml. It prefixes client ids, so that they never collide with those of the host.
    pub name: Arc<str>,
    /// The `iss` of its tokens.
    pub issuer: String,
    pub plugin: Arc<str>,
    pub audience: String,
    /// The `typ` of its tokens, in lower case and without "application/", such as "at+jwt".
    pub token_type: String,
    pub keys: KeySource,
    /// Claim that holds the tenant: "acme/test".
    pub tenant_claim: Option<String>,
    /// Tenants by client id.
    pub clients: BTreeMap<String, String>,
}

/// Source of the public keys.
#[derive(Clone, Debug)]
pub enum KeySource {
    Url(String),
    Set(KeySet),
}

pub(super) struct Issuers {
    known: Vec<Arc<IssuerKeyCache>>,
}

/// An issuer and its cached keys.
pub(super) struct IssuerKeyCache {
    settings: Issuer,
    outbound: Arc<Client>,
    keys: RwLock<FetchedKeys>,
    /// Held by the task that fetches the keys. Callers that need the keys wait until it ends.
    renewing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Default)]
struct FetchedKeys {
    keys: Arc<KeySet>,
    fetched_at: Timestamp,
    /// Earliest time of the next request.
    next_fetch_at: Timestamp,
}

impl Issuers {
    pub fn new(issuers: Vec<Issuer>, outbound: Arc<Client>) -> Issuers {
        let cache = |settings: Issuer| {
            let keys = match &settings.keys {
                KeySource::Set(keys) => FetchedKeys { keys: Arc::new(keys.clone()), ..FetchedKeys::default() },
                KeySource::Url(_) => FetchedKeys::default(),
            };
            let (keys, renewing) = (RwLock::new(keys), Arc::default());
            Arc::new(IssuerKeyCache { settings, outbound: Arc::clone(&outbound), keys, renewing })
        };
        Issuers { known: issuers.into_iter().map(cache).collect() }
    }

    /// Returns the issuer of these claims for this plugin and one of their audiences.
    pub fn find(&self, claims: &Claims, plugin: &str) -> Option<&Arc<IssuerKeyCache>> {
        let fits =
            |known: &Issuer| known.issuer == claims.iss && *known.plugin == *plugin && claims.aud.has(&known.audience);
        self.known.iter().find(|cache| fits(&cache.settings))
    }
}

impl Issuer {
    /// Returns the principal of a token of this issuer.
    pub(super) fn principal(&self, claims: &Claims, scopes: Vec<String>) -> Result<Principal, &'static str> {
        let client = claims.client_id.as_deref().unwrap_or(&claims.sub);
        if client.is_empty() || client.len() + self.name.len() >= KEY_BYTES_MAX {
            return Err("the id of its client is empty or too long");
        }
        let claimed = || claims.others.get(self.tenant_claim.as_deref()?)?.as_str();
        let tenant = self.clients.get(client).map(String::as_str).or_else(claimed);
        let (tenant, environment) = tenant.and_then(read_tenant).ok_or("its client has no tenant")?;
        let subject: Arc<str> = format!("{}:{client}", self.name).into();
        Ok(Principal {
            tenant: tenant.into(),
            environment: environment.name(),
            kind: PrincipalKind::OAuthClient,
            owner: Arc::clone(&subject),
            subject,
            scopes,
            attributes: Vec::new(),
        })
    }
}

/// Parses a tenant such as "acme/test".
fn read_tenant(text: &str) -> Option<(&str, Environment)> {
    let (organization, environment) = text.split_once('/')?;
    check_organization(organization).ok()?;
    Some((text, Environment::parse(environment)?))
}

impl IssuerKeyCache {
    pub fn settings(&self) -> &Issuer {
        &self.settings
    }

    pub async fn verify(self: &Arc<Self>, jws: &Jws<'_>, now: Timestamp) -> Result<(), &'static str> {
        if let KeySource::Url(url) = &self.settings.keys {
            self.renew_if_due(url, jws, now).await;
        }
        let keys = Arc::clone(&self.keys.read().keys);
        if keys.verifies(jws) { Ok(()) } else { Err("no key of its issuer has signed it") }
    }

    #[expect(clippy::disallowed_methods, reason = "one request for keys at a time, which a timeout ends")]
    async fn renew_if_due(self: &Arc<Self>, url: &str, jws: &Jws<'_>, now: Timestamp) {
        if !self.is_due(jws, now) {
            return;
        }
        let waits = !self.keys.read().keys.knows(jws);
        let lock = Arc::clone(&self.renewing);
        let guard = match lock.clone().try_lock_owned() {
            Ok(guard) => guard,
            Err(_) if !waits => return,
            Err(_) => lock.lock_owned().await,
        };
        if !self.is_due(jws, now) {
            return;
        }
        let (cache, url) = (Arc::clone(self), url.to_owned());
        let renewal = tokio::spawn(async move {
            cache.renew(&url, now).await;
            drop(guard);
        });
        if waits {
            // A panic leaves the keys as they were.
            let _ = renewal.await;
        }
    }

    /// Returns true if the keys are old or lack the key of the token, and may be fetched.
    fn is_due(&self, jws: &Jws<'_>, now: Timestamp) -> bool {
        let fetched = self.keys.read();
        let is_old = now.saturating_sub(fetched.fetched_at) >= JWKS_AGE_MS_MAX;
        (is_old || !fetched.keys.knows(jws)) && now >= fetched.next_fetch_at
    }

    async fn renew(&self, url: &str, now: Timestamp) {
        let fetched = self.fetch(url).await;
        let next_fetch_at = now.saturating_add(JWKS_PAUSE_MS);
        let mut known = self.keys.write();
        known.next_fetch_at = next_fetch_at;
        match fetched {
            Ok(keys) => *known = FetchedKeys { keys: Arc::new(keys), fetched_at: now, next_fetch_at },
            Err(error) => tracing::warn!(issuer = &*self.settings.name, error, "failed to fetch the keys of an issuer"),
        }
    }

    /// Fetches the keys. The operator configured the URL, so it may be in any network.
    async fn fetch(&self, url: &str) -> Result<KeySet, String> {
        let rule = AddressRule::everywhere();
        let target = check_url(url, &rule, Scheme::HttpOrHttps).map_err(|error| error.to_string())?;
        let call = OutboundCall {
            party: Party::Host,
            target,
            method: Method::GET,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            within: Duration::from_millis(JWKS_REQUEST_MS),
            response_bytes_max: JWKS_BYTES_MAX,
        };
        let response = self.outbound.send(&call, &rule).await.map_err(|error| error.message)?;
        if response.status != StatusCode::OK || response.end != BodyEnd::Whole {
            return Err(format!("it answered {}, or more than {JWKS_BYTES_MAX} bytes", response.status.as_u16()));
        }
        let text = str::from_utf8(&response.body).map_err(|_| "its answer is not UTF-8".to_owned())?;
        KeySet::parse(text).map_err(|error| format!("its answer {error}"))
    }
}
