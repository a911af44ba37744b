//! The bank's own system is notified of the outcome of the payments that it decides about (docs/clearing.md).

use serde_json::{Value, json};
use tenon::db::apply::Failpoint;

use super::{
    coverage::Side::Bank,
    messages::{ACCOUNT, AUTHORISE, AUTHORISE_SYNC, COMPLETE, DEBIT, TRANSFER, UETR, message, minimal, uetr},
    stage::Stage,
};
use crate::support::{ReceivedRequest, ReceiverResponse};

const OUTCOMES: &str = "/core/outcomes";
const BANK_DECIDES: &str = "decide = \"ask\"";

fn decision(outcome: &str) -> ReceiverResponse {
    ReceiverResponse::Json(
        200,
        json!({"transaction_status": outcome, "status_reason": "AC06", "account_number": ACCOUNT}),
    )
}

impl Stage {
    async fn bank_deciding() -> Stage {
        let stage = Stage::bank(BANK_DECIDES).await;
        stage.peer.respond_at("/core/decisions", decision("APPROVED"));
        stage
    }

    async fn take(&self, path: &str, changes: Value) {
        self.to_bank.post(path, message(path, changes)).await.check(202);
        self.rest().await;
    }

    fn outcomes(&self) -> Vec<ReceivedRequest> {
        let arrived = self.peer.received().into_iter();
        arrived.filter(|arrived| arrived.line.ends_with(OUTCOMES)).collect()
    }

    /// Tasks that wait for an operator.
    async fn given_up(&self) -> Vec<String> {
        let page = self.host.operator().get("/v1/tasks?kind=timer&given_up=true").await.expect(200).json();
        let entries = page["entries"].as_array().expect("a list");
        entries.iter().map(|entry| entry["id"].as_str().expect("an id").to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pending_completion_releases_nothing_and_the_final_one_is_applied() {
    for (last, account) in [("APPROVED", "customer/62001234567"), ("REJECTED", "settlement/ZA_RTC")] {
        let stage = Stage::bank_deciding().await;
        stage.take(AUTHORISE, json!({})).await;
        for _ in 0..2 {
            stage.take(COMPLETE, json!({"transaction_status": "PENDING"})).await;
            let shown = stage.bank.transaction(UETR).await;
            assert_eq!((&shown["state"], &shown["completion"]), (&json!("approved"), &Value::Null));
            assert_eq!(stage.books().await["held/62001234567"], 10_050, "the hold stays");
            assert_eq!(stage.outcomes().len(), 0);
        }
        stage.take(COMPLETE, json!({"transaction_status": last})).await;
        let books = stage.books().await;
        assert_eq!(books.get("held/62001234567"), None);
        assert_eq!(books.contains_key(account), last == "APPROVED", "{books:?}");
        // It comes late and does not change the final outcome.
        stage.take(COMPLETE, json!({"transaction_status": "PENDING"})).await;
        let shown = stage.bank.transaction(UETR).await;
        assert_eq!(shown["completion"]["transaction_status"], last);
        assert_eq!(stage.outcomes().len(), 1);
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bank_is_notified_of_each_final_outcome_with_an_idempotency_key() {
    let stage = Stage::bank_deciding().await;
    stage.take(AUTHORISE, json!({"uetr": uetr(1)})).await;
    stage.take(AUTHORISE, json!({"uetr": uetr(2)})).await;
    assert_eq!(stage.outcomes().len(), 0, "an approval is not final");
    stage.take(COMPLETE, json!({"uetr": uetr(1)})).await;
    stage.take(COMPLETE, json!({"uetr": uetr(2), "transaction_status": "REJECTED", "status_reason": "AB01"})).await;
    stage.take(TRANSFER, json!({"uetr": uetr(3)})).await;
    stage.take(DEBIT, json!({"uetr": uetr(4)})).await;
    stage.peer.respond_at("/core/decisions", decision("REJECTED"));
    stage.take(DEBIT, json!({"uetr": uetr(5)})).await;
    let expected = [
        (1, "post", json!("2026-05-07"), Value::Null, json!(ACCOUNT)),
        (2, "release", json!("2026-05-07"), json!("AB01"), json!(ACCOUNT)),
        (3, "post", Value::Null, Value::Null, json!(ACCOUNT)),
        (4, "post", Value::Null, Value::Null, json!(ACCOUNT)),
        (5, "release", Value::Null, json!("AC06"), Value::Null),
    ];
    let arrived = stage.outcomes();
    assert_eq!(arrived.len(), expected.len());
    for (arrived, (number, outcome, date, reason, account)) in arrived.iter().zip(expected) {
        let (uetr, body) = (uetr(number), arrived.json());
        assert_eq!(arrived.header("idempotency-key"), format!("bank-notified:bank/test:{outcome}:{uetr}"));
        assert_eq!((&body["uetr"], &body["outcome"]), (&json!(uetr), &json!(outcome)));
        assert_eq!((&body["settlement_date"], &body["status_reason"]), (&date, &reason), "{number}");
        assert_eq!((&body["account_number"], &body["bank_settlement_amount_value"]), (&account, &json!(100.50)));
        assert_eq!(stage.bank.transaction(&uetr).await["bank_notification"], "delivered");
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notification_survives_a_restart_and_is_repeated_unchanged() {
    let stage = Stage::bank_deciding().await;
    stage.peer.respond_at(OUTCOMES, ReceiverResponse::Status(503));
    stage.take(DEBIT, json!({})).await;
    assert_eq!(stage.bank.transaction(UETR).await["bank_notification"], "underway");
    let stage = stage.reopen(|| ()).await;
    stage.peer.respond_at(OUTCOMES, ReceiverResponse::Status(200));
    stage.pass_ms(1_000).await;
    stage.until(Bank, UETR, "bank_notification", "delivered").await;
    let arrived = stage.outcomes();
    assert!(arrived.len() >= 2);
    for again in &arrived[1..] {
        assert_eq!(
            (again.json(), again.header("idempotency-key")),
            (arrived[0].json(), arrived[0].header("idempotency-key"))
        );
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn undelivered_notification_ends_on_the_operators_list() {
    let stage = Stage::bank_deciding().await;
    stage.peer.respond_at(OUTCOMES, ReceiverResponse::Status(503));
    stage.take(DEBIT, json!({})).await;
    assert_eq!(stage.concerned(Bank, "undelivered").await, 0);
    // The first round, and then the longest pause of the second again and again.
    for _ in 0..12 {
        stage.pass_ms(300_000).await;
    }
    assert_eq!(stage.bank.transaction(UETR).await["bank_notification"], "unreached");
    assert_eq!((stage.concerned(Bank, "undelivered").await, stage.given_up().await.len()), (json!(1), 0));
    for _ in 0..40 {
        stage.pass_ms(3_600_000).await;
    }
    assert_eq!(stage.bank.transaction(UETR).await["bank_notification"], "undelivered");
    assert_eq!(stage.given_up().await, [format!("bank-not-notified:{UETR}")]);
    let attempts = stage.outcomes().len();
    assert_eq!(attempts, 12 + 32, "two rounds");
    stage.pass_ms(86_400_000).await;
    assert_eq!(stage.outcomes().len(), attempts, "and no more");

    stage.peer.respond_at(OUTCOMES, ReceiverResponse::Status(200));
    let redelivery = format!("/v1/clearing/transactions/{UETR}/redelivery");
    stage.bank.post(&redelivery, json!({})).await.check(202);
    stage.rest().await;
    assert_eq!(stage.bank.transaction(UETR).await["bank_notification"], "delivered");
    assert_eq!((stage.concerned(Bank, "undelivered").await, stage.given_up().await.len()), (json!(0), 0));
    stage.bank.post(&redelivery, json!({})).await.check(422);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_that_is_refused_is_listed_at_once() {
    let stage = Stage::bank_deciding().await;
    stage.peer.respond_at(OUTCOMES, ReceiverResponse::Status(409));
    stage.take(DEBIT, json!({})).await;
    assert_eq!((stage.outcomes().len(), stage.concerned(Bank, "undelivered").await), (1, json!(1)));
    assert_eq!(stage.given_up().await.len(), 1);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bank_that_did_not_answer_is_notified_of_the_release() {
    let stage = Stage::bank("decide = \"ask\"\nbank-ms = 100").await;
    stage.peer.respond_at("/core/decisions", ReceiverResponse::Never);
    stage.to_bank.post(AUTHORISE, minimal(AUTHORISE)).await.check(202);
    stage.until(Bank, UETR, "bank_notification", "delivered").await;
    let body = stage.outcomes()[0].json();
    assert_eq!((&body["outcome"], &body["status_reason"]), (&json!("release"), &json!("AB05")));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synchronous_authorisation_that_is_never_answered_is_released_and_stays_rejected() {
    let stage = Stage::bank("decide = \"ask\"\n[plugins.clearing.limits]\ndeadline-ms = 1_000").await;
    stage.peer.respond_with(ReceiverResponse::Never);
    stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.check(429);
    stage.peer.respond_with(ReceiverResponse::Status(200));
    stage.rest().await;
    assert_eq!(stage.outcomes().len(), 0, "a repeat may still be approved");
    stage.pass_ms(31_000).await;
    stage.until(Bank, UETR, "bank_notification", "delivered").await;
    let (arrived, key) = (stage.outcomes(), format!("bank-notified:bank/test:release:{UETR}"));
    assert_eq!((arrived.len(), arrived[0].header("idempotency-key")), (1, &*key));
    assert_eq!((&arrived[0].json()["outcome"], &arrived[0].json()["tenant"]), (&json!("release"), &json!("bank/test")));
    stage.peer.respond_at("/core/decisions", decision("APPROVED"));
    let again = stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.expect(200).json();
    assert_eq!(again["transaction_status"], "REJECTED");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synchronous_authorisation_whose_commit_is_lost_is_released_or_decided_by_a_repeat() {
    for repeats in [false, true] {
        let stage = Stage::bank_deciding().await;
        stage.to_bank.token().await;
        stage.host.fail_next_batch(Failpoint::DuringCommitLost);
        stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.check(500);
        stage.rest().await;
        if repeats {
            let again = stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.expect(200).json();
            assert_eq!(again["transaction_status"], "APPROVED");
        }
        stage.pass_ms(31_000).await;
        stage.rest().await;
        assert_eq!(stage.outcomes().len(), usize::from(!repeats), "what is approved is not released");
        let shown = stage.bank.transaction(UETR).await;
        let expected = if repeats { ("approved", "not_due") } else { ("rejected", "delivered") };
        assert_eq!((&shown["state"], &shown["bank_notification"]), (&json!(expected.0), &json!(expected.1)));
        stage.finish().await;
    }
}

/// As plugins.toml is shipped: the bank's own system decides, and there is none.
#[tokio::test(flavor = "multi_thread")]
async fn bank_without_a_system_gets_no_request_and_no_notification() {
    let stage = Stage::bank("decide = \"ask\"\nfallback = \"rules\"").await;
    stage.bank.delete("/v1/clearing/destinations/bank").await.check(200);
    stage.take(AUTHORISE, json!({})).await;
    stage.take(COMPLETE, json!({})).await;
    let shown = stage.bank.transaction(UETR).await;
    assert_eq!((&shown["state"], &shown["bank_notification"]), (&json!("completed"), &Value::Null));
    assert_eq!((stage.concerned(Bank, "undelivered").await, stage.given_up().await.len()), (json!(0), 0));
    stage.finish().await;
}
