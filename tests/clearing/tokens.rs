//! What a token must be, to open this interface: each way of being wrong is the same 401 (spec/clearing: Authentication). What
//! the host makes of tokens in general is tested with the host.

use std::{collections::BTreeSet, fs};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use tempfile::TempDir;

use super::{
    START_MS,
    messages::{AUTHORISE, DETERMINE, minimal},
    refusals::refused,
    routes::{ACCOUNTS, JSON},
    stage::Stage,
};
use crate::{host::oauth::Signer, support::Response};

const SCOPES: &str = "inbound.identifier.determine clearing.accounts.read";
const ISSUER: &str = "https://issuer.example";

/// Asks for an account, with this header.
async fn ask_with(stage: &Stage, headers: &[(&str, &str)]) -> Response {
    stage.knock("POST", DETERMINE, &[&JSON[..], headers].concat(), minimal(DETERMINE).to_string().into_bytes()).await
}

async fn ask(stage: &Stage, token: &str) -> Response {
    ask_with(stage, &[("authorization", &format!("Bearer {token}"))]).await
}

#[track_caller]
fn invalid(answer: &Response, why: &str) -> String {
    assert_eq!(answer.status, 401, "{why}: {}", answer.text());
    assert_eq!(refused(answer, 401, "INBOUND_UNAUTHORIZED"), "", "{why}");
    let challenge = answer.header("www-authenticate").unwrap_or_default();
    assert_eq!(challenge, r#"Bearer realm="clearing", error="invalid_token""#, "{why}");
    answer.text()
}

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn read(part: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}

/// Signed with a secret that everybody knows.
fn with_shared_secret(header: &Value, claims: &str, secret: &[u8]) -> String {
    let signed = format!("{}.{claims}", part(header));
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_the_host_has_not_signed_opens_nothing() {
    let stage = Stage::bank("").await;
    let good = stage.to_bank.token().await;
    ask(&stage, &good).await.check(200);
    let [head, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!("{good}") };
    assert_eq!(read(claims)["aud"], json!("clearing/bank"), "each side is an audience of its own");
    let keys = stage.host.anonymous().get("/oauth2/jwks.json").await.expect(200);
    let (header, key) = (read(head), keys.json()["keys"][0].clone());
    let more = {
        let mut claims = read(claims);
        claims["scope"] = json!("clearing.accounts.write");
        part(&claims)
    };
    let with = |name: &str, value: Value| {
        let mut header = header.clone();
        header[name] = value;
        header
    };
    let none = part(&with("alg", json!("none")));
    let hs = with("alg", json!("HS256"));
    let point = [key["x"].as_str().unwrap(), key["y"].as_str().unwrap()].map(|it| URL_SAFE_NO_PAD.decode(it).unwrap());
    let mine = Signer::new();
    let table = [
        ("none, unsigned", format!("{none}.{claims}.")),
        ("none, signed", format!("{none}.{claims}.{signature}")),
        ("None", format!("{}.{claims}.", part(&with("alg", json!("None"))))),
        ("the published key as a secret", with_shared_secret(&hs, claims, key.to_string().as_bytes())),
        ("all published keys as a secret", with_shared_secret(&hs, claims, &keys.body)),
        ("the point as a secret", with_shared_secret(&hs, claims, &point.concat())),
        ("an empty secret", with_shared_secret(&hs, claims, b"")),
        ("other claims", format!("{head}.{more}.{signature}")),
        ("another key of its own", mine.sign(with("jwk", mine.jwks()["keys"][0].clone()), &read(claims))),
        ("another key under the same name", mine.sign(header.clone(), &read(claims))),
        ("another key's address", mine.sign(with("jku", json!(format!("{}/keys", stage.peer.base()))), &read(claims))),
        ("an unknown key", format!("{}.{claims}.{signature}", part(&with("kid", json!("../../etc/passwd"))))),
        ("half a signature", format!("{head}.{claims}.{}", &signature[..43])),
        ("no signature", format!("{head}.{claims}.")),
        ("two parts", format!("{head}.{claims}")),
        ("four parts", format!("{good}.{signature}")),
        ("too long", format!("{head}.{}.{signature}", "A".repeat(12_000))),
        ("no base64", format!("{head}.{claims}!.{signature}")),
    ];
    let mut answers = BTreeSet::new();
    for (why, token) in table {
        answers.insert(invalid(&ask(&stage, &token).await, why));
    }
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert!(stage.peer.received().is_empty(), "nobody is asked for keys");
    ask(&stage, &good).await.check(200);
    stage.finish().await;
}

/// Of an issuer that the operator trusts with one client, which stands for the bank.
struct Foreign {
    signer: Signer,
    folder: TempDir,
}

impl Foreign {
    fn new() -> Foreign {
        let foreign = Foreign { signer: Signer::new(), folder: tempfile::tempdir().unwrap() };
        let mut keys = foreign.signer.jwks();
        keys["keys"][0]["kid"] = json!("k1");
        fs::write(foreign.folder.path().join("keys.json"), keys.to_string()).unwrap();
        foreign
    }

    /// Of plugins.toml.
    fn settings(&self) -> String {
        let file = self.folder.path().join("keys.json");
        format!(
            "[oauth.issuers.scheme]\nissuer = \"{ISSUER}\"\nplugin = \"clearing\"\naudience = \"clearing/bank\"\n\
             jwks-file = \"{}\"\n[oauth.issuers.scheme.clients]\noperator = \"bank/test\"\n",
            file.display()
        )
    }

    /// A sound token but for what is given; null takes a member away.
    fn token(&self, header: Value, claims: Value) -> String {
        let now = START_MS / 1_000;
        let sound_header = json!({"alg": "ES256", "typ": "at+jwt", "kid": "k1"});
        let sound_claims = json!({
            "iss": ISSUER, "aud": "clearing/bank", "sub": "operator", "client_id": "operator", "scope": SCOPES,
            "iat": now, "nbf": now, "exp": now + 300, "jti": "one",
        });
        let with = |mut sound: Value, given: Value| {
            sound.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
            sound.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            sound
        };
        self.signer.sign(with(sound_header, header), &with(sound_claims, claims))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_well_signed_token_that_is_not_for_here_opens_nothing() {
    let foreign = Foreign::new();
    let stage = Stage::both_with(&foreign.settings()).await;
    let now = START_MS / 1_000;
    ask(&stage, &foreign.token(json!({}), json!({}))).await.check(200);
    let claims = [
        json!({"iss": "https://issuer.example/"}),
        json!({"iss": "https://other.example"}),
        json!({"iss": null}),
        json!({"iss": stage.host.base()}),
        json!({"aud": "fleet"}),
        json!({"aud": "clearing/hub"}),
        json!({"aud": "clearing"}),
        json!({"aud": ["fleet", "https://hub.example.com"]}),
        json!({"aud": null}),
        json!({"aud": ""}),
        json!({"exp": now - 3_600}),
        json!({"exp": null}),
        json!({"exp": "soon"}),
        json!({"exp": -1}),
        json!({"nbf": now + 3_600}),
        json!({"iat": now + 3_600}),
        json!({"sub": "somebody", "client_id": "somebody"}),
        json!({"sub": "hub/test", "client_id": "hub/test"}),
        json!({"scope": ["inbound.identifier.determine"]}),
        json!({"scope": "\"quoted\""}),
    ];
    for claims in claims {
        invalid(&ask(&stage, &foreign.token(json!({}), claims.clone())).await, &claims.to_string());
    }
    let headers = [
        json!({"typ": "JWT"}),
        json!({"typ": null}),
        json!({"typ": "id_token"}),
        json!({"kid": "k2"}),
        json!({"alg": "RS256"}),
        json!({"alg": "EdDSA"}),
        json!({"crit": ["b64"], "b64": false}),
    ];
    for header in headers {
        invalid(&ask(&stage, &foreign.token(header.clone(), json!({}))).await, &header.to_string());
    }
    // Sound, and without the scope: told apart from what proves nothing.
    for scope in
        [json!("clearing.accounts.read"), json!(""), json!(null), json!("inbound.identifier.determine2 inbound.*")]
    {
        let answer = ask(&stage, &foreign.token(json!({}), json!({"scope": scope, "jti": "two"}))).await;
        refused(&answer, 403, "INBOUND_FORBIDDEN");
    }
    stage.finish().await;
}

/// The tenant of a token is its client's, and nothing that the token or the request says.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_the_tenant_of_its_client_alone() {
    let foreign = Foreign::new();
    let stage = Stage::both_with(&foreign.settings()).await;
    let token = foreign.token(json!({}), json!({"tenant": "hub/test", "organization": "hub", "side": "platform"}));
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str()), ("x-tenant", "hub/test"), ("tenant", "hub")];
    let named = stage.knock("GET", &format!("{ACCOUNTS}?tenant=hub"), &headers, Vec::new()).await;
    refused(&named, 422, "INBOUND_UNPROCESSABLE");
    let list = stage.knock("GET", ACCOUNTS, &headers, Vec::new()).await.expect(200).json();
    assert_eq!(list["accounts"].as_array().unwrap().len(), 1, "the bank's");
    ask(&stage, &token).await.check(200);
    // The platform's staff is nobody at the partner's operations, and the other way round.
    let body = minimal(AUTHORISE);
    refused(&stage.hub.post(AUTHORISE, body).await, 404, "INBOUND_NOT_FOUND");
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends_with_its_time_and_with_its_client() {
    let stage = Stage::bank("").await;
    let old = stage.to_bank.token().await;
    let (gone, stays) = (stage.client("bank", &[]).await, stage.client("bank", &[]).await);
    let revoked = gone.token().await;
    ask(&stage, &revoked).await.check(200);
    stage.host.operator().delete(&format!("/v1/clients/{}", gone.client_id)).await.check(200);
    invalid(&ask(&stage, &revoked).await, "a revoked client");
    ask(&stage, &old).await.check(200);
    // New keys sign from now on, and those before them verify until their tokens have ended.
    stage.host.operator().send("POST", "/v1/oauth/rotate-keys", &[], vec![]).await.check(200);
    ask(&stage, &old).await.check(200);
    ask(&stage, &stays.token().await).await.check(200);
    stage.advance_ms(700_000);
    invalid(&ask(&stage, &old).await, "an old token");
    ask(&stage, &stays.token().await).await.check(200);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_a_bearer_token_in_its_header_is_a_credential() {
    let stage = Stage::bank("").await;
    let (token, other) = (stage.to_bank.token().await, stage.bank.token().await);
    let (key, body) = (stage.host.key("clearing", "bank").await, minimal(DETERMINE).to_string().into_bytes());
    invalid(&ask(&stage, &key).await, "an API key");
    invalid(&ask(&stage, "").await, "nothing");
    invalid(&ask(&stage, &stage.to_bank.secret).await, "the secret of a client");
    let basic = |user: &str| format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user));
    for authorization in
        [basic(&format!("{token}:")), basic(&format!("{}:{}", stage.to_bank.client_id, stage.to_bank.secret))]
    {
        invalid(&ask_with(&stage, &[("authorization", &authorization)]).await, "Basic");
    }
    let elsewhere =
        [("x-api-key", token.as_str()), ("cookie", &format!("access_token={token}")), ("x-access-token", &token)];
    for header in elsewhere {
        refused(&ask_with(&stage, &[header]).await, 401, "INBOUND_UNAUTHORIZED");
    }
    for name in ["access_token", "api_key", "token", "authorization"] {
        let answer = stage.knock("POST", &format!("{DETERMINE}?{name}={token}"), &JSON, body.clone()).await;
        refused(&answer, 401, "INBOUND_UNAUTHORIZED");
    }
    let form = format!("access_token={token}").into_bytes();
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    refused(&stage.knock("POST", DETERMINE, &kind, form).await, 401, "INBOUND_UNAUTHORIZED");
    let (one, two) = (format!("Bearer {token}"), format!("Bearer {other}"));
    let both = ask_with(&stage, &[("authorization", &one), ("authorization", &two)]).await;
    refused(&both, 401, "INBOUND_UNAUTHORIZED");
    assert_eq!(both.header("www-authenticate"), Some(r#"Bearer realm="clearing", error="invalid_request""#));
    stage.finish().await;
}
