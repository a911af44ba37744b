//! The books are tried on databases that were spoiled on purpose: each kind of loss and of doing twice must be seen.

use std::path::PathBuf;

use super::*;

const UETR: &str = "00000001-0000-4000-8000-000000000001";

struct Scene {
    folder: tempfile::TempDir,
}

impl Scene {
    /// One payment of 12.05 that went well, then what happened to the hub's file and to the bank's.
    async fn spoiled_by(hub: &str, bank: &str) -> Scene {
        let scene = Scene { folder: tempfile::tempdir().unwrap() };
        scene.write("hub", "clearing_outbound", "delivery", hub).await;
        scene.write("bank", "clearing_inbound", "response", bank).await;
        scene
    }

    fn file(&self, side: &str) -> PathBuf {
        self.folder.path().join(side)
    }

    async fn write(&self, side: &str, table: &str, delivery: &str, then: &str) {
        let history = r#"[{"to":"processing"},{"event":"noted"},{"to":"approved"},{"to":"completed"}]"#;
        let body = format!(
            "{{\"transaction\":{{\"state\":\"completed\",\"{delivery}\":\"delivered\",\"history\":{history},\
             \"message\":{{\"bank_settlement_amount_value\":12.05}}}}}}"
        );
        let statements = format!(
            "CREATE TABLE events (type TEXT, subject TEXT);
             CREATE TABLE balances (account TEXT, amount TEXT);
             CREATE TABLE transfers (id TEXT);
             CREATE TABLE {table} (id TEXT PRIMARY KEY, body TEXT);
             INSERT INTO {table} VALUES ('{UETR}', '{body}');
             INSERT INTO events VALUES ('completed', '{UETR}'), ('responded', '{UETR}');
             INSERT INTO balances VALUES ('settlement/ZA_RTC', '-1205'), ('held/1', '0'), ('customer/1', '1205');
             INSERT INTO transfers VALUES ('hold'), ('book');
             {then}"
        );
        let options = SqliteConnectOptions::new().filename(self.file(side)).create_if_missing(true);
        let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection).await.unwrap();
        connection.close().await.unwrap();
    }

    async fn verdict(&self) -> Result<Ends, String> {
        let books = Books::read_files(&self.file("hub"), &self.file("bank")).await;
        let ends = books.and_then(|books| books.check([UETR.to_owned()].into_iter()));
        ends.map_err(|error| format!("{error:#}"))
    }
}

fn set(table: &str, member: &str, value: &str) -> String {
    format!("UPDATE {table} SET body = json_set(body, '$.transaction.{member}', '{value}')")
}

#[tokio::test]
async fn payment_that_both_sides_completed_holds() {
    let ends = Scene::spoiled_by("", "").await.verdict().await;
    assert_eq!(ends, Ok(Ends { completed: 1, ..Ends::default() }));
}

#[tokio::test]
async fn payment_that_timed_out_is_nothing_at_the_bank_or_is_listed_there() {
    let timed_out = set("clearing_outbound", "state", "timed_out");
    let nothing = "DELETE FROM clearing_inbound; DELETE FROM transfers; DELETE FROM balances";
    let ends = Scene::spoiled_by(&timed_out, nothing).await.verdict().await;
    assert_eq!(ends, Ok(Ends { timed_out: 1, ..Ends::default() }));
    let (approved, listed) =
        (set("clearing_inbound", "state", "approved"), set("clearing_inbound", "response", "undelivered"));
    let held =
        "UPDATE balances SET account = 'held/1' WHERE account = 'customer/1'; DELETE FROM transfers WHERE id = 'book'";
    let ends = Scene::spoiled_by(&timed_out, &format!("{approved}; {listed}; {held}")).await.verdict().await;
    assert_eq!(ends, Ok(Ends { timed_out: 1, listed: 1, ..Ends::default() }));
}

#[tokio::test]
async fn whatever_does_not_fit_is_seen() {
    let table = [
        ("DELETE FROM clearing_outbound".to_owned(), String::new(), "does not know it"),
        (String::new(), "DELETE FROM clearing_inbound".to_owned(), "the ends do not fit"),
        (String::new(), set("clearing_inbound", "state", "approved"), "the ends do not fit"),
        (String::new(), set("clearing_inbound", "response", "undelivered"), "the ends do not fit"),
        (set("clearing_outbound", "delivery", "undelivered"), String::new(), "not noted as delivered"),
        (set("clearing_outbound", "message.bank_settlement_amount_value", "12.06"), String::new(), "amounts differ"),
        (String::new(), set("clearing_inbound", "history[2].to", "completed"), "entered a state 2 times"),
        (format!("INSERT INTO events VALUES ('completed', '{UETR}')"), String::new(), "told 2 times"),
        (String::new(), "UPDATE balances SET amount = '2410' WHERE account = 'customer/1'".to_owned(), "sum up to"),
        (String::new(), "UPDATE balances SET amount = amount * 2".to_owned(), "customers got 2410"),
        (String::new(), "INSERT INTO transfers VALUES ('twice')".to_owned(), "3 postings"),
    ];
    for (hub, bank, expected) in table {
        let verdict = Scene::spoiled_by(&hub, &bank).await.verdict().await.unwrap_err();
        assert!(verdict.contains(expected), "{hub} {bank}: {verdict}");
    }
}
