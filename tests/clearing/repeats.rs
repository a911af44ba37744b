//! Repeats over HTTP: many copies of one message at once have one effect and get the same bytes; another content with the
//! same uetr is refused by the names of its fields (docs/clearing.md: Guarantees).

use serde_json::{Value, json};

use super::{
    actor::Actor,
    look::at_once,
    messages::{
        AUTHORISE, AUTHORISE_SYNC, AUTHORISED, COMPLETE, DEBIT, DEBITED, TRANSFER, TRANSFERRED, UETR, message, minimal,
        payment, uetr,
    },
    stage::Stage,
};
use crate::support::Response;

const COPIES: usize = 64;
/// What holds no value of a message.
const DIFFERS: &str = "is not what it was in the first message with this uetr, which stands.";

/// All at the same moment.
async fn storm(actor: &Actor, path: &str, body: &Value) -> Vec<Response> {
    actor.token().await;
    futures_util::future::join_all((0..COPIES).map(|_| actor.post(path, body.clone()))).await
}

/// Answers that nobody can tell apart.
#[track_caller]
fn check_equal(answers: &[Response], status: u16) {
    let first = &answers[0];
    for answer in answers {
        assert_eq!((answer.status, answer.text()), (status, first.text()));
    }
    assert_eq!(answers.len(), COPIES);
}

/// A later copy, as a sender that renews what it may renew writes it.
fn renewed(body: &Value) -> Value {
    let mut again = body.clone();
    again["uetr"] = json!(body["uetr"].as_str().unwrap().to_uppercase());
    again["message_identification"] = json!("M-2");
    again["creation_date_time"] = json!("2026-05-07T08:30:01+02:00");
    again
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_copies_of_a_payment_have_one_effect_and_one_answer() {
    for (path, status, responses) in
        [(AUTHORISE, 202, 1), (AUTHORISE_SYNC, 200, 0), (TRANSFER, 202, 1), (DEBIT, 202, 1)]
    {
        let stage = Stage::bank("").await;
        let answers = storm(&stage.to_bank, path, &minimal(path)).await;
        check_equal(&answers, status);
        stage.rest().await;
        let (books, shown) = (stage.books().await, stage.bank.transaction(UETR).await);
        assert!(books.values().any(|amount| amount.abs() == 10_050), "{path}: {books:?}");
        let names: Vec<String> = stage.host.events().await.into_iter().map(|event| event.event_type).collect();
        let mut once = names.clone();
        once.sort();
        once.dedup();
        assert_eq!((once.len(), stage.peer.received().len()), (names.len(), responses), "{path}: {names:?}");
        let late = stage.to_bank.post(path, renewed(&minimal(path))).await;
        assert_eq!((late.status, late.text()), (status, answers[0].text()), "{path}");
        stage.rest().await;
        assert_eq!((stage.books().await, stage.bank.transaction(UETR).await), (books, shown), "{path}");
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_copies_of_a_completion_have_one_effect_and_one_answer() {
    let stage = Stage::bank("").await;
    stage.to_bank.post(AUTHORISE, minimal(AUTHORISE)).await.check(202);
    stage.rest().await;
    let answers = storm(&stage.to_bank, COMPLETE, &minimal(COMPLETE)).await;
    check_equal(&answers, 202);
    assert_eq!(stage.books().await["customer/62001234567"], 10_050);
    let (shown, again) = (stage.bank.transaction(UETR).await, renewed(&minimal(COMPLETE)));
    assert_eq!(stage.to_bank.post(COMPLETE, again).await.expect(202).text(), answers[0].text());
    assert_eq!(stage.bank.transaction(UETR).await, shown);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_copies_of_a_response_have_one_effect_and_one_answer() {
    for (path, response) in [(AUTHORISE, AUTHORISED), (TRANSFER, TRANSFERRED), (DEBIT, DEBITED)] {
        let stage = Stage::hub(json!({})).await;
        stage.hub.post("/v1/clearing/payments", payment(path, json!({}))).await.check(202);
        stage.rest().await;
        let rejected = message(response, json!({"transaction_status": "REJECTED", "status_reason": "AC04"}));
        let answers = storm(&stage.to_hub, response, &rejected).await;
        check_equal(&answers, 202);
        let shown = stage.hub.transaction(UETR).await;
        assert_eq!(stage.to_hub.post(response, renewed(&rejected)).await.expect(202).text(), answers[0].text());
        assert_eq!(stage.hub.transaction(UETR).await, shown);
        let opposite = stage.to_hub.post(response, minimal(response)).await.expect(422).text_at("/detail");
        assert_eq!(opposite, format!("transaction_status {DIFFERS} status_reason {DIFFERS}"));
        assert_eq!(stage.hub.transaction(UETR).await, shown);
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_submissions_of_a_payment_are_sent_once() {
    let stage = Stage::hub(json!({})).await;
    let body = payment(AUTHORISE, json!({}));
    check_equal(&storm(&stage.hub, "/v1/clearing/payments", &body).await, 202);
    stage.rest().await;
    assert_eq!(stage.peer.received().len(), 1);
    stage.hub.post("/v1/clearing/payments", renewed(&body)).await.check(202);
    stage.rest().await;
    assert_eq!(stage.peer.received().len(), 1);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn opposite_answers_at_once_leave_one_that_stands() {
    let stage = Stage::hub(json!({})).await;
    for number in 0..16 {
        let submitted = payment(AUTHORISE, json!({"uetr": uetr(number)}));
        stage.hub.post("/v1/clearing/payments", submitted).await.check(202);
    }
    stage.rest().await;
    let statuses = ["APPROVED", "REJECTED"].into_iter().cycle().take(32).enumerate();
    let responses = statuses.map(|(at, status)| {
        let changes = json!({"uetr": uetr(at as u64 / 2), "transaction_status": status, "status_reason": "AC04"});
        stage.to_hub.post(AUTHORISED, message(AUTHORISED, changes))
    });
    let answers = at_once(responses).await;
    for (number, pair) in answers.chunks(2).enumerate() {
        let shown = stage.hub.transaction(&uetr(number as u64)).await;
        let expected = if shown["state"] == "approved" { [202, 422] } else { [422, 202] };
        assert_eq!([pair[0].status, pair[1].status], expected, "{shown}");
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_contents_at_once_one_stands_and_the_other_is_refused() {
    let stage = Stage::bank("").await;
    for (number, path) in [AUTHORISE, AUTHORISE_SYNC, TRANSFER, DEBIT].into_iter().enumerate() {
        let contents = ["E2E-1", "E2E-2"].map(|end_to_end| {
            message(path, json!({"uetr": uetr(number as u64), "end_to_end_identification": end_to_end}))
        });
        let sent = (0..COPIES).map(|copy| stage.to_bank.post(path, contents[copy % 2].clone()));
        let answers = futures_util::future::join_all(sent).await;
        stage.rest().await;
        let shown = stage.bank.transaction(&uetr(number as u64)).await;
        let winner = contents
            .iter()
            .position(|content| content["end_to_end_identification"] == shown["message"]["end_to_end_identification"]);
        for (copy, answer) in answers.iter().enumerate() {
            let is_taken = Some(copy % 2) == winner;
            assert_eq!((answer.status < 300, answer.status == 422), (is_taken, !is_taken), "{path}: {}", answer.text());
        }
    }
    // Two authorisations hold, a transfer and a debit cancel each other out.
    assert_eq!(stage.books().await["held/62001234567"], 20_100);
    assert_eq!(stage.books().await.get("customer/62001234567"), None);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_outcomes_of_the_scheme_at_once_one_stands() {
    let stage = Stage::bank("").await;
    let authorisations =
        (0..16).map(|number| stage.to_bank.post(AUTHORISE, message(AUTHORISE, json!({"uetr": uetr(number)}))));
    at_once(authorisations).await.into_iter().for_each(|answer| answer.check(202));
    stage.rest().await;
    let completions = (0..32).map(|at| {
        let status = if at % 2 == 0 { "APPROVED" } else { "REJECTED" };
        let completion = message(COMPLETE, json!({"uetr": uetr(at / 2), "transaction_status": status}));
        stage.to_bank.post(COMPLETE, completion)
    });
    let answers = futures_util::future::join_all(completions).await;
    let mut paid = 0;
    for (number, pair) in answers.chunks(2).enumerate() {
        let shown = stage.bank.transaction(&uetr(number as u64)).await;
        let is_paid = shown["state"] == "completed";
        paid += i128::from(is_paid) * 10_050;
        let expected = if is_paid { [202, 422] } else { [422, 202] };
        assert_eq!([pair[0].status, pair[1].status], expected, "{shown}");
    }
    let books = stage.books().await;
    assert_eq!((books.get("customer/62001234567").copied().unwrap_or(0), books.get("held/62001234567")), (paid, None));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_content_is_refused_by_the_names_of_the_fields_that_differ_and_never_their_values() {
    let stage = Stage::bank("").await;
    let rich = json!({
        "creditor_legal_name": "Ada Lovelace", "debtor_legal_name": "Charles", "remittance_information": "Invoice 1",
        "transaction_identification": "T-1", "instruction_identification": "I-1", "settlement_date": "2026-05-07",
        "creditor_account_number": "62001234567", "creditor_account_proxy": "ada@bank",
        "debtor_account_number": "62005", "bank_settlement_amount_currency": "ZAR",
    });
    let others = json!({
        "creditor_legal_name": "Grace Hopper", "debtor_legal_name": "George", "remittance_information": "Invoice 9",
        "transaction_identification": "T-9", "instruction_identification": "I-9", "settlement_date": "2026-05-09",
        "creditor_account_number": "69999", "creditor_account_proxy": "eve@bank", "debtor_account_number": "69998",
        "bank_settlement_amount_value": 999.99, "end_to_end_identification": "E2E-9",
    });
    for (number, path) in [AUTHORISE, AUTHORISE_SYNC, TRANSFER, DEBIT].into_iter().enumerate() {
        let mut first = message(path, rich.clone());
        first["uetr"] = json!(uetr(number as u64));
        assert!(stage.to_bank.post(path, first.clone()).await.status < 300);
        stage.rest().await;
        for (field, other) in others.as_object().unwrap() {
            let mut changed = first.clone();
            changed[field] = other.clone();
            let answer = stage.to_bank.post(path, changed).await.expect(422);
            assert_eq!(answer.text_at("/detail"), format!("{field} {DIFFERS}"), "{path}");
            let value = other.to_string().replace('"', "");
            assert!(!answer.text().contains(&value), "{path} {field}: {}", answer.text());
        }
        // All at once are all named; what is left out differs as well.
        let mut changed = first.clone();
        changed.as_object_mut().unwrap().remove("remittance_information");
        changed["creditor_legal_name"] = json!("Grace");
        let detail = stage.to_bank.post(path, changed).await.expect(422).text_at("/detail");
        assert_eq!(detail, format!("creditor_legal_name {DIFFERS} remittance_information {DIFFERS}"), "{path}");
        check_first_stands(&stage, path, &first).await;
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_completion_is_refused_by_the_names_of_the_fields_that_differ() {
    let stage = Stage::bank("").await;
    stage.to_bank.post(AUTHORISE, minimal(AUTHORISE)).await.check(202);
    stage.rest().await;
    let first = message(COMPLETE, json!({"remittance_information": "Invoice 1", "creditor_legal_name": "Ada"}));
    stage.to_bank.post(COMPLETE, first.clone()).await.check(202);
    let shown = stage.bank.transaction(UETR).await;
    let others = json!({
        "settlement_date": "2026-05-08", "remittance_information": "Invoice 9", "creditor_legal_name": "Grace",
        "transaction_status": "REJECTED", "transaction_identification": "T-9",
    });
    for (field, other) in others.as_object().unwrap() {
        let mut changed = first.clone();
        changed[field] = other.clone();
        let answer = stage.to_bank.post(COMPLETE, changed).await.expect(422);
        assert_eq!(answer.text_at("/detail"), format!("{field} {DIFFERS}"));
    }
    stage.to_bank.post(COMPLETE, renewed(&first)).await.check(202);
    assert_eq!(stage.bank.transaction(UETR).await, shown);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_response_or_settlement_is_refused_by_the_names_of_the_fields_that_differ() {
    let stage = Stage::hub(json!({})).await;
    stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, json!({}))).await.check(202);
    stage.rest().await;
    let other = payment(AUTHORISE, json!({"debtor_legal_name": "Charles", "bank_settlement_amount_value": 100.51}));
    let detail = stage.hub.post("/v1/clearing/payments", other).await.expect(422).text_at("/detail");
    assert_eq!(detail, format!("bank_settlement_amount_value {DIFFERS} debtor_legal_name {DIFFERS}"));
    let first = message(AUTHORISED, json!({"status_reason": "ACCP"}));
    stage.to_hub.post(AUTHORISED, first).await.check(202);
    let other = message(AUTHORISED, json!({"status_reason": "ACTC"}));
    let detail = stage.to_hub.post(AUTHORISED, other).await.expect(422).text_at("/detail");
    assert_eq!(detail, format!("status_reason {DIFFERS}"));
    let settlement = format!("/v1/clearing/payments/{UETR}/settlement");
    stage.hub.post(&settlement, json!({"settlement_date": "2026-05-07"})).await.check(202);
    let other = stage.hub.post(&settlement, json!({"settlement_date": "2026-05-08"})).await.expect(422);
    assert_eq!(other.text_at("/detail"), format!("settlement_date {DIFFERS}"));
    stage.finish().await;
}

/// The first message is still the one that counts, and gets its answer.
async fn check_first_stands(stage: &Stage, path: &str, first: &Value) {
    assert!(stage.to_bank.post(path, first.clone()).await.status < 300);
    let shown = stage.bank.transaction(first["uetr"].as_str().unwrap()).await;
    assert_eq!(shown["message"]["creditor_legal_name"], "Ada Lovelace");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_uetr_belongs_to_the_operation_that_came_first() {
    let stage = Stage::bank("").await;
    let paths = [AUTHORISE, AUTHORISE_SYNC, TRANSFER, DEBIT];
    for (number, first) in paths.into_iter().enumerate() {
        let named = json!({"uetr": uetr(number as u64)});
        assert!(stage.to_bank.post(first, message(first, named.clone())).await.status < 300);
        for other in paths.into_iter().filter(|other| *other != first) {
            let detail = stage.to_bank.post(other, message(other, named.clone())).await.expect(422).text_at("/detail");
            assert_eq!(detail, format!("uetr is known from another operation: {}.", first.rsplit('/').next().unwrap()));
        }
    }
    stage.rest().await;
    assert_eq!(stage.bank.all("/v1/clearing/transactions", "transactions").await.len(), 4);
    stage.finish().await;
}
