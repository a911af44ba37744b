//! Implements the storage traits of other modules with the database: keys, the operators' journal, the model of a
//! plugin's data, sealed secrets, seeds. Rows are converted to and from the types of these modules.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use crate::{
    auth::{
        Environment, KeyRow,
        store::{KeyStore, StoreError},
    },
    changes::{credential::Attribute, operator_action::OperatorAction, scope::Scope},
    clock::Timestamp,
    commit::committer::Committer,
    db::{
        Database, DbError,
        accounts::LedgerSum,
        keys::{SigningKeyQuery, StoredKey},
        model::PrepareOptions,
        secrets::StoredSecret,
        swaps::{SwapFilter, SwapRow},
    },
    keyring::SeedStore,
    manifest::Manifest,
    plugin::{
        load::model_of,
        reload::{
            AllowedChanges, DataMigrator,
            journal::{SwapAction, SwapEntry, SwapJournal, SwapOutcome},
        },
    },
    secrets::{MasterKeys, SealedRow, SealedRows, SealingRoot, SecretError, SecretName, SigningRoot},
};

/// The database behind the storage traits of other modules. Cheap to clone.
#[derive(Clone)]
pub struct Stores {
    database: Database,
    /// Present in a running host.
    committer: Option<Committer>,
}

impl Stores {
    pub fn new(database: Database) -> Stores {
        Stores { database, committer: None }
    }

    /// Adds the committer of a running host.
    pub fn with_committer(self, committer: Committer) -> Stores {
        Stores { committer: Some(committer), ..self }
    }

    /// Lists lines of the operators' journal, newest first.
    pub async fn list_swaps(&self, filter: &SwapFilter, limit: usize) -> Result<Vec<SwapRow>, String> {
        self.database.list_swaps(filter, count(limit)).await.map_err(|error| error.to_string())
    }

    /// Records an action that changes nothing else in the database.
    pub async fn record_action(&self, action: &OperatorAction) -> Result<(), String> {
        self.database.record_action(action).await.map_err(|error| error.to_string())
    }

    /// Returns the hash of the component that serves according to the journal. The database may have an older schema.
    pub async fn find_served_component(&self, plugin: &str) -> Result<Option<String>, String> {
        self.database.find_served_component(plugin).await.map_err(|error| error.to_string())
    }

    pub async fn ledger_sums(&self) -> Result<Vec<LedgerSum>, String> {
        self.database.ledger_sums().await.map_err(|error| error.to_string())
    }
}

impl Stores {
    /// Returns the root from which webhook secrets are derived. It is created at the first start.
    pub async fn signing_root(&self, keys: &MasterKeys) -> Result<SigningRoot, SecretError> {
        self.root("webhook", keys).await.map(SigningRoot::new)
    }

    /// Returns the root that seals secrets inside records. It is created at the first start.
    pub async fn sealing_root(&self, keys: &MasterKeys) -> Result<SealingRoot, SecretError> {
        self.root("sealing", keys).await.map(SealingRoot::new)
    }

    async fn root(&self, purpose: &str, keys: &MasterKeys) -> Result<Zeroizing<[u8; 32]>, SecretError> {
        let name = SecretName { tenant: String::new(), purpose: purpose.into(), name: "root".into() };
        let storage = |error: DbError| SecretError::Storage(error.to_string());
        let mut root = Zeroizing::new([0; 32]);
        match self.database.find_secret(&name.row_key()).await.map_err(storage)? {
            Some(stored) => {
                let plain = keys.open(&name, &stored.sealed)?;
                *root = plain.as_slice().try_into().map_err(|_| SecretError::CannotOpen)?;
            }
            None => {
                getrandom::fill(root.as_mut()).map_err(SecretError::Random)?;
                let sealed = keys.seal(&name, root.as_ref())?;
                self.database.put_secret(&name.row_key(), &sealed, None).await.map_err(storage)?;
            }
        }
        Ok(root)
    }
}

fn count(limit: usize) -> u32 {
    u32::try_from(limit).unwrap_or(u32::MAX)
}

fn store_error(error: DbError) -> StoreError {
    StoreError(error.to_string())
}

impl KeyStore for Stores {
    fn insert_key<'a>(
        &'a self,
        row: &'a KeyRow,
        copy: Option<SealedRow>,
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let key = StoredKey {
            id: row.id.clone(),
            hash: row.hash,
            plugin: row.plugin.clone(),
            organization: row.organization.clone(),
            environment: row.environment.name().into(),
            owner: row.owner.clone(),
            scopes: row.scopes.clone(),
            attributes: row.attributes.clone(),
            created_at: row.created_at,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            revoked_at: row.revoked_at,
            signs: row.signs,
            kind: row.kind,
            label: row.label.clone(),
        };
        let copy = copy.map(|copy| StoredSecret { name: copy.name.row_key(), sealed: copy.sealed });
        Box::pin(async move { self.database.insert_key(&key, copy.as_ref(), action).await.map_err(store_error) })
    }

    fn find_key_by_hash<'a>(&'a self, hash: &'a [u8; 32]) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>> {
        Box::pin(
            async move { self.database.find_key_by_hash(hash).await.map_err(store_error)?.map(key_row).transpose() },
        )
    }

    fn list_keys(&self) -> BoxFuture<'_, Result<Vec<KeyRow>, StoreError>> {
        Box::pin(async { self.database.list_keys().await.map_err(store_error)?.into_iter().map(key_row).collect() })
    }

    fn find_signing_key<'a>(
        &'a self,
        scope: &'a Scope,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<(String, Vec<u8>)>, StoreError>> {
        Box::pin(async move {
            let Some((organization, environment)) = scope.tenant().split_once('/') else { return Ok(None) };
            let query = SigningKeyQuery { plugin: scope.plugin(), organization, environment };
            let found = self.database.find_signing_key(query, now).await.map_err(store_error)?;
            Ok(found.map(|key| (key.id, key.sealed)))
        })
    }

    fn find_issued_signer<'a>(
        &'a self,
        scope: &'a Scope,
        attribute: &'a Attribute,
        now: Timestamp,
    ) -> BoxFuture<'a, Result<Option<(String, Vec<u8>)>, StoreError>> {
        Box::pin(async move {
            let found = self.database.find_issued_signer(scope, attribute, now).await.map_err(store_error)?;
            Ok(found.map(|key| (key.id, key.sealed)))
        })
    }

    fn revoke_key<'a>(
        &'a self,
        id: &'a str,
        now: Timestamp,
        operator: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Option<KeyRow>, StoreError>> {
        Box::pin(async move {
            self.database.revoke_key(id, now, operator).await.map_err(store_error)?.map(key_row).transpose()
        })
    }

    fn touch_keys<'a>(&'a self, uses: &'a [(Arc<str>, Timestamp)]) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.database.touch_keys(uses).await.map_err(store_error) })
    }
}

fn key_row(key: StoredKey) -> Result<KeyRow, StoreError> {
    let environment = Environment::parse(&key.environment)
        .ok_or_else(|| StoreError(format!("key {} has the unknown environment {:?}", key.id, key.environment)))?;
    Ok(KeyRow {
        id: key.id,
        hash: key.hash,
        plugin: key.plugin,
        organization: key.organization,
        environment,
        owner: key.owner,
        scopes: key.scopes,
        attributes: key.attributes,
        created_at: key.created_at,
        expires_at: key.expires_at,
        revoked_at: key.revoked_at,
        last_used_at: key.last_used_at,
        signs: key.signs,
        kind: key.kind,
        label: key.label,
    })
}

impl SwapJournal for Stores {
    fn record(&self, entries: Vec<SwapEntry>) -> BoxFuture<'_, Result<(), String>> {
        let text = |hash: Option<Arc<str>>| hash.map(|hash| hash.to_string());
        let row = |entry: SwapEntry| SwapRow {
            at: entry.at,
            operator: entry.actor,
            plugin: entry.plugin.to_string(),
            action: entry.action.name().to_owned(),
            from_hash: text(entry.from),
            to_hash: text(entry.to),
            version: entry.version,
            file_hash: text(entry.file_hash),
            outcome: entry.outcome.name().to_owned(),
            reasons: entry.reasons,
            steps_ms: entry.steps_ms,
        };
        let rows: Vec<SwapRow> = entries.into_iter().map(row).collect();
        Box::pin(async move { self.database.record_swaps(rows).await.map_err(|error| error.to_string()) })
    }

    fn find_published<'a>(&'a self, plugin: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<SwapEntry>, String>> {
        Box::pin(async move {
            let rows = self.database.find_published_swaps(plugin, count(limit)).await;
            Ok(rows.map_err(|error| error.to_string())?.into_iter().filter_map(entry).collect())
        })
    }
}

fn entry(row: SwapRow) -> Option<SwapEntry> {
    let hash = |text: Option<String>| text.map(Arc::from);
    Some(SwapEntry {
        at: row.at,
        actor: row.operator,
        plugin: row.plugin.into(),
        action: SwapAction::parse(&row.action)?,
        from: hash(row.from_hash),
        to: hash(row.to_hash),
        version: row.version,
        file_hash: hash(row.file_hash),
        outcome: SwapOutcome::parse(&row.outcome)?,
        reasons: row.reasons,
        steps_ms: row.steps_ms,
    })
}

fn options(allowed: AllowedChanges) -> PrepareOptions {
    if allowed.slow_indexes { PrepareOptions { index_seconds_max: u64::MAX } } else { PrepareOptions::default() }
}

impl DataMigrator for Stores {
    fn check<'a>(
        &'a self,
        plugin: &'a Arc<str>,
        manifest: &'a Manifest,
        allowed: AllowedChanges,
    ) -> BoxFuture<'a, Result<Vec<String>, Vec<String>>> {
        Box::pin(async move {
            let model = model_of(plugin, manifest).map_err(|error| error.reasons)?;
            let prepared = self.database.check_model(&model, &options(allowed)).await;
            prepared.map(|prepared| prepared.steps).map_err(|error| vec![error.to_string()])
        })
    }

    fn prepare<'a>(
        &'a self,
        plugin: &'a Arc<str>,
        manifest: &'a Manifest,
        allowed: AllowedChanges,
    ) -> BoxFuture<'a, Result<(), Vec<String>>> {
        Box::pin(async move {
            let model = model_of(plugin, manifest).map_err(|error| error.reasons)?;
            let prepared = self.database.prepare_model(&model, &options(allowed)).await;
            let prepared = prepared.map_err(|error| vec![error.to_string()])?;
            if let (Some(committer), false) = (&self.committer, prepared.steps.is_empty()) {
                committer.clear_cache().await;
            }
            Ok(())
        })
    }

    fn admit<'a>(&'a self, plugin: &'a Arc<str>, manifest: &'a Manifest) -> BoxFuture<'a, Result<(), Vec<String>>> {
        Box::pin(async move {
            let model = model_of(plugin, manifest).map_err(|error| error.reasons)?;
            let narrower = self.database.admit_model(&model).await.map_err(|error| vec![error.to_string()])?;
            if let (Some(committer), true) = (&self.committer, narrower) {
                committer.clear_cache().await;
            }
            Ok(())
        })
    }
}

impl SeedStore for Stores {
    fn find_seed<'a>(&'a self, name: &'a SecretName) -> BoxFuture<'a, Result<Option<Vec<u8>>, String>> {
        Box::pin(async move {
            let found = self.database.find_secret(&name.row_key()).await.map_err(|error| error.to_string())?;
            Ok(found.map(|secret| secret.sealed))
        })
    }

    fn insert_seed<'a>(
        &'a self,
        name: &'a SecretName,
        sealed: &'a [u8],
        action: Option<OperatorAction>,
    ) -> BoxFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            self.database.insert_secret(&name.row_key(), sealed, action).await.map_err(|error| error.to_string())
        })
    }
}

impl SealedRows for Stores {
    async fn list(&self) -> Result<Vec<SealedRow>, SecretError> {
        let stored = self.database.list_secrets().await.map_err(|error| SecretError::Storage(error.to_string()))?;
        let row = |secret: StoredSecret| {
            let name = SecretName::from_row_key(&secret.name)
                .ok_or_else(|| SecretError::Storage(format!("the secret {:?} has an invalid name", secret.name)))?;
            Ok(SealedRow { name, sealed: secret.sealed })
        };
        stored.into_iter().map(row).collect()
    }

    async fn replace(&self, row: &SealedRow, sealed: &[u8]) -> Result<(), SecretError> {
        let before = StoredSecret { name: row.name.row_key(), sealed: row.sealed.clone() };
        let replaced = self.database.replace_secret(&before, sealed).await;
        replaced.map(|_replaced| ()).map_err(|error| SecretError::Storage(error.to_string()))
    }
}
