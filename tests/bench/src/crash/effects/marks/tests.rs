//! Tests of the marks on databases that are corrupted on purpose: they must detect each kind of loss.

use serde_json::json;

use super::*;
use crate::{
    crash::{effects::effect, tests::TestDatabase},
    receiver::ReceivedRequest,
};

/// Effect 3 of actor "a" is the third acknowledged one. It is due 111 ms after its request and may be given up.
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

/// Returns a bank that has accepted the calls of the effects 1 and 2, and `more`.
fn bank(more: &[&str]) -> Bank {
    let mut bank = Bank::default();
    for id in ["a-1-called", "a-2-called", "a-1-called"].iter().chain(more) {
        let (key, body) = (format!("called:{id}"), json!({ "id": id }).to_string());
        bank.receive(&ReceivedRequest { endpoint: 0, id: "", key: &key, head: "", body: body.as_bytes() });
    }
    bank
}

async fn read(statement: &str) -> anyhow::Result<Marks> {
    let database = TestDatabase::corrupted_by(TABLES, statement).await;
    let mut marks = Marks::default();
    marks.read(&database.file()).await?;
    marks.check_records(&database.file()).await?;
    Ok(marks)
}

/// Checks a database with three acknowledged effects.
async fn check(statement: &str, bank: &Bank) -> Result<OutcomeCounts, String> {
    let actor = Actor { position: 3, ..Actor::new("a".to_owned(), effect) };
    let outcomes = read(statement).await.and_then(|marks| marks.check(&[actor], bank));
    outcomes.map_err(|error| error.to_string())
}

async fn violation(statement: &str, bank: &Bank) -> String {
    check(statement, bank).await.unwrap_err()
}

#[tokio::test]
async fn acknowledged_effects_that_happened_once_pass() {
    let outcomes = OutcomeCounts { answered: 2, not_sent: 1, unknown: 0 };
    assert_eq!(check("", &bank(&[])).await, Ok(outcomes));
    assert!(read("").await.unwrap().is_complete());
}

#[tokio::test]
async fn missing_effect_is_detected() {
    let lost = "DELETE FROM events WHERE subject = 'a-2'; DELETE FROM clockwork_marks WHERE id = 'a-2'";
    assert!(violation(lost, &bank(&[])).await.contains("a-2 was acknowledged"));
}

#[tokio::test]
async fn missing_task_or_outcome_is_incomplete() {
    for id in ["a-2-rang", "a-2-called"] {
        let lost = format!("DELETE FROM events WHERE subject = '{id}'; DELETE FROM clockwork_marks WHERE id = '{id}'");
        assert!(!read(&lost).await.unwrap().is_complete());
        assert!(check(&lost, &bank(&[])).await.is_ok());
    }
}

#[tokio::test]
async fn repeated_mark_is_detected() {
    let twice = r#"INSERT INTO events VALUES (10, 'marked', 'a-1-rang', '{"count":2,"what":{},"at":900}')"#;
    assert!(violation(twice, &bank(&[])).await.contains("a-1-rang happened more than once"));
    let again = "INSERT INTO events SELECT 10, type, subject, body FROM events WHERE seq = 2";
    assert!(violation(again, &bank(&[])).await.contains("two events"));
    let silent = r#"UPDATE clockwork_marks SET body = '{"count":2}' WHERE id = 'a-1'"#;
    assert!(violation(silent, &bank(&[])).await.contains("8 of them written once"));
}

#[tokio::test]
async fn early_task_is_detected() {
    let early = r#"UPDATE events SET body = '{"count":1,"what":{},"at":810}' WHERE seq = 8"#;
    assert!(violation(early, &bank(&[])).await.contains("was due at 811 and ran at 810"));
}

#[tokio::test]
async fn received_call_reported_as_not_sent_is_detected() {
    assert!(violation("", &bank(&["a-3-called"])).await.contains("not sent, and arrived"));
}

#[tokio::test]
async fn call_wrongly_reported_as_accepted_is_detected() {
    assert!(violation("", &Bank::default()).await.contains("accepted, and was not"));
}

#[tokio::test]
async fn only_a_call_with_a_deadline_may_end_without_a_response() {
    for outcome in [json!({ "unknown": "timeout" }), json!({ "not-sent": "refused" }), json!({ "answered": 503 })] {
        let body = json!({ "count": 1, "what": outcome, "at": 620 });
        let given_up = format!("UPDATE events SET body = '{body}' WHERE seq = 6");
        assert!(violation(&given_up, &bank(&[])).await.contains("had time to be accepted"));
    }
}
