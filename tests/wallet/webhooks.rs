//! What becomes of webhooks: how often they are tried, what counts as an answer, the log of them, and once more on demand.

use serde_json::{Value, json};
use tenon::{admin::wire::TimestampText, clock::Clock};

use super::{
    START_MS,
    acts::{check_invalid, check_refusal, text},
    look::{column, meta},
    mining::mine,
    stage::{OUTSIDE, Stage, Wallet},
};
use crate::support::{ReceiverResponse, eventually};

/// The row of this event in the wallet's log, once there were so many attempts.
async fn logged(stage: &Stage, wallet: &Wallet, event: &str, attempts: u64) -> Value {
    eventually(&format!("{attempts} attempts of {event}"), async || {
        let log = stage.list(wallet, "/webhooks").await;
        let row = log["data"].as_array().unwrap().iter().find(|row| row["event"] == event).cloned()?;
        // The last attempt is noted with what became of it.
        (row["attempts"] == attempts && row["response"].is_object()).then_some(row)
    })
    .await
}

fn moment(row: &Value, name: &str) -> u64 {
    let moment: TimestampText =
        serde_json::from_value(row[name].clone()).unwrap_or_else(|error| panic!("{error}: {row}"));
    moment.0
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_tried_six_times_and_200_alone_is_an_answer() {
    let stage = Stage::open_at(Clock::manual(START_MS), "").await.covers(&[
        "list-webhooks answers",
        "event address.created",
        "limit: a webhook is sent 6 times, after 5, 10, 20, 40 and 80 minutes",
        "limit: only 200 is an answer to a webhook",
    ]);
    let statuses = [204, 201, 202, 301, 404, 500];
    let mining = mine(&stage, "base");
    let wallet = stage.wallet("base").await;
    drop(mining);
    stage.told(&wallet, "wallet.created").await;
    stage.receiver.respond_with(ReceiverResponse::Status(statuses[0]));
    stage.address(&wallet, json!({})).await;
    for (place, minutes) in [5_u64, 10, 20, 40, 80].into_iter().enumerate() {
        let row = logged(&stage, &wallet, "address.created", place as u64 + 1).await;
        assert_eq!(row["response"]["status"], statuses[place], "{row}");
        let (at, now) = (moment(&row, "nextAttemptAt"), stage.host.clock.now());
        let pause = minutes * 60_000;
        // A tenth more at most, so that not all come back at the same moment.
        assert!((now + pause..=now + pause + pause / 10).contains(&at), "{} after {minutes} minutes", at - now);
        assert_eq!(stage.receiver.received().len(), place + 2);
        stage.receiver.respond_with(ReceiverResponse::Status(statuses[place + 1]));
        stage.host.clock.advance(at - now);
    }
    let row = logged(&stage, &wallet, "address.created", 6).await;
    assert_eq!(
        (&row["status"], &row["nextAttemptAt"], &row["url"]),
        (&json!("failed"), &Value::Null, &json!(stage.receiver.url()))
    );
    stage.seen.note("limit: a webhook is sent 6 times, after 5, 10, 20, 40 and 80 minutes");
    stage.seen.note("limit: only 200 is an answer to a webhook");
    let arrived = stage.receiver.received().split_off(1);
    assert_eq!(arrived.len(), 6);
    assert!(arrived.iter().all(|it| it.body == arrived[0].body && it.id() == arrived[0].id()));
    stage.receiver.respond_with(ReceiverResponse::Status(200));
    stage.host.clock.advance(7 * 86_400_000);
    stage.make(&wallet, "/addresses/whitelist", json!({"address": OUTSIDE})).await;
    let told = logged(&stage, &wallet, "address.whitelisted", 1).await;
    assert_eq!((&told["status"], &told["response"]["status"]), (&json!("success"), &json!(200)));
    assert_eq!(stage.receiver.received().len(), 8, "what was given up stays so");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_webhooks_of_a_transaction_are_logged_and_the_last_is_sent_once_more_on_demand() {
    let stage = Stage::open_at(Clock::system(), "process-after-ms = 600000").await.covers(&[
        "list-webhooks answers",
        "list-transaction-webhooks answers",
        "resend-webhook answers",
        "resend-webhook-of-path answers",
        "event deposit.success",
    ]);
    let wallet = stage.wallet("base").await;
    let hash = stage.deposit(&wallet, "base", &wallet.address, ("USDC", "5")).await;
    let told = stage.told_where(&wallet, "deposit.success", ("transaction_hash", &hash)).await;
    let id = text(&told, "id");
    let path = format!("/transactions/{id}/webhooks");
    let rows = eventually("both webhooks in the log", async || {
        let list = stage.list(&wallet, &path).await;
        (meta(&list)[0] == 2).then_some(list)
    });
    let rows = rows.await;
    assert_eq!(
        (json!(column(&rows, "status")), json!(column(&rows, "attempt"))),
        (json!(["success", "success"]), json!([1, 1]))
    );
    assert!(column(&rows, "response").iter().all(|response| response["status"] == 200), "{rows}");
    let of = |event: &str| {
        stage.receiver.received().into_iter().filter(|it| it.json()["event"] == event).collect::<Vec<_>>()
    };
    stage.make(&wallet, "/transactions/webhooks/resend", json!({"id": id})).await;
    eventually("the second", async || (of("deposit.success").len() == 2).then_some(())).await;
    let again = stage.make(&wallet, &format!("/transactions/{id}/resend-webhook"), json!({})).await;
    eventually("the third", async || (of("deposit.success").len() == 3).then_some(())).await;
    let all = of("deposit.success");
    assert!(all.iter().all(|it| it.body == all[0].body && it.id() == again["event_id"]), "the same each time");
    assert_eq!(of("deposit.processing").len(), 1);

    // What nothing was told of cannot be told again.
    let body = json!({"asset_id": stage.asset(&wallet, "USDC").await, "amount": "1", "destination_address": OUTSIDE});
    let waiting = text(&stage.make(&wallet, "/withdraw", body).await, "id");
    assert_eq!(meta(&stage.list(&wallet, &format!("/transactions/{waiting}/webhooks")).await)[0], 0);
    let nothing = stage.send(&wallet, "POST", "/transactions/webhooks/resend", Some(json!({"id": waiting}))).await;
    check_refusal(&nothing, (404, "SERVICE_NOT_FOUND", ""));
    check_invalid(&stage.send(&wallet, "POST", "/transactions/webhooks/resend", Some(json!({}))).await, "id");
    let log = stage.list(&wallet, "/webhooks?limit=2").await;
    assert_eq!(meta(&log), [3, 2, 2, 2, 1]);
    assert_eq!(json!(column(&log, "event")), json!(["deposit.success", "deposit.processing"]), "the newest first");
    stage.finish().await;
}
