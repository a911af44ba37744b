//! Callbacks of providers: their signature, and that they are looked up and not believed.

use hmac::{Hmac, Mac};
use serde_json::json;
use sha2::Sha256;
use tenon_plugin::test_kit::{TestAnswer, TestCall};

use super::support::*;

pub fn signed(secret: &str, timestamp: &str, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{timestamp}.{body}").as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn tell(world: &World, timestamp_s: u64, signature: Option<&str>, body: &str) -> TestAnswer {
    let timestamp = timestamp_s.to_string();
    let made = signed("s3cret", &timestamp, body);
    let call = TestCall::post("/v1/providers/callbacks").text(body).header("x-provider-timestamp", &timestamp);
    world.host.call(call.header("x-provider-signature", signature.unwrap_or(&made)))
}

#[test]
fn a_callback_may_come_with_any_query() {
    let world = World::with(|host| host.setting("webhook-secret", "\"s3cret\""));
    let body = r#"{"id":"evt_1","type":"swap.updated","data":{"id":"x","status":"success"}}"#;
    let now_s = (world.host.now() / 1_000).to_string();
    let call = TestCall::post("/v1/providers/callbacks?attempt=1&attempt=2").text(body);
    let call = call.header("x-provider-timestamp", &now_s);
    assert_eq!(world.host.call(call.header("x-provider-signature", &signed("s3cret", &now_s, body))).status, 200);
}

#[test]
fn a_callback_that_nobody_signed_is_refused() {
    let world = World::with(|host| host.setting("webhook-secret", "\"s3cret\""));
    let body = r#"{"id":"evt_1","type":"swap.updated","data":{"id":"x","status":"success"}}"#;
    let now_s = world.host.now() / 1_000;
    assert_eq!(tell(&world, now_s, None, body).status, 200);
    for (at_s, signature) in [
        (now_s - 301, None),
        (now_s + 301, None),
        (now_s, Some("")),
        (now_s, Some("zz")),
        (now_s, Some("00000000000000000000000000000000000000000000000000000000000000aa")),
    ] {
        let answer = tell(&world, at_s, signature, body);
        assert_eq!(refusal(&answer), expected(403, "WEBHOOK_SIGNATURE_INVALID", ""), "{at_s} {signature:?}");
    }
    let bare = world.host.call(TestCall::post("/v1/providers/callbacks").text(body));
    assert_eq!(bare.status, 403);
    // Without a secret of the operator's nobody can have signed it.
    assert_eq!(tell(&World::new(), now_s, None, body).status, 403);
}

#[test]
fn a_callback_is_looked_up_and_not_believed() {
    let world = World::with(|host| host.setting("webhook-secret", "\"s3cret\""));
    let wallet = world.rich_wallet();
    let made = world.post(&format!("/v1/wallets/{wallet}/gateway/deposit"), &json!({"amount": "50"}));
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    world.host.run_due();
    world.take_order("/v1/gateway/deposits", &id, ("USDC", "50"));
    world.settle(&id, "done");
    let body = json!({"id": "evt_1", "type": "gateway.deposit.updated", "data": {"id": id, "status": "success"}});
    let now_s = world.host.now() / 1_000;
    assert_eq!(tell(&world, now_s, None, &body.to_string()).status, 200);
    world.host.run_due();
    assert_eq!(world.status(&id), "processing");
    world.provider.change("/v1/gateway/deposits", &id, &json!({"status": "success"}));
    assert_eq!(tell(&world, now_s, None, &body.to_string()).status, 200);
    world.host.run_due();
    assert_eq!(world.status(&id), "success");
}
