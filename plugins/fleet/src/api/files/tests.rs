//! Pictures as callers get them: real handlers on the host in memory.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use tenon_plugin::test_kit::{TestCall, TestHost};

use crate::api::seeds::{ADA, BOB, ORDER, as_driver, host, refused};
use crate::rules::file::OF_DRIVER_MAX;
use crate::rules::picture::samples::{JPEG, PNG};

/// The file of a signature.
fn signed(host: &TestHost) -> Value {
    let body = json!({"signature": BASE64_STANDARD.encode(PNG)});
    let answer = host.call(TestCall::post(&format!("/v1/orders/{ORDER}/capture-signature")).json(&body));
    assert_eq!(answer.status, 201, "{}", answer.body);
    host.call(TestCall::get("/v1/files?type=signature")).json()[0].clone()
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
    let list = host.call(as_driver(TestCall::get("/v1/files"), ADA)).json();
    assert_eq!(list, json!([]), "a list has what he has sent himself");
}

/// A form with a file, as a browser writes it.
fn form(parts: &[(&str, &[u8])]) -> TestCall {
    let mut body = Vec::new();
    for (head, bytes) in parts {
        body.extend(format!("--x\r\nContent-Disposition: form-data; name={head}\r\n\r\n").bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--x--\r\n");
    TestCall::post("/v1/files").bytes("multipart/form-data; boundary=x", &body)
}

fn in_json(more: Value) -> TestCall {
    let mut body = json!({ "data": BASE64_STANDARD.encode(PNG) });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    TestCall::post("/v1/files/base64").json(&body)
}

#[test]
fn a_picture_comes_by_itself_in_a_form_or_in_json() {
    let host = host();
    let words = [
        ("\"file\"; filename=\"C:\\\\pics\\\\front.jpg\"", JPEG),
        ("type", b"licence"),
        ("caption", b"Front"),
        ("meta", b"{\"n\":1}"),
    ];
    let sent = host.call(form(&words));
    let file = sent.json();
    assert_eq!((sent.status, &file["content_type"]), (201, &json!("image/jpeg")), "{}", sent.body);
    assert_eq!((&file["original_filename"], &file["type"]), (&json!("front.jpg"), &json!("licence")));
    assert_eq!((&file["caption"], &file["meta"], &file["order_id"]), (&json!("Front"), &json!({"n": 1}), &Value::Null));
    assert_eq!(host.call(TestCall::get(&format!("{}/download", path(&file)))).body, String::from_utf8_lossy(JPEG));
    let head = in_json(
        json!({"data": format!("data:image/png;base64,{}", BASE64_STANDARD.encode(PNG)), "file_name": "a/b.png", "file_type": "licence", "content_type": "text/html"}),
    );
    let file = host.call(head).json();
    assert_eq!((&file["content_type"], &file["original_filename"]), (&json!("image/png"), &json!("b.png")));
    assert_eq!(file["type"], "licence");
    let named = host.call(in_json(json!({"filename": null, "file_name": "c.png"}))).json();
    assert_eq!(named["original_filename"], "c.png", "the name that says something");
    let plain = host.call(in_json(json!({}))).json();
    assert_eq!((&plain["type"], &plain["original_filename"]), (&json!("attachment"), &json!("attachment.png")));
    assert_eq!(host.call(TestCall::get("/v1/files?type=licence")).json().as_array().unwrap().len(), 2);
    assert!(host.events().is_empty());
}

#[test]
fn what_is_no_picture_or_none_at_all_is_refused_and_leaves_nothing() {
    let host = host();
    let whole = PNG.len();
    let large = vec![0; (4 << 20) + 1];
    let base64 = |bytes: &[u8]| json!({ "data": BASE64_STANDARD.encode(bytes) });
    for (call, sentence) in [
        (form(&[]), "The file field is required."),
        (form(&[("file", PNG), ("file", PNG)]), "The file field must be one file."),
        (form(&[("file", b"<svg>")]), "The file field must be a PNG, JPEG or GIF picture."),
        (form(&[("file", &PNG[..whole - 1])]), "The file field must be a PNG, JPEG or GIF picture."),
        (
            form(&[("file", &large)]),
            "The file field is not accepted: a picture may not have more than 4194304 bytes here.",
        ),
        (form(&[("file", PNG), ("meta", b"[]")]), "The meta field must be an object."),
        (form(&[("file", PNG), ("caption", b"\xff")]), "The caption field must be a text."),
        (form(&[("file", PNG), ("type", &[b'x'; 65])]), "The type field may not be longer than 64 characters."),
        (TestCall::post("/v1/files").json(&json!({})), "The data field is required."),
        (in_json(json!({"data": 7})), "The data field must be a text."),
        (in_json(base64(b"%PDF")), "The data field must be a PNG, JPEG or GIF picture as base64."),
        (in_json(base64(&PNG[..whole - 12])), "The data field must be a PNG, JPEG or GIF picture as base64."),
        (in_json(json!({"filename": "a\nb"})), "The filename field must be a text without control characters."),
    ] {
        let answer = host.call(call);
        assert_eq!((answer.status, answer.json()["error"].clone()), (422, json!(sentence)));
    }
    refused(
        &host.call(TestCall::post("/v1/files").bytes("multipart/form-data; boundary=x", b"--x")),
        400,
        "MALFORMED_REQUEST",
    );
    assert_eq!(host.call(TestCall::get("/v1/files")).json(), json!([]));
}

#[test]
fn what_is_said_of_a_picture_changes_and_its_bytes_stay() {
    let host = host();
    let file = host.call(in_json(json!({"caption": "Front", "meta": {"n": 1}}))).json();
    let same = host.call(TestCall::put(&path(&file)).json(&file));
    assert_eq!((same.status, same.json()), (200, file.clone()));
    assert!(same.headers.is_empty(), "{:?}", same.headers);
    host.advance_ms(1000);
    let body = json!({"caption": null, "filename": "back.png", "type": "licence", "meta": null, "file_size": 1});
    let changed = host.call(TestCall::patch(&path(&file)).json(&body)).json();
    assert_eq!((&changed["caption"], &changed["original_filename"]), (&Value::Null, &json!("back.png")));
    assert_eq!((&changed["type"], &changed["meta"]), (&json!("licence"), &json!({})));
    assert_eq!((&changed["file_size"], &changed["content_type"]), (&file["file_size"], &file["content_type"]));
    assert_ne!(changed["updated_at"], file["updated_at"]);
    let download = host.call(TestCall::get(&format!("{}/download", path(&file))));
    assert_eq!(download.body, String::from_utf8_lossy(PNG));
    refused(&host.call(TestCall::put(&path(&file)).json(&json!({"caption": 7}))), 422, "VALIDATION_FAILED");
}

#[test]
fn a_deleted_picture_is_gone_and_that_of_a_proof_stays() {
    let host = host();
    let file = host.call(in_json(json!({}))).json();
    let answer = host.call(TestCall::delete(&path(&file)));
    assert_eq!((answer.status, &answer.json()["object"]), (200, &json!("file")));
    for path in [path(&file), format!("{}/download", path(&file))] {
        refused(&host.call(TestCall::get(&path)), 404, "RESOURCE_NOT_FOUND");
    }
    assert_eq!(host.record("file-chunks", &format!("{}.0", file["id"].as_str().unwrap())), None);
    let signature = signed(&host);
    refused(&host.call(TestCall::delete(&path(&signature))), 400, "FILE_IN_USE");
    let captioned = host.call(TestCall::put(&path(&signature)).json(&json!({"caption": "Eve"}))).json();
    assert_eq!((&captioned["caption"], &captioned["type"]), (&json!("Eve"), &json!("signature")));
}

#[test]
fn a_driver_keeps_his_own_files_and_sees_no_others() {
    let host = host();
    let his = host.call(as_driver(in_json(json!({})), ADA)).json();
    let ours = host.call(in_json(json!({}))).json();
    assert_eq!((&his["driver"], &ours["driver"]), (&json!(ADA), &Value::Null));
    let ids = |driver: Option<&str>| {
        let call = TestCall::get("/v1/files");
        let list = host.call(driver.map_or(call.clone(), |driver| as_driver(call, driver))).json();
        list.as_array().unwrap().iter().map(|file| file["id"].clone()).collect::<Vec<Value>>()
    };
    assert_eq!((ids(Some(ADA)), ids(Some(BOB)), ids(None).len()), (vec![his["id"].clone()], vec![], 2));
    for (file, driver) in [(&his, BOB), (&ours, ADA)] {
        for call in [
            TestCall::get(&path(file)),
            TestCall::get(&format!("{}/download", path(file))),
            TestCall::put(&path(file)).json(&json!({"caption": "mine"})),
            TestCall::patch(&path(file)).json(&json!({"caption": "mine"})),
            TestCall::delete(&path(file)),
        ] {
            refused(&host.call(as_driver(call, driver)), 404, "RESOURCE_NOT_FOUND");
        }
    }
    // He sees the picture of his order, which is the organization's to change.
    let signature = path(&signed(&host));
    for call in [TestCall::put(&signature).json(&json!({"caption": "mine"})), TestCall::delete(&signature)] {
        refused(&host.call(as_driver(call, ADA)), 403, "API_FORBIDDEN");
    }
    let captioned = host.call(as_driver(TestCall::put(&path(&his)).json(&json!({"caption": "Front"})), ADA));
    assert_eq!((captioned.status, &captioned.json()["caption"]), (200, &json!("Front")));
    assert_eq!(host.call(as_driver(TestCall::delete(&path(&his)), ADA)).status, 200);
}

#[test]
fn what_a_driver_lists_is_his_whatever_he_asks_for() {
    let host = host();
    let bobs = host.call(as_driver(in_json(json!({})), BOB)).json();
    signed(&host);
    let list = |query: &str| host.call(TestCall::get(&format!("/v1/files{query}"))).json();
    let hers = |query: &str| host.call(as_driver(TestCall::get(&format!("/v1/files{query}")), ADA)).json();
    for query in [format!("?driver={BOB}"), format!("?order={ORDER}"), format!("?order_id={ORDER}&driver={BOB}")] {
        assert_eq!(hers(&query), json!([]), "{query}");
    }
    assert_eq!(list(&format!("?driver={BOB}")), json!([bobs]), "the organization sees it");
    assert_eq!(list(&format!("?order={ORDER}")).as_array().unwrap().len(), 1);
}

/// `photo`: the id of a file, or an address.
fn give_photo(host: &TestHost, driver: &str, photo: &Value) {
    let body = json!({ "photo": photo });
    let call = TestCall::put(&format!("/v1/drivers/{driver}")).json(&body).context("base-url", "https://a.example");
    assert_eq!(host.call(call).status, 200);
}

/// The id of a new driver.
fn hired(host: &TestHost, name: &str, phone: &str, photo: &Value) -> String {
    let body = json!({"name": name, "email": format!("{name}@x.org"), "phone": phone, "photo": photo});
    let answer = host.call(TestCall::post("/v1/drivers").json(&body).context("base-url", "https://a.example"));
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["id"].as_str().unwrap().to_owned()
}

#[test]
fn the_photo_of_a_driver_is_downloaded_by_him_and_not_deleted() {
    let host = host();
    let file = host.call(in_json(json!({}))).json();
    let ada = hired(&host, "ada", "+6591234567", &file["id"]);
    let bob = hired(&host, "bob", "+6591234568", &Value::Null);
    let download = || TestCall::get(&format!("{}/download", path(&file)));
    assert_eq!(host.call(as_driver(download(), &ada)).body, String::from_utf8_lossy(PNG));
    refused(&host.call(as_driver(download(), &bob)), 404, "RESOURCE_NOT_FOUND");
    refused(&host.call(as_driver(TestCall::get(&path(&file)), &ada)), 404, "RESOURCE_NOT_FOUND");
    refused(&host.call(TestCall::delete(&path(&file))), 400, "FILE_IN_USE");
    assert_eq!(host.call(TestCall::get(&path(&file))).json(), file, "nobody sees whose photo it is");

    // Whoever has another one has this one no longer; it goes on to the next.
    give_photo(&host, &ada, &json!("https://x.org/a.png"));
    refused(&host.call(as_driver(download(), &ada)), 404, "RESOURCE_NOT_FOUND");
    give_photo(&host, &bob, &file["id"]);
    refused(&host.call(TestCall::delete(&path(&file))), 400, "FILE_IN_USE");
    assert_eq!(host.call(TestCall::delete(&format!("/v1/drivers/{bob}"))).status, 200);
    assert_eq!(host.call(TestCall::delete(&path(&file))).status, 200);
}

#[test]
fn a_driver_does_not_delete_the_file_that_is_his_photo() {
    let host = host();
    let ada = hired(&host, "ada", "+6591234567", &Value::Null);
    let file = host.call(as_driver(in_json(json!({})), &ada)).json();
    give_photo(&host, &ada, &file["id"]);
    refused(&host.call(as_driver(TestCall::delete(&path(&file)), &ada)), 400, "FILE_IN_USE");
    give_photo(&host, &ada, &Value::Null);
    assert_eq!(host.call(as_driver(TestCall::delete(&path(&file)), &ada)).status, 200);
}

#[test]
fn a_driver_keeps_so_many_files_and_no_more() {
    let host = host();
    for nth in 0..OF_DRIVER_MAX {
        let id = format!("file_{nth:010}");
        host.put_record("files", &id, &json!({"id": id, "order_id": null, "driver": ADA, "chunks": 0}));
    }
    let many = host.call(as_driver(in_json(json!({})), ADA));
    let sentence = "The data field is not accepted: a driver has at most 20 files.";
    assert_eq!((many.status, &many.json()["error"]), (422, &json!(sentence)));
    assert_eq!(host.call(as_driver(in_json(json!({})), BOB)).status, 201);
    assert_eq!(host.call(in_json(json!({}))).status, 201);
}
