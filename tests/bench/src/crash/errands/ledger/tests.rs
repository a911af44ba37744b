//! The ledger is tried on databases that were spoiled on purpose: it must see each kind of loss.

use serde_json::json;

use super::*;
use crate::{
    crash::{errands::errand, tests::Scene},
    receiver::Post,
};

/// Errand 3 of actor "a", the third one that was acknowledged: due 111 ms after it was asked for, and may be given up.
const TABLES: &str = r#"
CREATE TABLE events (seq INTEGER PRIMARY KEY, type TEXT, subject TEXT, body TEXT);
CREATE TABLE clockwork_marks (id TEXT PRIMARY KEY, body TEXT);
INSERT INTO events VALUES
    (1, 'marked', 'a-1', '{"count":1,"what":"asked","at":500}'),
    (2, 'marked', 'a-1-rang', '{"count":1,"what":{},"at":537}'),
    (3, 'marked', 'a-1-called', '{"count":1,"what":{"answered":200},"at":520}'),
    (4, 'marked', 'a-2', '{"count":1,"what":"asked","at":600}'),
    (5, 'marked', 'a-2-rang', '{"count":1,"what":{},"at":900}'),
    (6, 'marked', 'a-2-called', '{"count":1,"what":{"answered":200},"at":620}'),
    (7, 'marked', 'a-3', '{"count":1,"what":"asked","at":700}'),
    (8, 'marked', 'a-3-rang', '{"count":1,"what":{},"at":811}'),
    (9, 'marked', 'a-3-called', '{"count":1,"what":{"not-sent":"given up"},"at":1010}');
INSERT INTO clockwork_marks SELECT subject, body FROM events;
"#;

/// That has accepted the calls of the errands 1 and 2.
fn bank(more: &[&str]) -> Bank {
    let mut bank = Bank::default();
    for id in ["a-1-called", "a-2-called", "a-1-called"].iter().chain(more) {
        let (key, body) = (format!("called:{id}"), json!({ "id": id }).to_string());
        bank.receive(&Post { endpoint: 0, id: "", key: &key, head: "", body: body.as_bytes() });
    }
    bank
}

async fn read(statement: &str) -> anyhow::Result<Ledger> {
    let scene = Scene::spoiled_by(TABLES, statement).await;
    let mut ledger = Ledger::default();
    ledger.read(&scene.file()).await?;
    ledger.check_records(&scene.file()).await?;
    Ok(ledger)
}

/// With three errands acknowledged.
async fn verdict(statement: &str, bank: &Bank) -> Result<Told, String> {
    let actor = Actor { position: 3, ..Actor::new("a".to_owned(), errand) };
    let told = read(statement).await.and_then(|ledger| ledger.check(&[actor], bank));
    told.map_err(|error| error.to_string())
}

async fn complaint(statement: &str, bank: &Bank) -> String {
    verdict(statement, bank).await.unwrap_err()
}

#[tokio::test]
async fn what_was_acknowledged_and_happened_once_holds() {
    let told = Told { answered: 2, not_sent: 1, unknown: 0 };
    assert_eq!(verdict("", &bank(&[])).await, Ok(told));
    assert!(read("").await.unwrap().is_complete());
}

#[tokio::test]
async fn errand_that_is_missing_is_seen() {
    let lost = "DELETE FROM events WHERE subject = 'a-2'; DELETE FROM clockwork_marks WHERE id = 'a-2'";
    assert!(complaint(lost, &bank(&[])).await.contains("a-2 was acknowledged"));
}

#[tokio::test]
async fn task_or_outcome_that_is_missing_is_waited_for() {
    for id in ["a-2-rang", "a-2-called"] {
        let lost = format!("DELETE FROM events WHERE subject = '{id}'; DELETE FROM clockwork_marks WHERE id = '{id}'");
        assert!(!read(&lost).await.unwrap().is_complete());
        assert!(verdict(&lost, &bank(&[])).await.is_ok());
    }
}

#[tokio::test]
async fn what_happened_twice_is_seen() {
    let twice = r#"INSERT INTO events VALUES (10, 'marked', 'a-1-rang', '{"count":2,"what":{},"at":900}')"#;
    assert!(complaint(twice, &bank(&[])).await.contains("a-1-rang happened more than once"));
    let again = "INSERT INTO events SELECT 10, type, subject, body FROM events WHERE seq = 2";
    assert!(complaint(again, &bank(&[])).await.contains("two events"));
    let silent = r#"UPDATE clockwork_marks SET body = '{"count":2}' WHERE id = 'a-1'"#;
    assert!(complaint(silent, &bank(&[])).await.contains("8 of them written once"));
}

#[tokio::test]
async fn task_that_ran_early_is_seen() {
    let early = r#"UPDATE events SET body = '{"count":1,"what":{},"at":810}' WHERE seq = 8"#;
    assert!(complaint(early, &bank(&[])).await.contains("was due at 811 and ran at 810"));
}

#[tokio::test]
async fn call_that_arrived_and_is_told_to_be_not_sent_is_seen() {
    assert!(complaint("", &bank(&["a-3-called"])).await.contains("not sent, and arrived"));
}

#[tokio::test]
async fn call_that_is_told_to_be_accepted_and_never_was_is_seen() {
    assert!(complaint("", &Bank::default()).await.contains("accepted, and was not"));
}

#[tokio::test]
async fn only_a_call_that_may_be_given_up_ends_without_an_answer() {
    for outcome in [json!({ "unknown": "timeout" }), json!({ "not-sent": "refused" }), json!({ "answered": 503 })] {
        let body = json!({ "count": 1, "what": outcome, "at": 620 });
        let given_up = format!("UPDATE events SET body = '{body}' WHERE seq = 6");
        assert!(complaint(&given_up, &bank(&[])).await.contains("had time to be accepted"));
    }
}
