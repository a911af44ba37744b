//! TLS for inbound and outbound connections: certificates, trusted roots, and live keys over plain HTTP.

use http::Request;
use http_body_util::Empty;
use hyper::{
    body::Bytes,
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::{ReceiverResponse, TestCertificate, TestHost, TestHostBuilder, TestReceiver, eventually};

const TLS: &str = "[http]\ntls-certificate = \"tls.crt\"\ntls-key = \"tls.key\"\n";

fn host_with_tls(certificate: &TestCertificate) -> TestHostBuilder {
    TestHost::builder().fleet("").head(TLS).certificate(certificate)
}

fn list_orders(key: &str) -> Request<Empty<Bytes>> {
    let request = Request::get("https://localhost/v1/orders").header("host", "localhost");
    request.header("authorization", format!("Bearer {key}")).body(Empty::new()).unwrap()
}

#[tokio::test]
async fn handshake_selects_http_2_or_http_1() {
    let certificate = TestCertificate::new();
    let host = host_with_tls(&certificate).start().await;
    let (key, mut connections) = (host.key("fleet", "acme").await, JoinSet::new());
    let stream = certificate.connect(host.base(), &["h2", "http/1.1"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    connections.spawn(connection);
    assert_eq!(sender.send_request(list_orders(&key)).await.unwrap().status(), 200);
    for (offered, chosen) in [(&["http/1.1"][..], Some(&b"http/1.1"[..])), (&[], None)] {
        let stream = certificate.connect(host.base(), offered).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), chosen);
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        connections.spawn(connection);
        assert_eq!(sender.send_request(list_orders(&key)).await.unwrap().status(), 200);
    }
    drop(sender);
    host.stop().await;
}

#[tokio::test]
async fn replaced_certificate_is_used_for_new_connections_only() {
    let (old, new) = (TestCertificate::new(), TestCertificate::new());
    let host = host_with_tls(&old).start().await;
    let (key, mut connections) = (host.key("fleet", "acme").await, JoinSet::new());
    let stream = old.connect(host.base(), &["http/1.1"]).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    connections.spawn(connection);
    assert_eq!(sender.send_request(list_orders(&key)).await.unwrap().status(), 200);
    new.write(host.dir.path());
    eventually("the new certificate", async || new.connect(host.base(), &[]).await).await;
    assert!(old.connect(host.base(), &[]).await.is_none(), "new connections get the new certificate");
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let name = "tenon_tls_certificate_expiry_timestamp_seconds{listener=\"interfaces\"} ";
    let expires_at = metrics.lines().find_map(|line| line.strip_prefix(name)?.parse::<f64>().ok());
    assert!(expires_at.is_some_and(|seconds| seconds > 2e9), "{metrics}");
    assert_eq!(sender.send_request(list_orders(&key)).await.unwrap().status(), 200);
    drop(sender);
    host.stop().await;
}

#[tokio::test]
async fn live_key_over_plain_http_is_rejected_in_production_with_the_error_body_of_the_interface() {
    let live = json!({"plugin": "fleet", "tenant": "acme", "environment": "live"});
    let proxy = "[http]\ntrusted-proxies = [\"127.0.0.1\"]\n";
    let host = TestHost::builder().fleet("").head(proxy).production().start().await;
    let acme = host.client_of(host.create_key(live.clone()).await["key"].as_str().unwrap());
    let rejected = acme.get("/v1/orders").await.expect(403).json();
    assert_eq!(rejected["code"], "API_FORBIDDEN", "{rejected}");
    acme.send("GET", "/v1/orders", &[("x-forwarded-proto", "https")], vec![]).await.check(200);
    host.client("fleet", "acme").await.get("/v1/orders").await.check(200);
    host.stop().await;
    // Without a trusted proxy, requests from this machine itself are permitted.
    let host = TestHost::builder().fleet("").production().start().await;
    let acme = host.client_of(host.create_key(live).await["key"].as_str().unwrap());
    acme.get("/v1/orders").await.check(200);
    host.stop().await;
}

/// Creates an order and returns the first attempt to deliver its event to the receiver.
async fn first_attempt(host: &TestHost, receiver: &TestReceiver) -> Value {
    let acme = host.client("fleet", "acme").await;
    let endpoint = acme.post("/v1/webhook-endpoints", json!({"url": receiver.url(), "events": []})).await;
    let endpoint = endpoint.expect(201).text_at("/id");
    acme.post("/v1/orders", json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})).await.check(201);
    let path = format!("/v1/webhooks/deliveries?endpoint={endpoint}");
    let delivery = eventually("an attempt", async || {
        let page = host.operator().get(&path).await.expect(200).json();
        Some(page["entries"][0].clone()).filter(|delivery| delivery["attempts"] == 1)
    });
    let event = delivery.await["event"].as_str().unwrap().to_owned();
    let attempts = host.operator().get(&format!("/v1/webhooks/attempts?endpoint={endpoint}&event={event}")).await;
    attempts.expect(200).json()[0].clone()
}

#[tokio::test]
async fn receiver_is_trusted_if_its_root_is_configured() {
    let certificate = TestCertificate::new();
    let receiver = TestReceiver::start_encrypted(ReceiverResponse::Status(204), &certificate).await;
    let host = TestHost::fleet().await;
    let failed = first_attempt(&host, &receiver).await;
    assert_eq!(failed["outcome"], "tls");
    let reason = "certificate-unknown-issuer: the certificate is from an issuer that this host does not trust";
    assert_eq!(failed["answer"], reason);
    host.stop().await;
    let builder = TestHost::builder().fleet("").certificate(&certificate).outbound("roots = [\"tls.crt\"]");
    let host = builder.start().await;
    assert_eq!(first_attempt(&host, &receiver).await["outcome"], "delivered");
    host.stop().await;
}
