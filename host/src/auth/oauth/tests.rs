//! OAuth against an in-memory store. `attacks`: tokens that must be rejected. `assertions`: clients that sign.
//! `foreign`: tokens of external issuers. `vectors`: examples from the RFCs.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use zeroize::Zeroizing;

use super::*;
use crate::{
    auth::{Environment, PrincipalKind},
    changes::operator_action::OperatorAction,
    limits::{CLIENT_SECRET_OVERLAP_MS, TOKEN_LEEWAY_MS},
    outbound::{Roots, SystemResolver},
    secrets::SecretText,
};

mod assertions;
mod attacks;
mod foreign;
mod vectors;

const NOW: Timestamp = 1_800_000_000_000;
const ISSUER: &str = "https://api.example";

/// `OAuthStore` in memory.
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

    fn record_assertion(
        &self,
        id: [u8; 32],
        expires_at: Timestamp,
        now: Timestamp,
    ) -> BoxFuture<'_, Result<bool, StoreError>> {
        let mut assertions = self.assertions.lock();
        assertions.retain(|_, expires_at| *expires_at > now);
        let is_new = assertions.insert(id, expires_at).is_none();
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

/// Opens an authorization server without clients.
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

async fn request_token(
    oauth: &OAuth,
    client: &CreatedClient,
    scope: Option<&str>,
    now: Timestamp,
) -> Result<IssuedToken, GrantError> {
    let secret = SecretText::new(client.secret.as_ref().unwrap().to_string());
    let proof = Proof::Secret { client: client.row.id.to_string(), secret };
    let row = authenticate(oauth, &proof, now).await?;
    let grant_type = Some("client_credentials".to_owned());
    oauth.grant(&row, &TokenRequest { grant_type, scope: scope.map(str::to_owned), audience: None }, now)
}

async fn token(oauth: &OAuth, client: &CreatedClient) -> String {
    request_token(oauth, client, None, NOW).await.unwrap().token.expose().to_owned()
}

async fn is_valid(oauth: &OAuth, token: &str, now: Timestamp) -> bool {
    oauth.authenticate(token, "notes", now).await.is_ok()
}

#[tokio::test]
async fn token_of_every_algorithm_is_valid_for_the_plugin_of_its_client() {
    for algorithm in Algorithm::ALL {
        let store = Arc::default();
        let oauth = open(settings(algorithm), &store).await;
        let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
        let granted = request_token(&oauth, &client, Some("write"), NOW).await.unwrap();
        assert_eq!((granted.expires_in_seconds, granted.scope.as_str()), (600, "write"));
        let principal = oauth.authenticate(granted.token.expose(), "notes", NOW).await.unwrap();
        assert_eq!((&*principal.tenant, principal.environment), ("acme/test", "test"));
        assert_eq!((principal.kind, &principal.subject), (PrincipalKind::OAuthClient, &client.row.id));
        assert!(principal.has_scopes(&["write".to_owned()]) && !principal.has_scopes(&["read".to_owned()]));
        assert!(oauth.authenticate(granted.token.expose(), "things", NOW).await.is_err());
        let after_a_restart = open(settings(algorithm), &store).await;
        assert!(is_valid(&after_a_restart, granted.token.expose(), NOW).await, "{algorithm:?}");
    }
}

#[tokio::test]
async fn token_without_scopes_has_no_scope() {
    let oauth = oauth().await;
    let client = oauth.create_client(NewClient { scopes: vec![], ..new_client("notes") }, NOW).await.unwrap();
    let principal = oauth.authenticate(&token(&oauth, &client).await, "notes", NOW).await.unwrap();
    assert!(principal.has_scopes(&[]) && !principal.has_scopes(&["read".to_owned()]));
}

#[tokio::test]
async fn token_has_no_scope_that_its_client_lacks() {
    let oauth = oauth().await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    for (requested, expected) in [
        (None, Some("read write")),
        (Some(""), Some("read write")),
        (Some("write"), Some("write")),
        (Some("write read write"), Some("write read")),
        (Some("admin"), None),
        (Some("read admin"), None),
    ] {
        let granted = request_token(&oauth, &client, requested, NOW).await;
        assert_eq!(granted.as_ref().ok().map(|granted| granted.scope.as_str()), expected, "{requested:?}");
        assert!(granted.err().is_none_or(|error| error.code() == "invalid_scope"));
    }
}

#[tokio::test]
async fn unknown_client_and_wrong_secret_have_the_same_error() {
    let oauth = oauth().await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let revoked = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    oauth.revoke_client(&revoked.row.id, NOW, None).await.unwrap();
    let valid = client.secret.as_ref().unwrap().as_str();
    for (id, secret) in [
        (&*client.row.id, "cs_test_wrong"),
        (&*client.row.id, ""),
        ("client_unknown", valid),
        (&*revoked.row.id, revoked.secret.as_ref().unwrap().as_str()),
    ] {
        let proof = Proof::Secret { client: id.to_owned(), secret: SecretText::new(secret.to_owned()) };
        let error = oauth.verify_client(&proof, NOW).unwrap_err();
        assert_eq!(error.to_string(), "invalid_client: no such client, or another secret");
    }
}

#[tokio::test]
async fn previous_secret_is_valid_for_a_while_after_a_rotation() {
    let store = Arc::default();
    let oauth = open(settings(Algorithm::EdDsa), &store).await;
    let first = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let second = oauth.rotate_client(&first.row.id, NOW, None).await.unwrap().unwrap();
    let end = NOW + CLIENT_SECRET_OVERLAP_MS;
    for oauth in [&oauth, &open(settings(Algorithm::EdDsa), &store).await] {
        assert!(request_token(oauth, &first, None, end - 1).await.is_ok());
        assert!(request_token(oauth, &first, None, end).await.is_err());
        assert!(request_token(oauth, &second, None, end).await.is_ok());
    }
    let third = oauth.rotate_client(&first.row.id, NOW, None).await.unwrap().unwrap();
    assert!(request_token(&oauth, &first, None, NOW).await.is_err());
    assert!(
        request_token(&oauth, &second, None, NOW).await.is_ok()
            && request_token(&oauth, &third, None, NOW).await.is_ok()
    );
    assert!(oauth.rotate_client("client_unknown", NOW, None).await.unwrap().is_none());
}

#[tokio::test]
async fn tokens_of_a_revoked_client_are_rejected_at_once() {
    let store = Arc::default();
    let oauth = open(settings(Algorithm::EdDsa), &store).await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let (used, unused) = (token(&oauth, &client).await, token(&oauth, &client).await);
    assert!(is_valid(&oauth, &used, NOW).await);
    let row = oauth.revoke_client(&client.row.id, NOW, None).await.unwrap().unwrap();
    assert_eq!(row.revoked_at, Some(NOW));
    for oauth in [&oauth, &open(settings(Algorithm::EdDsa), &store).await] {
        assert!(!is_valid(oauth, &used, NOW).await && !is_valid(oauth, &unused, NOW).await);
    }
    assert_eq!(oauth.revoke_client(&client.row.id, NOW + 1, None).await.unwrap().unwrap().revoked_at, Some(NOW));
}

#[tokio::test]
async fn previous_key_verifies_until_its_last_token_has_expired() {
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
        assert!(is_valid(oauth, &old, NOW + 599_999).await && is_valid(oauth, &new, NOW).await);
    }
    let end = NOW + 600_000 + TOKEN_LEEWAY_MS;
    assert!(!is_valid(&oauth, &old, end).await);
    assert_eq!(oauth.jwks(end)["keys"].as_array().unwrap().len(), 1);
    assert_eq!(oauth.jwks(end)["keys"][0]["kid"], rotation.key.as_str());
}

#[tokio::test]
async fn previous_key_verifies_until_its_last_token_has_expired_if_the_lifetime_was_shortened() {
    for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
        let store = Arc::default();
        let first = open(settings(Algorithm::EdDsa), &store).await;
        let client = first.create_client(new_client("notes"), NOW).await.unwrap();
        let old = token(&first, &client).await;
        // A restart with another algorithm rotates the keys.
        let shortened = open(Settings { token_ms: 60_000, ..settings(algorithm) }, &store).await;
        shortened.rotate_keys(NOW, None).await.unwrap();
        assert!(is_valid(&shortened, &old, NOW + 599_999).await, "{algorithm:?}");
        assert_eq!(shortened.jwks(NOW + 600_000 + TOKEN_LEEWAY_MS)["keys"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn longer_lifetime_of_tokens_is_stored_for_the_key_that_signs() {
    let store = Arc::default();
    let first = open(Settings { token_ms: 60_000, ..settings(Algorithm::EdDsa) }, &store).await;
    let client = first.create_client(new_client("notes"), NOW).await.unwrap();
    let old = token(&open(settings(Algorithm::EdDsa), &store).await, &client).await;
    let shortened = open(Settings { token_ms: 60_000, ..settings(Algorithm::EdDsa) }, &store).await;
    shortened.rotate_keys(NOW, None).await.unwrap();
    assert!(is_valid(&shortened, &old, NOW + 599_999).await);
}

#[tokio::test]
async fn number_of_keys_that_verify_is_bounded() {
    let oauth = oauth().await;
    for _ in 1..crate::limits::OWN_KEYS_MAX {
        oauth.rotate_keys(NOW, None).await.unwrap();
    }
    assert!(matches!(oauth.rotate_keys(NOW, None).await, Err(OAuthError::Keys)));
    assert!(oauth.rotate_keys(NOW + 600_000 + TOKEN_LEEWAY_MS, None).await.is_ok());
}

#[tokio::test]
async fn another_algorithm_adds_a_key_beside_the_old_one() {
    let store = Arc::default();
    let oauth = open(settings(Algorithm::Es256), &store).await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let old = token(&oauth, &client).await;
    let changed = open(settings(Algorithm::EdDsa), &store).await;
    let jwks = changed.jwks(NOW);
    let algorithms: Vec<_> = jwks["keys"].as_array().unwrap().iter().map(|key| key["alg"].as_str().unwrap()).collect();
    assert_eq!(algorithms, ["EdDSA", "ES256"]);
    assert!(is_valid(&changed, &old, NOW).await && is_valid(&changed, &token(&changed, &client).await, NOW).await);
}

#[tokio::test]
async fn published_keys_contain_no_private_part() {
    for algorithm in Algorithm::ALL {
        let oauth = open(settings(algorithm), &Arc::default()).await;
        let jwks = oauth.jwks(NOW);
        assert_eq!((&jwks["keys"][0]["alg"], &jwks["keys"][0]["use"]), (&algorithm.name().into(), &"sig".into()));
        assert!(KeySet::parse(&jwks.to_string()).is_ok(), "{jwks}");
        assert!(["d", "p", "q", "k"].iter().all(|part| jwks["keys"][0].get(part).is_none()));
    }
}

#[tokio::test]
async fn client_with_invalid_scopes_organization_or_keys_is_rejected() {
    let oauth = oauth().await;
    let invalid = [
        NewClient { scopes: vec!["a\"b".into()], ..new_client("notes") },
        NewClient { scopes: vec!["a b".into()], ..new_client("notes") },
        NewClient { organization: "a/b".into(), ..new_client("notes") },
        NewClient { jwks: Some("{\"keys\":[]}".into()), ..new_client("notes") },
        NewClient { jwks: Some("{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2VjcmV0\"}]}".into()), ..new_client("notes") },
    ];
    for new in invalid {
        assert!(oauth.create_client(new, NOW).await.is_err());
    }
    assert!(oauth.clients().is_empty());
}
