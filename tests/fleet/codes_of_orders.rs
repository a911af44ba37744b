//! Codes that an order's state, its driver and its parts bring about: each by every way that leads to it.

use serde_json::{Value, json};

use super::{codes::Words, stage::Stage};

const NOBODY_TO_DISPATCH: Words<'static> = (400, "DRIVER_REQUIRED", "No driver assigned to dispatch!");
const NOBODY_FOR_ACTIVITY: Words<'static> = (400, "DRIVER_REQUIRED", "No driver assigned for order to dispatch to.");
const NOBODY: Words<'static> = (400, "DRIVER_REQUIRED", "No driver assigned to order.");
const NOBODY_ACCEPTS: Words<'static> = (400, "DRIVER_REQUIRED", "You must send driver to accept adhoc order.");
const DISPATCHED_ALREADY: Words<'static> = (400, "ORDER_ALREADY_DISPATCHED", "Order has already been dispatched!");
const STARTED_ALREADY: Words<'static> = (400, "ORDER_ALREADY_STARTED", "Order has already started.");
const NOT_DISPATCHED: Words<'static> =
    (400, "ORDER_NOT_DISPATCHED", "Order has not been dispatched yet and cannot be started.");
const NOT_STARTED: Words<'static> =
    (400, "ORDER_NOT_STARTED", "Order has not been started yet and cannot be completed.");
const STOPS_NOT_STARTED: Words<'static> =
    (422, "ORDER_NOT_STARTED", "Order must be started before waypoint activity can be updated.");
const TAKEN: Words<'static> = (409, "ORDER_TAKEN", "Order has already been accepted by another driver.");
const NO_SUCH_CONFIGURATION: Words<'static> =
    (400, "INVALID_ORDER_CONFIG", "Invalid order `type` or `order_config` provided.");
const NO_SUCH_PAYLOAD: Words<'static> = (400, "INVALID_PAYLOAD", "Attempted to attach invalid payload to order.");

/// The path of a new order of this driver.
async fn order_of(stage: &Stage, driver: &str) -> String {
    format!("/v1/orders/{}", stage.order(json!({"driver": driver})).await)
}

/// That of one that is under way.
pub async fn started(stage: &Stage, fields: Value) -> String {
    let path = format!("/v1/orders/{}", stage.order(fields).await);
    stage.post(&format!("{path}/start"), json!({"skip_dispatch": true})).await.check(200);
    path
}

pub fn activity(code: &str) -> Value {
    json!({"activity": {"code": code}})
}

#[tokio::test]
async fn an_order_of_nobody_goes_nowhere() {
    let stage = Stage::open().await.covers(&["code DRIVER_REQUIRED"]);
    let path = format!("/v1/orders/{}", stage.order(json!({})).await);
    let at = |rest: &str| format!("{path}{rest}");
    stage.refuses("POST", &at("/dispatch"), json!({}), NOBODY_TO_DISPATCH).await;
    stage.refuses("PUT", &path, json!({"dispatch": true}), NOBODY_TO_DISPATCH).await;
    stage.refuses("POST", &at("/update-activity"), activity("dispatched"), NOBODY_FOR_ACTIVITY).await;
    stage.refuses("PUT", &path, json!({"status": "dispatched"}), NOBODY_FOR_ACTIVITY).await;
    stage.refuses("POST", &at("/start"), json!({"skip_dispatch": true}), NOBODY).await;
    let born = json!({"pickup": "a", "dropoff": "b", "dispatch": true});
    stage.refuses("POST", "/v1/orders", born, NOBODY_TO_DISPATCH).await;

    let adhoc = format!("/v1/orders/{}", stage.order(json!({"adhoc": true})).await);
    stage.post(&format!("{adhoc}/dispatch"), json!({})).await.check(200);
    stage.refuses("POST", &format!("{adhoc}/start"), json!({}), NOBODY_ACCEPTS).await;
    stage.refuses("POST", &format!("{adhoc}/update-activity"), activity("started"), NOBODY_ACCEPTS).await;

    let ada = stage.driver("ada").await;
    let under_way = started(&stage, json!({"driver": ada.id})).await;
    stage.refuses("PUT", &under_way, json!({"driver": null}), NOBODY).await;
    stage.finish().await;
}

#[tokio::test]
async fn what_was_done_to_an_order_is_not_done_again() {
    let stage = Stage::open().await.covers(&["code ORDER_ALREADY_DISPATCHED", "code ORDER_ALREADY_STARTED"]);
    let ada = stage.driver("ada").await;
    let path = order_of(&stage, &ada.id).await;
    let at = |rest: &str| format!("{path}{rest}");
    stage.post(&at("/dispatch"), json!({})).await.check(200);
    stage.refuses("POST", &at("/dispatch"), json!({}), DISPATCHED_ALREADY).await;
    stage.refuses("POST", &at("/update-activity"), activity("dispatched"), DISPATCHED_ALREADY).await;

    stage.call(&ada.token, "POST", &at("/start"), json!({})).await.check(200);
    stage.refuses("POST", &at("/dispatch"), json!({}), DISPATCHED_ALREADY).await;
    stage.refuses("POST", &at("/start"), json!({}), STARTED_ALREADY).await;
    stage.refuses_to(&ada.token, ("POST", &at("/update-activity"), activity("started")), STARTED_ALREADY).await;
    stage.refuses("POST", &at("/schedule"), json!({"date": "2026-05-09"}), STARTED_ALREADY).await;
    stage.refuses("PUT", &path, json!({"scheduled_at": "2026-05-09"}), STARTED_ALREADY).await;
    stage.refuses("PUT", &path, json!({"pickup": "9 Elsewhere"}), STARTED_ALREADY).await;

    let skipped = started(&stage, json!({"driver": ada.id})).await;
    stage.refuses("POST", &format!("{skipped}/dispatch"), json!({}), STARTED_ALREADY).await;
    assert_eq!(stage.told("order.dispatched").await.len(), 1);
    assert_eq!(stage.told("order.started").await.len(), 2);
    stage.finish().await;
}

/// By its end: how an order comes there, its status, the words.
#[tokio::test]
async fn an_order_that_has_ended_stays_as_it_is() {
    let stage = Stage::open().await.covers(&[
        "code ORDER_ALREADY_COMPLETED",
        "code ORDER_ALREADY_CANCELED",
        "code ORDER_ALREADY_FAILED",
    ]);
    let ada = stage.driver("ada").await;
    let failed = json!({"activity": {"code": "failed"}, "reason": "nobody there"});
    let ends: [(&str, Value, Words<'_>); 3] = [
        ("completed", activity("completed"), (400, "ORDER_ALREADY_COMPLETED", "Order is already completed.")),
        ("canceled", activity("canceled"), (400, "ORDER_ALREADY_CANCELED", "Order is already canceled.")),
        ("failed", failed.clone(), (400, "ORDER_ALREADY_FAILED", "Order has already failed.")),
    ];
    for (status, last, words) in ends {
        let path = started(&stage, json!({"driver": ada.id})).await;
        let at = |rest: &str| format!("{path}{rest}");
        stage.post(&at("/update-activity"), activity("enroute")).await.check(200);
        stage.post(&at("/update-activity"), last).await.check(200);
        let place = stage.shown(&path).await["payload"]["dropoff"]["id"].as_str().expect("a place").to_owned();
        for (method, rest, body) in [
            ("POST", "/dispatch", json!({})),
            ("POST", "/schedule", json!({"date": "2026-05-09"})),
            ("POST", "/start", json!({"skip_dispatch": true})),
            ("POST", "/complete", json!({})),
            ("DELETE", "/cancel", Value::Null),
            ("POST", &format!("/set-destination/{place}"), json!({})),
            ("POST", "/update-activity", activity("enroute")),
            ("POST", "/update-activity", failed.clone()),
            ("PUT", "", json!({"status": "created"})),
            ("PUT", "", json!({"driver": null})),
            ("PUT", "", json!({"pickup": "9 Elsewhere"})),
            ("PUT", "", json!({"pod_required": true, "pod_method": "photo"})),
        ] {
            stage.refuses(method, &at(rest), body, words).await;
        }
        assert_eq!(stage.shown(&path).await["status"], status);
        stage.put(&path, json!({"notes": "asked again"})).await.check(200);
    }
    stage.finish().await;
}

#[tokio::test]
async fn an_order_is_dispatched_started_and_completed_in_this_order() {
    let stage = Stage::open().await.covers(&["code ORDER_NOT_DISPATCHED", "code ORDER_NOT_STARTED"]);
    let ada = stage.driver("ada").await;
    let path = order_of(&stage, &ada.id).await;
    let at = |rest: &str| format!("{path}{rest}");
    stage.refuses("POST", &at("/start"), json!({}), NOT_DISPATCHED).await;
    stage.refuses_to(&ada.token, ("POST", &at("/start"), json!({"skip_dispatch": false})), NOT_DISPATCHED).await;
    stage.refuses("POST", &at("/update-activity"), activity("started"), NOT_DISPATCHED).await;
    stage.refuses("PUT", &path, json!({"status": "started"}), NOT_DISPATCHED).await;
    stage.refuses("POST", &at("/complete"), json!({}), NOT_STARTED).await;
    stage.post(&at("/dispatch"), json!({})).await.check(200);
    stage.refuses_to(&ada.token, ("POST", &at("/complete"), json!({})), NOT_STARTED).await;

    let body = json!({"waypoints": ["a", "b"], "driver": ada.id});
    let tour = format!("/v1/orders/{}", stage.make("/v1/orders", body).await);
    stage.refuses("POST", &format!("{tour}/update-activity"), activity("enroute"), STOPS_NOT_STARTED).await;
    stage.refuses("POST", &format!("{tour}/update-activity"), activity("completed"), STOPS_NOT_STARTED).await;
    stage.finish().await;
}

#[tokio::test]
async fn an_activity_is_the_next_one_or_none() {
    let stage = Stage::open().await.covers(&["code ACTIVITY_NOT_NEXT", "code VALIDATION_FAILED"]);
    let ada = stage.driver("ada").await;
    let refuses = async |path: &str, from: &str, to: &str| {
        let sentence = format!("Activity {to} does not follow {from}.");
        let words = (400, "ACTIVITY_NOT_NEXT", sentence.as_str());
        stage.refuses("POST", &format!("{path}/update-activity"), activity(to), words).await;
        stage.refuses("PUT", path, json!({"status": to}), words).await;
    };
    let path = order_of(&stage, &ada.id).await;
    refuses(&path, "created", "enroute").await;
    refuses(&path, "created", "completed").await;
    stage.post(&format!("{path}/start"), json!({"skip_dispatch": true})).await.check(200);
    refuses(&path, "started", "created").await;
    refuses(&path, "started", "completed").await;
    let words = (400, "ACTIVITY_NOT_NEXT", "Activity completed does not follow started.");
    stage.refuses("POST", &format!("{path}/complete"), json!({}), words).await;
    stage.post(&format!("{path}/update-activity"), activity("enroute")).await.check(200);
    refuses(&path, "enroute", "created").await;

    let words = (422, "VALIDATION_FAILED", "The activity field must be one of the order configuration.");
    stage.refuses("POST", &format!("{path}/update-activity"), activity("teleported"), words).await;
    let words = (422, "VALIDATION_FAILED", "The reason field is required.");
    stage.refuses("POST", &format!("{path}/update-activity"), activity("failed"), words).await;

    let tour = stage.make("/v1/orders", json!({"waypoints": ["a", "b"], "driver": ada.id})).await;
    let tour = format!("/v1/orders/{tour}");
    stage.post(&format!("{tour}/start"), json!({"skip_dispatch": true})).await.check(200);
    refuses(&tour, "started", "created").await;
    let words = (400, "ACTIVITY_NOT_NEXT", "Activity enroute does not follow started.");
    stage.refuses("PUT", &tour, json!({"status": "enroute"}), words).await;
    stage.finish().await;
}

#[tokio::test]
async fn an_order_is_accepted_once_and_only_where_it_is_offered() {
    let stage = Stage::open().await.covers(&["code ORDER_NOT_ADHOC", "code ORDER_TAKEN"]);
    let (ada, eve) = (stage.driver("ada").await, stage.driver("eve").await);
    let words = (400, "ORDER_NOT_ADHOC", "Only an adhoc order can be accepted by a driver it is not assigned to.");
    let his = order_of(&stage, &ada.id).await;
    let eve_starts = json!({"assign": eve.id, "skip_dispatch": true});
    stage.refuses("POST", &format!("{his}/start"), eve_starts.clone(), words).await;
    let mut by_activity = activity("started");
    by_activity["assign"] = json!(eve.id);
    stage.refuses("POST", &format!("{his}/update-activity"), by_activity.clone(), words).await;

    let offered = stage.order(json!({"adhoc": true, "dispatch": true})).await;
    let start = format!("/v1/orders/{offered}/start");
    stage.call(&ada.token, "POST", &start, json!({})).await.check(200);
    stage.refuses_to(&eve.token, ("POST", &start, json!({})), TAKEN).await;
    stage.refuses("POST", &start, eve_starts, TAKEN).await;
    let update = format!("/v1/orders/{offered}/update-activity");
    stage.refuses_to(&eve.token, ("POST", &update, activity("started")), TAKEN).await;
    stage.refuses("POST", &update, by_activity, TAKEN).await;
    let hidden = (404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
    stage.refuses_to(&eve.token, ("GET", &format!("/v1/orders/{offered}"), Value::Null), hidden).await;
    assert_eq!(stage.shown(&format!("/v1/orders/{offered}")).await["driver_assigned"]["id"], json!(ada.id));
    stage.finish().await;
}

#[tokio::test]
async fn an_order_is_made_of_what_is_there_and_free() {
    let stage = Stage::open().await.covers(&["code INVALID_ORDER_CONFIG", "code INVALID_PAYLOAD"]);
    let path = format!("/v1/orders/{}", stage.order(json!({})).await);
    for named in [json!({"type": "teleport"}), json!({"order_config": "order_config_0000000000"})] {
        let mut body = json!({"pickup": "a", "dropoff": "b"});
        body.as_object_mut().expect("an object").extend(named.as_object().expect("an object").clone());
        stage.refuses("POST", "/v1/orders", body, NO_SUCH_CONFIGURATION).await;
        stage.refuses("PUT", &path, named, NO_SUCH_CONFIGURATION).await;
    }
    let taken = stage.shown(&path).await["payload"]["id"].clone();
    let rival = stage.host.key("fleet", "rival").await;
    let body = json!({"pickup": "a", "dropoff": "b", "type": "transport"});
    let anothers = stage.call(&rival, "POST", "/v1/payloads", body.clone()).await.expect(201).text_at("/id");
    let free = stage.make("/v1/payloads", body).await;
    let second = format!("/v1/orders/{}", stage.order(json!({})).await);
    for payload in [json!("payload_0000000000"), json!("nonsense"), taken.clone(), json!(anothers)] {
        stage.refuses("POST", "/v1/orders", json!({"payload": payload}), NO_SUCH_PAYLOAD).await;
        stage.refuses("PUT", &second, json!({"payload": payload}), NO_SUCH_PAYLOAD).await;
    }
    let taken = taken.as_str().expect("an id").to_owned();
    stage.refuses("DELETE", &format!("/v1/payloads/{taken}"), Value::Null, NO_SUCH_PAYLOAD).await;
    stage.post("/v1/orders", json!({"payload": free})).await.check(201);
    stage.finish().await;
}
