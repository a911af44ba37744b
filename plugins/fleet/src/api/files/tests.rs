//! Pictures as callers get them: real handlers on the host in memory.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestCall, TestHost};

use crate::api::seeds::{ADA, BOB, ORDER, as_driver, host, refused};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// The file of a signature.
fn signed(host: &TestHost) -> Value {
    let body = json!({"signature": BASE64_STANDARD.encode(PNG)});
    let answer = host.call(TestCall::post(&format!("/v1/orders/{ORDER}/capture-signature")).json(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    host.call(TestCall::get("/v1/files")).json()[0].clone()
}

fn path(file: &Value) -> String {
    format!("/v1/files/{}", file["id"].as_str().unwrap())
}

#[test]
fn a_picture_is_read_and_listed() {
    let host = host();
    let file = signed(&host);
    assert_eq!((&file["order_id"], &file["type"]), (&json!(ORDER), &json!("signature")));
    assert_eq!((&file["content_type"], &file["file_size"]), (&json!("image/png"), &json!(PNG.len())));
    assert_eq!((&file["original_filename"], file.get("chunks")), (&json!("signature.png"), None));
    let read = host.call(TestCall::get(&path(&file)).context("base-url", "https://a.example")).json();
    assert_eq!(read["url"], json!(format!("https://a.example{}/download", path(&file))));
    for (query, count) in [(format!("?order={ORDER}&type=signature"), 1), ("?type=photo".to_owned(), 0)] {
        let list = host.call(TestCall::get(&format!("/v1/files{query}"))).json();
        assert_eq!(list.as_array().unwrap().len(), count, "{query}");
    }
}

#[test]
fn a_downloaded_picture_is_taken_for_nothing_else() {
    let host = host();
    let file = signed(&host);
    let answer = host.call(TestCall::get(&format!("{}/download", path(&file))));
    assert_eq!((answer.status, answer.body.clone()), (200, String::from_utf8_lossy(PNG).into_owned()));
    let name = format!("inline; filename=\"{}.png\"", file["id"].as_str().unwrap());
    let expected = [
        ("content-type", "image/png"),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", &name),
        ("content-security-policy", "default-src 'none'; sandbox"),
    ];
    for (header, value) in expected {
        assert!(answer.headers.contains(&(header.to_owned(), value.to_owned())), "{:?}", answer.headers);
    }
}

#[test]
fn unknown_malformed_and_foreign_files_look_the_same() {
    let host = host();
    let file = path(&signed(&host));
    for path in [file.clone(), "/v1/files/file_0000000009".to_owned(), "/v1/files/x".to_owned()] {
        for path in [path.clone(), format!("{path}/download")] {
            refused(&host.call(TestCall::get(&path).tenant("umbra/test")), 404, "RESOURCE_NOT_FOUND");
        }
    }
    assert_eq!(host.call(TestCall::get("/v1/files").tenant("umbra/test")).json(), json!([]));
}

#[test]
fn a_driver_gets_the_pictures_of_his_own_orders() {
    let host = host();
    let file = path(&signed(&host));
    for path in [file.clone(), format!("{file}/download")] {
        assert_eq!(host.call(as_driver(TestCall::get(&path), ADA)).status, 200);
        refused(&host.call(as_driver(TestCall::get(&path), BOB)), 404, "RESOURCE_NOT_FOUND");
    }
    refused(&host.call(as_driver(TestCall::get("/v1/files"), ADA)), 403, "API_FORBIDDEN");
}
