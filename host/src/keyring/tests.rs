//! The keyring against an in-memory store.

use std::collections::HashMap;

use super::*;
use crate::secrets::new_key_text;

#[derive(Default)]
struct MemoryStore(Mutex<HashMap<SecretName, Vec<u8>>>);

impl SeedStore for Arc<MemoryStore> {
    fn find_seed<'a>(&'a self, name: &'a SecretName) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>> {
        Box::pin(async move { Ok(self.0.lock().get(name).cloned()) })
    }

    fn insert_seed<'a>(
        &'a self,
        name: &'a SecretName,
        sealed: &'a [u8],
        _action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let mut seeds = self.0.lock();
            let is_new = !seeds.contains_key(name);
            seeds.entry(name.clone()).or_insert_with(|| sealed.to_vec());
            Ok(is_new)
        })
    }
}

fn keyring(store: &Arc<MemoryStore>, keys: &Arc<MasterKeys>) -> Keyring {
    Keyring::new(Arc::new(store.clone()), keys.clone())
}

fn master_keys() -> Arc<MasterKeys> {
    Arc::new(MasterKeys::parse(&new_key_text().unwrap()).unwrap())
}

fn scope(plugin: &str, tenant: &str) -> Scope {
    Scope::new(plugin.into(), tenant.into()).unwrap()
}

fn phrase() -> SeedPhrase {
    SeedPhrase::parse("test test test test test test test test test test test junk").unwrap()
}

fn import_action() -> OperatorAction {
    OperatorAction::done(1, "ada", ("notes", "import-seed"), "a seed".to_owned())
}

#[tokio::test]
async fn each_plugin_and_tenant_has_its_own_permanent_seed() {
    let (store, keys) = (Arc::default(), master_keys());
    let first = keyring(&store, &keys);
    let seed = first.seed(&scope("wallet", "acme/test")).await.unwrap();
    let again = keyring(&store, &keys).seed(&scope("wallet", "acme/test")).await.unwrap();
    assert_eq!(seed.expose(), again.expose());
    for other in [scope("wallet", "acme/live"), scope("wallet", "other/test"), scope("other", "acme/test")] {
        assert_ne!(first.seed(&other).await.unwrap().expose(), seed.expose());
    }
}

#[tokio::test]
async fn sealed_seed_does_not_open_for_another_tenant_or_master_key() {
    let (store, keys) = (Arc::<MemoryStore>::default(), master_keys());
    keyring(&store, &keys).seed(&scope("wallet", "acme/test")).await.unwrap();
    let sealed = store.0.lock().values().next().unwrap().clone();
    store.0.lock().insert(name_of(&scope("wallet", "other/test")), sealed);
    assert!(keyring(&store, &keys).seed(&scope("wallet", "other/test")).await.is_err());
    assert!(keyring(&store, &master_keys()).seed(&scope("wallet", "acme/test")).await.is_err());
}

#[tokio::test]
async fn stored_bytes_contain_neither_seed_nor_phrase() {
    let (store, keys) = (Arc::<MemoryStore>::default(), master_keys());
    let seed_scope = scope("wallet", "acme/test");
    assert!(keyring(&store, &keys).import(&seed_scope, &phrase(), import_action()).await.unwrap());
    let sealed = store.0.lock().values().next().unwrap().clone();
    let seed = phrase().seed("");
    let holds = |secret: &[u8]| secret.windows(8).any(|part| sealed.windows(8).any(|stored| stored == part));
    assert!(!holds(seed.expose()) && !holds(&phrase().entropy()));
}

#[tokio::test]
async fn exported_phrase_restores_the_same_keys() {
    let (store, keys) = (Arc::default(), master_keys());
    let seed_scope = scope("wallet", "acme/test");
    let ring = keyring(&store, &keys);
    assert!(ring.export(&seed_scope).await.unwrap().is_none(), "nothing has used it");
    let seed = ring.seed(&seed_scope).await.unwrap();
    let exported = ring.export(&seed_scope).await.unwrap().unwrap();
    let restored = keyring(&Arc::default(), &master_keys());
    assert!(restored.import(&seed_scope, &exported, import_action()).await.unwrap());
    assert_eq!(restored.seed(&seed_scope).await.unwrap().expose(), seed.expose());
    assert!(!restored.import(&seed_scope, &exported, import_action()).await.unwrap(), "the same one again");
}

#[tokio::test]
async fn imported_phrase_does_not_replace_another() {
    let (store, keys) = (Arc::default(), master_keys());
    let seed_scope = scope("wallet", "acme/test");
    let ring = keyring(&store, &keys);
    let seed = ring.seed(&seed_scope).await.unwrap();
    assert!(matches!(ring.import(&seed_scope, &phrase(), import_action()).await, Err(SeedError::Taken)));
    assert_eq!(ring.seed(&seed_scope).await.unwrap().expose(), seed.expose());
}
