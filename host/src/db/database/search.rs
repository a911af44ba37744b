//! Connections for long queries: pages and counts. They are separate from the connections that read single records, so
//! slow queries never block reads by id.
//!
//! Invariants: a query whose caller was dropped is interrupted, and its connection is closed, except in a file that no
//! process writes. One plugin and tenant has at most half of the permits, and so do all operators together.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::Mutex;
use sqlx::pool::PoolConnection;
use sqlx::{ConnectOptions, Connection, Sqlite, SqliteConnection, SqlitePool};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Database, options};
use crate::changes::scope::Scope;
use crate::db::DbError;
use crate::limits::{DB_SEARCHERS, DB_SEARCHERS_EACH, SEARCH_CANCEL_CHECK_STEPS, SEARCH_SHARES_MAX};

pub(super) struct Searchers {
    path: PathBuf,
    /// True if the file itself is opened read-only, for tools.
    read_only: bool,
    /// The pool of a file that no process writes. Its connections create no files beside it.
    immutable: Option<SqlitePool>,
    permits: Arc<Semaphore>,
    /// Semaphores of plugins and tenants. `None` stands for operators. Unused entries are removed once there are
    /// `SEARCH_SHARES_MAX`.
    shares: Mutex<HashMap<Option<Scope>, Arc<Semaphore>>>,
    idle: Mutex<Vec<Searcher>>,
}

struct Searcher {
    connection: SearchConnection,
    /// Set when the caller was dropped. The progress handler then interrupts the statement.
    cancelled: Arc<AtomicBool>,
}

enum SearchConnection {
    Own(SqliteConnection),
    /// Has the progress handler of its pool, which does not check `cancelled`.
    Pooled(PoolConnection<Sqlite>),
}

/// A running query. It is interrupted if it is dropped before `finish`, except in a file that no process writes.
pub(in crate::db) struct Search {
    searchers: Arc<Searchers>,
    searcher: Option<Searcher>,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Searchers {
    pub fn new(path: &Path, read_only: bool) -> Searchers {
        Searchers {
            path: path.to_owned(),
            read_only,
            immutable: None,
            permits: Arc::new(Semaphore::new(DB_SEARCHERS)),
            shares: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// Creates the searchers of a file that no process writes.
    pub fn immutable(path: &Path, readers: SqlitePool) -> Searchers {
        Searchers { immutable: Some(readers), ..Searchers::new(path, true) }
    }

    fn share(&self, owner: Option<&Scope>) -> Arc<Semaphore> {
        let mut shares = self.shares.lock();
        if shares.len() >= SEARCH_SHARES_MAX {
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        shares.entry(owner.cloned()).or_insert_with(|| Arc::new(Semaphore::new(DB_SEARCHERS_EACH))).clone()
    }

    async fn connect(&self) -> Result<Searcher, DbError> {
        if let Some(immutable) = &self.immutable {
            let connection = SearchConnection::Pooled(immutable.acquire().await?);
            return Ok(Searcher { connection, cancelled: Arc::default() });
        }
        let mut connection = options::reader(&self.path, self.read_only).connect().await?;
        let cancelled = Arc::new(AtomicBool::new(false));
        let flag = cancelled.clone();
        connection.lock_handle().await?.set_progress_handler(SEARCH_CANCEL_CHECK_STEPS, move || !flag.load(Relaxed));
        Ok(Searcher { connection: SearchConnection::Own(connection), cancelled })
    }

    /// Closes idle connections. Later queries return `Closed`.
    pub async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle.lock());
        for searcher in idle {
            if let SearchConnection::Own(connection) = searcher.connection {
                // The connection is closed even if `close` returns an error.
                let _ = connection.close().await;
            }
        }
    }
}

impl Database {
    /// Begins a query of one plugin and tenant. Waits for a permit.
    pub(in crate::db) async fn begin_search(&self, scope: &Scope) -> Result<Search, DbError> {
        self.acquire_search(Some(scope)).await
    }

    /// Begins a query of an operator, across all tenants. Waits for a permit.
    pub(in crate::db) async fn begin_operator_search(&self) -> Result<Search, DbError> {
        self.acquire_search(None).await
    }

    async fn acquire_search(&self, owner: Option<&Scope>) -> Result<Search, DbError> {
        let searchers = self.inner.searchers.load_full();
        let share = searchers.share(owner).acquire_owned().await.map_err(|_| DbError::Closed)?;
        let permit = searchers.permits.clone().acquire_owned().await.map_err(|_| DbError::Closed)?;
        let idle = searchers.idle.lock().pop();
        let searcher = match idle {
            Some(searcher) => searcher,
            None => searchers.connect().await?,
        };
        Ok(Search { searchers, searcher: Some(searcher), _permits: [share, permit] })
    }
}

impl Search {
    pub fn connection(&mut self) -> Result<&mut SqliteConnection, DbError> {
        match self.searcher.as_mut().map(|searcher| &mut searcher.connection) {
            Some(SearchConnection::Own(connection)) => Ok(connection),
            Some(SearchConnection::Pooled(connection)) => Ok(connection),
            None => Err(DbError::Closed),
        }
    }

    /// Ends the query and releases its connection for reuse.
    pub fn finish(mut self) {
        if let Some(searcher) = self.searcher.take().filter(|_| self.searchers.immutable.is_none()) {
            self.searchers.idle.lock().push(searcher);
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        if let Some(searcher) = &self.searcher {
            searcher.cancelled.store(true, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::timer::TaskKind;
    use crate::db::feed::{FeedBounds, FeedFilter};
    use crate::db::model::PrepareOptions;
    use crate::db::tasks::TaskFilter;
    use crate::db::testing::{TestFile, index, model, scope};

    async fn run_endless_query(search: &mut Search) {
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        sqlx::query(endless).fetch_all(search.connection().unwrap()).await.unwrap();
    }

    #[tokio::test]
    async fn query_of_a_dropped_caller_is_interrupted() {
        let file = TestFile::open().await;
        let mut search = file.db.begin_search(&scope("notes", "acme/test")).await.unwrap();
        let cancelled = search.searcher.as_ref().unwrap().cancelled.clone();
        tokio::select! {
            biased;
            () = run_endless_query(&mut search) => panic!("the query ended"),
            () = tokio::task::yield_now() => {}
        }
        drop(search);
        // The connection's progress handler holds a reference, which is dropped only when the statement has ended.
        while Arc::strong_count(&cancelled) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn slow_queries_block_neither_reads_by_id_nor_queries_of_other_tenants() {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let (acme, rival) = (scope("notes", "acme/test"), scope("notes", "rival/test"));
        let mut held = Vec::new();
        for _ in 0..DB_SEARCHERS_EACH {
            held.push(file.db.begin_search(&acme).await.unwrap());
        }
        let mut third = Box::pin(file.db.begin_search(&acme));
        assert!(futures_util::FutureExt::now_or_never(&mut third).is_none());
        for _ in DB_SEARCHERS_EACH..DB_SEARCHERS {
            held.push(file.db.begin_search(&rival).await.unwrap());
        }
        let things = model.collection("things").unwrap();
        assert_eq!(file.db.find_record(&rival, things, "one").await.unwrap(), None);
        held.remove(0).finish();
        third.await.unwrap().finish();
    }

    #[tokio::test]
    async fn sums_counts_and_operator_queries_do_not_use_the_connections_for_single_records() {
        let (unique, model) = (model(vec![index("by-title", &["title"], true)]), model(vec![]));
        let options = PrepareOptions::default();
        let file = TestFile::with(&model).await;
        let permits = [file.db.begin_operator_search().await.unwrap(), file.db.begin_operator_search().await.unwrap()];
        let (acme, things) = (scope("notes", "acme/test"), model.collection("things").unwrap());
        let reads = async {
            for _ in 0..200 {
                assert_eq!(file.db.find_record(&acme, things, "one").await.unwrap(), None);
            }
        };
        tokio::select! {
            biased;
            _ = file.db.ledger_sums() => panic!("sums got a permit"),
            _ = file.db.count_tasks(TaskKind::Timer) => panic!("counts got a permit"),
            _ = file.db.list_due_task_queues() => panic!("task queues got a permit"),
            _ = file.db.list_endpoints() => panic!("endpoints got a permit"),
            _ = file.db.oldest_pending() => panic!("deliveries got a permit"),
            _ = file.db.check_model(&unique, &options) => panic!("index checks got a permit"),
            () = reads => {}
        }
        permits.into_iter().for_each(Search::finish);
        assert!(file.db.ledger_sums().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn long_lists_wait_for_the_permits_of_their_caller() {
        let file = TestFile::open().await;
        let acme = scope("notes", "acme/test");
        let (mut tenant_searches, mut operator_searches) = (Vec::new(), Vec::new());
        for _ in 0..DB_SEARCHERS_EACH {
            tenant_searches.push(file.db.begin_search(&acme).await.unwrap());
        }
        let (filter, bounds) = (FeedFilter::default(), FeedBounds { rows: 1, examined: 1, bytes: 1 });
        let mut events = Box::pin(file.db.find_feed(&acme, 0, &filter, bounds));
        assert!(futures_util::FutureExt::now_or_never(&mut events).is_none());
        let all = TaskFilter::default();
        assert!(file.db.list_tasks(TaskKind::Timer, &all, None, 1).await.unwrap().is_empty());
        for _ in 0..DB_SEARCHERS_EACH {
            operator_searches.push(file.db.begin_operator_search().await.unwrap());
        }
        let mut tasks = Box::pin(file.db.list_tasks(TaskKind::Timer, &all, None, 1));
        assert!(futures_util::FutureExt::now_or_never(&mut tasks).is_none());
        operator_searches.remove(0).finish();
        tenant_searches.remove(0).finish();
        assert!(tasks.await.unwrap().is_empty() && events.await.unwrap().events.is_empty());
    }
}
