use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::changes::endpoint::{Endpoint, EndpointId};
use crate::db::apply::{AcceptedChanges, ApplyError, Failpoint, Failpoints, Outgoing, Writer};
use crate::db::model::DataModel;
use crate::db::testing::{TestFile, batch, change, endpoint, model, scope};

mod created;
mod fan_out;
mod prune;
mod redelivery;
mod search;

const TENANT: &str = "acme/test";

/// A database file, its writer, and the last version.
struct Bench {
    file: TestFile,
    writer: Writer,
    failpoints: Failpoints,
    model: Arc<DataModel>,
    version: u64,
}

impl Bench {
    async fn open() -> Bench {
        let model = model(vec![]);
        let file = TestFile::with(&model).await;
        let failpoints = Failpoints::default();
        Bench { writer: file.db.writer_with(failpoints.clone()), file, failpoints, model, version: 0 }
    }

    /// Returns a change at the time 1 000 plus its version.
    fn change(&mut self, tenant: &str) -> AcceptedChanges {
        self.version += 1;
        change(&self.model, self.version, tenant)
    }

    async fn try_apply(&mut self, changes: Vec<AcceptedChanges>) -> Result<Outgoing, ApplyError> {
        self.version += 1;
        self.writer.apply(&batch(&format!("b{}", self.version), changes)).await
    }

    async fn apply(&mut self, changes: Vec<AcceptedChanges>) -> Outgoing {
        self.try_apply(changes).await.unwrap()
    }

    async fn put(&mut self, id: &str) {
        let put = self.change(TENANT).endpoint(id, &plain());
        self.apply(vec![put]).await;
    }

    async fn emit(&mut self, id: &str) -> Outgoing {
        let emit = self.change(TENANT).event(id);
        self.apply(vec![emit]).await
    }

    async fn queue(&self, endpoint: &str) -> QueueId {
        self.file.db.find_queue(&scope("notes", TENANT), &endpoint.into()).await.unwrap().unwrap()
    }

    /// Returns the deliveries of an endpoint: event → (state, attempts).
    async fn deliveries(&self, tenant: &str, endpoint: &str) -> BTreeMap<String, (&'static str, u32)> {
        let (scope, endpoint) = (scope("notes", tenant), EndpointId::from(endpoint));
        let page = self.file.db.find_deliveries(&scope, &endpoint, None, None, 1_000).await.unwrap();
        page.deliveries.iter().map(|row| (row.event.to_string(), (row.state.name(), row.attempts))).collect()
    }

    async fn count(&self, table: &str) -> i64 {
        let sql = sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}"));
        sqlx::query_scalar(sql).fetch_one(&*self.file.db.readers()).await.unwrap()
    }

    async fn attempt(&self, endpoint: &str, event: &str, at: Timestamp, transition: DeliveryTransition) {
        let found = sqlx::query_scalar("SELECT seq FROM events WHERE id = ?").bind(event);
        let row = AttemptRow {
            queue: self.queue(endpoint).await,
            event: found.fetch_one(&*self.file.db.readers()).await.unwrap(),
            at,
            duration_ms: 5,
            outcome: if transition == DeliveryTransition::Delivered { "delivered" } else { "status" },
            status: Some(if transition == DeliveryTransition::Delivered { 200 } else { 500 }),
            response: b"response body".to_vec(),
            transition,
        };
        self.file.db.record_attempts(&[row], &[]).await.unwrap();
    }

    async fn numbers(&self, endpoint: &str, event: &str) -> Vec<u32> {
        let attempts = self.file.db.find_attempts(&scope("notes", TENANT), &endpoint.into(), event).await.unwrap();
        attempts.iter().map(|attempt| attempt.number).collect()
    }
}

fn plain() -> Endpoint {
    endpoint("https://example.com/hook")
}

/// Returns an endpoint for events of this type, or about this subject.
fn only(event_type: &str, subject: &str) -> Endpoint {
    let list = |name: &str| if name.is_empty() { Vec::new() } else { vec![name.to_owned()] };
    Endpoint { event_types: list(event_type), subjects: list(subject), ..plain() }
}
