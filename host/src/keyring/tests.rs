//! Against a store in memory.

use std::collections::HashMap;

use super::*;
use crate::secrets::new_key_text;

#[derive(Default)]
struct Shelf(Mutex<HashMap<SecretName, Vec<u8>>>);

impl SeedStore for Arc<Shelf> {
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
            let mut shelf = self.0.lock();
            let is_new = !shelf.contains_key(name);
            shelf.entry(name.clone()).or_insert_with(|| sealed.to_vec());
            Ok(is_new)
        })
    }
}

fn keyring(shelf: &Arc<Shelf>, keys: &Arc<MasterKeys>) -> Keyring {
    Keyring::new(Arc::new(shelf.clone()), keys.clone())
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

fn brought() -> OperatorAction {
    OperatorAction::done(1, "ada", ("notes", "import-seed"), "a seed".to_owned())
}

#[tokio::test]
async fn each_plugin_and_tenant_has_a_seed_of_its_own_that_stays() {
    let (shelf, keys) = (Arc::default(), master_keys());
    let first = keyring(&shelf, &keys);
    let seed = first.seed(&scope("wallet", "acme/test")).await.unwrap();
    let again = keyring(&shelf, &keys).seed(&scope("wallet", "acme/test")).await.unwrap();
    assert_eq!(seed.expose(), again.expose());
    for other in [scope("wallet", "acme/live"), scope("wallet", "other/test"), scope("other", "acme/test")] {
        assert_ne!(first.seed(&other).await.unwrap().expose(), seed.expose());
    }
}

#[tokio::test]
async fn a_sealed_seed_opens_for_nobody_else() {
    let (shelf, keys) = (Arc::<Shelf>::default(), master_keys());
    keyring(&shelf, &keys).seed(&scope("wallet", "acme/test")).await.unwrap();
    let sealed = shelf.0.lock().values().next().unwrap().clone();
    shelf.0.lock().insert(name_of(&scope("wallet", "other/test")), sealed);
    assert!(keyring(&shelf, &keys).seed(&scope("wallet", "other/test")).await.is_err());
    assert!(keyring(&shelf, &master_keys()).seed(&scope("wallet", "acme/test")).await.is_err());
}

#[tokio::test]
async fn what_is_stored_holds_neither_seed_nor_phrase() {
    let (shelf, keys) = (Arc::<Shelf>::default(), master_keys());
    let place = scope("wallet", "acme/test");
    assert!(keyring(&shelf, &keys).import(&place, &phrase(), brought()).await.unwrap());
    let sealed = shelf.0.lock().values().next().unwrap().clone();
    let seed = phrase().seed("");
    let holds = |secret: &[u8]| secret.windows(8).any(|part| sealed.windows(8).any(|stored| stored == part));
    assert!(!holds(seed.expose()) && !holds(&phrase().entropy()));
}

#[tokio::test]
async fn an_exported_phrase_brings_the_same_keys_back() {
    let (shelf, keys) = (Arc::default(), master_keys());
    let place = scope("wallet", "acme/test");
    let ring = keyring(&shelf, &keys);
    assert!(ring.export(&place).await.unwrap().is_none(), "nothing has used it");
    let seed = ring.seed(&place).await.unwrap();
    let exported = ring.export(&place).await.unwrap().unwrap();
    let restored = keyring(&Arc::default(), &master_keys());
    assert!(restored.import(&place, &exported, brought()).await.unwrap());
    assert_eq!(restored.seed(&place).await.unwrap().expose(), seed.expose());
    assert!(!restored.import(&place, &exported, brought()).await.unwrap(), "the same one again");
}

#[tokio::test]
async fn no_phrase_takes_the_place_of_another() {
    let (shelf, keys) = (Arc::default(), master_keys());
    let place = scope("wallet", "acme/test");
    let ring = keyring(&shelf, &keys);
    let seed = ring.seed(&place).await.unwrap();
    assert!(matches!(ring.import(&place, &phrase(), brought()).await, Err(SeedError::Taken)));
    assert_eq!(ring.seed(&place).await.unwrap().expose(), seed.expose());
}
