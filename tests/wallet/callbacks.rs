//! What providers say unasked is believed of nobody who has not signed it, and even then only looked up; and what they are asked
//! for everybody: rates, sanctions lists.

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::acts::{check_invalid, check_refusal, text};
use super::stage::{OUTSIDE, Stage};
use crate::support::{Response, TestClient, eventually};

/// As plugins.toml is shipped.
const SECRET: &str = "sandbox";
const PATH: &str = "/v1/providers/callbacks";

/// docs/wallet/providers.md: Callbacks.
fn signed(secret: &str, at_s: u64, body: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{at_s}.{body}").as_bytes());
    hex::encode(mac.finalize().into_bytes())
}

struct Callback<'a> {
    key: &'a str,
    at_s: u64,
    signature: Option<String>,
    body: &'a Value,
}

impl Stage {
    async fn take(&self, callback: Callback<'_>) -> Response {
        let Callback { key, at_s, signature, body } = callback;
        let (timestamp, signature) = (at_s.to_string(), signature.unwrap_or_default());
        let mut headers =
            vec![("x-api-key", key), ("content-type", "application/json"), ("x-provider-timestamp", &timestamp)];
        if !signature.is_empty() {
            headers.push(("x-provider-signature", &signature));
        }
        let body = body.to_string().into_bytes();
        let answer = TestClient::new(self.host.base(), None).send("POST", PATH, &headers, body).await;
        self.seen.note_answer("POST", PATH, &answer);
        answer
    }

    fn now_s(&self) -> u64 {
        self.host.clock.now() / 1_000
    }
}

fn updated(kind: &str, id: &str, status: &str) -> Value {
    json!({"id": "evt_1", "type": format!("{kind}.updated"), "data": {"id": id, "status": status}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_counts_where_a_provider_has_signed_it_just_now() {
    let stage = Stage::open().await.covers(&["take-callback answers", "code WEBHOOK_SIGNATURE_INVALID"]);
    let account = stage.account.clone();
    let (now_s, body) = (stage.now_s(), updated("swap", "nobody's", "success"));
    let good = signed(SECRET, now_s, &body.to_string());
    let refused = (403, "WEBHOOK_SIGNATURE_INVALID", "");
    let old_s = now_s - 400;
    for (why, at_s, signature) in [
        ("nobody has signed it", now_s, None),
        ("with another secret", now_s, Some(signed("sand", now_s, &body.to_string()))),
        ("another body", now_s, Some(signed(SECRET, now_s, "{}"))),
        ("for another time", now_s + 1, Some(good.clone())),
        ("no hex", now_s, Some("zz".repeat(32))),
        ("in capitals", now_s, Some(good.to_uppercase())),
        ("half of it", now_s, Some(good[..32].to_owned())),
        ("replayed much later", old_s, Some(signed(SECRET, old_s, &body.to_string()))),
        ("from the future", now_s + 400, Some(signed(SECRET, now_s + 400, &body.to_string()))),
    ] {
        let answer = stage.take(Callback { key: &account, at_s, signature, body: &body }).await;
        assert_eq!(answer.status, 403, "{why}");
        check_refusal(&answer, refused);
    }
    // The same once more is harmless.
    for _ in 0..2 {
        let taken =
            stage.take(Callback { key: &account, at_s: now_s, signature: Some(good.clone()), body: &body }).await;
        assert_eq!(taken.expect(200).json()["data"], json!({"received": true}));
    }
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_callback_says_is_looked_up_and_changes_nothing_by_itself() {
    let stage = Stage::open().await.covers(&["take-callback answers", "event gateway.deposit.success"]);
    let wallet = stage.wallet_with("base", "USDC", "100").await;
    let account = stage.account.clone();
    let tell = async |id: &str, status: &str| {
        let body = updated("gateway.deposit", id, status);
        let signature = Some(signed(SECRET, stage.now_s(), &body.to_string()));
        stage.take(Callback { key: &account, at_s: stage.now_s(), signature, body: &body }).await.check(200);
    };
    // One that stays with its provider for ever: neither "success" nor "failed" is believed.
    let made = stage.make(&wallet, "/gateway/deposit", json!({"amount": "10.14"})).await;
    let id = text(&made, "id");
    eventually("a deposit that the provider has", async || {
        (stage.transaction(&wallet, &id).await["providerStatus"] == "processing").then_some(())
    })
    .await;
    for status in ["success", "failed"] {
        tell(&id, status).await;
    }
    // One that ends well is told once, however often its provider says so.
    let made = stage.make(&wallet, "/gateway/deposit", json!({"amount": "20"})).await;
    let other = text(&made, "id");
    stage.until(&wallet, &other, "SUCCESS").await;
    for status in ["success", "failed", "success"] {
        tell(&other, status).await;
    }
    let stuck = stage.transaction(&wallet, &id).await;
    assert_eq!((&stuck["status"], &stuck["hash"].is_string()), (&json!("PROCESSING"), &true));
    assert_eq!(text(&stage.get(&wallet, "/gateway/balance").await, "gateway_balance"), "20");
    stage.told_of(&wallet, "gateway.deposit.success", &other).await;
    assert_eq!((stage.told_names(&other).len(), stage.told_names(&id).len()), (1, 0));
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rates_and_sanctions_are_looked_up_for_whoever_has_a_key() {
    let stage = Stage::open().await.covers(&["read-rates answers", "look-up-address answers"]);
    let wallet = stage.wallet("base").await;
    let get = async |path: &str| stage.call(&wallet.key, "GET", path, None).await;
    let rates = get("/v1/assets/rates?assets=USDC,BTC,NONE&currency=NGN").await.expect(200);
    // Numbers as exact as the provider gave them; what nobody knows is left out.
    assert!(rates.text().contains(r#""USDC":{"NGN":1510.25}"#), "{}", rates.text());
    let data = rates.json()["data"].clone();
    assert_eq!((&data["BTC"]["NGN"], &data["NONE"]), (&json!(90_615_000), &Value::Null));
    assert_eq!(get("/v1/assets/rates?assets=ETH").await.expect(200).json()["data"], json!({"ETH": {"USD": 3000}}));
    for (query, fields) in [
        ("", "assets"),
        ("?assets=", "assets"),
        ("?assets=USDC&currency=A,B", "currency"),
        ("?assets=USDC&currency=XXX", "currency"),
    ] {
        check_invalid(&get(&format!("/v1/assets/rates{query}")).await, fields);
    }

    let clean = get(&format!("/v1/aml/lookup?address={OUTSIDE}")).await.expect(200).json()["data"].clone();
    assert_eq!(
        (&clean["is_sanctioned"], &clean["isBlackListed"], &clean["version"]),
        (&json!(false), &json!(false), &json!("sandbox 1"))
    );
    let listed = "0x0000000000000000000000000000000000000bad";
    let found =
        get(&format!("/v1/aml/lookup?address={listed}&blockchain=polygon")).await.expect(200).json()["data"].clone();
    assert_eq!(
        (&found["is_sanctioned"], &found["isBlacklisted"], &found["message"]),
        (&json!(true), &json!(true), &json!("Address is sanctioned"))
    );
    for (query, fields) in [
        ("", "address"),
        ("?address=x", "address"),
        ("?address=x&blockchain=none", "blockchain"),
        (&format!("?address={OUTSIDE}&blockchain=tron")[..], "address"),
    ] {
        check_invalid(&get(&format!("/v1/aml/lookup{query}")).await, fields);
    }
    stage.finish().await;
}
