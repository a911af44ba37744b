//! What a tenant does with the endpoints of its webhooks, and what it sees of others': nothing (docs/clearing.md: Events).

use serde_json::{Value, json};

use super::{
    actor::Actor,
    events::check_signature,
    messages::{DEBIT, message, uetr},
    refusals::refused,
    routes::{HOOKS, NOBODY},
    stage::Stage,
};
use crate::support::{ReceiverResponse, TestReceiver, eventually};

/// One attempt for each delivery.
const IMPATIENT: &str = "[plugins.clearing.webhooks]\nschedule-ms = []";

/// One event of the partner.
async fn debit(stage: &Stage, number: u64) {
    stage.to_bank.post(DEBIT, message(DEBIT, json!({"uetr": uetr(number)}))).await.check(202);
}

async fn act(actor: &Actor, hook: &str, action: &str) -> Value {
    actor.post(&format!("{hook}/{action}"), json!({})).await.expect(200).json()
}

/// Its newest delivery, once it is in this state.
async fn delivery_in(actor: &Actor, hook: &str, state: &str) -> Value {
    eventually(state, async || {
        let list = actor.get(&format!("{hook}/deliveries?limit=1")).await.expect(200).json();
        Some(list["deliveries"][0].clone()).filter(|newest| newest["status"] == state)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_is_made_changed_paused_and_deleted() {
    let stage = Stage::bank(IMPATIENT).await.covers(&[
        "create-webhook: 201",
        "list-webhooks: 200",
        "read-webhook: 200",
        "update-webhook: 200",
        "disable-webhook: 200",
        "enable-webhook: 200",
        "rotate-webhook: 200",
        "delete-webhook: 200",
    ]);
    let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
    let body = json!({"url": receiver.url(), "description": "ours", "events": ["inbound.direct_debit.received"]});
    let made = stage.bank.post(HOOKS, body).await.expect(201).json();
    let (hook, secret) =
        (format!("{HOOKS}/{}", made["id"].as_str().unwrap()), made["secret"].as_str().unwrap().to_owned());
    let mut shown = made.clone();
    shown.as_object_mut().unwrap().remove("secret");
    assert_eq!(stage.bank.get(&hook).await.expect(200).json(), shown);
    assert_eq!(stage.bank.get(HOOKS).await.expect(200).json(), json!({"webhook_endpoints": [shown], "next": null}));
    debit(&stage, 1).await;
    check_signature(&secret, &receiver.wait_for(1).await[0]);
    // Both secrets sign, so that a receiver may change over when it likes.
    let new = act(&stage.bank, &hook, "rotate").await["secret"].as_str().unwrap().to_owned();
    assert_ne!(new, secret);
    debit(&stage, 2).await;
    let arrived = receiver.wait_for(2).await.remove(1);
    check_signature(&new, &arrived);
    check_signature(&secret, &arrived);
    // What happens while it is disabled is kept for it.
    assert_eq!(act(&stage.bank, &hook, "disable").await["status"], "disabled");
    debit(&stage, 3).await;
    assert_eq!(delivery_in(&stage.bank, &hook, "pending").await["uetr"], json!(uetr(3)));
    assert_eq!(receiver.received().len(), 2);
    assert_eq!(act(&stage.bank, &hook, "enable").await["status"], "enabled");
    assert_eq!(receiver.wait_for(3).await[2].json()["data"]["uetr"], json!(uetr(3)));
    let other = json!({"events": ["inbound.credit_transfer.received"], "description": null});
    let changed = stage.bank.put(&hook, other).await.expect(200).json();
    assert_eq!(
        (&changed["description"], &changed["url"], &changed["secret"]),
        (&json!(null), &shown["url"], &json!(null))
    );
    debit(&stage, 4).await;
    assert_eq!(stage.bank.delete(&hook).await.expect(200).json(), json!({"id": shown["id"], "deleted": true}));
    refused(&stage.bank.get(&hook).await, 404, "INBOUND_NOT_FOUND");
    assert_eq!(receiver.received().len(), 3);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_is_listed_recovered_and_sent_once_more_on_demand() {
    let stage = Stage::bank(IMPATIENT).await.covers(&[
        "list-deliveries: 200",
        "list-attempts: 200",
        "recover-webhook: 200",
        "redeliver-event: 200",
        "test-webhook: 200",
    ]);
    let receiver = TestReceiver::start(ReceiverResponse::Status(500)).await;
    let made = stage.bank.post(HOOKS, json!({"url": receiver.url()})).await.expect(201);
    let hook = format!("{HOOKS}/{}", made.text_at("/id"));
    debit(&stage, 1).await;
    let failed = delivery_in(&stage.bank, &hook, "failed").await;
    assert_eq!(
        (&failed["uetr"], &failed["event"], &failed["attempts"]),
        (&json!(uetr(1)), &json!("inbound.direct_debit.received"), &json!(1))
    );
    let event = failed["id"].as_str().unwrap();
    let attempts = stage.bank.get(&format!("{hook}/deliveries/{event}/attempts")).await.expect(200).json();
    let attempt = &attempts["attempts"][0];
    assert_eq!(
        (&attempt["number"], &attempt["outcome"], &attempt["response_status"]),
        (&json!(1), &json!("status"), &json!(500))
    );
    receiver.respond_with(ReceiverResponse::Status(200));
    stage.bank.post(&format!("{hook}/recover"), json!({"since": "2026-05-07"})).await.check(200);
    let delivered = delivery_in(&stage.bank, &hook, "delivered").await;
    assert_eq!((&delivered["id"], &delivered["attempts"]), (&failed["id"], &json!(2)));
    act(&stage.bank, &hook, &format!("deliveries/{event}/redeliver")).await;
    let ids: Vec<String> = receiver.wait_for(3).await.iter().map(|arrived| arrived.id()).collect();
    assert_eq!(ids, [event, event, event]);
    for (status, count) in [("failed", 0), ("pending", 0), ("delivered", 1)] {
        let found = eventually(status, async || {
            let list = stage.bank.get(&format!("{hook}/deliveries?status={status}")).await.expect(200).json();
            Some(list["deliveries"].as_array().unwrap().len()).filter(|found| *found == count)
        });
        found.await;
    }
    let sent = act(&stage.bank, &hook, "test").await;
    let tried = receiver.wait_for(4).await.remove(3).json();
    assert_eq!(
        (&sent["id"], &tried["event"], &sent["event"]),
        (&tried["id"], &json!("inbound.webhook.test"), &json!("inbound.webhook.test"))
    );
    assert!(hook.ends_with(tried["data"]["webhook_id"].as_str().unwrap()));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_endpoint_is_told_by_name() {
    let stage = Stage::bank("").await;
    let at = |url: &str| json!({"url": url});
    for (body, expected) in [
        (json!({}), "url is required."),
        (json!({"url": 7}), "url must be a text."),
        (at(&"x".repeat(2_049)), "url may have at most 2048 characters."),
        (at("ftp://a.example.com"), "url is not accepted: "),
        (at("http://10.0.0.1/hook"), "url is not accepted: "),
        (at("http://169.254.169.254/latest"), "url is not accepted: "),
        (at("http://0x0a000001/"), "url is not accepted: "),
        (json!({"url": NOBODY, "events": ["inbound.webhook.test"]}), "events must be of: inbound."),
        (json!({"url": NOBODY, "events": [1]}), "events must be a list of texts."),
        (json!({"url": NOBODY, "description": "a\u{0}"}), "description must not contain control characters."),
    ] {
        let detail = refused(&stage.bank.post(HOOKS, body.clone()).await, 422, "INBOUND_UNPROCESSABLE");
        assert!(detail.starts_with(expected), "{body}: {detail}");
    }
    assert_eq!(stage.bank.get(HOOKS).await.expect(200).json()["webhook_endpoints"], json!([]));
    let live = stage.client("bank/live", &[]).await;
    let refusal = refused(&live.post(HOOKS, at("http://hooks.example.com/")).await, 422, "INBOUND_UNPROCESSABLE");
    assert_eq!(refusal, "url must be an address with https://.");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endpoints_and_events_of_somebody_else_are_not_found_and_not_touched() {
    let stage = Stage::both().await;
    let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
    let made = stage.bank.post(HOOKS, json!({"url": receiver.url()})).await.expect(201);
    let (hook, before) = (format!("{HOOKS}/{}", made.text_at("/id")), made.json());
    debit(&stage, 1).await;
    let event = receiver.wait_for(1).await[0].id();
    delivery_in(&stage.bank, &hook, "delivered").await;
    let live = stage.client("bank/live", &[]).await;
    for stranger in [&stage.hub, &live] {
        let own = stranger.post(HOOKS, json!({"url": "https://hooks.example.com/"})).await.expect(201);
        let own = format!("{HOOKS}/{}", own.text_at("/id"));
        for (method, path, body) in [
            ("GET", hook.clone(), json!(null)),
            ("PUT", hook.clone(), json!({"url": "https://evil.example.com/"})),
            ("DELETE", hook.clone(), json!(null)),
            ("POST", format!("{hook}/disable"), json!({})),
            ("POST", format!("{hook}/rotate"), json!({})),
            ("POST", format!("{hook}/test"), json!({})),
            ("POST", format!("{hook}/recover"), json!({"since": "2020-01-01"})),
            ("GET", format!("{hook}/deliveries"), json!(null)),
            ("GET", format!("{own}/deliveries/{event}/attempts"), json!(null)),
            ("POST", format!("{own}/deliveries/{event}/redeliver"), json!({})),
        ] {
            let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
            let answer = stranger.send(method, &path, &[("content-type", "application/json")], bytes).await;
            assert_eq!(refused(&answer, 404, "INBOUND_NOT_FOUND"), "", "{method} {path}");
        }
    }
    let after = stage.bank.get(&hook).await.expect(200).json();
    assert_eq!(
        (&after["url"], &after["status"], &after["updated_at"]),
        (&before["url"], &before["status"], &before["updated_at"])
    );
    assert_eq!(receiver.received().len(), 1);
    stage.finish().await;
}
