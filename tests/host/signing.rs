//! Webhooks that an API key signs: which one, until when, and what is kept of it.

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha512;
use standardwebhooks::Webhook;
use tenon::clock::Clock;

use super::keys::files_with;
use crate::support::{Arrived, Reply, TestClient, TestHost, TestReceiver, component};

const HEADER: &str = "x-service-signature";

/// The guest that passes on what a test wants, with the hook of this organization.
struct World {
    host: TestHost,
    receiver: TestReceiver,
    client: TestClient,
    /// "whsec_…"
    secret: String,
}

impl World {
    async fn start() -> World {
        let grants = r#"grants = ["records", "events", "tasks", "effects", "questions", "subscriptions", "journal"]"#;
        // Others look at the time of a signature; and no two keys are of one age.
        let clock = Clock::manual(Clock::system().now());
        let host = TestHost::builder().plugin("clockwork", component("clockwork"), grants).clock(clock).start().await;
        host.clock.advance(1);
        let receiver = TestReceiver::start(Reply::Status(200)).await;
        let client = host.client("clockwork", "acme").await;
        let secret = put_hook(&client, &receiver).await;
        World { host, receiver, client, secret }
    }

    /// A new key that signs, with its id.
    async fn signing_key(&self, organization: &str) -> (String, String) {
        let wanted = json!({"plugin": "clockwork", "tenant": organization, "environment": "test", "signs": true});
        self.host.clock.advance(1);
        let key = self.host.create_key(wanted).await;
        (key["key"].as_str().unwrap().to_owned(), key["id"].as_str().unwrap().to_owned())
    }

    async fn revoke(&self, id: &str) {
        self.host.operator().delete(&format!("/v1/keys/{id}")).await.check(200);
    }

    async fn webhook(&self) -> Arrived {
        webhook(&self.client, &self.receiver).await
    }
}

async fn put_hook(client: &TestClient, receiver: &TestReceiver) -> String {
    let signatures = json!([[HEADER, "hmac-sha512", "api-key"], ["x-own", "hmac-sha512", "endpoint"]]);
    let put = client.post("/v1/hooks/hook", json!({"url": receiver.url(), "signatures": signatures})).await;
    put.expect(200).json().as_str().unwrap().to_owned()
}

/// The next one of this client's.
async fn webhook(client: &TestClient, receiver: &TestReceiver) -> Arrived {
    let before = receiver.arrived().len();
    client.post("/v1/hooks/hook/test", json!({})).await.check(200);
    receiver.wait_for(before + 1).await.swap_remove(before)
}

fn hex_hmac(key: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha512>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(body);
    hex::encode(mac.finalize().into_bytes())
}

#[track_caller]
fn assert_signed_with(key: &str, arrived: &Arrived) {
    assert_eq!(arrived.header(HEADER), hex_hmac(key, &arrived.body));
}

#[tokio::test]
async fn the_oldest_key_that_was_made_to_sign_signs_until_it_is_revoked() {
    let world = World::start().await;
    let (old, id) = world.signing_key("acme").await;
    let (new, _) = world.signing_key("acme").await;
    assert_signed_with(&old, &world.webhook().await);
    world.revoke(&id).await;
    assert_signed_with(&new, &world.webhook().await);
    let keys = world.host.operator().get("/v1/keys").await.expect(200).json();
    // The demo key, the client's, the old and the new one.
    let signs: Vec<&Value> = keys.as_array().unwrap().iter().map(|key| &key["signs"]).collect();
    assert_eq!(signs, [true, false, false, true]);
    world.host.stop().await;
}

#[tokio::test]
async fn without_a_key_of_its_own_that_signs_a_webhook_has_its_other_signatures_only() {
    let world = World::start().await;
    world.signing_key("rival").await;
    let arrived = world.webhook().await;
    assert!(!arrived.headers.contains_key(HEADER), "{arrived:?}");
    assert_eq!(arrived.header("x-own"), hex_hmac(&world.secret, &arrived.body));
    Webhook::new(&world.secret).unwrap().verify(&arrived.body, &arrived.headers).unwrap();
    let (key, _) = world.signing_key("acme").await;
    assert_signed_with(&key, &world.webhook().await);
    world.host.stop().await;
}

#[tokio::test]
async fn a_key_that_signs_lies_sealed_until_it_is_revoked_and_signs_after_a_restart() {
    let world = World::start().await;
    let (key, id) = world.signing_key("acme").await;
    let World { host, receiver, .. } = world;
    let host = host.restart().await;
    assert_signed_with(&key, &webhook(&host.client_of(&key), &receiver).await);
    let copy = format!(r#"["acme/test","signing-key","{id}"]"#);
    assert!(host.secret_names().await.contains(&copy));
    host.operator().delete(&format!("/v1/keys/{id}")).await.check(200);
    assert!(!host.secret_names().await.contains(&copy));
    let dir = host.dir.clone();
    host.stop().await;
    assert_eq!(files_with(dir.path(), &key), Vec::<String>::new());
}

#[tokio::test]
async fn the_demo_key_signs() {
    let World { host, receiver, .. } = World::start().await;
    let demo = std::fs::read_to_string(host.data_dir().join("demo.key")).unwrap();
    let client = host.client_of(demo.trim());
    put_hook(&client, &receiver).await;
    assert_signed_with(demo.trim(), &webhook(&client, &receiver).await);
    host.stop().await;
}
