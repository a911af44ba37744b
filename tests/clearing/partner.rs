//! The partner alone: schemes, times, what it does until its responses are taken, and the bank's own system.

use std::fs;

use clearing::rules::{
    limits::{DELIVERY_REPEATS_MS, LATER_REPEATS_MS},
    scheme::{Operation, Scheme},
};
use serde_json::{Value, json};

use super::{
    coverage::Side::Bank,
    look::at_once,
    messages::{
        ACCOUNT, AUTHORISE, AUTHORISE_SYNC, COMPLETE, DEBIT, DETERMINE, PROXY, TRANSFER, UETR, message, minimal, uetr,
    },
    stage::Stage,
};
use crate::support::ReceiverResponse;

const ANSWER: &str = "/credit-transfer-authorisation-response";
const DECISIONS: &str = "/core/decisions";
const REDELIVERY: &str = "/v1/clearing/transactions/97ed4827-7b6f-4491-a06f-b548d5a7512d/redelivery";

/// Settings with which the decision about a payment ends in a fault, and is tried again after so long; after the last of these
/// delays it is given up.
fn unable(delays_ms: &str) -> String {
    format!("default-account = \".\"\n[plugins.clearing.tasks]\ndelays-ms = {delays_ms}")
}

impl Stage {
    async fn send(&self, path: &str, changes: Value) {
        self.to_bank.post(path, message(path, changes)).await.check(202);
        self.rest().await;
    }

    async fn at_bank(&self) -> Value {
        self.bank.transaction(UETR).await
    }

    fn answers(&self) -> usize {
        self.peer.received().iter().filter(|arrived| arrived.line.ends_with("-response")).count()
    }

    /// The operator mends the setting while the host is down, and time passes.
    async fn mended_after_ms(self, milliseconds: u64) -> Stage {
        let (file, clock) = (self.host.config_file(), self.host.clock.clone());
        let stage = self
            .reopen(|| {
                let text = fs::read_to_string(&file).unwrap();
                fs::write(&file, text.replace("default-account = \".\"", "default-account = \"62001234567\"")).unwrap();
                clock.advance(milliseconds);
            })
            .await;
        stage.rest().await;
        stage
    }
}

fn path_of(operation: Operation) -> String {
    format!("/v1{}", operation.path())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_operation_serves_its_own_schemes_and_no_other() {
    let stage = Stage::bank("").await.covers(&[
        "identifier-determination of *",
        "credit-transfer-authorisation of *",
        "credit-transfer-authorisation-sync of *",
        "credit-transfer-completion of *",
        "credit-transfer of *",
        "direct-debit of *",
    ]);
    for (at, operation) in Operation::ALL.into_iter().take(6).enumerate() {
        for (number, scheme) in Scheme::ALL.into_iter().enumerate() {
            let (path, served) = (path_of(operation), operation.schemes().contains(&scheme.name()));
            let named = json!({"payment_scheme": scheme.name(), "uetr": uetr((at * 10 + number) as u64)});
            if path == COMPLETE && served {
                stage.to_bank.post(AUTHORISE_SYNC, message(AUTHORISE_SYNC, named.clone())).await.check(200);
            }
            let answer = stage.to_bank.post(&path, message(&path, named)).await;
            assert_eq!(answer.status < 300, served, "{path} {scheme:?}: {}", answer.text());
            if !served {
                assert!(answer.expect(422).text().contains("payment_scheme must be one of"));
            }
        }
    }
    stage.rest().await;
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_is_not_decided_in_time_is_rejected_at_that_millisecond() {
    let stage = Stage::bank(&unable("[604800000]"))
        .await
        .covers(&["edge received to processing, the partner", "edge processing to rejected, the partner"]);
    let late = [
        (1, AUTHORISE, json!({"payment_scheme": "ZA_RPP"}), 5_000),
        (2, AUTHORISE, json!({"creation_date_time": "2026-05-07T08:29:50Z"}), 20_000),
        (3, AUTHORISE, json!({}), 30_000),
        (4, TRANSFER, json!({}), 3_600_000),
    ];
    for (number, path, changes, _) in &late {
        let mut changes = changes.clone();
        changes["uetr"] = json!(uetr(*number));
        stage.send(path, changes).await;
    }
    let mut now_ms = 0;
    for (at, (number, _, _, due_ms)) in late.iter().enumerate() {
        stage.pass_ms(due_ms - 1 - now_ms).await;
        assert_eq!(stage.bank.transaction(&uetr(*number)).await["transaction_status"], "PENDING", "{number}");
        stage.pass_ms(1).await;
        now_ms = *due_ms;
        let shown = stage.bank.transaction(&uetr(*number)).await;
        assert_eq!((&shown["transaction_status"], &shown["status_reason"]), (&json!("REJECTED"), &json!("AB05")));
        assert_eq!((stage.answers(), &shown["response"]), (at + 1, &json!("delivered")));
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_and_its_deadline_never_both_win_over_a_restart() {
    for (down_ms, state) in [(29_999, "approved"), (30_000, "rejected"), (300_000, "rejected")] {
        let stage = Stage::bank(&unable(&format!("[{down_ms}, 1000]"))).await;
        stage.send(AUTHORISE, json!({})).await;
        assert_eq!(stage.at_bank().await["state"], "processing");
        let stage = stage.mended_after_ms(down_ms).await;
        assert_eq!(stage.at_bank().await["state"], state, "after {down_ms} ms");
        stage.pass_ms(300_000).await;
        assert_eq!(stage.at_bank().await["state"], state, "{down_ms}");
        assert_eq!(stage.answers(), 1, "one response: {:?}", stage.peer.received());
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_that_is_given_up_fails_the_payment_and_answers_nobody() {
    let stage = Stage::bank(&unable("[1000, 1000]")).await.covers(&["edge processing to failed, the partner"]);
    stage.send(AUTHORISE, json!({})).await;
    stage.send(TRANSFER, json!({"uetr": uetr(2)})).await;
    stage.pass_ms(1_000).await;
    assert_eq!(stage.at_bank().await["state"], "processing");
    stage.pass_ms(1_000).await;
    let (authorised, received) = (stage.at_bank().await, stage.bank.transaction(&uetr(2)).await);
    assert_eq!((&authorised["state"], &authorised["transaction_status"]), (&json!("failed"), &Value::Null));
    assert_eq!((&received["state"], &received["concerns"]), (&json!("failed"), &json!(["undecided"])));
    assert_eq!((stage.concerned(Bank, "undecided").await, stage.answers()), (json!(2), 0));
    assert_eq!(stage.books().await["unapplied/ZA_EFT"], 10_050, "what was received lies there");
    stage.to_bank.post(COMPLETE, minimal(COMPLETE)).await.check(422);
    let unsettled = message(COMPLETE, json!({"transaction_status": "REJECTED"}));
    stage.to_bank.post(COMPLETE, unsettled).await.check(202);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synchronous_authorisation_that_cannot_be_decided_is_an_error_and_leaves_nothing() {
    let stage = Stage::bank(&unable("[1000]")).await;
    let answer = stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.expect(500);
    assert_eq!(answer.text_at("/code"), "INBOUND_SERVER_ERROR");
    stage.bank.get(&format!("/v1/clearing/transactions/{UETR}")).await.check(404);
    let stage = stage.mended_after_ms(0).await;
    stage.to_bank.post(AUTHORISE_SYNC, minimal(AUTHORISE_SYNC)).await.check(200);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_overtakes_the_approval_is_applied_after_it() {
    let stage = Stage::bank(&unable("[1000, 1000]")).await.covers(&[
        "edge processing to approved, the partner",
        "edge approved to completed, the partner",
        "event inbound.credit_transfer.completed, feed of the partner",
    ]);
    stage.send(AUTHORISE, json!({})).await;
    stage.to_bank.post(COMPLETE, minimal(COMPLETE)).await.check(202);
    let waiting = stage.at_bank().await;
    assert_eq!((&waiting["state"], &waiting["completion"]["applied"]), (&json!("processing"), &json!(false)));
    let stage = stage.mended_after_ms(1_000).await;
    let done = stage.at_bank().await;
    assert_eq!((&done["state"], &done["completion"]["applied"]), (&json!("completed"), &json!(true)));
    assert_eq!(stage.books().await["customer/62001234567"], 10_050);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_of_a_payment_that_is_then_rejected_is_a_contradiction() {
    let stage = Stage::bank(&unable("[604800000]")).await;
    stage.send(AUTHORISE, json!({})).await;
    stage.to_bank.post(COMPLETE, minimal(COMPLETE)).await.check(202);
    stage.pass_ms(30_000).await;
    let shown = stage.at_bank().await;
    assert_eq!((&shown["state"], &shown["concerns"]), (&json!("rejected"), &json!(["contradicted"])));
    assert_eq!((stage.concerned(Bank, "contradicted").await, stage.books().await.len()), (json!(1), 0));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_that_is_not_completed_in_time_is_overdue_and_nothing_else() {
    let stage = Stage::bank("").await;
    stage.send(AUTHORISE, json!({})).await;
    stage.pass_ms(59_999).await;
    assert_eq!(stage.concerned(Bank, "overdue").await, 0);
    stage.pass_ms(1).await;
    let shown = stage.at_bank().await;
    assert_eq!((&shown["state"], &shown["overdue"]), (&json!("approved"), &json!(true)));
    assert_eq!(stage.concerned(Bank, "overdue").await, 1);
    stage.to_bank.post(COMPLETE, minimal(COMPLETE)).await.check(202);
    assert_eq!(
        (stage.at_bank().await["overdue"].clone(), stage.concerned(Bank, "overdue").await),
        (json!(false), json!(0))
    );
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn debits_at_once_take_no_more_than_there_is_even_from_an_older_account() {
    let stage = Stage::bank("balances = \"elsewhere\"").await;
    stage.send(TRANSFER, json!({})).await;
    let file = stage.host.config_file();
    let stage = stage
        .reopen(|| {
            let text = fs::read_to_string(&file).unwrap();
            fs::write(&file, text.replace("\"elsewhere\"", "\"ledger\"")).unwrap();
        })
        .await;
    let uetrs: Vec<String> = (1..=8).map(uetr).collect();
    let debit = |uetr: &String| stage.to_bank.post(DEBIT, message(DEBIT, json!({"uetr": uetr})));
    at_once(uetrs.iter().map(debit)).await.into_iter().for_each(|answer| answer.check(202));
    stage.rest().await;
    let shown = at_once(uetrs.iter().map(|uetr| stage.bank.transaction(uetr))).await;
    let mut ended: Vec<String> = shown.iter().map(|it| format!("{} {}", it["state"], it["status_reason"])).collect();
    ended.sort();
    let rejected = std::iter::repeat_n("\"rejected\" \"AM04\"", 7);
    assert_eq!(ended, ["\"approved\" null"].into_iter().chain(rejected).collect::<Vec<_>>());
    assert_eq!(stage.books().await.get(&format!("customer/{ACCOUNT}")).copied().unwrap_or(0), 0);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_repeated_until_it_is_taken() {
    let stage = Stage::bank("").await;
    stage.peer.respond_at(ANSWER, ReceiverResponse::Status(503));
    stage.send(AUTHORISE, json!({})).await;
    stage.pass_ms(999).await;
    assert_eq!(stage.answers(), 1);
    stage.pass_ms(1).await;
    assert_eq!((stage.answers(), &stage.at_bank().await["response"]), (2, &json!("underway")));
    stage.peer.respond_at(ANSWER, ReceiverResponse::Status(202));
    stage.pass_ms(1_000).await;
    let arrived = stage.told(ANSWER, 3).await;
    assert!(arrived.iter().all(|again| again.body == arrived[0].body), "the same bytes each time");
    assert_eq!((arrived.len(), &stage.at_bank().await["response"]), (3, &json!("delivered")));
    stage.pass_ms(600_000).await;
    assert_eq!(stage.answers(), 3);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_nobody_takes_by_the_schemes_time_is_listed_until_somebody_sends_it_again() {
    let stage = Stage::bank("").await.covers(&["redeliver-message: 202"]);
    stage.peer.respond_at(ANSWER, ReceiverResponse::Status(500));
    stage.send(AUTHORISE, json!({"payment_scheme": "ZA_RPP"})).await;
    for _ in 0..9 {
        stage.pass_ms(1_000).await;
    }
    stage.pass_ms(999).await;
    assert_eq!(stage.at_bank().await["response"], "underway");
    stage.pass_ms(1).await;
    assert_eq!(
        (&stage.at_bank().await["response"], stage.concerned(Bank, "undelivered").await),
        (&json!("undelivered"), json!(1))
    );
    stage.peer.respond_at(ANSWER, ReceiverResponse::Status(202));
    stage.bank.post(REDELIVERY, json!({})).await.check(202);
    stage.rest().await;
    assert_eq!(
        (&stage.at_bank().await["response"], stage.concerned(Bank, "undelivered").await),
        (&json!("delivered"), json!(0))
    );
    stage.bank.post(REDELIVERY, json!({})).await.check(422);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_is_refused_is_not_repeated_but_listed() {
    let stage = Stage::bank("").await;
    stage.peer.respond_at(ANSWER, ReceiverResponse::Status(422));
    stage.send(AUTHORISE, json!({})).await;
    stage.pass_ms(50_000).await;
    assert_eq!((stage.answers(), stage.concerned(Bank, "undelivered").await), (1, json!(1)));
    stage.bank.post(REDELIVERY, json!({})).await.check(202);
    stage.rest().await;
    assert_eq!((stage.answers(), stage.concerned(Bank, "undelivered").await), (2, json!(1)), "refused again");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_response_to_an_eft_item_is_repeated_for_ever() {
    let stage = Stage::bank("").await;
    stage.peer.respond_with(ReceiverResponse::Status(500));
    stage.send(TRANSFER, json!({})).await;
    for pause_ms in DELIVERY_REPEATS_MS.iter().chain(LATER_REPEATS_MS) {
        stage.pass_ms(u64::from(*pause_ms)).await;
    }
    assert_eq!((&stage.at_bank().await["response"], stage.answers()), (&json!("unreached"), 24));
    stage.peer.respond_with(ReceiverResponse::Status(202));
    stage.pass_ms(300_000).await;
    assert_eq!(stage.at_bank().await["response"], "delivered");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_banks_own_system_decides_where_it_is_asked() {
    let stage = Stage::bank("decide = \"ask\"").await;
    let table = [
        (1, AUTHORISE, json!({"transaction_status": "APPROVED", "account_number": "62009"}), "62009"),
        (2, TRANSFER, json!({"transaction_status": "APPROVED"}), ACCOUNT),
        (3, DEBIT, json!({"transaction_status": "REJECTED", "status_reason": "MD01 no mandate"}), "MD01 no mandate"),
    ];
    for (number, path, said, expected) in table {
        stage.peer.respond_at(DECISIONS, ReceiverResponse::Json(200, said));
        stage.send(path, json!({"uetr": uetr(number)})).await;
        let shown = stage.bank.transaction(&uetr(number)).await;
        assert!([&shown["account_number"], &shown["status_reason"]].contains(&&json!(expected)), "{shown}");
    }
    let asked = &stage.told(DECISIONS, 3).await[2].json();
    assert_eq!((&asked["operation"], &asked["uetr"]), (&json!("direct-debit"), &json!(uetr(3))));
    assert_eq!(asked["debtor_account_number"], ACCOUNT);
    assert_eq!(stage.books().await["held/62009"], 10_050);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bank_that_says_nothing_leaves_the_decision_to_the_fallback_and_one_that_is_not_understood_approves_nothing()
{
    let late = json!("AB05");
    for (fallback, silent) in [("reject", &late), ("rules", &Value::Null)] {
        let stage = Stage::bank(&format!("decide = \"ask\"\nbank-ms = 100\nfallback = \"{fallback}\"")).await;
        let said = [
            (ReceiverResponse::Status(500), silent),
            (ReceiverResponse::Status(404), silent),
            (ReceiverResponse::Never, silent),
            (ReceiverResponse::Json(200, json!({})), &late),
            (ReceiverResponse::Json(200, json!({"transaction_status": "PENDING"})), &late),
            (
                ReceiverResponse::Json(
                    200,
                    json!({"transaction_status": "APPROVED", "account_number": "x".repeat(41)}),
                ),
                &late,
            ),
        ];
        for (number, (reply, expected)) in said.into_iter().enumerate() {
            let what = format!("{reply:?}");
            stage.peer.respond_at(DECISIONS, reply);
            stage.send(AUTHORISE, json!({"uetr": uetr(number as u64)})).await;
            let shown = stage.bank.transaction(&uetr(number as u64)).await;
            assert_eq!(shown["status_reason"], *expected, "{what}");
            assert_eq!(shown["state"], if expected.is_null() { "approved" } else { "rejected" }, "{what}");
        }
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bank_that_rejects_without_a_reason_is_understood() {
    let stage = Stage::bank("decide = \"ask\"\nfallback = \"rules\"").await;
    stage.peer.respond_at(
        DECISIONS,
        ReceiverResponse::Json(200, json!({"transaction_status": "REJECTED", "account_number": 7})),
    );
    stage.send(AUTHORISE, json!({})).await;
    let shown = stage.at_bank().await;
    assert_eq!((&shown["state"], &shown["status_reason"]), (&json!("rejected"), &json!("MS03")));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_is_resolved_by_the_banks_own_system_where_it_is_asked() {
    let stage = Stage::bank("decide = \"ask\"\nbank-ms = 100").await;
    let table = [
        (
            ReceiverResponse::Json(200, json!({"transaction_status": "APPROVED", "account_number": "62009"})),
            json!({"creditor_account_number": "62009"}),
        ),
        (
            ReceiverResponse::Json(200, json!({"transaction_status": "REJECTED", "status_reason": "PX02"})),
            json!({"transaction_status": "REJECTED", "status_reason": "PX02"}),
        ),
        (ReceiverResponse::Never, json!({"transaction_status": "REJECTED", "status_reason": "AB05"})),
    ];
    for (said, expected) in table {
        stage.peer.respond_at("/core/determinations", said);
        assert_eq!(stage.to_bank.post(DETERMINE, minimal(DETERMINE)).await.expect(200).json(), expected);
    }
    assert_eq!(stage.peer.received()[0].json()["creditor_account_proxy"], PROXY);
    stage.finish().await;
}
