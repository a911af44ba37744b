//! Shared test helpers: an open database, a data model, change sets.

use std::sync::Arc;

use super::apply::{AcceptedChanges, Batch};
use super::model::{DataModel, PrepareOptions};
use super::{Database, DbOptions};
use crate::changes::change_set::{ChangeSet, DeliveryCommand, Event, NewRecord, RecordWrite, Version};
use crate::changes::endpoint::{Endpoint, SigningKey};
use crate::changes::host_collections::ENDPOINTS;
use crate::changes::scope::Scope;
use crate::clock::Timestamp;
use crate::manifest;

pub(crate) use super::migrations::write_first_version;

/// A database in its own temporary folder, which is removed on drop.
pub struct TestFile {
    pub db: Database,
    pub folder: tempfile::TempDir,
}

impl TestFile {
    pub async fn open() -> TestFile {
        let folder = tempfile::tempdir().unwrap();
        let db = Database::open(&url_in(&folder), &DbOptions::default()).await.unwrap();
        TestFile { db, folder }
    }

    pub async fn with(model: &DataModel) -> TestFile {
        let file = TestFile::open().await;
        file.db.prepare_model(model, &PrepareOptions::default()).await.unwrap();
        file.db.trust_current_state().await.unwrap();
        file
    }

    /// Runs a statement without any check.
    pub async fn damage(&self, sql: &'static str) {
        run(&self.db, sql).await;
    }

    pub fn url(&self) -> String {
        url_in(&self.folder)
    }
}

/// Makes the endpoints of webhooks unreadable until `show_queues`.
pub async fn hide_queues(db: &Database) {
    run(db, "ALTER TABLE queues RENAME TO hidden_queues").await;
}

pub async fn show_queues(db: &Database) {
    run(db, "ALTER TABLE hidden_queues RENAME TO queues").await;
}

async fn run(db: &Database, sql: &'static str) {
    db.execute(sqlx::query(sql)).await.unwrap();
}

impl Database {
    pub async fn give_up_all_deliveries(&self, at: Timestamp) {
        let query = sqlx::query("UPDATE deliveries SET state = 3, at = ?").bind(at.cast_signed());
        self.execute(query).await.unwrap();
    }

    /// Simulates the loss of the writer's connection between two transactions.
    pub async fn lose_connection(&self) {
        self.begin_batch().await.unwrap().abandon().await;
    }
}

pub fn url_in(folder: &tempfile::TempDir) -> String {
    format!("sqlite:{}", folder.path().join("test.db").display())
}

pub fn scope(plugin: &str, tenant: &str) -> Scope {
    Scope::new(plugin.into(), tenant.into()).unwrap()
}

pub fn index(name: &str, fields: &[&str], unique: bool) -> manifest::Index {
    manifest::Index { name: name.into(), fields: fields.iter().map(|field| (*field).into()).collect(), unique }
}

/// Returns the model of the plugin "notes" with the collection "things" and these indexes.
pub fn model(indexes: Vec<manifest::Index>) -> Arc<DataModel> {
    let things = manifest::Collection { name: "things".into(), indexes };
    Arc::new(DataModel::new("notes", &[things], 1, None).unwrap())
}

/// Returns an enabled endpoint that receives all events.
pub fn endpoint(url: &str) -> Endpoint {
    Endpoint {
        url: url.to_owned(),
        event_types: Vec::new(),
        subjects: Vec::new(),
        enabled: true,
        signatures: Vec::new(),
        note: Default::default(),
        key: SigningKey { nonce: "n".into(), number: 1, previous_until: None },
        disabled: None,
    }
}

pub fn change(model: &Arc<DataModel>, version: Version, tenant: &str) -> AcceptedChanges {
    let changes = ChangeSet::new(scope(model.plugin(), tenant), 1_000 + version);
    AcceptedChanges { version, changes: Arc::new(changes), model: model.clone(), balances: Vec::new() }
}

impl AcceptedChanges {
    pub fn edit(mut self, edit: impl FnOnce(&mut ChangeSet)) -> AcceptedChanges {
        edit(Arc::get_mut(&mut self.changes).unwrap());
        self
    }

    pub fn put(self, id: &str, body: &str) -> AcceptedChanges {
        self.put_in("things", id, body)
    }

    pub fn put_in(self, collection: &str, id: &str, body: &str) -> AcceptedChanges {
        let fields = self.model.collection(collection).unwrap().extract(body).unwrap();
        self.edit(|changes| {
            let after =
                NewRecord { body: body.into(), data_version: 1, created_at: 7, updated_at: changes.now, fields };
            changes.records.push(RecordWrite { collection: collection.into(), id: id.into(), after: Some(after) });
        })
    }

    pub fn delete(self, id: &str) -> AcceptedChanges {
        self.edit(|changes| {
            changes.records.push(RecordWrite { collection: "things".into(), id: id.into(), after: None });
        })
    }

    pub fn endpoint(self, id: &str, endpoint: &Endpoint) -> AcceptedChanges {
        self.write_endpoint(id, Some(serde_json::to_string(endpoint).unwrap().into()))
    }

    pub fn remove_endpoint(self, id: &str) -> AcceptedChanges {
        self.write_endpoint(id, None)
    }

    fn write_endpoint(self, id: &str, body: Option<Arc<str>>) -> AcceptedChanges {
        self.edit(|changes| {
            let (now, fields) = (changes.now, Vec::new());
            let after = body.map(|body| NewRecord { body, data_version: 1, created_at: now, updated_at: now, fields });
            changes.records.push(RecordWrite { collection: ENDPOINTS.into(), id: id.into(), after });
        })
    }

    pub fn redeliver(self, endpoint: &str, event: &str) -> AcceptedChanges {
        let command = DeliveryCommand::Redeliver { endpoint: endpoint.into(), event: event.into() };
        self.edit(|changes| changes.deliveries.push(command))
    }

    pub fn recover(self, endpoint: &str, since: Timestamp) -> AcceptedChanges {
        let command = DeliveryCommand::Recover { endpoint: endpoint.into(), since };
        self.edit(|changes| changes.deliveries.push(command))
    }

    pub fn event(self, id: &str) -> AcceptedChanges {
        self.edit(|changes| {
            changes.events.push(Event {
                id: id.into(),
                event_type: "thing.changed".into(),
                subject: "thing".into(),
                body: "{}".into(),
                only: None,
                hops: 0,
            });
        })
    }
}

pub fn batch(id: &str, changes: Vec<AcceptedChanges>) -> Batch {
    let last_version = changes.iter().map(|change| change.version).max().unwrap_or(0);
    Batch { id: id.into(), at: 5_000, changes, last_version }
}
