//! OAuth 2.0 on the real host: clients obtain tokens and use them.
//!
//! - `rejected`: invalid tokens and token requests.
//! - `external_issuer`: tokens of another host.
//! - `disconnects`: clients that disconnect during a token request.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};
use tenon::clock::Clock;
use tenon_bench::guests;

use super::{
    command_line::{run_err, run_ok},
    keys::files_containing,
};
use crate::support::{Response, TestClient, TestHost, TestHostBuilder};

mod disconnects;
mod external_issuer;
mod rejected;

const NOW: u64 = 1_800_000_000_000;
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
const GRANT: &str = "grant_type=client_credentials";
const KIND: &str = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";

/// Builds `chameleon` with scopes on its routes for things and with these authentication settings.
fn component_with(authentication: Value) -> (tempfile::TempDir, std::path::PathBuf) {
    let mut manifest = guests::chameleon_manifest();
    manifest["authentication"] = authentication;
    for route in manifest["routes"].as_array_mut().unwrap() {
        match route["operation"].as_str().unwrap() {
            "version" | "slow" => {}
            "read-thing" => route["scopes"] = json!(["things.read"]),
            _ => route["scopes"] = json!(["things.write"]),
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.wasm");
    std::fs::write(&file, guests::chameleon(&manifest.to_string()).unwrap()).unwrap();
    (folder, file)
}

async fn start(authentication: Value, change: impl FnOnce(TestHostBuilder) -> TestHostBuilder) -> TestHost {
    let (_folder, file) = component_with(authentication);
    let host = TestHost::builder().plugin("chameleon", file, r#"grants = ["records", "events"]"#);
    change(host.clock(Clock::manual(NOW))).start().await
}

/// Starts a host whose plugin accepts tokens and no API keys.
async fn host_with_tokens_only() -> TestHost {
    start(json!({ "oauth": true, "api-keys": false }), |host| host).await
}

async fn create(host: &TestHost, tenant: &str, more: Value) -> Value {
    let mut body = json!({ "plugin": "chameleon", "tenant": tenant, "environment": "test" });
    body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    host.operator().post("/v1/clients", body).await.expect(201).json()
}

fn text(json: &Value) -> &str {
    json.as_str().unwrap_or_else(|| panic!("no string: {json}"))
}

fn basic(client: &Value) -> String {
    let pair = format!("{}:{}", text(&client["client_id"]), text(&client["client_secret"]));
    format!("Basic {}", STANDARD.encode(pair))
}

async fn request_token(host: &TestHost, headers: &[(&str, &str)], form: &str) -> Response {
    host.anonymous().send("POST", "/oauth2/token", &[&[FORM], headers].concat(), form.into()).await
}

async fn token(host: &TestHost, client: &Value) -> String {
    request_token(host, &[("authorization", &basic(client))], GRANT).await.expect(200).text_at("/access_token")
}

async fn client_with_token(host: &TestHost, client: &Value) -> TestClient {
    host.client_of(&token(host, client).await)
}

/// A P-256 key of a client.
pub struct Signer(EcdsaKeyPair);

impl Signer {
    pub fn new() -> Signer {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let generated = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Signer(EcdsaKeyPair::from_pkcs8(kind, generated.as_ref(), &random).unwrap())
    }

    pub fn jwks(&self) -> Value {
        let (x, y) = self.0.public_key().as_ref()[1..].split_at(32);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        json!({ "keys": [{ "kty": "EC", "crv": "P-256", "x": x, "y": y }] })
    }

    pub fn sign(&self, header: Value, claims: &Value) -> String {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let signed = format!("{}.{}", part(&header), part(claims));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn assertion(&self, host: &TestHost, client: &Value, id: &str) -> String {
        let claims = json!({
            "iss": client["client_id"], "sub": client["client_id"], "aud": format!("{}/oauth2/token", host.base()),
            "exp": NOW / 1_000 + 60, "jti": id,
        });
        self.sign(json!({ "alg": "ES256", "typ": "JWT" }), &claims)
    }
}

fn with_assertion(text: &str) -> String {
    format!("{GRANT}&client_assertion_type={KIND}&client_assertion={text}")
}

#[tokio::test]
async fn client_obtains_a_token_and_uses_it() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    assert_eq!(client["scopes"], json!(["things.read", "things.write"]), "all scopes of the plugin");
    let response = request_token(&host, &[("authorization", &basic(&client))], GRANT).await.expect(200);
    assert_eq!((response.header("cache-control"), response.header("pragma")), (Some("no-store"), Some("no-cache")));
    let body = response.json();
    assert_eq!((&body["token_type"], &body["expires_in"]), (&json!("Bearer"), &json!(600)));
    assert_eq!(body["scope"], "things.read things.write");
    let bearer = host.client_of(text(&body["access_token"]));
    bearer.put("/v1/things/a", json!({ "count": 1 })).await.check(200);
    bearer.get("/v1/things/a").await.check(200);
    bearer.get("/v1/version").await.check(200);
    let other = client_with_token(&host, &create(&host, "globex", json!({})).await).await;
    other.get("/v1/things/a").await.check(404);
    host.stop().await;
}

#[tokio::test]
async fn client_authenticates_by_basic_form_and_assertion() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let (id, secret) = (text(&client["client_id"]), text(&client["client_secret"]));
    request_token(&host, &[("authorization", &basic(&client))], &format!("{GRANT}&client_id={id}")).await.check(200);
    request_token(&host, &[], &format!("{GRANT}&client_id={id}&client_secret={secret}&unknown=1")).await.check(200);
    for audience in ["audience=chameleon", "audience=chameleon/acme", "resource=chameleon%2Facme"] {
        request_token(&host, &[("authorization", &basic(&client))], &format!("{GRANT}&{audience}")).await.check(200);
    }
    let signer = Signer::new();
    let signing = create(&host, "acme", json!({ "jwks": signer.jwks() })).await;
    assert_eq!(signing.get("client_secret"), None);
    let form = with_assertion(&signer.assertion(&host, &signing, "one"));
    let token = request_token(&host, &[], &form).await.expect(200).text_at("/access_token");
    host.client_of(&token).get("/v1/things/a").await.check(404);
    let again = request_token(&host, &[], &form).await.expect(401);
    assert_eq!(again.text_at("/error"), "invalid_client");
    host.stop().await;
}

#[tokio::test]
async fn token_has_the_standard_claims_and_a_published_key() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let token = token(&host, &client).await;
    let parts: Vec<Vec<u8>> = token.split('.').map(|part| URL_SAFE_NO_PAD.decode(part).unwrap()).collect();
    let (header, claims): (Value, Value) =
        (serde_json::from_slice(&parts[0]).unwrap(), serde_json::from_slice(&parts[1]).unwrap());
    let metadata = host.anonymous().get("/.well-known/oauth-authorization-server").await.expect(200).json();
    assert_eq!((&header["typ"], &header["alg"]), (&json!("at+jwt"), &json!("ES256")));
    assert_eq!((text(&metadata["issuer"]), &claims["iss"]), (host.base(), &metadata["issuer"]));
    assert_eq!((&claims["aud"], &claims["scope"]), (&json!("chameleon/acme"), &json!("things.read things.write")));
    assert_eq!((&claims["sub"], &claims["client_id"]), (&client["client_id"], &client["client_id"]));
    assert_eq!((&claims["iat"], &claims["exp"]), (&json!(NOW / 1_000), &json!(NOW / 1_000 + 600)));
    assert!(text(&claims["jti"]).starts_with("token_"));
    assert_eq!(metadata["scopes_supported"], json!(["things.read", "things.write"]));
    assert_eq!(text(&metadata["token_endpoint"]), format!("{}/oauth2/token", host.base()));
    let path = text(&metadata["jwks_uri"]).strip_prefix(host.base()).unwrap();
    let keys = host.anonymous().get(path).await.expect(200).json();
    assert_eq!((&keys["keys"][0]["kid"], keys["keys"].as_array().unwrap().len()), (&header["kid"], 1));
    host.stop().await;
}

#[tokio::test]
async fn token_is_limited_to_the_requested_scope() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let form = format!("{GRANT}&scope=things.read&resource=chameleon");
    let response = request_token(&host, &[("authorization", &basic(&client))], &form).await.expect(200);
    assert_eq!(response.text_at("/scope"), "things.read");
    let reader = host.client_of(&response.text_at("/access_token"));
    reader.get("/v1/things/a").await.check(404);
    // The scope is checked before the body, so neither the type nor the size of the body matters.
    let long = vec![b'x'; 4 << 20];
    for (kind, body) in [("text/plain", b"x".to_vec()), ("application/json", long)] {
        let refused = reader.send("PUT", "/v1/things/a", &[("content-type", kind)], body).await.expect(403);
        let expected = r#"Bearer realm="chameleon", error="insufficient_scope", scope="things.write""#;
        assert_eq!(refused.header("www-authenticate"), Some(expected));
        assert_eq!(refused.text_at("/code"), "forbidden");
    }
    host.stop().await;
}

#[tokio::test]
async fn plugin_accepts_keys_and_tokens() {
    let host = start(json!({ "oauth": true, "header": "x-api-key" }), |host| host).await;
    let client = create(&host, "acme", json!({})).await;
    let key = host.key("chameleon", "acme").await;
    client_with_token(&host, &client).await.put("/v1/things/a", json!({ "count": 1 })).await.check(200);
    host.client_of(&key).get("/v1/things/a").await.check(200);
    let token = token(&host, &client).await;
    let token_as_key = host.anonymous().send("GET", "/v1/things/a", &[("x-api-key", &token)], vec![]).await;
    token_as_key.check(401);
    host.stop().await;
}

#[tokio::test]
async fn revoked_client_is_rejected_at_once_and_after_a_restart() {
    let host = host_with_tokens_only().await;
    let (revoked_client, other) = (create(&host, "acme", json!({})).await, create(&host, "acme", json!({})).await);
    let token = token(&host, &revoked_client).await;
    let bearer = host.client_of(&token);
    bearer.get("/v1/version").await.check(200);
    let path = format!("/v1/clients/{}", text(&revoked_client["client_id"]));
    let revoked = host.operator().delete(&path).await.expect(200).json();
    assert_eq!(revoked["revoked_at"], "2027-01-15T08:00:00.000Z");
    assert_eq!(bearer.get("/v1/version").await.expect(401).text_at("/code"), "unauthenticated");
    request_token(&host, &[("authorization", &basic(&revoked_client))], GRANT).await.check(401);
    let host = host.restart().await;
    host.client_of(&token).get("/v1/version").await.check(401);
    request_token(&host, &[("authorization", &basic(&revoked_client))], GRANT).await.check(401);
    client_with_token(&host, &other).await.get("/v1/version").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn key_rotation_keeps_existing_tokens_valid() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let before = client_with_token(&host, &client).await;
    let report = host.operator().send("POST", "/v1/oauth/rotate-keys", &[], vec![]).await.expect(200).json();
    let keys = host.anonymous().get("/oauth2/jwks.json").await.expect(200).json();
    assert_eq!((&keys["keys"][0]["kid"], &keys["keys"][1]["kid"]), (&report["key"], &report["previous"][0]));
    before.get("/v1/version").await.check(200);
    client_with_token(&host, &client).await.get("/v1/version").await.check(200);
    host.clock.advance(600_000 + 30_000);
    assert_eq!(host.anonymous().get("/oauth2/jwks.json").await.expect(200).json()["keys"].as_array().unwrap().len(), 1);
    host.stop().await;
}

#[tokio::test]
async fn no_file_contains_a_token_or_a_client_secret() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let token = token(&host, &client).await;
    host.client_of(&token).put("/v1/things/a", json!({ "count": 1 })).await.check(200);
    assert!(!host.operator().get("/v1/clients").await.expect(200).text().contains(text(&client["client_secret"])));
    let dir = host.dir.clone();
    host.stop().await;
    for secret in [text(&client["client_secret"]), &token] {
        assert_eq!(files_containing(dir.path(), secret), Vec::<String>::new());
    }
}

#[tokio::test]
async fn clients_are_created_listed_rotated_and_revoked_by_command() {
    let host = host_with_tokens_only().await;
    let line = ["client", "create", "--plugin", "chameleon", "--tenant", "acme", "--environment", "test"];
    let created = run_ok(&host, &[&line[..], &["--scope", "things.read", "--json"]].concat()).await;
    let created: Value = serde_json::from_str(&created).unwrap();
    let (id, secret) = (text(&created["client_id"]), text(&created["client_secret"]));
    assert_eq!((&created["scopes"], &created["tenant"]), (&json!(["things.read"]), &json!("acme")));
    assert!(secret.starts_with("cs_test_"));
    let table = run_ok(&host, &["client", "list"]).await;
    assert!(table.contains(id) && !table.contains(secret), "{table}");
    assert!(run_ok(&host, &["client", "rotate", id]).await.contains("cs_test_"));
    request_token(&host, &[("authorization", &basic(&created))], GRANT).await.check(200);
    let file = host.dir.path().join("jwks.json");
    std::fs::write(&file, Signer::new().jwks().to_string()).unwrap();
    let file = file.display().to_string();
    let signing = run_ok(&host, &[&line[..], &["--jwks", &file]].concat()).await;
    assert!(signing.contains("no secret") && !signing.contains("cs_test_"), "{signing}");
    std::fs::write(&file, r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA","d":"hunter2"}]}"#).unwrap();
    let private = run_err(&host, &[&line[..], &["--jwks", &file]].concat()).await;
    assert!(private.contains("private key") && !private.contains("hunter2"), "{private}");
    assert!(
        run_err(&host, &[&line[..], &["--scope", "things.raed"]].concat()).await.contains("Known scopes: things.read")
    );
    assert!(run_ok(&host, &["oauth", "rotate-keys"]).await.contains("(ES256) is the signing key"));
    assert!(run_ok(&host, &["client", "revoke", id]).await.contains("and its tokens are revoked"));
    assert!(run_err(&host, &["client", "rotate", id]).await.contains("There is no client"));
    host.stop().await;
}

#[tokio::test]
async fn client_and_token_key_actions_are_journaled_without_secrets() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let (id, secret) = (text(&client["client_id"]), text(&client["client_secret"]));
    let rotated = host.operator().post(&format!("/v1/clients/{id}/rotate"), json!({})).await.expect(200).json();
    host.operator().post("/v1/oauth/rotate-keys", json!({})).await.check(200);
    host.operator().delete(&format!("/v1/clients/{id}")).await.check(200);
    let journal = host.operator().get("/v1/journal?limit=4").await.expect(200);
    let actions: Vec<_> = journal.json().as_array().unwrap().iter().map(|line| line["action"].clone()).collect();
    assert_eq!(actions, ["revoke-client", "rotate-token-keys", "rotate-client", "create-client"]);
    assert!(journal.text().contains(&format!("{id} of acme/test")));
    for secret in [secret, text(&rotated["client_secret"])] {
        assert!(!journal.text().contains(secret), "no secret is in the journal");
    }
    host.stop().await;
}
