//! What a partner answers to the platform's messages besides what it should: too early, nothing of use, more than was asked for.

use serde_json::{Value, json};

use super::{
    look::edges,
    messages::{
        ACCOUNT, AUTHORISE, AUTHORISE_SYNC, AUTHORISED, DEBIT, DEBITED, PROXY, TRANSFER, TRANSFERRED, UETR, minimal,
        payment, uetr,
    },
    stage::Stage,
};
use crate::support::ReceiverResponse;

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_overtakes_the_acknowledgement_is_taken_and_stands() {
    let table = [
        (AUTHORISE, AUTHORISED, json!(["received", "responded"]), "approved"),
        (TRANSFER, TRANSFERRED, json!(["received"]), "completed"),
        (DEBIT, DEBITED, json!(["received"]), "approved"),
    ];
    for (path, response, told, state) in table {
        let stage = Stage::hub(json!({})).await;
        stage.peer.respond_with(ReceiverResponse::Never);
        stage.hub.post("/v1/clearing/payments", payment(path, json!({}))).await.check(202);
        stage.told(path.trim_start_matches("/v1"), 1).await;
        stage.to_hub.post(response, minimal(response)).await.check(202);
        let taken = stage.hub.transaction(UETR).await;
        assert_eq!((&taken["state"], &taken["received"]), (&json!(state), &json!(true)), "{path}");
        // The acknowledgement never comes, the repeat is refused: nobody cares any more.
        stage.peer.respond_with(ReceiverResponse::Status(422));
        stage.rest().await;
        stage.pass_ms(1_000).await;
        let shown = stage.hub.transaction(UETR).await;
        assert_eq!((stage.peer.received().len(), &shown["state"], edges(&shown)), (2, &json!(state), edges(&taken)));
        assert_eq!(shown["concerns"], json!([]), "{path}");
        let events = stage.host.events().await;
        let names: Vec<&str> = events.iter().filter_map(|event| event.event_type.rsplit(['.', '_']).next()).collect();
        assert_eq!(json!(names), told, "{path}");
        stage.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synchronous_answer_that_makes_no_sense_is_as_good_as_an_error() {
    let stage = Stage::hub(json!({})).await;
    let answers = [
        ReceiverResponse::Status(200),
        ReceiverResponse::Status(202),
        ReceiverResponse::Json(200, json!({})),
        ReceiverResponse::Json(200, json!([UETR, "APPROVED"])),
        ReceiverResponse::Json(200, json!({"transaction_status": "APPROVED"})),
        ReceiverResponse::Json(200, json!({"uetr": uetr(99), "transaction_status": "APPROVED"})),
        ReceiverResponse::FromBody(|sent| {
            ReceiverResponse::Json(200, json!({"uetr": sent["uetr"], "transaction_status": "PENDING"}))
        }),
        ReceiverResponse::FromBody(|sent| {
            ReceiverResponse::Json(200, json!({"uetr": sent["uetr"], "transaction_status": "REJECTED"}))
        }),
        ReceiverResponse::FromBody(|sent| {
            ReceiverResponse::Json(200, json!({"uetr": sent["uetr"], "transaction_status": true}))
        }),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let what = format!("{number}: {answer:?}");
        stage.peer.respond_with(answer);
        let submitted = payment(AUTHORISE_SYNC, json!({"uetr": uetr(number as u64)}));
        stage.hub.post("/v1/clearing/payments", submitted).await.check(202);
        stage.rest().await;
        let shown = stage.hub.transaction(&uetr(number as u64)).await;
        assert_eq!((&shown["state"], &shown["response"]), (&json!("failed"), &Value::Null), "{what}");
    }
    assert!(stage.host.events().await.is_empty(), "nobody has told that it was received");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_makes_no_sense_is_as_good_as_an_error() {
    let stage = Stage::hub(json!({})).await;
    let answers = [
        ReceiverResponse::Status(200),
        ReceiverResponse::Json(200, json!({})),
        ReceiverResponse::Json(200, json!([])),
        ReceiverResponse::Json(200, json!({"creditor_account_number": ""})),
        ReceiverResponse::Json(200, json!({"creditor_account_number": 62_001_234_567_u64})),
        ReceiverResponse::Json(200, json!({"creditor_account_number": "6".repeat(41)})),
        ReceiverResponse::Json(200, json!({"transaction_status": "REJECTED"})),
        ReceiverResponse::Json(200, json!({"transaction_status": "APPROVED", "status_reason": "BE23"})),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        let what = format!("{number}: {answer:?}");
        stage.peer.respond_at("/identifier-determination", answer);
        let by_proxy =
            json!({"uetr": uetr(number as u64), "payment_scheme": "ZA_RPP", "creditor_account_proxy": PROXY});
        stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, by_proxy)).await.check(202);
        stage.rest().await;
        let shown = stage.hub.transaction(&uetr(number as u64)).await;
        assert_eq!((&shown["state"], &shown["stage"]), (&json!("failed"), &json!("determination")), "{what}");
    }
    assert!(stage.peer.received().iter().all(|arrived| arrived.line.ends_with("/identifier-determination")));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledgement_may_say_whatever_it_likes() {
    let stage = Stage::hub(json!({})).await;
    let said = json!({"uetr": uetr(99), "transaction_status": "REJECTED", "creditor_account_number": ACCOUNT});
    let answers = [
        ReceiverResponse::Status(200),
        ReceiverResponse::Status(204),
        ReceiverResponse::Json(202, said),
        ReceiverResponse::Json(200, json!("thank you")),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        stage.peer.respond_with(answer);
        for (place, path) in [AUTHORISE, TRANSFER, DEBIT].into_iter().enumerate() {
            let uetr = uetr((number * 10 + place) as u64);
            stage.hub.post("/v1/clearing/payments", payment(path, json!({"uetr": uetr}))).await.check(202);
            stage.rest().await;
            let shown = stage.hub.transaction(&uetr).await;
            assert_eq!((&shown["received"], &shown["response"]), (&json!(true), &Value::Null), "{number} {path}");
        }
    }
    stage.finish().await;
}
