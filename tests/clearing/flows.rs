//! The flows of the specification, between both sides with real tokens.

use serde_json::json;

use super::{
    coverage::Side::Hub,
    messages::{AUTHORISE, UETR, payment},
    stage::Stage,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_credit_transfer_is_authorised_answered_settled_and_completed_on_both_sides() {
    let stage = Stage::both().await.covers(&[
        "submit-payment: 202",
        "settle-payment: 202",
        "edge received to processing, *",
        "edge processing to approved, *",
        "edge approved to completed, *",
        "event inbound.credit_transfer.authorisation_received, feed of *",
        "event inbound.credit_transfer.authorisation_responded, feed of *",
        "event inbound.credit_transfer.completed, feed of *",
    ]);
    stage.hub.post("/v1/clearing/payments", payment(AUTHORISE, json!({}))).await.check(202);
    stage.until(Hub, UETR, "state", "approved").await;
    let settlement = format!("/v1/clearing/payments/{UETR}/settlement");
    stage.hub.post(&settlement, json!({"settlement_date": "2026-05-07"})).await.check(202);
    stage.until(Hub, UETR, "delivery", "delivered").await;
    let (hub, bank) = (stage.hub.transaction(UETR).await, stage.bank.transaction(UETR).await);
    assert_eq!((&hub["state"], &bank["state"]), (&json!("completed"), &json!("completed")));
    assert_eq!(bank["message"]["bank_settlement_amount_value"].to_string(), "100.5");
    stage.finish().await;
}
