//! What is watched, followed and seen of every network, in memory: the notes of the database, kept true by the news of
//! commits. Never decides anything.

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

use super::{NetworkName, Parts, Side};
use crate::changes::host_collections::CHAIN_NOTES;
use crate::{
    changes::{
        chain::{ChainNote, Following, Sighting, Watch},
        scope::Scope,
    },
    commit::committer::News,
    db::{Database, DbError, apply::HostRecord},
    limits::TASK_PAUSE_MS,
    stop::told,
};

/// Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Book(Arc<Mutex<HashMap<NetworkName, Page>>>);

/// Of one network.
#[derive(Default)]
pub(super) struct Page {
    pub notes: Notes,
    /// Addresses that were not watched when the last block was read.
    pub fresh: Vec<String>,
    pub changed: Arc<Notify>,
}

/// Who is told of what.
#[derive(Default)]
pub(super) struct Notes {
    /// By address.
    pub watched: HashMap<String, Vec<(Scope, Arc<Watch>)>>,
    /// By hash.
    pub followed: HashMap<String, Vec<(Scope, Arc<Following>)>>,
    /// By place.
    pub seen: HashMap<String, Vec<(Scope, Arc<Sighting>)>>,
}

impl Notes {
    /// Nothing here can change by time alone.
    pub fn is_at_rest(&self) -> bool {
        self.followed.is_empty() && self.seen.is_empty()
    }

    pub fn put(&mut self, scope: &Scope, note: ChainNote) {
        match note {
            ChainNote::Watch(watch) => put(self.watched.entry(watch.address.clone()).or_default(), scope, watch),
            ChainNote::Following(following) => {
                put(self.followed.entry(following.hash.clone()).or_default(), scope, following);
            }
            ChainNote::Sighting(sighting) => {
                put(self.seen.entry(sighting.arrival.place()).or_default(), scope, sighting);
            }
        }
    }

    /// `kind` as it stands in the id of the record.
    fn remove(&mut self, scope: &Scope, kind: &str, blockchain: &str, name: &str) {
        match kind {
            "watch" => remove(&mut self.watched, scope, name),
            "follow" => remove(&mut self.followed, scope, name),
            _ => remove(&mut self.seen, scope, &format!("{blockchain}/{name}")),
        }
    }
}

fn put<T>(of: &mut Vec<(Scope, Arc<T>)>, scope: &Scope, value: T) {
    of.retain(|(owner, _)| owner != scope);
    of.push((scope.clone(), Arc::new(value)));
}

fn remove<T>(notes: &mut HashMap<String, Vec<(Scope, Arc<T>)>>, scope: &Scope, name: &str) {
    let Some(of) = notes.get_mut(name) else { return };
    of.retain(|(owner, _)| owner != scope);
    if of.is_empty() {
        notes.remove(name);
    }
}

impl Book {
    /// Looks at one page; nothing else happens meanwhile.
    pub fn with<T>(&self, side: Side, blockchain: &str, look: impl FnOnce(&mut Page) -> T) -> T {
        look(self.0.lock().entry((side, blockchain.into())).or_default())
    }

    /// What a commit wrote, or removed.
    pub fn note(&self, scope: &Scope, id: &str, body: Option<&str>) {
        let side = Side::of(scope.tenant());
        match body.map(ChainNote::parse) {
            Some(Ok(note)) => {
                let blockchain = note.blockchain().to_owned();
                self.with(side, &blockchain, |page| page.put(scope, note));
            }
            Some(Err(error)) => tracing::error!(id, "a note about a blockchain cannot be read: {error}"),
            None => {
                let parts = id.split_once(':').and_then(|(kind, rest)| Some((kind, rest.split_once('/')?)));
                let Some((kind, (blockchain, name))) = parts else { return };
                self.with(side, blockchain, |page| page.notes.remove(scope, kind, blockchain, name));
            }
        }
    }

    async fn load(&self, database: &Database) -> Result<(), DbError> {
        let found = database.list_chain_notes().await?;
        self.0.lock().values_mut().for_each(|page| page.notes = Notes::default());
        for (scope, body) in found {
            // A note that cannot be read has no id here: it is named by what is wrong with it.
            self.note(&scope, "", Some(&body));
        }
        Ok(())
    }
}

impl Page {
    fn put(&mut self, scope: &Scope, note: ChainNote) {
        if let ChainNote::Watch(watch) = &note
            && !self.notes.watched.contains_key(&watch.address)
        {
            self.fresh.push(watch.address.clone());
        }
        self.notes.put(scope, note);
        self.changed.notify_one();
    }
}

/// Keeps the book true.
pub(super) struct Keeper {
    book: Book,
    database: Database,
    news: broadcast::Receiver<Arc<News>>,
}

pub(super) async fn open(parts: &Parts) -> Result<(Book, Keeper), DbError> {
    // Before the database is read: what is committed meanwhile is heard.
    let news = parts.committer.follow();
    let book = Book::default();
    book.load(&parts.database).await?;
    let keeper = Keeper { book: book.clone(), database: parts.database.clone(), news };
    Ok((book, keeper))
}

impl Keeper {
    pub async fn run(mut self, mut stopped: watch::Receiver<bool>) {
        loop {
            let news = tokio::select! {
                biased;
                () = told(&mut stopped) => return,
                news = self.news.recv() => news,
            };
            match news.as_deref() {
                Ok(News::Durable(outgoing)) => outgoing.host_records.iter().for_each(|record| self.take(record)),
                Ok(News::Unknown) | Err(RecvError::Lagged(_)) => self.load(&mut stopped).await,
                Err(RecvError::Closed) => return,
            }
        }
    }

    fn take(&self, record: &HostRecord) {
        if &*record.collection == CHAIN_NOTES {
            self.book.note(&record.scope, &record.id, record.body.as_deref());
        }
    }

    async fn load(&self, stopped: &mut watch::Receiver<bool>) {
        while let Err(error) = self.book.load(&self.database).await {
            tracing::error!(%error, "what is watched on blockchains cannot be read yet");
            tokio::select! {
                () = told(stopped) => return,
                () = sleep(Duration::from_millis(TASK_PAUSE_MS)) => {}
            }
        }
    }
}
