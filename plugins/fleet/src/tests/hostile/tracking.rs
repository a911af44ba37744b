//! What a hostile caller sends to tracking numbers, tracking statuses and proofs.

use serde_json::json;
use tenon_plugin::test_kit::{TestCall, TestHost};

use super::{check, texts, values};
use crate::api::seeds;
use crate::rules::picture::samples::PNG_BASE64;

/// Operations that are tried here.
pub const TRIED: [&str; 15] = [
    "create-tracking-number",
    "find-by-qr",
    "create-tracking-status",
    "update-tracking-status",
    "patch-tracking-status",
    "capture-signature",
    "capture-signature-of",
    "capture-qr",
    "capture-qr-of",
    "capture-photo",
    "capture-photo-of",
    "create-file",
    "create-file-base64",
    "update-file",
    "patch-file",
];

/// Path, and bodies with a place for a value: "%".
const BODIES: [(&str, &[&str]); 8] = [
    (
        "/v1/tracking-numbers",
        &[
            "%",
            r#"{"region":%,"owner":"order_0000000001"}"#,
            r#"{"region":"SG","owner":%}"#,
            r#"{"region":"SG","owner":"order_0000000001","type":%}"#,
            r#"{"region":"SG","owner":"order_0000000001","status":%}"#,
        ],
    ),
    ("/v1/tracking-numbers/from-qr", &["%", r#"{"code":%}"#]),
    (
        "/v1/tracking-statuses",
        &[
            "%",
            r#"{"tracking_number":%,"status":"abc","code":"abc","details":"abc","location":"1,1"}"#,
            r#"{"order":%,"status":"abc","code":"abc","details":"abc","location":"1,1"}"#,
            r#"{"order":"A-1","status":%,"code":%,"details":%,"location":"1,1"}"#,
            r#"{"order":"A-1","status":"abc","code":%,"details":"abc","location":"1,1","duplicate":true}"#,
            r#"{"order":"A-1","status":"abc","code":"abc","details":%,"location":"1,1","duplicate":true}"#,
            r#"{"order":"A-1","status":"abc","code":"abc","details":"abc","location":%,"duplicate":%}"#,
            r#"{"order":"A-1","status":"abc","code":"abc","details":"abc","latitude":%,"longitude":%}"#,
            r#"{"order":"A-1","status":"abc","code":"abc","details":"abc","location":"1,1","city":%,"province":%,"postal_code":%,"country":%}"#,
        ],
    ),
    (
        "/v1/orders/A-1/capture-signature",
        &[
            "%",
            r#"{"signature":%}"#,
            r#"{"signature":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==","remarks":%}"#,
            r#"{"signature":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==","data":%}"#,
        ],
    ),
    (
        "/v1/orders/A-1/capture-qr",
        &[
            "%",
            r#"{"code":%}"#,
            r#"{"code":"order_0000000001","remarks":%,"data":%}"#,
            r#"{"code":"order_0000000001","raw_data":%}"#,
        ],
    ),
    (
        "/v1/orders/A-1/capture-photo",
        &[
            "%",
            r#"{"photos":%}"#,
            r#"{"photos":[%]}"#,
            r#"{"photos":["iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="],"remarks":%}"#,
            r#"{"photos":["iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="],"data":%}"#,
        ],
    ),
    ("/v1/files", &["%", r#"{"data":%}"#]),
    (
        "/v1/files/base64",
        &[
            "%",
            r#"{"data":%,"content_type":%}"#,
            r#"{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==","file_name":%,"file_type":%}"#,
            r#"{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==","type":%,"filename":%}"#,
            r#"{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==","caption":%}"#,
            r#"{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==","meta":%}"#,
        ],
    ),
];

#[test]
fn no_value_in_a_body_of_tracking_breaks_it() {
    for (path, bodies) in BODIES {
        for template in bodies {
            let host = seeds::host();
            for value in values() {
                check(&host, TestCall::post(path).text(&template.replace('%', &value)));
            }
            check_lists(&host);
        }
    }
}

/// What was taken can be read by everybody.
fn check_lists(host: &TestHost) {
    for list in ["/v1/tracking-numbers", "/v1/tracking-statuses", "/v1/files", "/v1/orders/A-1/proofs"] {
        check(host, TestCall::get(list));
    }
}

#[test]
fn no_value_in_a_changed_status_breaks_it() {
    let status = json!({"order": "A-1", "status": "abc", "code": "abc", "details": "abc", "location": "1,1"});
    let fields = [
        "status",
        "code",
        "details",
        "location",
        "latitude",
        "city",
        "country",
        "tracking_number",
        "order",
        "duplicate",
    ];
    for field in fields {
        let host = seeds::host();
        let id = seeds::id_of(&host.call(TestCall::post("/v1/tracking-statuses").json(&status)));
        for (value, method) in values().iter().zip(["PUT", "PATCH"].into_iter().cycle()) {
            let body = format!("{{\"{field}\":{value}}}");
            check(&host, TestCall::new(method, &format!("/v1/tracking-statuses/{id}")).text(&body));
        }
        check_lists(&host);
    }
}

#[test]
fn no_value_in_a_changed_file_breaks_it() {
    let host = seeds::host();
    let file = json!({ "data": PNG_BASE64 });
    let id = seeds::id_of(&host.call(TestCall::post("/v1/files/base64").json(&file)));
    for field in ["caption", "filename", "original_filename", "type", "file_type", "meta", "data"] {
        for (value, method) in values().iter().zip(["PUT", "PATCH"].into_iter().cycle()) {
            let body = format!("{{\"{field}\":{value}}}");
            check(&host, TestCall::new(method, &format!("/v1/files/{id}")).text(&body));
        }
        check_lists(&host);
    }
}

#[test]
fn no_subject_of_a_proof_breaks_it() {
    let host = seeds::host();
    let body = json!({"signature": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==", "code": "order_0000000001", "photos": ["iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="]});
    for subject in texts().iter().filter(|text| !text.is_empty() && !text.contains(['/', '?'])) {
        for action in ["capture-signature", "capture-qr", "capture-photo"] {
            check(&host, TestCall::post(&format!("/v1/orders/A-1/{action}/{subject}")).json(&body));
        }
        check(&host, TestCall::get(&format!("/v1/orders/A-1/proofs/{subject}")));
    }
}

#[test]
fn no_parameter_of_a_list_of_tracking_breaks_it() {
    let host = seeds::host();
    for text in texts().iter().filter(|text| !text.contains(['&', '='])) {
        for parameter in
            ["tracking_number", "owner", "status", "code", "complete", "file_size_gt", "created_at", "sort", "unknown"]
        {
            for list in ["/v1/tracking-numbers", "/v1/tracking-statuses", "/v1/files"] {
                check(&host, TestCall::get(&format!("{list}?{parameter}={text}")));
            }
        }
    }
}
