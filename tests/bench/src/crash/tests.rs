//! The witness is tried on databases that were spoiled on purpose: it must see each kind of loss.

use std::path::PathBuf;

use super::*;

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

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// Three acknowledged changes, then whatever happened to the file.
    async fn spoiled_by(statement: &str) -> Scene {
        let scene = Scene { folder: tempfile::tempdir().unwrap() };
        scene.execute(TABLES).await;
        scene.execute(statement).await;
        scene
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("tenon.db")
    }

    async fn execute(&self, statement: &str) {
        let options = SqliteConnectOptions::new().filename(self.file()).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn verdict(&self, acknowledged: u64) -> Result<(), String> {
        let actor = Actor { driver: "driver_a".to_owned(), position: acknowledged, in_doubt: false };
        Witness::default().check(&self.file(), &[actor]).await.map_err(|error| error.to_string())
    }
}

#[tokio::test]
async fn what_was_acknowledged_and_is_there_holds() {
    assert_eq!(Scene::spoiled_by("").await.verdict(3).await, Ok(()));
}

#[tokio::test]
async fn acknowledged_change_that_is_missing_is_seen() {
    assert!(Scene::spoiled_by("").await.verdict(4).await.unwrap_err().contains("events up to 3"));
}

#[tokio::test]
async fn older_record_is_seen() {
    let scene = Scene::spoiled_by("UPDATE fleet_drivers SET body = '{\"latitude\":0.000002}'").await;
    assert!(scene.verdict(3).await.unwrap_err().contains("the record stands at 2"));
}

#[tokio::test]
async fn missing_event_is_seen() {
    let scene = Scene::spoiled_by("DELETE FROM events WHERE seq = 3").await;
    assert!(scene.verdict(3).await.unwrap_err().contains("an event of position 3 after one of 1"));
}

#[tokio::test]
async fn change_that_was_applied_twice_is_seen() {
    let twice = "INSERT INTO events SELECT 9, type, subject, body FROM events WHERE seq = 4";
    assert!(Scene::spoiled_by(twice).await.verdict(3).await.unwrap_err().contains("position 3 after one of 3"));
}

#[tokio::test]
async fn event_that_vanished_after_it_was_read_is_seen() {
    let scene = Scene::spoiled_by("").await;
    let actor = [Actor { driver: "driver_a".to_owned(), position: 3, in_doubt: false }];
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

#[test]
fn kills_are_spread_over_the_whole_range() {
    let delays: Vec<u64> = (0..100).map(|round| kill_after((50, 2_000), round).as_millis() as u64).collect();
    assert!(delays.iter().all(|ms| (50..2_000).contains(ms)));
    assert!(delays.windows(2).all(|pair| pair[0] != pair[1]));
}
