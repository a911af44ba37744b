//! Pictures that come by themselves, and whose they are.

use serde_json::{Value, json};

use super::{
    codes::Words,
    routes::{JSON, PICTURE},
    stage::Stage,
};

const OF_A_PROOF: Words<'static> = (400, "FILE_IN_USE", "The picture goes away with the order that it proves.");
const OF_A_DRIVER: Words<'static> =
    (400, "FILE_IN_USE", "The picture is the photo of a driver. Give him another one first.");
const NOT_FOUND: Words<'static> = (404, "RESOURCE_NOT_FOUND", "The requested resource was not found");

#[tokio::test]
async fn a_picture_is_sent_described_downloaded_and_deleted() {
    let stage = Stage::open().await.covers(&[
        "create-file answers",
        "create-file-base64 answers",
        "update-file answers",
        "patch-file answers",
        "delete-file answers",
    ]);
    let form = [("content-type", "multipart/form-data; boundary=x")];
    let head = b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"front.gif\"\r\n\r\n";
    let gif: &[u8] =
        b"GIF89a\x01\x00\x01\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";
    let body = [head.as_slice(), gif, b"\r\n--x--\r\n"].concat();
    let sent = stage.send(&stage.key, "POST", "/v1/files", &form, body.clone()).await.expect(201).json();
    assert_eq!((&sent["original_filename"], &sent["content_type"]), (&json!("front.gif"), &json!("image/gif")));
    let path = format!("/v1/files/{}", sent["id"].as_str().expect("an id"));
    assert!(
        sent["url"].as_str().is_some_and(|url| url.starts_with("http") && url.ends_with(&format!("{path}/download")))
    );
    let download = stage.get(&format!("{path}/download")).await.expect(200);
    assert!(download.body == gif, "other bytes");
    let cut_off = [head.as_slice(), &gif[..gif.len() - 1], b"\r\n--x--\r\n"].concat();
    stage.send(&stage.key, "POST", "/v1/files", &form, cut_off).await.check(422);

    stage.put(&path, json!({"caption": "The front"})).await.check(200);
    let back = stage.call(&stage.key, "PATCH", &path, json!({"filename": "back.gif"})).await.expect(200).json();
    assert_eq!((&back["caption"], &back["original_filename"]), (&json!("The front"), &json!("back.gif")));
    let in_json = stage.make("/v1/files/base64", json!({"data": PICTURE, "type": "licence"})).await;
    assert_eq!(stage.shown("/v1/files?type=licence").await[0]["id"], json!(in_json));
    stage.delete(&path).await.check(200);
    stage.refuses("GET", &format!("{path}/download"), Value::Null, NOT_FOUND).await;
    stage.finish().await;
}

#[tokio::test]
async fn the_picture_of_a_proof_stays_with_its_order() {
    let stage = Stage::open().await.covers(&["code FILE_IN_USE"]);
    let order = stage.order(json!({})).await;
    stage.make(&format!("/v1/orders/{order}/capture-signature"), json!({"signature": PICTURE})).await;
    let file = stage.shown("/v1/files").await[0]["id"].clone();
    let path = format!("/v1/files/{}", file.as_str().expect("an id"));
    stage.refuses("DELETE", &path, Value::Null, OF_A_PROOF).await;
    stage.delete(&format!("/v1/orders/{order}")).await.check(200);
    stage.refuses("GET", &path, Value::Null, NOT_FOUND).await;
    stage.finish().await;
}

#[tokio::test]
async fn a_driver_has_files_of_his_own() {
    let stage = Stage::open().await;
    let (ada, bob) = (stage.driver("ada").await, stage.driver("bob").await);
    let body = json!({"data": PICTURE}).to_string().into_bytes();
    stage.send(&bob.token, "POST", "/v1/files/base64", &JSON, body.clone()).await.check(201);
    let his = stage.send(&ada.token, "POST", "/v1/files/base64", &JSON, body).await.expect(201).json();
    assert_eq!(his["driver"], json!(ada.id));
    let ours = stage.make("/v1/files/base64", json!({"data": PICTURE})).await;
    let list = stage.call(&ada.token, "GET", "/v1/files", Value::Null).await.expect(200).json();
    assert_eq!(list, json!([his]));
    let order = stage.order(json!({})).await;
    stage.make(&format!("/v1/orders/{order}/capture-signature"), json!({"signature": PICTURE})).await;
    for query in [format!("driver={}", bob.id), format!("order={order}")] {
        let path = format!("/v1/files?{query}");
        assert_eq!(stage.shown(&path).await.as_array().map(Vec::len), Some(1), "{query}");
        let list = stage.call(&ada.token, "GET", &path, Value::Null).await.expect(200).json();
        assert_eq!(list, json!([]), "{query}");
    }
    let path = format!("/v1/files/{}", his["id"].as_str().expect("an id"));
    for (token, path) in [(&bob.token, path.clone()), (&ada.token, format!("/v1/files/{ours}"))] {
        for (method, body) in [("GET", Value::Null), ("PUT", json!({"caption": "mine"})), ("DELETE", Value::Null)] {
            stage.refuses_to(token, (method, &path, body), NOT_FOUND).await;
        }
    }
    let photo = stage.put(&format!("/v1/drivers/{}", ada.id), json!({"photo": his["id"]})).await.expect(200).json();
    assert_eq!(photo["photo_url"], his["url"]);
    stage.refuses_to(&ada.token, ("DELETE", &path, Value::Null), OF_A_DRIVER).await;
    let photo = stage.put(&format!("/v1/drivers/{}", ada.id), json!({"photo": ours})).await.expect(200).json();
    let theirs = format!("/v1/files/{ours}/download");
    assert!(photo["photo_url"].as_str().is_some_and(|address| address.ends_with(&theirs)));
    stage.call(&ada.token, "GET", &theirs, Value::Null).await.check(200);
    stage.call(&bob.token, "GET", &theirs, Value::Null).await.check(404);
    stage.call(&ada.token, "DELETE", &path, Value::Null).await.check(200);
    stage.finish().await;
}

#[tokio::test]
async fn forged_host_header_changes_no_address_of_a_photo() {
    let stage = Stage::open().await;
    let ada = stage.driver("ada").await;
    let file = stage.make("/v1/files/base64", json!({"data": PICTURE})).await;
    let path = format!("/v1/drivers/{}", ada.id);
    let forged = [JSON[0], ("host", "forged.example")];
    let body = json!({"photo": file}).to_string().into_bytes();
    let photo = stage.send(&stage.key, "PUT", &path, &forged, body).await.expect(200).json();
    assert_eq!(photo["photo_url"], json!(format!("{}/v1/files/{file}/download", stage.host.base())));
    let order = stage.order(json!({"driver": ada.id})).await;
    let address = stage.shown(&format!("/v1/files/{file}")).await["url"].clone();
    assert_eq!(stage.shown(&path).await["photo_url"], address);
    assert_eq!(stage.shown("/v1/drivers").await[0]["photo_url"], address);
    assert_eq!(stage.shown(&format!("/v1/orders/{order}")).await["driver_assigned"]["photo_url"], address);
    let told = stage.told("driver.updated").await;
    assert_eq!(told.last().expect("an event").body["data"]["photo_url"], json!(file));
    stage.finish().await;
}
