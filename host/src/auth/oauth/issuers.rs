//! Issuers besides the host: whose tokens a plugin takes, whom they stand for, and their public keys.
//!
//! Keys of an address are got when a token first needs them, again when they are old or a token names one that is not among
//! them, and never more often than once in `JWKS_PAUSE_MS`; where who asked has gone before the answer, once in
//! `JWKS_REQUEST_MS`. Where getting them fails, those that are known go on.

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
    changes::change_set::Timestamp,
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
    known: Vec<Keeper>,
}

/// An issuer and its keys.
pub(super) struct Keeper {
    settings: Issuer,
    outbound: Arc<Client>,
    keys: RwLock<Got>,
    /// One asks, the others wait for what comes of it.
    asking: tokio::sync::Mutex<()>,
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
            let (keys, asking) = (RwLock::new(keys), tokio::sync::Mutex::default());
            Keeper { settings, outbound: Arc::clone(&outbound), keys, asking }
        };
        Issuers { known: issuers.into_iter().map(keeper).collect() }
    }

    /// The one that these claims are of, for this plugin and one of their audiences.
    pub fn find(&self, claims: &Claims, plugin: &str) -> Option<&Keeper> {
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

    pub async fn verify(&self, jws: &Jws<'_>, now: Timestamp) -> Result<(), &'static str> {
        let wanting = |got: &Got| !got.keys.knows(jws) || now.saturating_sub(got.got_at) >= JWKS_AGE_MS_MAX;
        if let KeySource::Url(url) = &self.settings.keys
            && self.is_due(wanting, now)
        {
            let _alone = self.asking.lock().await;
            if self.is_due(wanting, now) {
                self.renew(url, now).await;
            }
        }
        let keys = Arc::clone(&self.keys.read().keys);
        if keys.verifies(jws) { Ok(()) } else { Err("no key of its issuer has signed it") }
    }

    fn is_due(&self, wanting: impl Fn(&Got) -> bool, now: Timestamp) -> bool {
        let got = self.keys.read();
        wanting(&got) && now >= got.next_at
    }

    async fn renew(&self, url: &str, now: Timestamp) {
        // Noted before: whoever hangs up meanwhile has asked all the same.
        self.keys.write().next_at = now.saturating_add(JWKS_REQUEST_MS);
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
