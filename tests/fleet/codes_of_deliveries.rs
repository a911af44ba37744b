//! Codes on the way to a delivery: stops of a tour, proofs, scanned codes, tracking numbers.

use serde_json::{Value, json};

use super::{
    codes::Words,
    codes_of_orders::{activity, started},
    routes::PICTURE,
    stage::Stage,
};

const STOPS_OPEN: Words<'static> = (400, "WAYPOINTS_NOT_COMPLETED", "Not all waypoints completed for order.");
const NO_DESTINATION: Words<'static> = (422, "INVALID_DESTINATION", "Place resource is not a valid destination.");
const SIGNATURE_WANTED: Words<'static> = (422, "PROOF_REQUIRED", "A proof of delivery by signature is required.");
const ANY_PROOF_WANTED: Words<'static> = (422, "PROOF_REQUIRED", "A proof of delivery is required.");
const WRONG_QR_CODE: Words<'static> = (400, "QR_CODE_NOT_VALID", "Unable to validate QR code data.");
const NUMBER_BELONGS: Words<'static> =
    (400, "TRACKING_NUMBER_IN_USE", "The tracking number goes away with what it names.");

/// The path of a tour of three stops that is under way, and the ids of its stops.
async fn tour(stage: &Stage) -> (String, Vec<String>) {
    let ada = stage.driver("ada").await;
    let path = stage.make("/v1/orders", json!({"waypoints": ["a", "b", "c"], "driver": ada.id})).await;
    let path = format!("/v1/orders/{path}");
    stage.post(&format!("{path}/start"), json!({"skip_dispatch": true})).await.check(200);
    let shown = stage.shown(&path).await;
    let stops = shown["payload"]["waypoints"].as_array().expect("stops").iter();
    (path, stops.map(|stop| stop["id"].as_str().expect("an id").to_owned()).collect())
}

/// The current stop, from arrival to completion.
async fn complete_stop(stage: &Stage, path: &str) {
    for code in ["enroute", "completed"] {
        stage.post(&format!("{path}/update-activity"), activity(code)).await.check(200);
    }
}

#[tokio::test]
async fn a_tour_is_completed_by_its_last_stop_and_not_before() {
    let stage = Stage::open().await.covers(&["code WAYPOINTS_NOT_COMPLETED"]);
    let (path, stops) = tour(&stage).await;
    for _ in &stops {
        stage.refuses("POST", &format!("{path}/complete"), json!({}), STOPS_OPEN).await;
        stage.refuses("PUT", &path, json!({"status": "completed"}), STOPS_OPEN).await;
        assert_eq!(stage.shown(&path).await["status"], "started");
        complete_stop(&stage, &path).await;
    }
    assert_eq!(stage.shown(&path).await["status"], "completed");
    assert_eq!(stage.told("waypoint.completed").await.len(), stops.len());
    stage.finish().await;
}

#[tokio::test]
async fn a_destination_is_a_stop_of_the_tour_that_is_still_open() {
    let stage = Stage::open().await.covers(&["code INVALID_DESTINATION"]);
    let (path, stops) = tour(&stage).await;
    let other = stage.order(json!({})).await;
    let other = stage.shown(&format!("/v1/orders/{other}")).await;
    let elsewhere = other["payload"]["dropoff"]["id"].as_str().expect("a place");
    for place in ["place_0000000000", "nonsense", elsewhere] {
        stage.refuses("POST", &format!("{path}/set-destination/{place}"), json!({}), NO_DESTINATION).await;
        stage.refuses("PATCH", &format!("{path}/set-destination/{place}"), json!({}), NO_DESTINATION).await;
        stage.refuses("GET", &format!("{path}/next-activity?waypoint={place}"), Value::Null, NO_DESTINATION).await;
    }
    complete_stop(&stage, &path).await;
    stage.refuses("POST", &format!("{path}/set-destination/{}", stops[0]), json!({}), NO_DESTINATION).await;
    stage.post(&format!("{path}/set-destination/{}", stops[2]), json!({})).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn what_has_to_be_proved_is_not_completed_without_the_proof() {
    let stage = Stage::open().await.covers(&["code PROOF_REQUIRED"]);
    let ada = stage.driver("ada").await;
    let path = started(&stage, json!({"driver": ada.id, "pod_required": true, "pod_method": "signature"})).await;
    let at = |rest: &str| format!("{path}{rest}");
    stage.post(&at("/update-activity"), activity("enroute")).await.check(200);
    stage.refuses("POST", &at("/complete"), json!({}), SIGNATURE_WANTED).await;
    stage.refuses_to(&ada.token, ("POST", &at("/update-activity"), activity("completed")), SIGNATURE_WANTED).await;
    stage.refuses("PUT", &path, json!({"status": "completed"}), SIGNATURE_WANTED).await;

    let photo = stage.make(&at("/capture-photo"), json!({"photos": [PICTURE]})).await;
    stage.refuses("POST", &at("/complete"), json!({}), SIGNATURE_WANTED).await;
    let mut with_photo = activity("completed");
    with_photo["proof"] = json!(photo);
    stage.refuses("POST", &at("/update-activity"), with_photo.clone(), SIGNATURE_WANTED).await;
    stage.make(&at("/capture-signature"), json!({"signature": PICTURE})).await;
    stage.refuses("POST", &at("/update-activity"), with_photo, SIGNATURE_WANTED).await;
    assert_eq!(stage.told("order.completed").await, []);
    stage.post(&at("/complete"), json!({})).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn an_order_is_proved_in_the_way_that_it_names() {
    let stage = Stage::open().await.covers(&["code PROOF_REQUIRED"]);
    let ada = stage.driver("ada").await;
    for (method, kind, sentence) in [
        ("signature", "signature", "A proof of delivery by signature is required."),
        ("scan", "qr", "A proof of delivery by scan is required."),
        ("photo", "photo", "A proof of delivery by photo is required."),
    ] {
        let path = started(&stage, json!({"driver": ada.id, "pod_required": true, "pod_method": method})).await;
        stage.post(&format!("{path}/update-activity"), activity("enroute")).await.check(200);
        let words = (422, "PROOF_REQUIRED", sentence);
        stage.refuses_to(&ada.token, ("POST", &format!("{path}/complete"), json!({})), words).await;
        let body = match kind {
            "signature" => json!({"signature": PICTURE}),
            "qr" => json!({"code": path.trim_start_matches("/v1/orders/")}),
            _ => json!({"photos": [PICTURE]}),
        };
        stage.call(&ada.token, "POST", &format!("{path}/capture-{kind}"), body).await.check(201);
        stage.call(&ada.token, "POST", &format!("{path}/complete"), json!({})).await.check(200);
    }
    stage.finish().await;
}

/// A configuration may want a proof by itself, of whatever kind.
#[tokio::test]
async fn an_activity_may_want_a_proof_of_any_kind() {
    let stage = Stage::open().await.covers(&["code PROOF_REQUIRED"]);
    let step = |code: &str, next: &[&str]| {
        json!({"key": code, "code": code, "status": code, "details": code,
        "activities": next, "complete": next.is_empty(), "require_pod": next.is_empty()})
    };
    let flow = [
        step("created", &["dispatched"]),
        step("dispatched", &["started"]),
        step("started", &["completed"]),
        step("completed", &[]),
    ];
    stage.post("/v1/order-configs", json!({"key": "careful", "name": "Careful", "flow": flow})).await.check(201);
    let ada = stage.driver("ada").await;
    let path = started(&stage, json!({"type": "careful", "driver": ada.id})).await;
    stage.refuses("POST", &format!("{path}/complete"), json!({}), ANY_PROOF_WANTED).await;
    stage.make(&format!("{path}/capture-photo"), json!({"photos": [PICTURE]})).await;
    stage.post(&format!("{path}/complete"), json!({})).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn a_proof_that_proves_nothing_is_not_kept() {
    let stage = Stage::open().await.covers(&["code PROOF_EMPTY", "code QR_CODE_NOT_VALID"]);
    let path = format!("/v1/orders/{}", stage.order(json!({})).await);
    let other = stage.order(json!({})).await;
    let dropoff = stage.shown(&path).await["payload"]["dropoff"]["id"].as_str().expect("a place").to_owned();
    for of in ["", &format!("/{dropoff}")] {
        for (kind, empty, sentence) in [
            ("signature", json!({"signature": ""}), "No signature data to capture."),
            ("qr", json!({"code": " "}), "No QR code data to capture."),
            ("photo", json!({"photos": []}), "No photo data to capture."),
        ] {
            for body in [json!({}), empty] {
                let at = format!("{path}/capture-{kind}{of}");
                stage.refuses("POST", &at, body, (400, "PROOF_EMPTY", sentence)).await;
            }
        }
        for code in ["nonsense", other.as_str(), "order_0000000000"] {
            stage.refuses("POST", &format!("{path}/capture-qr{of}"), json!({"code": code}), WRONG_QR_CODE).await;
        }
    }
    assert_eq!(stage.shown(&format!("{path}/proofs")).await, json!([]));
    stage.finish().await;
}

#[tokio::test]
async fn the_number_that_an_order_shows_stays_with_it() {
    let stage = Stage::open().await.covers(&["code TRACKING_NUMBER_IN_USE"]);
    let path = format!("/v1/orders/{}", stage.order(json!({})).await);
    let shown = stage.shown(&path).await;
    for named in ["id", "tracking_number"] {
        let named = shown["tracking_number"][named].as_str().expect("a text");
        stage.refuses("DELETE", &format!("/v1/tracking-numbers/{named}"), Value::Null, NUMBER_BELONGS).await;
    }
    let body = json!({"region": "SG", "owner": shown["id"]});
    let besides = stage.make("/v1/tracking-numbers", body).await;
    stage.delete(&format!("/v1/tracking-numbers/{besides}")).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn a_status_stands_once_on_a_tracking_number() {
    let stage = Stage::open().await.covers(&["code VALIDATION_FAILED"]);
    let order = stage.order(json!({})).await;
    let status = |title: &str| {
        json!({"order": order, "status": title, "code": "AT_DEPOT", "details": "It waits.",
        "latitude": 1.5, "longitude": 103.5})
    };
    stage.post("/v1/tracking-statuses", status("At the depot")).await.check(201);
    let words = (422, "VALIDATION_FAILED", "The tracking number already has this status.");
    stage.refuses("POST", "/v1/tracking-statuses", status("At the depot"), words).await;
    stage.refuses("POST", "/v1/tracking-statuses", status("at THE depot"), words).await;
    stage.post("/v1/tracking-statuses", status("At the gate")).await.check(201);
    stage.finish().await;
}
