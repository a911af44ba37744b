//! Proofs as callers see them: real handlers on the host in memory.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestAnswer, TestCall, TestHost};

use crate::PLUGIN;
use crate::api::seeds::{
    ADA, BOB, ENTITY, NUMBER_TEXT, ORDER, PICKUP, PLACE, STOP, as_driver, host, id_of, number, refusal, refused,
};
use crate::rules::picture::samples::{JPEG, PNG, png_of};

const FORM: &str = "multipart/form-data; boundary=x";

fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

fn post(action: &str, body: &Value) -> TestCall {
    TestCall::post(&format!("/v1/orders/{ORDER}/{action}")).json(body)
}

fn sign(host: &TestHost) -> TestAnswer {
    host.call(post("capture-signature", &json!({"signature": base64(PNG)})))
}

fn proofs(host: &TestHost, subject: &str) -> Vec<Value> {
    let answer = host
        .call(TestCall::get(&format!("/v1/orders/{ORDER}/proofs{subject}")).context("base-url", "https://a.example/"));
    answer.json().as_array().unwrap_or_else(|| panic!("{}", answer.body)).clone()
}

/// A form of photos, as a browser writes it.
fn form(host: &TestHost, parts: &[(&str, &[u8])]) -> TestAnswer {
    let mut body = Vec::new();
    for (name, bytes) in parts {
        body.extend(format!("--x\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"p\"\r\n\r\n").bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--x--\r\n");
    host.call(TestCall::post(&format!("/v1/orders/{ORDER}/capture-photo")).bytes(FORM, &body))
}

#[test]
fn a_signature_proves_an_order() {
    let host = host();
    let signature = format!("data:image/png;base64,{}", base64(PNG));
    let body = json!({"signature": signature, "data": {"name": "Eve"}});
    let answer = host.call(post("capture-signature", &body).context("base-url", "https://a.example"));
    let proof = answer.json();
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!((&proof["order_id"], &proof["subject_id"]), (&json!(ORDER), &json!(ORDER)));
    assert_eq!(
        (&proof["remarks"], &proof["raw"], &proof["data"]),
        (&json!("Verified by Signature"), &json!(null), &json!({"name": "Eve"}))
    );
    let url = proof["url"].as_str().unwrap();
    assert!(url.starts_with("https://a.example/v1/files/file_") && url.ends_with("/download"), "{url}");
    assert_eq!(proofs(&host, ""), std::slice::from_ref(&proof));
    let picture = host.call(TestCall::get(url.strip_prefix("https://a.example").unwrap()));
    assert_eq!((picture.status, picture.body), (200, String::from_utf8_lossy(PNG).into_owned()));
    assert_eq!(proof.get("file").or(proof.get("stop")), None);
}

#[test]
fn an_order_may_be_named_by_the_callers_own_id() {
    let answer =
        host().call(TestCall::post("/v1/orders/A-1/capture-signature").json(&json!({"signature": base64(PNG)})));
    assert_eq!((answer.status, answer.json()["order_id"].clone()), (201, json!(ORDER)));
}

#[test]
fn what_is_no_signature_is_refused_and_leaves_nothing() {
    let host = host();
    for body in [json!({}), json!({"signature": ""}), json!({"signature": null})] {
        let answer = host.call(post("capture-signature", &body));
        assert_eq!(refusal(&answer), (400, "No signature data to capture.".to_owned()));
        refused(&answer, 400, "PROOF_EMPTY");
    }
    for body in [
        json!({"signature": 7}),
        json!({"signature": "!"}),
        json!({"signature": base64(b"<svg>")}),
        json!({"signature": base64(&[PNG, &[0; 512 << 10]].concat())}),
        json!({"signature": base64(PNG), "remarks": "x".repeat(256)}),
        json!({"signature": base64(PNG), "data": "text"}),
    ] {
        refused(&host.call(post("capture-signature", &body)), 422, "VALIDATION_FAILED");
    }
    assert!(proofs(&host, "").is_empty());
    assert_eq!(host.call(TestCall::get("/v1/files")).json(), json!([]));
}

#[test]
fn a_scanned_code_proves_what_it_names() {
    let host = host();
    host.put_record("tracking-numbers", "track_0000000002", &number("track_0000000002", "ACM0000000002SG", STOP, true));
    let scans = [
        ("capture-qr".to_owned(), NUMBER_TEXT),
        ("capture-qr".to_owned(), ORDER),
        (format!("capture-qr/{ENTITY}"), ENTITY),
        (format!("capture-qr/{STOP}"), "ACM0000000002SG"),
        (format!("capture-qr/{PLACE}"), PLACE),
        (format!("capture-qr/{PLACE}"), "track_0000000002"),
    ];
    for (action, code) in scans {
        let answer = host.call(post(&action, &json!({"code": code})));
        assert_eq!((answer.status, answer.json()["raw"].clone()), (201, json!(code)), "{action}: {}", answer.body);
        assert_eq!(
            (&answer.json()["url"], &answer.json()["remarks"]),
            (&json!(null), &json!("Verified by QR Code Scan"))
        );
    }
    let raw =
        host.call(post("capture-qr", &json!({"code": ORDER, "raw_data": ["x", 1], "data": {"a": 1}, "remarks": "ok"})));
    assert_eq!(
        (&raw.json()["raw"], &raw.json()["data"], &raw.json()["remarks"]),
        (&json!(["x", 1]), &json!({"a": 1}), &json!("ok"))
    );
}

#[test]
fn a_code_that_names_something_else_proves_nothing() {
    let host = host();
    for (action, code) in [
        ("capture-qr".to_owned(), ENTITY),
        ("capture-qr".to_owned(), "ACM9999999999SG"),
        (format!("capture-qr/{STOP}"), NUMBER_TEXT),
        (format!("capture-qr/{ENTITY}"), ORDER),
    ] {
        let answer = host.call(post(&action, &json!({"code": code})));
        assert_eq!(refusal(&answer), (400, "Unable to validate QR code data.".to_owned()), "{action}");
        refused(&answer, 400, "QR_CODE_NOT_VALID");
    }
    let nothing = host.call(post("capture-qr", &json!({})));
    assert_eq!(refusal(&nothing), (400, "No QR code data to capture.".to_owned()));
    let large = json!({"code": ORDER, "raw_data": "x".repeat(65_536)});
    refused(&host.call(post("capture-qr", &large)), 422, "VALIDATION_FAILED");
    assert!(proofs(&host, "").is_empty());
}

#[test]
fn each_photo_is_a_proof_and_the_last_one_is_shown() {
    let host = host();
    let body = json!({"photos": [base64(PNG), base64(JPEG)], "remarks": "at the door"});
    let answer = host.call(post("capture-photo", &body).context("base-url", "https://a.example"));
    let all = proofs(&host, "");
    assert_eq!((answer.status, all.len()), (201, 2), "{}", answer.body);
    assert!(all.contains(&answer.json()) && all.iter().all(|proof| proof["remarks"] == "at the door"));
    let url = answer.json()["url"].as_str().unwrap().replace("https://a.example", "");
    assert_eq!(host.call(TestCall::get(&url)).body, String::from_utf8_lossy(JPEG));
    assert_eq!(host.call(post("capture-photo", &json!({"photos": base64(PNG)}))).status, 201);
    assert_eq!(proofs(&host, "").len(), 3);
}

#[test]
fn photos_come_as_files_of_a_form_too() {
    let host = host();
    let answer = form(
        &host,
        &[("photos[]", JPEG), ("photos[]", PNG), ("remarks", b"seen"), ("data", b"{\"n\":1}"), ("colour", b"red")],
    );
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!((&answer.json()["remarks"], &answer.json()["data"]), (&json!("seen"), &json!({"n": 1})));
    assert!(answer.headers.contains(&("x-unknown-fields".to_owned(), "colour".to_owned())), "{:?}", answer.headers);
    assert_eq!(proofs(&host, "").len(), 2);
    assert_eq!(form(&host, &[("photos[0]", PNG), ("photos[1]", PNG), ("data", b"")]).status, 201);
}

#[test]
fn what_are_no_photos_is_refused_and_leaves_nothing() {
    let host = host();
    for body in [json!({}), json!({"photos": []}), json!({"photos": null})] {
        let answer = host.call(post("capture-photo", &body));
        assert_eq!(refusal(&answer), (400, "No photo data to capture.".to_owned()), "{body}");
    }
    assert_eq!(refusal(&form(&host, &[("remarks", b"x")])), (400, "No photo data to capture.".to_owned()));
    for photos in
        [json!(7), json!([7]), json!(["!"]), json!([base64(b"<html>")]), json!(vec![base64(PNG); 11]), json!({})]
    {
        refused(&host.call(post("capture-photo", &json!({"photos": photos}))), 422, "VALIDATION_FAILED");
    }
    let forms: [&[(&str, &[u8])]; 6] = [
        &[("photos", b"<html>")],
        &[("photos", PNG); 11],
        &[("photos", PNG), ("remarks", b"\xff")],
        &[("photos", PNG), ("data", b"{")],
        &[("photos", PNG), ("data", b"\"\\ud800\"")],
        &[("photos", PNG), ("remarks", &[b'x'; 256])],
    ];
    for parts in forms {
        refused(&form(&host, parts), 422, "VALIDATION_FAILED");
    }
    let broken = TestCall::post(&format!("/v1/orders/{ORDER}/capture-photo")).bytes(FORM, b"--x\r\n\r\n--x--");
    refused(&host.call(broken), 400, "MALFORMED_REQUEST");
    assert!(proofs(&host, "").is_empty());
    assert_eq!(host.call(TestCall::get("/v1/files")).json(), json!([]));
}

/// So large that a record holds a part of one.
fn photo(bytes: usize) -> Vec<u8> {
    let noise = (0u32..).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8);
    png_of(&noise.take(bytes - PNG.len()).collect::<Vec<u8>>())
}

#[test]
fn large_photos_are_kept_whole_and_larger_ones_are_refused() {
    let host = host();
    let (large, small) = (photo(4 << 20), photo(1 << 20));
    let answer = host.call(post("capture-photo", &json!({"photos": [base64(&large), base64(&small)]})));
    assert_eq!(answer.status, 201, "{:.200}", answer.body);
    for bytes in [&large, &small] {
        let file = host.call(TestCall::get(&format!("/v1/files?file_size={}", bytes.len()))).json()[0].clone();
        let download = host.call(TestCall::get(&format!("/v1/files/{}/download", file["id"].as_str().unwrap())));
        assert!(download.body == String::from_utf8_lossy(bytes), "{file}");
    }
    let kept = proofs(&host, "").len();
    assert!(form(&host, &[("photos", &large), ("photos", &small)]).status == 201);
    for parts in
        [&[("photos", photo((4 << 20) + 1))][..], &[("photos", large.clone()), ("photos", photo((1 << 20) + 1))]]
    {
        let parts: Vec<(&str, &[u8])> = parts.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
        refused(&form(&host, &parts), 422, "VALIDATION_FAILED");
        let texts: Vec<String> = parts.iter().map(|(_, bytes)| base64(bytes)).collect();
        refused(&host.call(post("capture-photo", &json!({"photos": texts}))), 422, "VALIDATION_FAILED");
    }
    assert_eq!(proofs(&host, "").len(), kept + 2);
}

/// What the host lets through in bytes, the rules let through in pictures.
#[test]
fn the_routes_let_in_what_the_rules_take() {
    let manifest: Value = serde_json::from_str(&PLUGIN.describe()).unwrap();
    let routes = manifest["routes"].as_array().unwrap();
    let bytes_max = |operation: &str| {
        let route = routes.iter().find(|route| route["operation"] == operation).unwrap();
        route["body-bytes-max"].as_u64().unwrap_or_else(|| panic!("{route}"))
    };
    let encoded = |bytes: u64| bytes.div_ceil(3) * 4;
    for operation in ["capture-photo", "capture-photo-of"] {
        assert!(bytes_max(operation) >= encoded(5 << 20) + (70 << 10) && bytes_max(operation) <= 8 << 20);
    }
    for operation in ["capture-signature", "capture-signature-of"] {
        assert!(bytes_max(operation) >= encoded(512 << 10) + (70 << 10));
    }
}

#[test]
fn an_order_has_a_hundred_proofs_at_most() {
    let host = host();
    for _ in 0..10 {
        let body = json!({"photos": vec![base64(PNG); 10]});
        assert_eq!(host.call(post("capture-photo", &body)).status, 201);
    }
    assert_eq!(
        refusal(&sign(&host)),
        (422, "The signature field is not accepted: an order has at most 100 proofs.".to_owned())
    );
    assert_eq!(proofs(&host, "").len(), 100);
}

#[test]
fn proofs_are_listed_by_subject_the_newest_first() {
    let host = host();
    let captured: Vec<String> =
        ["", "/waypoint_0000000001", "/place_0000000001", "/entity_0000000001", "/waypoint_0000000002"]
            .iter()
            .map(|subject| {
                host.advance_ms(1);
                id_of(&host.call(post(&format!("capture-signature{subject}"), &json!({"signature": base64(PNG)}))))
            })
            .collect();
    let ids = |subject: &str| {
        proofs(&host, subject).iter().map(|proof| proof["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let of = |places: &[usize]| places.iter().map(|place| captured[*place].clone()).collect::<Vec<_>>();
    assert_eq!(ids(""), of(&[4, 3, 2, 1, 0]));
    assert_eq!(ids(&format!("/{ORDER}")), of(&[0]));
    // The pickup is at the same place, and done: whoever names the place means the stop that is not.
    assert_eq!(ids(&format!("/{STOP}")), of(&[2, 1]));
    assert_eq!(ids(&format!("/{PLACE}")), of(&[2, 1]));
    assert_eq!(ids(&format!("/{PICKUP}")), of(&[4]));
    assert_eq!(ids(&format!("/{ENTITY}")), of(&[3]));
}

#[test]
fn a_subject_of_another_order_is_not_found() {
    let host = host();
    let body = json!({"signature": base64(PNG), "photos": [base64(PNG)], "code": "x"});
    for subject in ["place_0000000009", "waypoint_0000000009", "entity_0000000009", "order_0000000009", "x"] {
        for action in ["capture-signature", "capture-qr", "capture-photo"] {
            refused(&host.call(post(&format!("{action}/{subject}"), &body)), 404, "RESOURCE_NOT_FOUND");
        }
        let list = TestCall::get(&format!("/v1/orders/{ORDER}/proofs/{subject}"));
        refused(&host.call(list), 404, "RESOURCE_NOT_FOUND");
    }
}

fn every_call(order: &str) -> Vec<TestCall> {
    let body = json!({"signature": base64(PNG), "photos": [base64(PNG)], "code": ORDER});
    let mut calls = Vec::new();
    for subject in ["", "/order_0000000001"] {
        for action in ["capture-signature", "capture-qr", "capture-photo"] {
            calls.push(TestCall::post(&format!("/v1/orders/{order}/{action}{subject}")).json(&body));
        }
        calls.push(TestCall::get(&format!("/v1/orders/{order}/proofs{subject}")));
    }
    calls
}

#[test]
fn unknown_malformed_and_foreign_orders_look_the_same() {
    let host = host();
    for order in ["order_0000000009", "x", "A-2"] {
        for call in every_call(order) {
            refused(&host.call(call), 404, "RESOURCE_NOT_FOUND");
        }
    }
    for call in every_call(ORDER) {
        refused(&host.call(call.tenant("umbra/test")), 404, "RESOURCE_NOT_FOUND");
    }
    assert!(proofs(&host, "").is_empty());
}

#[test]
fn a_driver_proves_his_own_orders() {
    let host = host();
    for call in every_call(ORDER) {
        refused(&host.call(as_driver(call, BOB)), 404, "RESOURCE_NOT_FOUND");
    }
    for call in every_call(ORDER) {
        assert!(host.call(as_driver(call, ADA)).status < 300);
    }
}

#[test]
fn of_an_order_that_is_offered_a_driver_sees_the_proofs_and_adds_none() {
    let host = host();
    let mut order = host.record("orders", ORDER).unwrap();
    order["driver_assigned"] = Value::Null;
    for flag in ["adhoc", "dispatched", "open"] {
        order[flag] = true.into();
    }
    host.put_record("orders", ORDER, &order);
    sign(&host);
    let list = TestCall::get(&format!("/v1/orders/{ORDER}/proofs"));
    assert_eq!(host.call(as_driver(list, BOB)).json().as_array().unwrap().len(), 1);
    let signing = post("capture-signature", &json!({"signature": base64(PNG)}));
    refused(&host.call(as_driver(signing, BOB)), 403, "API_FORBIDDEN");
}

#[test]
fn no_bytes_in_a_body_break_a_capture() {
    let host = host();
    let bodies = [
        r#"{"photos":{"a":[]}}"#,
        r#"{"photos":["\ud800"]}"#,
        r#"{"code":"\u0000"}"#,
        r#"{"signature":[[]],"code":{},"photos":1e999}"#,
        r#"{"data":{"a":"\ud800"},"raw_data":"\ud800","photos":[""],"signature":"AA","code":"order_0000000001"}"#,
        "[]",
        "",
        "{",
        "null",
    ];
    for body in bodies {
        for action in ["capture-signature", "capture-qr", "capture-photo"] {
            let answer = host.call(TestCall::post(&format!("/v1/orders/{ORDER}/{action}")).text(body));
            assert!([400, 422].contains(&answer.status), "{action} {body}: {}", answer.body);
        }
    }
    let many = format!("{{{}}}", vec![r#""a":1"#; 20_000].join(","));
    let answer = host.call(TestCall::post(&format!("/v1/orders/{ORDER}/capture-photo")).text(&many));
    refused(&answer, 422, "VALIDATION_FAILED");
}

/// Larger ones than are taken today may have been taken before.
#[test]
fn proofs_that_the_host_gives_in_several_pages_are_all_counted_shown_and_deleted() {
    let host = host();
    for nth in 0..100 {
        let id = format!("proof_{nth:010}");
        // What is not shown makes several pages of what one answer holds.
        let proof = json!({"id": id, "order_id": ORDER, "method": "scan", "stop": "x".repeat(100_000)});
        host.put_record("proofs", &id, &proof);
    }
    refused(&sign(&host), 422, "VALIDATION_FAILED");
    assert_eq!(proofs(&host, "").len(), 100);
    assert_eq!(host.call(TestCall::delete(&format!("/v1/orders/{ORDER}"))).status, 200);
    assert!((0..100).all(|nth| host.record("proofs", &format!("proof_{nth:010}")).is_none()));
}

#[test]
fn what_is_said_beside_a_proof_is_bounded() {
    let host = host();
    let data = |bytes: usize| json!({"k": "x".repeat(bytes - r#"{"k":""}"#.len())});
    let raw = |bytes: usize| json!("x".repeat(bytes - 2));
    for (bytes, status) in [(16_384, 201), (16_385, 422)] {
        for body in [json!({"code": ORDER, "data": data(bytes)}), json!({"code": ORDER, "raw_data": raw(bytes)})] {
            assert_eq!(host.call(post("capture-qr", &body)).status, status, "{bytes}");
        }
        for (action, field, value) in
            [("capture-signature", "signature", json!(base64(PNG))), ("capture-photo", "photos", json!([base64(PNG)]))]
        {
            let body = json!({field: value, "data": data(bytes)});
            assert_eq!(host.call(post(action, &body)).status, status, "{action} {bytes}");
        }
    }
}
