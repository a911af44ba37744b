//! The platform alone: schemes, times, what it does until its messages are taken, and what a partner's silence means.

use clearing::rules::{
    limits::DELIVERY_REPEATS_MS,
    scheme::{Operation, Scheme},
};
use serde_json::{Value, json};

use super::{
    coverage::Side::Hub,
    look::at_once,
    messages::{AUTHORISE, AUTHORISED, COMPLETE, DEBIT, TRANSFER, UETR, message, minimal, payment, uetr},
    stage::Stage,
};
use crate::support::ReceiverResponse;

/// Payments whose response and timeout come at once.
const RACES: u64 = 64;
const COMPLETION: &str = "/credit-transfer-completion";

impl Stage {
    async fn order(&self, path: &str, changes: Value) {
        self.hub.post("/v1/clearing/payments", payment(path, changes)).await.check(202);
        self.rest().await;
    }

    async fn at_hub(&self) -> Value {
        self.hub.transaction(UETR).await
    }

    fn attempts(&self) -> usize {
        self.peer.received().len()
    }

    async fn approve(&self) {
        self.to_hub.post(AUTHORISED, minimal(AUTHORISED)).await.check(202);
    }

    async fn settle_at_hub(&self) {
        let body = json!({"settlement_date": "2026-05-07"});
        self.hub.post(&format!("/v1/clearing/payments/{UETR}/settlement"), body).await.check(202);
        self.rest().await;
    }

    async fn redeliver(&self, expected: u16) {
        self.hub.post(&format!("/v1/clearing/transactions/{UETR}/redelivery"), json!({})).await.check(expected);
        self.rest().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_response_serves_its_own_schemes_and_no_other() {
    let stage = Stage::hub(json!({})).await.covers(&[
        "credit-transfer-authorisation-response of *",
        "credit-transfer-response of *",
        "direct-debit-response of *",
        "edge received to processing, the platform",
        "edge received to completed, the platform",
        "edge processing to approved, the platform",
    ]);
    for (at, operation) in Operation::ALL.into_iter().skip(6).enumerate() {
        for (number, scheme) in Scheme::ALL.into_iter().enumerate() {
            let path = format!("/v1{}", operation.path());
            let (uetr, served) = (uetr((at * 10 + number) as u64), operation.schemes().contains(&scheme.name()));
            if served {
                let payment = [AUTHORISE, TRANSFER, DEBIT][at];
                stage.order(payment, json!({"uetr": uetr, "payment_scheme": scheme.name()})).await;
            }
            let response = message(&path, json!({"uetr": uetr, "payment_scheme": scheme.name()}));
            let answer = stage.to_hub.post(&path, response).await;
            assert_eq!(answer.status, if served { 202 } else { 422 }, "{path} {scheme:?}: {}", answer.text());
        }
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_not_acknowledged_is_repeated_and_then_it_is_over() {
    let table = [
        (429, 4, "timed_out", json!("AB05")),
        (500, 4, "failed", Value::Null),
        (422, 1, "failed", Value::Null),
        (401, 1, "failed", Value::Null),
    ];
    for (status, attempts, state, reason) in table {
        let stage = Stage::hub(json!({})).await;
        let stage = match state {
            "failed" => stage.covers(&["edge processing to failed, the platform"]),
            _ => stage.covers(&["edge processing to timed_out, the platform"]),
        };
        stage.peer.respond_with(ReceiverResponse::Status(status));
        stage.order(AUTHORISE, json!({})).await;
        for _ in 0..3 {
            stage.pass_ms(1_000).await;
        }
        let shown = stage.at_hub().await;
        assert_eq!((&shown["state"], &shown["status_reason"]), (&json!(state), &reason), "{status}");
        assert_eq!((stage.attempts(), shown["received"].clone()), (attempts, json!(false)), "{status}");
        // What comes now is too late, whatever it says.
        stage.to_hub.post(AUTHORISED, minimal(AUTHORISED)).await.check(422);
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partner_that_says_nothing_within_a_second_is_asked_again() {
    let stage = Stage::hub(json!({})).await;
    stage.peer.respond_with(ReceiverResponse::Never);
    stage.order(AUTHORISE, json!({})).await;
    stage.peer.respond_with(ReceiverResponse::Status(202));
    assert_eq!((stage.attempts(), stage.at_hub().await["received"].clone()), (1, json!(false)));
    stage.pass_ms(1_000).await;
    assert_eq!((stage.attempts(), stage.at_hub().await["received"].clone()), (2, json!(true)));
    let arrived = stage.peer.received();
    assert_eq!(arrived[0].body, arrived[1].body);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_wins_until_the_last_millisecond_and_the_timeout_from_then_on() {
    for (scheme, due_ms) in [("ZA_RPP", 10_000), ("ZA_RTC", 60_000)] {
        let stage = Stage::hub(json!({})).await;
        for number in [1, 2] {
            stage.order(AUTHORISE, json!({"uetr": uetr(number), "payment_scheme": scheme})).await;
        }
        stage.pass_ms(due_ms - 1).await;
        stage.to_hub.post(AUTHORISED, message(AUTHORISED, json!({"uetr": uetr(1)}))).await.check(202);
        // From here on nobody waits for the timer: the time itself decides.
        stage.advance_ms(1);
        let late = stage.to_hub.post(AUTHORISED, message(AUTHORISED, json!({"uetr": uetr(2)}))).await.expect(422);
        assert_eq!(late.text_at("/detail"), "The time of the scheme is over.");
        stage.rest().await;
        let (first, second) = (stage.hub.transaction(&uetr(1)).await, stage.hub.transaction(&uetr(2)).await);
        assert_eq!((&first["state"], &first["overdue"]), (&json!("approved"), &json!(true)));
        assert_eq!((&second["state"], &second["status_reason"]), (&json!("timed_out"), &json!("AB05")));
        stage.to_hub.post(AUTHORISED, message(AUTHORISED, json!({"uetr": uetr(1)}))).await.check(202);
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_and_a_timeout_that_come_at_once_leave_one_that_stands() {
    let stage = Stage::hub(json!({})).await;
    at_once((0..RACES).map(|number| stage.order(AUTHORISE, json!({"uetr": uetr(number)})))).await;
    stage.pass_ms(59_999).await;
    stage.to_hub.token().await;
    let responses = (0..RACES).map(async |number| {
        // In the middle of them the time is over.
        if number == RACES / 2 {
            stage.advance_ms(1);
        }
        stage.to_hub.post(AUTHORISED, message(AUTHORISED, json!({"uetr": uetr(number)}))).await.status
    });
    let answers = at_once(responses).await;
    stage.rest().await;
    let events = stage.host.events().await;
    for (number, status) in answers.iter().enumerate() {
        let uetr = uetr(number as u64);
        let state = stage.hub.transaction(&uetr).await["state"].clone();
        let told =
            events.iter().filter(|event| event.subject == uetr && event.event_type.ends_with("_responded")).count();
        let is_known =
            [(202, json!("approved"), 1), (422, json!("timed_out"), 0)].contains(&(*status, state.clone(), told));
        assert!(is_known, "{number}: {status}, {state}, {told}");
    }
    assert!(answers.contains(&202) && answers.contains(&422), "{answers:?}");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_and_a_timeout_never_both_win_over_a_restart() {
    let stage = Stage::hub(json!({})).await;
    for number in [1, 2] {
        stage.order(AUTHORISE, json!({"uetr": uetr(number)})).await;
    }
    stage.pass_ms(59_999).await;
    stage.to_hub.post(AUTHORISED, message(AUTHORISED, json!({"uetr": uetr(1)}))).await.check(202);
    let clock = stage.host.clock.clone();
    let stage = stage.reopen(|| clock.advance(1)).await;
    for (number, expected) in [(1, 202), (2, 422)] {
        stage.to_hub.post(AUTHORISED, message(AUTHORISED, json!({"uetr": uetr(number)}))).await.check(expected);
    }
    stage.rest().await;
    assert_eq!(stage.hub.transaction(&uetr(1)).await["state"], "approved");
    assert_eq!(stage.hub.transaction(&uetr(2)).await["state"], "timed_out");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_that_is_not_resolved_within_ten_seconds_times_the_payment_out() {
    let stage = Stage::hub(json!({})).await;
    stage.peer.respond_at("/identifier-determination", ReceiverResponse::Never);
    let proxy = json!({"payment_scheme": "ZA_RPP", "creditor_account_proxy": "ada@bank"});
    stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, proxy)).await.check(202);
    stage.told("/identifier-determination", 1).await;
    stage.advance_ms(9_999);
    // What is submitted after that is through before anything is concluded from it.
    stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, json!({"uetr": uetr(2)}))).await.check(202);
    stage.told("/credit-transfer-authorisation", 1).await;
    assert_eq!(stage.at_hub().await["state"], "processing");
    stage.advance_ms(1);
    let shown = stage.until(Hub, UETR, "state", "timed_out").await;
    assert_eq!((&shown["status_reason"], &shown["stage"]), (&json!("AB01"), &json!("determination")));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_is_approved_and_not_settled_is_overdue_until_it_is() {
    let stage = Stage::hub(json!({})).await.covers(&["edge approved to completed, the platform"]);
    stage.order(AUTHORISE, json!({})).await;
    stage.approve().await;
    stage.pass_ms(59_999).await;
    assert_eq!(stage.concerned(Hub, "overdue").await, 0);
    stage.pass_ms(1).await;
    assert_eq!((&stage.at_hub().await["state"], stage.concerned(Hub, "overdue").await), (&json!("approved"), json!(1)));
    stage.settle_at_hub().await;
    assert_eq!(
        (&stage.at_hub().await["state"], stage.concerned(Hub, "overdue").await),
        (&json!("completed"), json!(0))
    );
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_is_repeated_until_it_is_taken_however_long_that_is() {
    let stage = Stage::hub(json!({})).await;
    stage.order(AUTHORISE, json!({})).await;
    stage.approve().await;
    stage.peer.respond_at(COMPLETION, ReceiverResponse::Status(500));
    stage.settle_at_hub().await;
    for pause_ms in DELIVERY_REPEATS_MS {
        stage.pass_ms(u64::from(*pause_ms)).await;
    }
    let arrived = stage.told(COMPLETION, 12).await;
    assert_eq!((arrived.len(), &stage.at_hub().await["delivery"]), (12, &json!("unreached")), "it will begin again");
    assert_eq!(stage.concerned(Hub, "undelivered").await, 1);
    assert!(arrived.iter().all(|again| again.body == arrived[0].body));
    assert_eq!(arrived[0].json()["transaction_status"], "APPROVED");
    stage.peer.respond_at(COMPLETION, ReceiverResponse::Status(202));
    stage.pass_ms(299_999).await;
    assert_eq!(stage.at_hub().await["delivery"], "unreached");
    stage.pass_ms(1).await;
    assert_eq!(stage.at_hub().await["delivery"], "delivered");
    assert_eq!(stage.concerned(Hub, "undelivered").await, 0);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_is_refused_is_listed_until_it_is_sent_again_and_taken() {
    let stage = Stage::hub(json!({})).await.covers(&["redeliver-message: 202"]);
    stage.order(AUTHORISE, json!({})).await;
    stage.approve().await;
    stage.redeliver(422).await;
    stage.peer.respond_at(COMPLETION, ReceiverResponse::Status(404));
    stage.settle_at_hub().await;
    assert_eq!(
        (&stage.at_hub().await["delivery"], stage.concerned(Hub, "undelivered").await),
        (&json!("undelivered"), json!(1))
    );
    stage.redeliver(202).await;
    assert_eq!(stage.concerned(Hub, "undelivered").await, 1, "refused again");
    stage.peer.respond_at(COMPLETION, ReceiverResponse::Status(202));
    stage.redeliver(202).await;
    assert_eq!(
        (&stage.at_hub().await["delivery"], stage.concerned(Hub, "undelivered").await),
        (&json!("delivered"), json!(0))
    );
    assert_eq!(stage.told(COMPLETE, 3).await.len(), 3);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eft_item_waits_until_it_is_taken() {
    let stage = Stage::hub(json!({})).await;
    stage.peer.respond_with(ReceiverResponse::Status(503));
    stage.order(TRANSFER, json!({})).await;
    stage.order(DEBIT, json!({"uetr": uetr(2)})).await;
    for pause_ms in DELIVERY_REPEATS_MS {
        stage.pass_ms(u64::from(*pause_ms)).await;
    }
    assert_eq!((stage.attempts(), &stage.at_hub().await["state"]), (24, &json!("received")));
    assert_eq!(stage.concerned(Hub, "undelivered").await, 2);
    stage.peer.respond_with(ReceiverResponse::Status(202));
    stage.pass_ms(300_000).await;
    assert_eq!(stage.concerned(Hub, "undelivered").await, 0);
    let (credit, debit) = (stage.at_hub().await, stage.hub.transaction(&uetr(2)).await);
    assert_eq!((&credit["state"], &credit["delivery"]), (&json!("received"), &json!("delivered")));
    assert_eq!((&debit["state"], &debit["delivery"]), (&json!("processing"), &json!("delivered")));
    stage.finish().await;
}

/// No attempt follows such an answer, so each is a round of its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_partner_that_redirects_is_asked_again_after_five_minutes_and_not_at_once() {
    let stage = Stage::hub(json!({})).await;
    stage.peer.respond_with(ReceiverResponse::Status(302));
    stage.order(DEBIT, json!({})).await;
    for rounds in 1..4 {
        assert_eq!((stage.attempts(), &stage.at_hub().await["delivery"]), (rounds, &json!("unreached")));
        stage.pass_ms(299_999).await;
        assert_eq!(stage.attempts(), rounds);
        stage.pass_ms(1).await;
    }
    assert_eq!(stage.concerned(Hub, "undelivered").await, 1);
    stage.peer.respond_with(ReceiverResponse::Status(202));
    stage.pass_ms(300_000).await;
    assert_eq!(stage.at_hub().await["delivery"], "delivered");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eft_item_that_is_refused_stands_in_the_report_until_it_is_taken() {
    let stage = Stage::hub(json!({})).await;
    stage.peer.respond_with(ReceiverResponse::Status(400));
    stage.order(TRANSFER, json!({})).await;
    stage.order(DEBIT, json!({"uetr": uetr(2)})).await;
    assert_eq!(stage.hub.transaction(&uetr(2)).await["state"], "processing");
    assert_eq!(
        (&stage.at_hub().await["state"], stage.concerned(Hub, "undelivered").await),
        (&json!("received"), json!(2))
    );
    stage.peer.respond_with(ReceiverResponse::Status(202));
    stage.redeliver(202).await;
    assert_eq!(
        (&stage.at_hub().await["state"], stage.concerned(Hub, "undelivered").await),
        (&json!("received"), json!(1))
    );
    stage.finish().await;
}
