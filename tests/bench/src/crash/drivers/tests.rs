//! Tests of the event checker on databases that are corrupted on purpose: it must detect each kind of loss.

use super::*;
use crate::crash::tests::TestDatabase;

const TABLES: &str = "
CREATE TABLE events (seq INTEGER PRIMARY KEY, type TEXT, subject TEXT, body TEXT);
CREATE TABLE fleet_drivers (id TEXT PRIMARY KEY, body TEXT);
INSERT INTO fleet_drivers VALUES ('driver_a', '{\"latitude\":0.000003}');
INSERT INTO events VALUES
    (1, 'driver.created', 'driver_a', '{}'),
    (2, 'driver.location_changed', 'driver_a', '{\"data\":{\"latitude\":0.000001}}'),
    (3, 'driver.location_changed', 'driver_a', '{\"data\":{\"latitude\":0.000002}}'),
    (4, 'driver.location_changed', 'driver_a', '{\"data\":{\"latitude\":0.000003}}');
";

/// Creates a database with three acknowledged changes, then executes a statement that corrupts it.
async fn corrupted_by(statement: &str) -> TestDatabase {
    TestDatabase::corrupted_by(TABLES, statement).await
}

async fn check(database: &TestDatabase, acknowledged: u64) -> Result<(), String> {
    let actor = Actor { position: acknowledged, ..Actor::new("driver_a".to_owned(), track) };
    EventChecker::default().check(&database.file(), &[actor]).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn stored_acknowledged_changes_pass() {
    assert_eq!(check(&corrupted_by("").await, 3).await, Ok(()));
}

#[tokio::test]
async fn missing_acknowledged_change_is_detected() {
    assert!(check(&corrupted_by("").await, 4).await.unwrap_err().contains("events up to 3"));
}

#[tokio::test]
async fn older_record_is_detected() {
    let database = corrupted_by("UPDATE fleet_drivers SET body = '{\"latitude\":0.000002}'").await;
    assert!(check(&database, 3).await.unwrap_err().contains("the record is at 2"));
}

#[tokio::test]
async fn missing_event_is_detected() {
    let database = corrupted_by("DELETE FROM events WHERE seq = 3").await;
    assert!(check(&database, 3).await.unwrap_err().contains("an event of position 3 after one of 1"));
}

#[tokio::test]
async fn change_that_was_applied_twice_is_detected() {
    let twice = "INSERT INTO events SELECT 9, type, subject, body FROM events WHERE seq = 4";
    assert!(check(&corrupted_by(twice).await, 3).await.unwrap_err().contains("position 3 after one of 3"));
}

#[tokio::test]
async fn event_deleted_after_it_was_read_is_detected() {
    let database = corrupted_by("").await;
    let actor = [Actor { position: 3, ..Actor::new("driver_a".to_owned(), track) }];
    let mut checker = EventChecker::default();
    checker.check(&database.file(), &actor).await.unwrap();
    database.execute("DELETE FROM events WHERE seq = 2").await;
    let error = checker.check(&database.file(), &actor).await.unwrap_err();
    assert!(error.to_string().contains("2 events for 3 acknowledged changes"));
}

#[tokio::test]
async fn oldest_events_that_retention_deleted_after_they_were_read_pass() {
    let database = corrupted_by("").await;
    let actor = [Actor { position: 3, ..Actor::new("driver_a".to_owned(), track) }];
    let mut checker = EventChecker::default();
    checker.check(&database.file(), &actor).await.unwrap();
    database.execute("DELETE FROM events WHERE seq <= 2").await;
    checker.check(&database.file(), &actor).await.unwrap();
}

#[test]
fn position_survives_json() {
    for position in [1, 2, 999_999, 1_234_567, 89_999_999] {
        let text = json!({ "latitude": latitude(position) }).to_string();
        assert_eq!(serde_json::from_str(&text).ok().as_ref().and_then(position_of), Some(position));
        let text = json!({ "location": { "coordinates": [8.5, latitude(position)] } });
        assert_eq!(position_of(&text), Some(position));
    }
}
