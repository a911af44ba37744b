//! Connections for questions that may take long: pages and counts. They stand apart from those that load single records,
//! so that no number of slow questions keeps anybody from reading by id.
//!
//! Invariants: a question whose caller has gone away is broken off, and its connection with it; one plugin and tenant has
//! half of the seats at most, and so have all operators together.

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
use crate::limits::{DB_SEARCHERS, DB_SEARCHERS_EACH, SEARCH_LOOK_STEPS, SEARCH_SHARES_MAX};

pub(super) struct Searchers {
    path: PathBuf,
    /// The file itself is opened read-only, for tools.
    strict: bool,
    /// Of a file that nobody writes: its one pool, whose connections leave nothing beside the file.
    still: Option<SqlitePool>,
    seats: Arc<Semaphore>,
    /// Of whoever has or wants a seat; `None`: operators.
    shares: Mutex<HashMap<Option<Scope>, Arc<Semaphore>>>,
    idle: Mutex<Vec<Searcher>>,
}

struct Searcher {
    connection: SearchConnection,
    /// Nobody waits for the answer any more.
    broken_off: Arc<AtomicBool>,
}

enum SearchConnection {
    Own(SqliteConnection),
    /// It is asked by its pool whether it goes on.
    Still(PoolConnection<Sqlite>),
}

/// One question on its way. Dropped before `finish`, it is broken off.
pub(in crate::db) struct Search {
    searchers: Arc<Searchers>,
    searcher: Option<Searcher>,
    _places: [OwnedSemaphorePermit; 2],
}

impl Searchers {
    pub fn new(path: &Path, strict: bool) -> Searchers {
        Searchers {
            path: path.to_owned(),
            strict,
            still: None,
            seats: Arc::new(Semaphore::new(DB_SEARCHERS)),
            shares: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// Of a file that nobody writes.
    pub fn still(path: &Path, readers: SqlitePool) -> Searchers {
        Searchers { still: Some(readers), ..Searchers::new(path, true) }
    }

    fn share(&self, asker: Option<&Scope>) -> Arc<Semaphore> {
        let mut shares = self.shares.lock();
        if shares.len() >= SEARCH_SHARES_MAX {
            shares.retain(|_, share| Arc::strong_count(share) > 1);
        }
        shares.entry(asker.cloned()).or_insert_with(|| Arc::new(Semaphore::new(DB_SEARCHERS_EACH))).clone()
    }

    async fn connect(&self) -> Result<Searcher, DbError> {
        if let Some(still) = &self.still {
            let connection = SearchConnection::Still(still.acquire().await?);
            return Ok(Searcher { connection, broken_off: Arc::default() });
        }
        let mut connection = options::reader(&self.path, self.strict).connect().await?;
        let broken_off = Arc::new(AtomicBool::new(false));
        let looked_at = broken_off.clone();
        connection.lock_handle().await?.set_progress_handler(SEARCH_LOOK_STEPS, move || !looked_at.load(Relaxed));
        Ok(Searcher { connection: SearchConnection::Own(connection), broken_off })
    }

    /// Questions after it are `Closed`.
    pub async fn close(&self) {
        self.seats.close();
        let idle = std::mem::take(&mut *self.idle.lock());
        for searcher in idle {
            if let SearchConnection::Own(connection) = searcher.connection {
                // Whatever close says, the connection is gone.
                let _ = connection.close().await;
            }
        }
    }
}

impl Database {
    /// Waits for a seat.
    pub(in crate::db) async fn begin_search(&self, scope: &Scope) -> Result<Search, DbError> {
        self.take_seat(Some(scope)).await
    }

    /// The same for an operator, who asks about all tenants.
    pub(in crate::db) async fn begin_survey(&self) -> Result<Search, DbError> {
        self.take_seat(None).await
    }

    async fn take_seat(&self, asker: Option<&Scope>) -> Result<Search, DbError> {
        let searchers = self.inner.searchers.load_full();
        let share = searchers.share(asker).acquire_owned().await.map_err(|_| DbError::Closed)?;
        let seat = searchers.seats.clone().acquire_owned().await.map_err(|_| DbError::Closed)?;
        let idle = searchers.idle.lock().pop();
        let searcher = match idle {
            Some(searcher) => searcher,
            None => searchers.connect().await?,
        };
        Ok(Search { searchers, searcher: Some(searcher), _places: [share, seat] })
    }
}

impl Search {
    pub fn connection(&mut self) -> Result<&mut SqliteConnection, DbError> {
        match self.searcher.as_mut().map(|searcher| &mut searcher.connection) {
            Some(SearchConnection::Own(connection)) => Ok(connection),
            Some(SearchConnection::Still(connection)) => Ok(connection),
            None => Err(DbError::Closed),
        }
    }

    /// The question was answered: its connection serves the next one.
    pub fn finish(mut self) {
        if let Some(searcher) = self.searcher.take().filter(|_| self.searchers.still.is_none()) {
            self.searchers.idle.lock().push(searcher);
        }
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        if let Some(searcher) = &self.searcher {
            searcher.broken_off.store(true, Relaxed);
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

    async fn ask_for_ever(search: &mut Search) {
        let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
        sqlx::query(endless).fetch_all(search.connection().unwrap()).await.unwrap();
    }

    #[tokio::test]
    async fn a_question_whose_caller_went_away_is_broken_off() {
        let file = TestFile::open().await;
        let mut search = file.db.begin_search(&scope("notes", "acme/test")).await.unwrap();
        let broken_off = search.searcher.as_ref().unwrap().broken_off.clone();
        tokio::select! {
            biased;
            () = ask_for_ever(&mut search) => panic!("it has an end"),
            () = tokio::task::yield_now() => {}
        }
        drop(search);
        // The connection holds the other one: it goes only when the statement has ended.
        while Arc::strong_count(&broken_off) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn slow_questions_of_some_keep_nobody_from_reading_and_no_tenant_from_asking() {
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
    async fn sums_counts_and_surveys_do_not_use_the_connections_for_single_records() {
        let (unique, model) = (model(vec![index("by-title", &["title"], true)]), model(vec![]));
        let options = PrepareOptions::default();
        let file = TestFile::with(&model).await;
        let seats = [file.db.begin_survey().await.unwrap(), file.db.begin_survey().await.unwrap()];
        let (acme, things) = (scope("notes", "acme/test"), model.collection("things").unwrap());
        let reads = async {
            for _ in 0..200 {
                assert_eq!(file.db.find_record(&acme, things, "one").await.unwrap(), None);
            }
        };
        tokio::select! {
            biased;
            _ = file.db.ledger_sums() => panic!("sums have a seat"),
            _ = file.db.count_tasks(TaskKind::Timer) => panic!("counts have a seat"),
            _ = file.db.list_due_lines() => panic!("lines have a seat"),
            _ = file.db.list_endpoints() => panic!("endpoints have a seat"),
            _ = file.db.oldest_pending() => panic!("deliveries have a seat"),
            _ = file.db.check_model(&unique, &options) => panic!("checks of an index have a seat"),
            () = reads => {}
        }
        seats.into_iter().for_each(Search::finish);
        assert!(file.db.ledger_sums().await.unwrap().is_empty());
    }

    #[tokio::test]
    async fn long_lists_wait_for_the_seats_of_their_asker() {
        let file = TestFile::open().await;
        let acme = scope("notes", "acme/test");
        let (mut searches, mut surveys) = (Vec::new(), Vec::new());
        for _ in 0..DB_SEARCHERS_EACH {
            searches.push(file.db.begin_search(&acme).await.unwrap());
        }
        let (filter, bounds) = (FeedFilter::default(), FeedBounds { rows: 1, looked_at: 1, bytes: 1 });
        let mut events = Box::pin(file.db.find_feed(&acme, 0, &filter, bounds));
        assert!(futures_util::FutureExt::now_or_never(&mut events).is_none());
        let all = TaskFilter::default();
        assert!(file.db.survey_tasks(TaskKind::Timer, &all, None, 1).await.unwrap().is_empty());
        for _ in 0..DB_SEARCHERS_EACH {
            surveys.push(file.db.begin_survey().await.unwrap());
        }
        let mut tasks = Box::pin(file.db.survey_tasks(TaskKind::Timer, &all, None, 1));
        assert!(futures_util::FutureExt::now_or_never(&mut tasks).is_none());
        surveys.remove(0).finish();
        searches.remove(0).finish();
        assert!(tasks.await.unwrap().is_empty() && events.await.unwrap().events.is_empty());
    }
}
