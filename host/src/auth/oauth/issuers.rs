//! Issuers besides the host: whose tokens a plugin takes, whom they stand for, and their public keys.
//!
//! The keys of a URL are requested when a token first needs them, and again when they are old or a token names one that is not
//! among them, but only once in `JWKS_PAUSE_MS`. A task of its own requests them, so that a caller that hangs up does not end the
//! request. A token whose key is known does not wait for it. If the request fails, the known keys stay.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use parking_lot::RwLock;

use super::{
    KeySet,
    jws::{Claims, Jws},
};
use crate::clock::Timestamp;
use crate::{
    auth::{Environment, Principal, PrincipalKind, keys::check_organization},
    limits::{JWKS_AGE_MS_MAX, JWKS_BYTES_MAX, JWKS_PAUSE_MS, JWKS_REQUEST_MS, KEY_BYTES_MAX},
    outbound::{AddressRule, BodyEnd, Call, Client, Party, Scheme, check_url},
};

/// One of them, as the operator named it.
#[derive(Clone, Debug)]
pub struct Issuer {
    /// Its name in plugins.toml; in front of its clients' ids, so that they never meet those of the host.
    pub name: Arc<str>,
    /// As its tokens spell it.
    pub issuer: String,
    pub plugin: Arc<str>,
    pub audience: String,
    /// The `typ` of its tokens: "at+jwt".
    pub token_type: String,
    pub keys: KeySource,
    /// The claim that says the tenant: "acme/test".
    pub tenant_claim: Option<String>,
    /// Tenants by the id of the client.
    pub clients: BTreeMap<String, String>,
}

/// Where its public keys come from.
#[derive(Clone, Debug)]
pub enum KeySource {
    Url(String),
    Set(KeySet),
}

pub(super) struct Issuers {
    known: Vec<Arc<Keeper>>,
}

/// An issuer and its keys.
pub(super) struct Keeper {
    settings: Issuer,
    outbound: Arc<Client>,
    keys: RwLock<Got>,
    /// Held by the task that requests the keys; callers wait for its end.
    renewing: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Clone, Default)]
struct Got {
    keys: Arc<KeySet>,
    got_at: Timestamp,
    /// When they may be asked for.
    next_at: Timestamp,
}

impl Issuers {
    pub fn new(issuers: Vec<Issuer>, outbound: Arc<Client>) -> Issuers {
        let keeper = |settings: Issuer| {
            let keys = match &settings.keys {
                KeySource::Set(keys) => Got { keys: Arc::new(keys.clone()), ..Got::default() },
                KeySource::Url(_) => Got::default(),
            };
            let (keys, renewing) = (RwLock::new(keys), Arc::default());
            Arc::new(Keeper { settings, outbound: Arc::clone(&outbound), keys, renewing })
        };
        Issuers { known: issuers.into_iter().map(keeper).collect() }
    }

    /// The one that these claims are of, for this plugin and one of their audiences.
    pub fn find(&self, claims: &Claims, plugin: &str) -> Option<&Arc<Keeper>> {
        let fits =
            |known: &Issuer| known.issuer == claims.iss && *known.plugin == *plugin && claims.aud.has(&known.audience);
        self.known.iter().find(|keeper| fits(&keeper.settings))
    }
}

impl Issuer {
    /// Whom a token of it stands for.
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

/// "acme/test", if it is one.
fn read_tenant(text: &str) -> Option<(&str, Environment)> {
    let (organization, environment) = text.split_once('/')?;
    check_organization(organization).ok()?;
    Some((text, Environment::parse(environment)?))
}

impl Keeper {
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
        let alone = match lock.clone().try_lock_owned() {
            Ok(alone) => alone,
            Err(_) if !waits => return,
            Err(_) => lock.lock_owned().await,
        };
        if !self.is_due(jws, now) {
            return;
        }
        let (keeper, url) = (Arc::clone(self), url.to_owned());
        let renewal = tokio::spawn(async move {
            keeper.renew(&url, now).await;
            drop(alone);
        });
        if waits {
            // A panic leaves the keys as they were.
            let _ = renewal.await;
        }
    }

    /// True if the keys are old or lack the one of the token, and may be requested.
    fn is_due(&self, jws: &Jws<'_>, now: Timestamp) -> bool {
        let got = self.keys.read();
        let is_old = now.saturating_sub(got.got_at) >= JWKS_AGE_MS_MAX;
        (is_old || !got.keys.knows(jws)) && now >= got.next_at
    }

    async fn renew(&self, url: &str, now: Timestamp) {
        let asked = self.ask(url).await;
        let next_at = now.saturating_add(JWKS_PAUSE_MS);
        let mut got = self.keys.write();
        got.next_at = next_at;
        match asked {
            Ok(keys) => *got = Got { keys: Arc::new(keys), got_at: now, next_at },
            Err(why) => tracing::warn!(issuer = &*self.settings.name, why, "the keys of an issuer cannot be got"),
        }
    }

    /// The operator named the address, so it may lie in any network.
    async fn ask(&self, url: &str) -> Result<KeySet, String> {
        let rule = AddressRule::everywhere();
        let target = check_url(url, &rule, Scheme::HttpToo).map_err(|refusal| refusal.to_string())?;
        let call = Call {
            party: Party::Host,
            target,
            method: Method::GET,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            within: Duration::from_millis(JWKS_REQUEST_MS),
            answer_bytes_max: JWKS_BYTES_MAX,
        };
        let answer = self.outbound.send(&call, &rule).await.map_err(|failure| failure.words)?;
        if answer.status != StatusCode::OK || answer.end != BodyEnd::Whole {
            return Err(format!("it answered {}, or more than {JWKS_BYTES_MAX} bytes", answer.status.as_u16()));
        }
        let text = str::from_utf8(&answer.body).map_err(|_| "its answer is not UTF-8".to_owned())?;
        KeySet::parse(text).map_err(|why| format!("its answer {why}"))
    }
}
