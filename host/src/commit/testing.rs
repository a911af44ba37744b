//! Shared test support of this module: a committer with a real file, and calls that run again until they commit.

use std::sync::Arc;

use super::committer::{CommitError, Committer, CommitterSettings, CommitterTask};
use super::draft::{CallIdentity, Draft, DraftError};
use crate::changes::change_set::{DecidedBy, IdempotencyRecord, Transfer};
use crate::changes::endpoint::{Endpoint, SigningKey};
use crate::changes::scope::Scope;
use crate::db::apply::{Failpoint, Failpoints};
use crate::db::model::{DataModel, PrepareOptions};
use crate::db::{Database, DbOptions};
use crate::manifest;

/// Returns the model of the plugin "notes" with the collection "things". The member "title" is unique, and "kind" is
/// indexed.
pub fn model(data_version: u32, reads_from: Option<u32>) -> Arc<DataModel> {
    let index =
        |name: &str, field: &str, unique| manifest::Index { name: name.into(), fields: vec![field.into()], unique };
    let indexes = vec![index("by-title", "title", true), index("by-kind", "kind", false)];
    let things = manifest::Collection { name: "things".into(), indexes };
    Arc::new(DataModel::new("notes", &[things], data_version, reads_from).unwrap())
}

pub type DraftResult<T> = Result<T, DraftError>;

pub struct Bench {
    pub committer: Committer,
    pub task: CommitterTask,
    pub failpoints: Failpoints,
    pub database: Database,
    pub model: Arc<DataModel>,
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub async fn open() -> Bench {
        Bench::with_cache(1 << 20).await
    }

    pub async fn with_cache(overlay_bytes_max: usize) -> Bench {
        Bench::with(CommitterSettings { overlay_bytes_max, ..CommitterSettings::default() }).await
    }

    pub async fn with(settings: CommitterSettings) -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("test.db").display());
        let database = Database::open(&url, &DbOptions::default()).await.unwrap();
        let model = model(1, None);
        database.prepare_model(&model, &PrepareOptions::default()).await.unwrap();
        let failpoints = Failpoints::default();
        let writer = database.writer_with(failpoints.clone());
        let (committer, task) = Committer::start(database.clone(), writer, settings).await.unwrap();
        Bench { committer, task, failpoints, database, model, folder }
    }

    pub fn fail(&self, failpoint: Failpoint) {
        *self.failpoints.0.lock() = Some(failpoint);
    }

    pub fn begin(&self) -> Draft {
        self.committer.begin(call(&self.model, "acme/test"))
    }

    /// Runs and commits a call like the host: runs it again after a conflict. A conflict in the fourth run or
    /// later also reserves its keys. Returns the number of runs.
    pub async fn run(&self, work: impl AsyncFn(&mut Draft) -> DraftResult<()>) -> Result<u32, CommitError> {
        self.run_with_record(async |draft| work(draft).await.map(|()| None)).await
    }

    pub async fn run_with_record(
        &self,
        work: impl AsyncFn(&mut Draft) -> DraftResult<Option<IdempotencyRecord>>,
    ) -> Result<u32, CommitError> {
        let mut reservation = None;
        for run in 1..1_000 {
            let mut draft = self.begin();
            let record = match work(&mut draft).await {
                Err(DraftError::Database(error)) => return Err(CommitError::Unavailable(error.to_string())),
                record => record.unwrap(),
            };
            match self.committer.commit(draft.into_changes(record), reservation.as_mut()).await {
                Err(CommitError::Conflict(conflict)) if run >= 4 && reservation.is_none() => {
                    reservation = Some(self.committer.reserve(&conflict).await);
                }
                Err(CommitError::Conflict(_)) => {}
                Err(CommitError::Discarded) => reservation = None,
                Err(error) => return Err(error),
                Ok(()) => return Ok(run),
            }
        }
        panic!("a call never commits");
    }

    /// Returns the number in the stored record, regardless of the overlay.
    pub async fn stored(&self, id: &str) -> Option<u64> {
        let things = self.model.collection("things").unwrap();
        let record = self.database.find_record(&scope("acme/test"), things, id).await.unwrap();
        record.map(|record| number(&record.body))
    }
}

pub fn scope(tenant: &str) -> Scope {
    Scope::new("notes".into(), tenant.into()).unwrap()
}

/// Returns the identity of a call. An empty tenant is anonymous.
pub fn call(model: &Arc<DataModel>, tenant: &str) -> CallIdentity {
    CallIdentity {
        scope: Scope::new("notes".into(), tenant.into()),
        model: model.clone(),
        now: 1_000,
        subject: "key_1".into(),
        operation: "change-thing".into(),
        request_id: "request_1".into(),
        seed: [7; 32],
        hops: 0,
    }
}

/// Returns the version and component that journal lines name.
pub fn decided_by() -> Arc<DecidedBy> {
    Arc::new(DecidedBy { version: "1.0.0".into(), component: "c0ffee".into() })
}

pub fn number(body: &str) -> u64 {
    serde_json::from_str::<serde_json::Value>(body).unwrap()["n"].as_u64().unwrap()
}

/// Adds one to the number in a record. Creates the record if it is absent.
pub async fn increment(draft: &mut Draft, id: &str) -> DraftResult<()> {
    let done = match draft.get("things", id).await? {
        None => draft.insert("things", id, r#"{"n":1}"#.into()).await?,
        Some(entry) => draft.replace("things", id, format!(r#"{{"n":{}}}"#, number(&entry.body) + 1)).await?,
    };
    done.unwrap();
    Ok(())
}

pub fn transfer(id: &str, debit: &str, credit: &str, amount: u32) -> Transfer {
    Transfer {
        id: id.into(),
        debit: debit.into(),
        credit: credit.into(),
        asset: "coin".into(),
        amount: amount.into(),
        memo: "".into(),
    }
}

/// Returns an endpoint with `bytes` bytes in its list of types.
pub fn endpoint(bytes: usize) -> Endpoint {
    Endpoint {
        url: "https://a.example".to_owned(),
        event_types: vec!["x".repeat(bytes)],
        subjects: Vec::new(),
        enabled: true,
        signatures: Vec::new(),
        note: serde_json::value::to_raw_value("").unwrap(),
        key: SigningKey { nonce: "00".to_owned(), number: 1, previous_until: None },
        disabled: None,
    }
}
