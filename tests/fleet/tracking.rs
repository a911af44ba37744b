//! Tracking numbers, their statuses, and proofs of delivery with their pictures.

use serde_json::json;

use crate::support::{TestClient, TestHost};

async fn order(client: &TestClient) -> String {
    let order = json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"});
    client.post("/v1/orders", order).await.expect(201).text_at("/id")
}

/// A PNG of as many bytes as one may have, so that its record would not hold it: it is kept in parts. Nobody can look at its
/// data, nor does the interface.
fn photo() -> Vec<u8> {
    let noise = (0u32..).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8);
    let chunk = |kind: &str, data: &[u8]| {
        let length = u32::try_from(data.len()).expect("a length of four bytes").to_be_bytes();
        [&length, kind.as_bytes(), data, &[0; 4]].concat()
    };
    let head = chunk("IHDR", b"\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00");
    let data: Vec<u8> = noise.take((4 << 20) - 57).collect();
    [b"\x89PNG\r\n\x1a\n".as_slice(), &head, &chunk("IDAT", &data), &chunk("IEND", b"")].concat()
}

#[tokio::test]
async fn a_number_is_followed_until_it_is_deleted() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let owner = order(&acme).await;
    let number = acme.post("/v1/tracking-numbers", json!({"owner": owner, "region": "SG"})).await.expect(201);
    let text = number.text_at("/tracking_number");
    let status =
        json!({"tracking_number": text, "status": "left", "code": "left", "details": "As told", "location": [1, 2]});
    let status = acme.post("/v1/tracking-statuses", status).await.expect(201);
    let path = format!("/v1/tracking-numbers/{text}");
    assert_eq!(acme.get(&path).await.expect(200).text_at("/status"), status.text_at("/status"));
    let found = acme.post("/v1/tracking-numbers/from-qr", json!({"code": text})).await.expect(200);
    assert_eq!(found.text_at("/id"), owner);
    let umbra = host.client("fleet", "umbra").await;
    umbra.get(&path).await.check(404);
    acme.delete(&path).await.check(200);
    acme.get(&format!("/v1/tracking-statuses/{}", status.text_at("/id"))).await.check(404);
    host.stop().await;
}

#[tokio::test]
async fn photos_come_as_files_and_are_downloaded_as_they_were() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let order = order(&acme).await;
    let photo = photo();
    let head = b"--x\r\nContent-Disposition: form-data; name=\"photos[]\"; filename=\"a.png\"\r\n\r\n";
    let body = [head.as_slice(), &photo, b"\r\n--x--\r\n"].concat();
    let form = [("content-type", "multipart/form-data; boundary=x")];
    let path = format!("/v1/orders/{order}/capture-photo");
    let proof = acme.send("POST", &path, &form, body).await.expect(201);
    let url = proof.text_at("/url");
    let download = acme.get(url.strip_prefix(host.base()).expect("an address of this host")).await.expect(200);
    assert_eq!((download.header("content-type"), download.body.len()), (Some("image/png"), photo.len()));
    assert!(download.body == photo, "other bytes");
    let umbra = host.client("fleet", "umbra").await;
    umbra.get(url.strip_prefix(host.base()).expect("an address of this host")).await.check(404);
    acme.delete(&format!("/v1/orders/{order}")).await.check(200);
    acme.get(url.strip_prefix(host.base()).expect("an address of this host")).await.check(404);
    host.stop().await;
}
