//! The witness is tried on databases that were spoiled on purpose: it must see each kind of loss.

use super::*;
use crate::crash::tests::Scene;

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

/// Three acknowledged changes, then whatever happened to the file.
async fn spoiled_by(statement: &str) -> Scene {
    Scene::spoiled_by(TABLES, statement).await
}

async fn verdict(scene: &Scene, acknowledged: u64) -> Result<(), String> {
    let actor = Actor { position: acknowledged, ..Actor::new("driver_a".to_owned(), track) };
    Witness::default().check(&scene.file(), &[actor]).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn what_was_acknowledged_and_is_there_holds() {
    assert_eq!(verdict(&spoiled_by("").await, 3).await, Ok(()));
}

#[tokio::test]
async fn acknowledged_change_that_is_missing_is_seen() {
    assert!(verdict(&spoiled_by("").await, 4).await.unwrap_err().contains("events up to 3"));
}

#[tokio::test]
async fn older_record_is_seen() {
    let scene = spoiled_by("UPDATE fleet_drivers SET body = '{\"latitude\":0.000002}'").await;
    assert!(verdict(&scene, 3).await.unwrap_err().contains("the record stands at 2"));
}

#[tokio::test]
async fn missing_event_is_seen() {
    let scene = spoiled_by("DELETE FROM events WHERE seq = 3").await;
    assert!(verdict(&scene, 3).await.unwrap_err().contains("an event of position 3 after one of 1"));
}

#[tokio::test]
async fn change_that_was_applied_twice_is_seen() {
    let twice = "INSERT INTO events SELECT 9, type, subject, body FROM events WHERE seq = 4";
    assert!(verdict(&spoiled_by(twice).await, 3).await.unwrap_err().contains("position 3 after one of 3"));
}

#[tokio::test]
async fn event_that_vanished_after_it_was_read_is_seen() {
    let scene = spoiled_by("").await;
    let actor = [Actor { position: 3, ..Actor::new("driver_a".to_owned(), track) }];
    let mut witness = Witness::default();
    witness.check(&scene.file(), &actor).await.unwrap();
    scene.execute("DELETE FROM events WHERE seq = 2").await;
    let error = witness.check(&scene.file(), &actor).await.unwrap_err();
    assert!(error.to_string().contains("2 events for 3 acknowledged changes"));
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
