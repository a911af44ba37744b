//! Keys against an in-memory store that counts lookups.

use std::sync::atomic::AtomicUsize;

use futures_util::{FutureExt, future::BoxFuture};

use super::*;
use crate::{changes::credential::RevokedCredential, limits::KEY_CACHE_MS, secrets::SealedRow};

const NOW: Timestamp = 1_800_000_000_000;

/// `KeyStore` in memory.
#[derive(Default)]
pub(crate) struct MemoryStore {
    rows: Mutex<Vec<KeyRow>>,
    copies: Mutex<HashMap<Arc<str>, SealedRow>>,
    lookups: AtomicUsize,
    broken: std::sync::atomic::AtomicBool,
}

impl MemoryStore {
    fn result<T: Send + 'static>(&self, value: T) -> BoxFuture<'static, Result<T, StoreError>> {
        let broken = self.broken.load(Ordering::SeqCst);
        async move { if broken { Err(StoreError("the disk is gone".to_owned())) } else { Ok(value) } }.boxed()
    }
}

impl KeyStore for MemoryStore {
    fn insert_key<'a>(
        &'a self,
        row: &'a KeyRow,
        copy: Option<SealedRow>,
        _action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        if let Some(copy) = copy {
            self.copies.lock().insert(row.id.clone(), copy);
        }
        self.rows.lock().push(row.clone());
        self.result(())
    }

    fn find_key_by_hash<'a>(&'a self, hash: &'a [u8; 32]) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        self.result(self.rows.lock().iter().find(|row| row.hash == *hash).cloned())
    }

    fn list_keys(&self) -> BoxFuture<'_, Result<Vec<KeyRow>, StoreError>> {
        self.result(self.rows.lock().clone())
    }

    fn find_signing_key<'a>(
        &'a self,
        scope: &'a Scope,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<(String, Vec<u8>)>, StoreError>> {
        self.lookups.fetch_add(1, Ordering::SeqCst);
        let rows = self.rows.lock();
        let is_its_own = |row: &&KeyRow| *row.plugin == **scope.plugin() && *row.tenant() == **scope.tenant();
        let row = rows.iter().filter(is_its_own).find(|row| row.signs && row.is_live(now));
        let copies = self.copies.lock();
        self.result(row.map(|row| (row.id.to_string(), copies[&row.id].sealed.clone())))
    }

    fn find_issued_signer<'a>(
        &'a self,
        _: &'a Scope,
        _: &'a Attribute,
        _: Timestamp,
    ) -> BoxFuture<'a, Result<Option<(String, Vec<u8>)>, StoreError>> {
        self.result(None)
    }

    fn revoke_key<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
        _operator: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>> {
        let mut rows = self.rows.lock();
        let row = rows.iter_mut().find(|row| &*row.id == id);
        self.result(row.map(|row| {
            row.revoked_at.get_or_insert(now);
            row.clone()
        }))
    }

    fn touch_keys<'a>(&'a self, uses: &'a [(Arc<str>, Timestamp)]) -> BoxFuture<'a, Result<(), StoreError>> {
        if !self.broken.load(Ordering::SeqCst) {
            for row in self.rows.lock().iter_mut() {
                if let Some((_, at)) = uses.iter().find(|(id, _)| *id == row.id) {
                    row.last_used_at = row.last_used_at.max(Some(*at));
                }
            }
        }
        self.result(())
    }
}

fn keys() -> (Arc<MemoryStore>, Keys) {
    let store = Arc::new(MemoryStore::default());
    (store.clone(), Keys::new(store, master_keys(), sealing()))
}

pub(crate) fn master_keys() -> Arc<MasterKeys> {
    Arc::new(MasterKeys::parse(&"01".repeat(32)).unwrap())
}

pub(crate) fn sealing() -> Arc<SealingRoot> {
    Arc::new(SealingRoot::new(Zeroizing::new([1; 32])))
}

pub(crate) fn new_key(plugin: &str) -> NewKey {
    NewKey {
        plugin: plugin.to_owned(),
        organization: "acme".to_owned(),
        environment: Environment::Test,
        scopes: Vec::new(),
        attributes: Vec::new(),
        owner: None,
        expires_at: None,
        signs: false,
        operator: None,
    }
}

#[tokio::test]
async fn key_is_valid_for_its_plugin_and_tenant() {
    let (_, keys) = keys();
    let created = keys.create(new_key("notes"), NOW).await.unwrap();
    let principal = keys.authenticate(&created.text, "notes", NOW).await.unwrap();
    assert_eq!(&*principal.tenant, "acme/test");
    assert_eq!((principal.environment, principal.kind.name()), ("test", "api-key"));
    assert_eq!((&principal.subject, &principal.owner), (&created.row.id, &created.row.owner));
    assert_eq!(keys.authenticate(&created.text, "things", NOW).await, Err(CredentialError::OtherPlugin));
}

#[tokio::test]
async fn star_key_is_valid_for_every_plugin() {
    let (_, keys) = keys();
    let created = keys.create(new_key("*"), NOW).await.unwrap();
    assert!(keys.authenticate(&created.text, "notes", NOW).await.is_ok());
    assert!(keys.authenticate(&created.text, "things", NOW).await.is_ok());
}

#[tokio::test]
async fn expired_key_is_rejected() {
    let (_, keys) = keys();
    let created = keys.create(NewKey { expires_at: Some(NOW + 10), ..new_key("notes") }, NOW).await.unwrap();
    assert!(keys.authenticate(&created.text, "notes", NOW + 9).await.is_ok());
    assert_eq!(keys.authenticate(&created.text, "notes", NOW + 10).await, Err(CredentialError::Expired));
}

#[tokio::test]
async fn revoked_key_is_rejected_at_once_although_it_was_cached() {
    let (_, keys) = keys();
    let created = keys.create(new_key("notes"), NOW).await.unwrap();
    assert!(keys.authenticate(&created.text, "notes", NOW).await.is_ok());
    keys.revoke(&created.row.id, NOW, None).await.unwrap().unwrap();
    assert_eq!(keys.authenticate(&created.text, "notes", NOW).await, Err(CredentialError::Revoked));
    assert!(keys.revoke("key_none", NOW, None).await.unwrap().is_none());
}

#[tokio::test]
async fn key_revoked_by_a_call_is_rejected_at_once_although_it_was_cached() {
    let (store, keys) = keys();
    let scope = Scope::new("notes".into(), "acme/test".into()).unwrap();
    for known in [true, false] {
        let created = keys.create(new_key("notes"), NOW).await.unwrap();
        assert!(keys.authenticate(&created.text, "notes", NOW).await.is_ok());
        store.revoke_key(&created.row.id, NOW, None).await.unwrap();
        let (id, hash) = (created.row.id.clone(), created.row.hash);
        let revoked = CredentialChange::Revoke(RevokedCredential { id, hash, attributes: Vec::new() });
        keys.on_credential_change(known.then_some((&scope, &revoked)));
        assert_eq!(keys.authenticate(&created.text, "notes", NOW).await, Err(CredentialError::Revoked));
    }
}

#[tokio::test]
async fn api_key_is_not_accepted_as_a_token() {
    let (_, keys) = keys();
    let created = keys.create(new_key("notes"), NOW).await.unwrap();
    assert_eq!(keys.authenticate_token(&created.text, "notes", NOW).await, Err(CredentialError::Malformed));
}

#[tokio::test]
async fn wrong_keys_are_unknown_or_malformed() {
    let (_, keys) = keys();
    let other = generate_text(Environment::Test).unwrap();
    assert_eq!(keys.authenticate(&other, "notes", NOW).await, Err(CredentialError::Unknown));
    assert_eq!(keys.authenticate("secret", "notes", NOW).await, Err(CredentialError::Malformed));
}

#[tokio::test]
async fn lookups_are_cached_for_a_short_time() {
    let (store, keys) = keys();
    let created = keys.create(new_key("notes"), NOW).await.unwrap();
    let unknown = generate_text(Environment::Test).unwrap();
    for _ in 0..3 {
        let _ = keys.authenticate(&created.text, "notes", NOW).await;
        let _ = keys.authenticate(&unknown, "notes", NOW).await;
    }
    assert_eq!(store.lookups.load(Ordering::SeqCst), 2);
    store.revoke_key(&created.row.id, NOW, None).await.unwrap();
    assert!(keys.authenticate(&created.text, "notes", NOW + KEY_CACHE_MS - 1).await.is_ok());
    assert_eq!(keys.authenticate(&created.text, "notes", NOW + KEY_CACHE_MS).await, Err(CredentialError::Revoked));
}

#[tokio::test]
async fn store_error_is_not_reported_as_an_unknown_key() {
    let (store, keys) = keys();
    let created = keys.create(new_key("notes"), NOW).await.unwrap();
    store.broken.store(true, Ordering::SeqCst);
    assert!(matches!(keys.authenticate(&created.text, "notes", NOW).await, Err(CredentialError::Store(_))));
    store.broken.store(false, Ordering::SeqCst);
    assert!(keys.authenticate(&created.text, "notes", NOW).await.is_ok());
}

#[tokio::test]
async fn owner_has_at_most_two_active_keys() {
    let (_, keys) = keys();
    let first = keys.create(new_key("notes"), NOW).await.unwrap();
    let again = NewKey { owner: Some(first.row.owner.to_string()), ..new_key("notes") };
    let second = keys.create(again.clone(), NOW).await.unwrap();
    assert_eq!(first.row.owner, second.row.owner);
    assert!(matches!(keys.create(again.clone(), NOW).await, Err(AuthAdminError::OwnerFull(_))));
    keys.revoke(&first.row.id, NOW, None).await.unwrap();
    assert!(keys.create(again.clone(), NOW).await.is_ok());
    let other = NewKey { organization: "other".to_owned(), ..again };
    assert!(matches!(keys.create(other, NOW).await, Err(AuthAdminError::OwnerUnknown(_))));
}

#[tokio::test]
async fn organization_name_cannot_form_another_tenant() {
    let (_, keys) = keys();
    for organization in ["", "acme/live", "a b", &"x".repeat(65)] {
        let new = NewKey { organization: organization.to_owned(), ..new_key("notes") };
        assert!(matches!(keys.create(new, NOW).await, Err(AuthAdminError::Organization(_))), "{organization}");
    }
}

#[tokio::test]
async fn number_of_scopes_of_a_key_is_bounded() {
    let (_, keys) = keys();
    let scopes = |count: usize| (0..count).map(|number| format!("scope:{number}")).collect::<Vec<_>>();
    let new = |count| NewKey { scopes: scopes(count), ..new_key("notes") };
    assert!(keys.create(new(KEY_SCOPES_MAX), NOW).await.is_ok());
    assert!(matches!(keys.create(new(KEY_SCOPES_MAX + 1), NOW).await, Err(AuthAdminError::Scopes(65))));
}

#[tokio::test]
async fn last_uses_are_written_in_batches_and_survive_a_store_error() {
    let (store, keys) = keys();
    let created = keys.create(new_key("notes"), NOW).await.unwrap();
    for later in 0..10 {
        keys.authenticate(&created.text, "notes", NOW + later).await.unwrap();
    }
    store.broken.store(true, Ordering::SeqCst);
    assert!(keys.flush_uses().await.is_err());
    store.broken.store(false, Ordering::SeqCst);
    assert_eq!(keys.flush_uses().await, Ok(1));
    assert_eq!(keys.list().await.unwrap()[0].last_used_at, Some(NOW));
    assert_eq!(keys.flush_uses().await, Ok(0));
}

async fn signing(keys: &Keys, organization: &str, now: Timestamp) -> Option<SecretText> {
    let scope = Scope::new("notes".into(), format!("{organization}/test").into()).unwrap();
    keys.find_signing_key(&scope, None, now).await.unwrap()
}

#[tokio::test]
async fn oldest_signing_key_signs_until_it_is_revoked() {
    let (_, keys) = keys();
    let signs = NewKey { signs: true, ..new_key("notes") };
    keys.create(new_key("notes"), NOW).await.unwrap();
    assert_eq!(signing(&keys, "acme", NOW).await, None);
    let old = keys.create(signs.clone(), NOW).await.unwrap();
    let text = |key: &CreatedKey| Some(SecretText::new(key.text.to_string()));
    assert_eq!(signing(&keys, "acme", NOW).await, text(&old));
    let new = keys.create(signs, NOW).await.unwrap();
    assert_eq!(signing(&keys, "acme", NOW).await, text(&old));
    keys.revoke(&old.row.id, NOW, None).await.unwrap();
    assert_eq!(signing(&keys, "acme", NOW).await, text(&new));
    assert_eq!(signing(&keys, "rival", NOW).await, None);
}

#[tokio::test]
async fn signing_key_is_cached_between_webhooks() {
    let (store, keys) = keys();
    keys.create(NewKey { signs: true, expires_at: Some(NOW + 1), ..new_key("notes") }, NOW).await.unwrap();
    for _ in 0..3 {
        assert!(signing(&keys, "acme", NOW).await.is_some());
    }
    assert_eq!(store.lookups.load(Ordering::SeqCst), 1);
    assert_eq!(signing(&keys, "acme", NOW + KEY_CACHE_MS).await, None, "it has expired meanwhile");
}

#[tokio::test]
async fn copy_of_a_key_opens_only_for_its_own_tenant_and_id() {
    let (store, keys) = keys();
    let signs = |organization: &str| NewKey { organization: organization.to_owned(), signs: true, ..new_key("notes") };
    let [acme, rival] = [signs("acme"), signs("rival")].map(|new| keys.create(new, NOW));
    let (acme, rival) = (acme.await.unwrap(), rival.await.unwrap());
    let copy = store.copies.lock()[&rival.row.id].clone();
    store.copies.lock().insert(acme.row.id, copy);
    let scope = Scope::new("notes".into(), "acme/test".into()).unwrap();
    assert!(matches!(keys.find_signing_key(&scope, None, NOW).await, Err(AuthAdminError::Secret(_))));
}
