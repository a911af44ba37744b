//! Tests of the reconciliation on databases that are corrupted on purpose: it must detect each kind of loss and of
//! repetition.

use std::path::PathBuf;

use super::*;

const UETR: &str = "00000001-0000-4000-8000-000000000001";

struct TestDatabases {
    folder: tempfile::TempDir,
}

impl TestDatabases {
    /// Creates databases with one completed payment of 12.05, then executes a statement on each that corrupts it.
    async fn corrupted_by(hub: &str, bank: &str) -> TestDatabases {
        let databases = TestDatabases { folder: tempfile::tempdir().unwrap() };
        databases.write("hub", "clearing_outbound", "delivery", hub).await;
        databases.write("bank", "clearing_inbound", "response", bank).await;
        databases
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

    async fn check(&self) -> Result<ResultCounts, String> {
        let reconciliation = Reconciliation::read_files(&self.file("hub"), &self.file("bank")).await;
        let results = reconciliation.and_then(|reconciliation| reconciliation.check([UETR.to_owned()].into_iter()));
        results.map_err(|error| format!("{error:#}"))
    }
}

fn set(table: &str, member: &str, value: &str) -> String {
    format!("UPDATE {table} SET body = json_set(body, '$.transaction.{member}', '{value}')")
}

#[tokio::test]
async fn payment_completed_on_both_sides_passes() {
    let results = TestDatabases::corrupted_by("", "").await.check().await;
    assert_eq!(results, Ok(ResultCounts { completed: 1, ..ResultCounts::default() }));
}

#[tokio::test]
async fn timed_out_payment_is_absent_or_undelivered_at_the_bank() {
    let timed_out = set("clearing_outbound", "state", "timed_out");
    let nothing = "DELETE FROM clearing_inbound; DELETE FROM transfers; DELETE FROM balances";
    let results = TestDatabases::corrupted_by(&timed_out, nothing).await.check().await;
    assert_eq!(results, Ok(ResultCounts { timed_out: 1, ..ResultCounts::default() }));
    let (approved, undelivered) =
        (set("clearing_inbound", "state", "approved"), set("clearing_inbound", "response", "undelivered"));
    let held =
        "UPDATE balances SET account = 'held/1' WHERE account = 'customer/1'; DELETE FROM transfers WHERE id = 'book'";
    let results =
        TestDatabases::corrupted_by(&timed_out, &format!("{approved}; {undelivered}; {held}")).await.check().await;
    assert_eq!(results, Ok(ResultCounts { timed_out: 1, undelivered: 1, ..ResultCounts::default() }));
}

#[tokio::test]
async fn mismatches_are_detected() {
    let table = [
        ("DELETE FROM clearing_outbound".to_owned(), String::new(), "is missing at the hub"),
        (String::new(), "DELETE FROM clearing_inbound".to_owned(), "the results do not match"),
        (String::new(), set("clearing_inbound", "state", "approved"), "the results do not match"),
        (String::new(), set("clearing_inbound", "response", "undelivered"), "the results do not match"),
        (set("clearing_outbound", "delivery", "undelivered"), String::new(), "not recorded as delivered"),
        (set("clearing_outbound", "message.bank_settlement_amount_value", "12.06"), String::new(), "amounts differ"),
        (String::new(), set("clearing_inbound", "history[2].to", "completed"), "entered a state 2 times"),
        (format!("INSERT INTO events VALUES ('completed', '{UETR}')"), String::new(), "emitted 2 times"),
        (String::new(), "UPDATE balances SET amount = '2410' WHERE account = 'customer/1'".to_owned(), "sum up to"),
        (String::new(), "UPDATE balances SET amount = amount * 2".to_owned(), "customers got 2410"),
        (String::new(), "INSERT INTO transfers VALUES ('twice')".to_owned(), "3 postings"),
    ];
    for (hub, bank, expected) in table {
        let error = TestDatabases::corrupted_by(&hub, &bank).await.check().await.unwrap_err();
        assert!(error.contains(expected), "{hub} {bank}: {error}");
    }
}
