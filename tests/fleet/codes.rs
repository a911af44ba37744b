//! Codes of the interface as a whole: who asks, for what, and how it is written. Those of orders, deliveries and drivers stand
//! beside.
//!
//! Owns how a refusal is checked: status, all of the body, and that nothing was changed or told.

use serde_json::{Value, json};

use super::{
    routes::{JSON, routes},
    stage::Stage,
};
use crate::support::Response;

/// Status, code, sentence.
pub type Words<'a> = (u16, &'a str, &'a str);

impl Stage {
    /// The organization asks, and is refused in these words. Nothing has changed, and nobody was told of anything.
    pub async fn refuses(&self, method: &str, path: &str, body: Value, words: Words<'_>) {
        self.refuses_to(&self.key, (method, path, body), words).await;
    }

    /// The same of somebody else.
    pub async fn refuses_to(&self, key: &str, (method, path, body): (&str, &str, Value), words: Words<'_>) {
        let before = self.picture().await;
        let answer = self.call(key, method, path, body).await;
        check_words(&answer, words);
        assert_eq!(self.picture().await, before, "{method} {path}: a refusal changes nothing");
    }

    /// Every list that the organization can see, that of the events among them.
    pub async fn picture(&self) -> Vec<Value> {
        let mut seen = Vec::new();
        for route in routes() {
            if route.operation.starts_with("list-") && !route.path.contains('{') {
                seen.push(self.shown(&route.path).await);
            }
        }
        seen.push(json!(self.host.events().await.len()));
        seen
    }
}

/// All of the body, member by member. Behind the sentence that clients know may stand what to do about it.
#[track_caller]
pub fn check_words(answer: &Response, (status, code, sentence): Words<'_>) {
    assert_eq!(answer.status, status, "{}", answer.text());
    let errors = answer.json()["errors"].clone();
    assert_eq!((&errors[0], errors.as_array().map(Vec::len) > Some(1)), (&json!(sentence), code == "DRIVER_REQUIRED"));
    let expected = json!({"error": sentence, "errors": errors, "code": code,
        "request_id": answer.header("x-request-id").expect("an id of the request")});
    assert_eq!(answer.json(), expected);
}

const NOT_FOUND: Words<'static> = (404, "RESOURCE_NOT_FOUND", "The requested resource was not found");
const ORDER: &[u8] = br#"{"pickup": "1 Dock St", "dropoff": "2 Mill Rd"}"#;

#[tokio::test]
async fn what_is_not_there_and_what_is_anothers_are_told_in_the_same_words() {
    let stage = Stage::open().await.covers(&["code RESOURCE_NOT_FOUND"]);
    let path = format!("/v1/orders/{}", stage.order(json!({})).await);
    let rival = stage.host.key("fleet", "rival").await;
    stage.call(&stage.key, "GET", &path, Value::Null).await.check(200);
    for (method, rest) in [("GET", ""), ("DELETE", ""), ("DELETE", "/cancel"), ("GET", "/tracker"), ("GET", "/proofs")]
    {
        stage.refuses_to(&rival, (method, &format!("{path}{rest}"), Value::Null), NOT_FOUND).await;
        let nowhere = format!("/v1/orders/order_0000000000{rest}");
        stage.refuses(method, &nowhere, Value::Null, NOT_FOUND).await;
    }
    for path in ["/v1/nothing", "/v1/orders/a/b", "/v1/orders/%00", "/v1"] {
        stage.refuses("GET", path, Value::Null, NOT_FOUND).await;
    }
    stage.finish().await;
}

#[tokio::test]
async fn a_method_or_a_version_that_there_is_not_is_named() {
    let stage = Stage::open().await.covers(&["code METHOD_NOT_ALLOWED", "code API_VERSION_NOT_SUPPORTED"]);
    let words = (405, "METHOD_NOT_ALLOWED", "The resource does not support this method");
    for (method, path, allowed) in [
        ("DELETE", "/v1/orders", "GET, HEAD, OPTIONS, POST"),
        ("GET", "/v1/drivers/login", "OPTIONS, POST"),
        ("PUT", "/v1/events", "GET, HEAD, OPTIONS"),
    ] {
        stage.refuses(method, path, json!({}), words).await;
        let answer = stage.call(&stage.key, method, path, json!({})).await;
        let mut named: Vec<&str> = answer.header("allow").expect("Allow").split(',').map(str::trim).collect();
        named.sort_unstable();
        assert_eq!(named.join(", "), allowed, "{path}");
    }
    let words = (400, "API_VERSION_NOT_SUPPORTED", "The requested API version is not supported");
    for path in ["/v0/orders", "/v2/orders", "/v99/drivers/driver_0000000000"] {
        stage.refuses("GET", path, Value::Null, words).await;
    }
    stage.refuses("POST", "/v2/orders", json!({"pickup": "a", "dropoff": "b"}), words).await;
    stage.finish().await;
}

/// A body as it comes: its media type, its bytes.
#[tokio::test]
async fn a_body_that_nobody_can_read_is_refused_before_it_is_looked_at() {
    let stage = Stage::open().await.covers(&[
        "code UNSUPPORTED_MEDIA_TYPE",
        "code MALFORMED_REQUEST",
        "code PAYLOAD_TOO_LARGE",
    ]);
    let (malformed, large) = ("The request is not well-formed", "The body is too large");
    let photos = format!("/v1/orders/{}/capture-photo", stage.order(json!({})).await);
    let before = stage.picture().await;
    let half = &ORDER[..ORDER.len() - 1];
    let most = [ORDER, vec![b' '; (1 << 20) - ORDER.len()].as_slice()].concat();
    let table: [(&str, &[u8], Words<'_>); 5] = [
        ("application/xml", b"<order/>", (415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json")),
        ("text/plain", ORDER, (415, "UNSUPPORTED_MEDIA_TYPE", "The body must be application/json")),
        ("application/json", half, (400, "MALFORMED_REQUEST", malformed)),
        ("application/json", b"\xff\xfe", (400, "MALFORMED_REQUEST", malformed)),
        ("application/json", &[most.as_slice(), b" "].concat(), (413, "PAYLOAD_TOO_LARGE", large)),
    ];
    for (media_type, body, words) in table {
        let headers = [("content-type", media_type)];
        check_words(&stage.send(&stage.key, "POST", "/v1/orders", &headers, body.to_vec()).await, words);
    }
    let form = [("content-type", "multipart/form-data; boundary=x")];
    let answer = stage.send(&stage.key, "POST", &photos, &form, b"--y\r\nnonsense".to_vec()).await;
    check_words(&answer, (400, "MALFORMED_REQUEST", malformed));
    assert_eq!(stage.picture().await, before);

    stage.send(&stage.key, "POST", "/v1/orders", &JSON, most).await.check(201);
    assert_eq!(stage.told("order.created").await.len(), 2, "the last one is as large as a body may be");
    stage.finish().await;
}

#[tokio::test]
async fn a_key_of_idempotency_is_good_for_one_request() {
    let stage = Stage::open().await.covers(&["code IDEMPOTENCY_MISMATCH", "code MALFORMED_REQUEST"]);
    let send = async |path: &str, key: &str, body: &[u8]| {
        let headers = [("content-type", "application/json"), ("idempotency-key", key)];
        stage.send(&stage.key, "POST", path, &headers, body.to_vec()).await
    };
    let first = send("/v1/orders", "once", ORDER).await.expect(201);
    let before = stage.picture().await;
    let again = send("/v1/orders", "once", ORDER).await.expect(201);
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &first.body));
    let words = (422, "IDEMPOTENCY_MISMATCH", "The Idempotency-Key was used for another request");
    check_words(&send("/v1/orders", "once", br#"{"pickup": "a", "dropoff": "b"}"#).await, words);
    check_words(&send("/v1/places", "once", ORDER).await, words);
    let words = (400, "MALFORMED_REQUEST", "The request is not well-formed");
    check_words(&send("/v1/orders", "two words", ORDER).await, words);
    assert_eq!(stage.picture().await, before, "one order, whatever came after it");
    stage.finish().await;
}

/// Who comes too fast is told when to come back; another organization does not notice.
#[tokio::test]
async fn who_comes_too_fast_is_told_when_to_come_back() {
    let stage = Stage::open_with("[plugins.fleet.limits]\nrate-per-second = 1\nrate-burst = 3").await;
    let stage = stage.covers(&["code RATE_LIMITED"]);
    let rival = stage.host.key("fleet", "rival").await;
    let orders = (0..20).map(|_| stage.send(&stage.key, "POST", "/v1/orders", &JSON, ORDER.to_vec()));
    let answers = futures_util::future::join_all(orders).await;
    let (made, limited): (Vec<&Response>, Vec<&Response>) = answers.iter().partition(|answer| answer.status == 201);
    assert!(made.len() >= 3 && !limited.is_empty(), "{} of 20", made.len());
    for answer in limited {
        check_words(answer, (429, "RATE_LIMITED", "Too many requests."));
        let seconds = answer.header("retry-after").and_then(|seconds| seconds.parse::<u32>().ok());
        assert!(seconds.is_some_and(|seconds| seconds >= 1), "{:?}", answer.header("retry-after"));
    }
    assert_eq!(stage.told("order.created").await.len(), made.len(), "what was refused has made nothing");
    stage.send(&rival, "GET", "/v1/orders", &[], Vec::new()).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn who_pulls_events_after_one_that_is_not_kept_begins_anew() {
    let stage = Stage::open().await.covers(&["code EVENT_NOT_KEPT", "list-events answers"]);
    stage.order(json!({})).await;
    let first = stage.shown("/v1/events?limit=1").await;
    let known = first["next"].as_str().expect("the id of the last event").to_owned();
    stage.get(&format!("/v1/events?after={known}")).await.check(200);
    let words = (
        410,
        "EVENT_NOT_KEPT",
        "The event that `after` names is not known, or not kept any more. Begin without `after`.",
    );
    stage.refuses("GET", "/v1/events?after=event_00000000000000000000000000000000", Value::Null, words).await;
    stage.refuses("GET", "/v1/events?after=nonsense", Value::Null, words).await;
    let rival = stage.host.key("fleet", "rival").await;
    stage.refuses_to(&rival, ("GET", &format!("/v1/events?after={known}"), Value::Null), words).await;
    stage.finish().await;
}

#[tokio::test]
async fn all_that_is_wrong_with_a_body_is_said_at_once() {
    let stage = Stage::open().await.covers(&["code VALIDATION_FAILED"]);
    let before = stage.picture().await;
    let body = json!({"email": "nobody", "status": "lost"});
    let answer = stage.post("/v1/drivers", body).await.expect(422).json();
    let sentences = [
        "The status field must be one of: active, available, inactive.",
        "The name field is required.",
        "The phone field is required.",
        "The email field must be a valid email address.",
    ];
    assert_eq!((&answer["code"], &answer["error"]), (&json!("VALIDATION_FAILED"), &json!(sentences[0])));
    assert_eq!(answer["errors"], json!(sentences));
    for (body, sentence) in [
        (json!([1]), "The body must be a JSON object."),
        (json!({"pickup": 5, "dropoff": "b"}), "The pickup field must be an address, coordinates, or a place."),
    ] {
        stage.refuses("POST", "/v1/orders", body, (422, "VALIDATION_FAILED", sentence)).await;
    }
    assert_eq!(stage.picture().await, before);
    stage.finish().await;
}
