//! In-memory cache of the chain notes of every network: watched addresses, followed transactions, seen transfers.
//!
//! Commit notifications keep the cache equal to the database. It makes no decisions.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    sync::{
        Notify,
        broadcast::{self, error::RecvError},
        watch,
    },
    time::sleep,
};

use super::{NetworkKind, NetworkName, Parts};
use crate::changes::host_collections::CHAIN_NOTES;
use crate::{
    changes::{
        chain::{ChainNote, Following, Sighting, Watch},
        scope::Scope,
    },
    commit::committer::CommitNotification,
    db::{Database, DbError, apply::HostRecord},
    limits::TASK_PAUSE_MS,
    shutdown::requested,
};

/// Chain notes of all networks. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct NoteCache(Arc<Mutex<HashMap<NetworkName, NetworkEntry>>>);

/// Notes of one network.
#[derive(Default)]
pub(super) struct NetworkEntry {
    pub notes: Notes,
    /// Addresses that were not watched when the last block was read.
    pub new_addresses: Vec<String>,
    pub changed: Arc<Notify>,
}

/// Notes with the plugins and tenants that they belong to.
#[derive(Default)]
pub(super) struct Notes {
    /// By address.
    pub watched: HashMap<String, Vec<(Scope, Arc<Watch>)>>,
    /// By hash.
    pub followed: HashMap<String, Vec<(Scope, Arc<Following>)>>,
    /// By the key of the arrival.
    pub seen: HashMap<String, Vec<(Scope, Arc<Sighting>)>>,
}

impl Notes {
    /// Returns whether no note can change by the passage of time alone.
    pub fn is_idle(&self) -> bool {
        self.followed.is_empty() && self.seen.is_empty()
    }

    pub fn put(&mut self, scope: &Scope, note: ChainNote) {
        match note {
            ChainNote::Watch(watch) => put(self.watched.entry(watch.address.clone()).or_default(), scope, watch),
            ChainNote::Following(following) => {
                put(self.followed.entry(following.hash.clone()).or_default(), scope, following);
            }
            ChainNote::Sighting(sighting) => {
                put(self.seen.entry(sighting.arrival.key()).or_default(), scope, sighting);
            }
        }
    }

    /// Removes a note. `kind` is the prefix of the record's id.
    fn remove(&mut self, scope: &Scope, kind: &str, blockchain: &str, name: &str) {
        match kind {
            "watch" => remove(&mut self.watched, scope, name),
            "follow" => remove(&mut self.followed, scope, name),
            _ => remove(&mut self.seen, scope, &format!("{blockchain}/{name}")),
        }
    }
}

fn put<T>(notes: &mut Vec<(Scope, Arc<T>)>, scope: &Scope, value: T) {
    notes.retain(|(owner, _)| owner != scope);
    notes.push((scope.clone(), Arc::new(value)));
}

fn remove<T>(notes: &mut HashMap<String, Vec<(Scope, Arc<T>)>>, scope: &Scope, name: &str) {
    let Some(list) = notes.get_mut(name) else { return };
    list.retain(|(owner, _)| owner != scope);
    if list.is_empty() {
        notes.remove(name);
    }
}

impl NoteCache {
    /// Runs `access` on the notes of one network while it holds the lock.
    pub fn with<T>(&self, kind: NetworkKind, blockchain: &str, access: impl FnOnce(&mut NetworkEntry) -> T) -> T {
        access(self.0.lock().entry((kind, blockchain.into())).or_default())
    }

    /// Applies a record that a commit wrote or, with `None`, removed.
    pub fn apply(&self, scope: &Scope, id: &str, body: Option<&str>) {
        let network_kind = NetworkKind::of(scope.tenant());
        match body.map(ChainNote::parse) {
            Some(Ok(note)) => {
                let blockchain = note.blockchain().to_owned();
                self.with(network_kind, &blockchain, |entry| entry.put(scope, note));
            }
            Some(Err(error)) => tracing::error!(id, "failed to parse a chain note: {error}"),
            None => {
                let parts = id.split_once(':').and_then(|(kind, rest)| Some((kind, rest.split_once('/')?)));
                let Some((kind, (blockchain, name))) = parts else { return };
                self.with(network_kind, blockchain, |entry| entry.notes.remove(scope, kind, blockchain, name));
            }
        }
    }

    async fn load(&self, database: &Database) -> Result<(), DbError> {
        let found = database.list_chain_notes().await?;
        self.0.lock().values_mut().for_each(|entry| entry.notes = Notes::default());
        for (scope, body) in found {
            // The id is unknown here: an unreadable note is logged with its error only.
            self.apply(&scope, "", Some(&body));
        }
        Ok(())
    }
}

impl NetworkEntry {
    fn put(&mut self, scope: &Scope, note: ChainNote) {
        if let ChainNote::Watch(watch) = &note
            && !self.notes.watched.contains_key(&watch.address)
        {
            self.new_addresses.push(watch.address.clone());
        }
        self.notes.put(scope, note);
        self.changed.notify_one();
    }
}

/// Applies commit notifications to the cache.
pub(super) struct CacheUpdater {
    cache: NoteCache,
    database: Database,
    notifications: broadcast::Receiver<Arc<CommitNotification>>,
}

pub(super) async fn open(parts: &Parts) -> Result<(NoteCache, CacheUpdater), DbError> {
    // The updater subscribes before the cache reads the database, so that no commit in between is missed.
    let notifications = parts.committer.subscribe();
    let cache = NoteCache::default();
    cache.load(&parts.database).await?;
    let updater = CacheUpdater { cache: cache.clone(), database: parts.database.clone(), notifications };
    Ok((cache, updater))
}

impl CacheUpdater {
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            let notification = tokio::select! {
                biased;
                () = requested(&mut stopped) => return,
                notification = self.notifications.recv() => notification,
            };
            match notification.as_deref() {
                Ok(CommitNotification::Durable(outgoing)) => {
                    outgoing.host_records.iter().for_each(|record| self.apply(record))
                }
                Ok(CommitNotification::Unknown) | Err(RecvError::Lagged(_)) => self.load(&mut stopped).await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn apply(&self, record: &HostRecord) {
        if &*record.collection == CHAIN_NOTES {
            self.cache.apply(&record.scope, &record.id, record.body.as_deref());
        }
    }

    async fn load(&self, stopped: &mut watch::Receiver<bool>) {
        while let Err(error) = self.cache.load(&self.database).await {
            tracing::error!(%error, "failed to load the chain notes; retrying");
            tokio::select! {
                () = requested(stopped) => return,
                () = sleep(Duration::from_millis(TASK_PAUSE_MS)) => {}
            }
        }
    }
}
