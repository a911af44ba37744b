//! Webhooks signed with an API key: selection of the key, revocation, and storage of the signing key.

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha512;
use standardwebhooks::Webhook;
use tenon::clock::Clock;

use super::keys::files_containing;
use crate::support::{ReceivedRequest, ReceiverResponse, TestClient, TestHost, TestReceiver, component};

const HEADER: &str = "x-service-signature";

/// A host with a guest that has webhooks, and an endpoint of the organization "acme".
struct Fixture {
    host: TestHost,
    receiver: TestReceiver,
    client: TestClient,
    /// The secret of the endpoint: "whsec_…".
    secret: String,
}

impl Fixture {
    async fn start() -> Fixture {
        let grants = r#"grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"]"#;
        // Verifiers check the timestamp of a signature. Keys must have different creation times.
        let clock = Clock::manual(Clock::system().now());
        let host = TestHost::builder().plugin("clockwork", component("clockwork"), grants).clock(clock).start().await;
        host.clock.advance(1);
        let receiver = TestReceiver::start(ReceiverResponse::Status(200)).await;
        let client = host.client("clockwork", "acme").await;
        let secret = put_hook(&client, &receiver).await;
        Fixture { host, receiver, client, secret }
    }

    /// Creates a key that signs webhooks. Returns the key and its id.
    async fn create_signing_key(&self, organization: &str) -> (String, String) {
        let description = json!({"plugin": "clockwork", "tenant": organization, "environment": "test", "signs": true});
        self.host.clock.advance(1);
        let key = self.host.create_key(description).await;
        (key["key"].as_str().unwrap().to_owned(), key["id"].as_str().unwrap().to_owned())
    }

    async fn revoke(&self, id: &str) {
        self.host.operator().delete(&format!("/v1/keys/{id}")).await.check(200);
    }

    async fn send_webhook(&self) -> ReceivedRequest {
        send_webhook(&self.client, &self.receiver).await
    }
}

async fn put_hook(client: &TestClient, receiver: &TestReceiver) -> String {
    let signatures = json!([[HEADER, "hmac-sha512", "api-key"], ["x-own", "hmac-sha512", "endpoint"]]);
    let put = client.post("/v1/hooks/hook", json!({"url": receiver.url(), "signatures": signatures})).await;
    put.expect(200).json().as_str().unwrap().to_owned()
}

/// Sends a test webhook to the endpoint of this client and returns the received request.
async fn send_webhook(client: &TestClient, receiver: &TestReceiver) -> ReceivedRequest {
    let before = receiver.received().len();
    client.post("/v1/hooks/hook/test", json!({})).await.check(200);
    receiver.wait_for(before + 1).await.swap_remove(before)
}

fn hex_hmac(key: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha512>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

#[track_caller]
fn assert_signed_with(key: &str, received: &ReceivedRequest) {
    assert_eq!(received.header(HEADER), hex_hmac(key, &received.body));
}

#[tokio::test]
async fn oldest_signing_key_signs_until_it_is_revoked() {
    let fixture = Fixture::start().await;
    let (old, id) = fixture.create_signing_key("acme").await;
    let (new, _) = fixture.create_signing_key("acme").await;
    assert_signed_with(&old, &fixture.send_webhook().await);
    fixture.revoke(&id).await;
    assert_signed_with(&new, &fixture.send_webhook().await);
    let keys = fixture.host.operator().get("/v1/keys").await.expect(200).json();
    // The demo key, the key of the client, the old and the new signing key.
    let signs: Vec<&Value> = keys.as_array().unwrap().iter().map(|key| &key["signs"]).collect();
    assert_eq!(signs, [true, false, false, true]);
    fixture.host.stop().await;
}

#[tokio::test]
async fn webhook_without_a_signing_key_has_only_its_other_signatures() {
    let fixture = Fixture::start().await;
    fixture.create_signing_key("rival").await;
    let received = fixture.send_webhook().await;
    assert!(!received.headers.contains_key(HEADER), "{received:?}");
    assert_eq!(received.header("x-own"), hex_hmac(&fixture.secret, &received.body));
    Webhook::new(&fixture.secret).unwrap().verify(&received.body, &received.headers).unwrap();
    let (key, _) = fixture.create_signing_key("acme").await;
    assert_signed_with(&key, &fixture.send_webhook().await);
    fixture.host.stop().await;
}

#[tokio::test]
async fn signing_key_is_sealed_until_it_is_revoked_and_survives_a_restart() {
    let fixture = Fixture::start().await;
    let (key, id) = fixture.create_signing_key("acme").await;
    let Fixture { host, receiver, .. } = fixture;
    let host = host.restart().await;
    assert_signed_with(&key, &send_webhook(&host.client_of(&key), &receiver).await);
    let copy = format!(r#"["acme/test","signing-key","{id}"]"#);
    assert!(host.secret_names().await.contains(&copy));
    host.operator().delete(&format!("/v1/keys/{id}")).await.check(200);
    assert!(!host.secret_names().await.contains(&copy));
    let dir = host.dir.clone();
    host.stop().await;
    assert_eq!(files_containing(dir.path(), &key), Vec::<String>::new());
}

#[tokio::test]
async fn demo_key_signs_webhooks() {
    let Fixture { host, receiver, .. } = Fixture::start().await;
    let demo = std::fs::read_to_string(host.data_dir().join("demo.key")).unwrap();
    let client = host.client_of(demo.trim());
    put_hook(&client, &receiver).await;
    assert_signed_with(demo.trim(), &send_webhook(&client, &receiver).await);
    host.stop().await;
}
