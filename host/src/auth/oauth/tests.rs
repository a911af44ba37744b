//! OAuth against a store in memory. `attacks`: tokens that must open nothing. `assertions`: clients that sign. `foreign`:
//! tokens of other issuers. `vectors`: examples of the standards.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use zeroize::Zeroizing;

use super::*;
use crate::{
    auth::{Environment, PrincipalKind},
    changes::operator_action::OperatorAction,
    limits::CLIENT_SECRET_OVERLAP_MS,
    outbound::{Roots, SystemResolver},
    secrets::SecretText,
};

mod assertions;
mod attacks;
mod foreign;
mod vectors;

const NOW: Timestamp = 1_800_000_000_000;
const ISSUER: &str = "https://api.example";

/// The questions of `OAuthStore`, answered from memory.
#[derive(Default)]
pub(crate) struct MemoryStore {
    clients: Mutex<Vec<ClientRow>>,
    assertions: Mutex<BTreeMap<[u8; 32], Timestamp>>,
    keys: Mutex<Option<Vec<u8>>>,
}

impl OAuthStore for MemoryStore {
    fn put_client<'a>(
        &'a self,
        row: &'a ClientRow,
        _action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let mut clients = self.clients.lock();
        clients.retain(|client| client.id != row.id);
        clients.push(row.clone());
        Box::pin(async { Ok(()) })
    }

    fn list_clients(&self) -> BoxFuture<'_, Result<Vec<Arc<ClientRow>>, StoreError>> {
        let clients = self.clients.lock().iter().cloned().map(Arc::new).collect();
        Box::pin(async { Ok(clients) })
    }

    fn note_assertion(
        &self,
        id: [u8; 32],
        ends_at: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        let mut assertions = self.assertions.lock();
        assertions.retain(|_, ends_at| *ends_at > now);
        let is_new = assertions.insert(id, ends_at).is_none();
        Box::pin(async move { Ok(is_new) })
    }

    fn load_keys(&self) -> BoxFuture<'_, Result<Option<Zeroizing<Vec<u8>>>, OAuthError>> {
        let keys = self.keys.lock().clone().map(Zeroizing::new);
        Box::pin(async { Ok(keys) })
    }

    fn save_keys<'a>(
        &'a self,
        plain: &'a [u8],
        _action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), OAuthError>> {
        *self.keys.lock() = Some(plain.to_vec());
        Box::pin(async { Ok(()) })
    }
}

fn settings(algorithm: Algorithm) -> Settings {
    Settings { issuer: Some(ISSUER.to_owned()), algorithm, token_ms: 600_000, issuers: Vec::new() }
}

async fn open(settings: Settings, store: &Arc<MemoryStore>) -> OAuth {
    let outbound = Arc::new(Client::new(Roots::built_in(), Arc::new(SystemResolver::new())).unwrap());
    OAuth::open(settings, store.clone(), outbound, NOW).await.unwrap()
}

/// One that gives out tokens, with nobody in it.
pub(crate) async fn oauth() -> OAuth {
    open(settings(Algorithm::EdDsa), &Arc::default()).await
}

fn new_client(plugin: &str) -> NewClient {
    NewClient {
        plugin: plugin.to_owned(),
        organization: "acme".to_owned(),
        environment: Environment::Test,
        scopes: vec!["read".to_owned(), "write".to_owned()],
        jwks: None,
        operator: None,
    }
}

async fn authenticate(oauth: &OAuth, proof: &Proof, now: Timestamp) -> Result<Arc<ClientRow>, GrantError> {
    oauth.use_proof(oauth.verify_client(proof, now)?, now).await
}

async fn ask(
    oauth: &OAuth,
    client: &CreatedClient,
    scope: Option<&str>,
    now: Timestamp,
) -> Result<Granted, GrantError> {
    let secret = SecretText::new(client.secret.as_ref().unwrap().to_string());
    let proof = Proof::Secret { client: client.row.id.to_string(), secret };
    let row = authenticate(oauth, &proof, now).await?;
    let grant_type = Some("client_credentials".to_owned());
    oauth.grant(&row, &TokenRequest { grant_type, scope: scope.map(str::to_owned), audience: None }, now)
}

async fn token(oauth: &OAuth, client: &CreatedClient) -> String {
    ask(oauth, client, None, NOW).await.unwrap().token.expose().to_owned()
}

async fn opens(oauth: &OAuth, token: &str, now: Timestamp) -> bool {
    oauth.authenticate(token, "notes", now).await.is_ok()
}

#[tokio::test]
async fn a_token_of_every_algorithm_opens_the_plugin_of_its_client() {
    for algorithm in Algorithm::ALL {
        let store = Arc::default();
        let oauth = open(settings(algorithm), &store).await;
        let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
        let granted = ask(&oauth, &client, Some("write"), NOW).await.unwrap();
        assert_eq!((granted.expires_in_seconds, granted.scope.as_str()), (600, "write"));
        let principal = oauth.authenticate(granted.token.expose(), "notes", NOW).await.unwrap();
        assert_eq!((&*principal.tenant, principal.environment), ("acme/test", "test"));
        assert_eq!((principal.kind, &principal.subject), (PrincipalKind::OAuthClient, &client.row.id));
        assert!(principal.may(&["write".to_owned()]) && !principal.may(&["read".to_owned()]));
        assert!(oauth.authenticate(granted.token.expose(), "things", NOW).await.is_err());
        let after_a_restart = open(settings(algorithm), &store).await;
        assert!(opens(&after_a_restart, granted.token.expose(), NOW).await, "{algorithm:?}");
    }
}

#[tokio::test]
async fn a_token_without_scopes_opens_only_what_wants_none() {
    let oauth = oauth().await;
    let client = oauth.create_client(NewClient { scopes: vec![], ..new_client("notes") }, NOW).await.unwrap();
    let principal = oauth.authenticate(&token(&oauth, &client).await, "notes", NOW).await.unwrap();
    assert!(principal.may(&[]) && !principal.may(&["read".to_owned()]));
}

#[tokio::test]
async fn a_client_has_no_more_scopes_than_it_was_made_with() {
    let oauth = oauth().await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    for (asked, expected) in [
        (None, Some("read write")),
        (Some(""), Some("read write")),
        (Some("write"), Some("write")),
        (Some("write read write"), Some("write read")),
        (Some("admin"), None),
        (Some("read admin"), None),
    ] {
        let granted = ask(&oauth, &client, asked, NOW).await;
        assert_eq!(granted.as_ref().ok().map(|granted| granted.scope.as_str()), expected, "{asked:?}");
        assert!(granted.err().is_none_or(|error| error.code() == "invalid_scope"));
    }
}

#[tokio::test]
async fn an_unknown_client_and_a_wrong_secret_are_refused_alike() {
    let oauth = oauth().await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let revoked = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    oauth.revoke_client(&revoked.row.id, NOW, None).await.unwrap();
    let good = client.secret.as_ref().unwrap().as_str();
    for (id, secret) in [
        (&*client.row.id, "cs_test_wrong"),
        (&*client.row.id, ""),
        ("client_unknown", good),
        (&*revoked.row.id, revoked.secret.as_ref().unwrap().as_str()),
    ] {
        let proof = Proof::Secret { client: id.to_owned(), secret: SecretText::new(secret.to_owned()) };
        let refused = oauth.verify_client(&proof, NOW).unwrap_err();
        assert_eq!(refused.to_string(), "invalid_client: no such client, or another secret");
    }
}

#[tokio::test]
async fn the_secret_before_a_rotation_is_good_for_a_while() {
    let store = Arc::default();
    let oauth = open(settings(Algorithm::EdDsa), &store).await;
    let first = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let second = oauth.rotate_client(&first.row.id, NOW, None).await.unwrap().unwrap();
    let end = NOW + CLIENT_SECRET_OVERLAP_MS;
    for oauth in [&oauth, &open(settings(Algorithm::EdDsa), &store).await] {
        assert!(ask(oauth, &first, None, end - 1).await.is_ok());
        assert!(ask(oauth, &first, None, end).await.is_err());
        assert!(ask(oauth, &second, None, end).await.is_ok());
    }
    let third = oauth.rotate_client(&first.row.id, NOW, None).await.unwrap().unwrap();
    assert!(ask(&oauth, &first, None, NOW).await.is_err());
    assert!(ask(&oauth, &second, None, NOW).await.is_ok() && ask(&oauth, &third, None, NOW).await.is_ok());
    assert!(oauth.rotate_client("client_unknown", NOW, None).await.unwrap().is_none());
}

#[tokio::test]
async fn tokens_of_a_revoked_client_open_nothing_from_then_on() {
    let store = Arc::default();
    let oauth = open(settings(Algorithm::EdDsa), &store).await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let (used, unused) = (token(&oauth, &client).await, token(&oauth, &client).await);
    assert!(opens(&oauth, &used, NOW).await);
    let row = oauth.revoke_client(&client.row.id, NOW, None).await.unwrap().unwrap();
    assert_eq!(row.revoked_at, Some(NOW));
    for oauth in [&oauth, &open(settings(Algorithm::EdDsa), &store).await] {
        assert!(!opens(oauth, &used, NOW).await && !opens(oauth, &unused, NOW).await);
    }
    assert_eq!(oauth.revoke_client(&client.row.id, NOW + 1, None).await.unwrap().unwrap().revoked_at, Some(NOW));
}

#[tokio::test]
async fn the_key_before_a_rotation_verifies_until_its_last_token_has_ended() {
    let store = Arc::default();
    let oauth = open(settings(Algorithm::Es256), &store).await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let old = token(&oauth, &client).await;
    let old_key = oauth.jwks(NOW)["keys"][0]["kid"].clone();
    let rotation = oauth.rotate_keys(NOW, None).await.unwrap();
    assert_eq!(rotation.previous, [old_key.as_str().unwrap()]);
    assert_eq!(oauth.jwks(NOW)["keys"].as_array().unwrap().len(), 2);
    let new = token(&oauth, &client).await;
    let after_a_restart = open(settings(Algorithm::Es256), &store).await;
    for oauth in [&oauth, &after_a_restart] {
        assert!(opens(oauth, &old, NOW + 599_999).await && opens(oauth, &new, NOW).await);
    }
    let end = NOW + 600_000 + TOKEN_LEEWAY_MS;
    assert!(!opens(&oauth, &old, end).await);
    assert_eq!(oauth.jwks(end)["keys"].as_array().unwrap().len(), 1);
    assert_eq!(oauth.jwks(end)["keys"][0]["kid"], rotation.key.as_str());
}

#[tokio::test]
async fn only_so_many_keys_verify_at_once() {
    let oauth = oauth().await;
    for _ in 1..crate::limits::OWN_KEYS_MAX {
        oauth.rotate_keys(NOW, None).await.unwrap();
    }
    assert!(matches!(oauth.rotate_keys(NOW, None).await, Err(OAuthError::Keys)));
    assert!(oauth.rotate_keys(NOW + 600_000 + TOKEN_LEEWAY_MS, None).await.is_ok());
}

#[tokio::test]
async fn another_algorithm_makes_another_key_beside_the_old_one() {
    let store = Arc::default();
    let oauth = open(settings(Algorithm::Es256), &store).await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let old = token(&oauth, &client).await;
    let changed = open(settings(Algorithm::EdDsa), &store).await;
    let jwks = changed.jwks(NOW);
    let algorithms: Vec<_> = jwks["keys"].as_array().unwrap().iter().map(|key| key["alg"].as_str().unwrap()).collect();
    assert_eq!(algorithms, ["EdDSA", "ES256"]);
    assert!(opens(&changed, &old, NOW).await && opens(&changed, &token(&changed, &client).await, NOW).await);
}

#[tokio::test]
async fn what_is_published_holds_no_private_part() {
    for algorithm in Algorithm::ALL {
        let oauth = open(settings(algorithm), &Arc::default()).await;
        let jwks = oauth.jwks(NOW);
        assert_eq!((&jwks["keys"][0]["alg"], &jwks["keys"][0]["use"]), (&algorithm.name().into(), &"sig".into()));
        assert!(KeySet::parse(&jwks.to_string()).is_ok(), "{jwks}");
        assert!(["d", "p", "q", "k"].iter().all(|part| jwks["keys"][0].get(part).is_none()));
    }
}

#[tokio::test]
async fn a_client_is_refused_what_cannot_stand_in_a_token() {
    let oauth = oauth().await;
    let refused = [
        NewClient { scopes: vec!["a\"b".into()], ..new_client("notes") },
        NewClient { scopes: vec!["a b".into()], ..new_client("notes") },
        NewClient { organization: "a/b".into(), ..new_client("notes") },
        NewClient { jwks: Some("{\"keys\":[]}".into()), ..new_client("notes") },
        NewClient { jwks: Some("{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}]}".into()), ..new_client("notes") },
    ];
    for new in refused {
        assert!(oauth.create_client(new, NOW).await.is_err());
    }
    assert!(oauth.clients().is_empty());
}
