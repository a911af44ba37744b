//! Forged, tampered, expired and misdirected tokens.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac};
use sha2::Sha256;

use super::*;
use crate::auth::oauth::{grant::ACCESS_TOKEN, signing};

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// Returns the claims of a valid token of this client.
fn claims(client: &CreatedClient) -> Value {
    json!({
        "iss": ISSUER, "aud": "notes/acme", "sub": &*client.row.id, "client_id": &*client.row.id,
        "iat": NOW / 1_000, "exp": NOW / 1_000 + 600, "jti": "token_1", "scope": "read",
    })
}

fn with(mut claims: Value, name: &str, value: Value) -> Value {
    claims[name] = value;
    claims
}

async fn with_client(algorithm: Algorithm) -> (OAuth, CreatedClient) {
    let oauth = open(settings(algorithm), &Arc::default()).await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    (oauth, client)
}

#[tokio::test]
async fn token_with_invalid_claims_is_rejected() {
    let (oauth, client) = with_client(Algorithm::EdDsa).await;
    let other = oauth.create_client(new_client("things"), NOW).await.unwrap();
    let key = oauth.own_keys.current().unwrap();
    let valid = claims(&client);
    assert!(is_valid(&oauth, &key.sign(ACCESS_TOKEN, &valid).unwrap(), NOW).await);
    assert!(is_valid(&oauth, &key.sign("application/AT+JWT", &valid).unwrap(), NOW).await);
    let seconds = NOW / 1_000;
    for (name, value) in [
        ("aud", json!("things/acme")),
        ("aud", json!("notes/globex")),
        ("aud", json!("notes")),
        ("aud", json!(["things/acme", ISSUER])),
        ("aud", json!([])),
        ("aud", Value::Null),
        ("iss", json!("https://other.example")),
        ("iss", json!("https://api.example/")),
        ("iss", Value::Null),
        ("sub", json!("client_unknown")),
        ("sub", json!(&*other.row.id)),
        ("exp", json!(seconds - 31)),
        ("exp", json!(-1)),
        ("exp", json!("2999-01-01")),
        ("exp", Value::Null),
        ("nbf", json!(seconds + 31)),
        ("iat", json!(seconds + 31)),
        ("scope", json!(["read"])),
        ("scope", json!("read\"write")),
    ] {
        let token = key.sign(ACCESS_TOKEN, &with(valid.clone(), name, value.clone())).unwrap();
        assert!(!is_valid(&oauth, &token, NOW).await, "{name}: {value}");
    }
    for kind in ["JWT", "jwt", "", "secevent+jwt", "client-authentication+jwt"] {
        assert!(!is_valid(&oauth, &key.sign(kind, &valid).unwrap(), NOW).await, "{kind}");
    }
}

#[tokio::test]
async fn token_expires_after_its_lifetime_and_the_leeway() {
    let (oauth, client) = with_client(Algorithm::EdDsa).await;
    let token = token(&oauth, &client).await;
    let end = NOW + 600_000 + TOKEN_LEEWAY_MS;
    assert!(is_valid(&oauth, &token, NOW).await && is_valid(&oauth, &token, end - 1).await);
    assert!(!is_valid(&oauth, &token, end).await);
}

#[tokio::test]
async fn token_without_a_valid_signature_is_rejected() {
    let (oauth, client) = with_client(Algorithm::Es256).await;
    let (valid, claims) = (token(&oauth, &client).await, claims(&client));
    let key = oauth.own_keys.current().unwrap();
    let [header, payload, signature] = valid.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let foreign = |algorithm| signing::SigningKey::load(algorithm, &signing::generate(algorithm).unwrap()).unwrap();
    let unsigned = |name: &str| part(&json!({ "alg": name, "typ": "at+jwt", "kid": key.id }));
    let richer = part(&with(claims.clone(), "scope", json!("read write admin")));
    let mut tampered = signature.to_owned();
    tampered.replace_range(0..1, if signature.starts_with('A') { "B" } else { "A" });
    for forged in [
        format!("{}.{payload}.", unsigned("none")),
        format!("{}.{payload}.", unsigned("None")),
        format!("{}.{payload}.{signature}", unsigned("none")),
        format!("{}.{payload}.{signature}", unsigned("ES384")),
        format!("{header}.{payload}."),
        format!("{header}.{payload}"),
        format!("{header}.{payload}.{tampered}"),
        format!("{header}.{richer}.{signature}"),
        format!("{header}.{payload}.{signature}="),
        format!("{header}.{payload}.{signature}.x"),
        format!("{valid}.{valid}"),
        "..".to_owned(),
        "a.b.c".to_owned(),
        foreign(Algorithm::Es256).sign("at+jwt", &claims).unwrap(),
        foreign(Algorithm::EdDsa).sign("at+jwt", &claims).unwrap(),
    ] {
        assert!(!is_valid(&oauth, &forged, NOW).await, "{forged}");
    }
    assert!(is_valid(&oauth, &valid, NOW).await);
}

/// Forges HMACs with the public key as the secret: as JSON, as base64 text, as bytes.
#[tokio::test]
async fn public_key_is_never_used_as_a_shared_secret() {
    for algorithm in Algorithm::ALL {
        let (oauth, client) = with_client(algorithm).await;
        let jwk = oauth.jwks(NOW)["keys"][0].clone();
        let header = part(&json!({ "alg": "HS256", "typ": "at+jwt", "kid": jwk["kid"] }));
        let signed = format!("{header}.{}", part(&claims(&client)));
        let material = jwk.get("x").or(jwk.get("n")).unwrap().as_str().unwrap();
        for secret in [jwk.to_string().into_bytes(), material.into(), URL_SAFE_NO_PAD.decode(material).unwrap()] {
            let mut mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
            mac.update(signed.as_bytes());
            let forged = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac.finalize().into_bytes()));
            assert!(!is_valid(&oauth, &forged, NOW).await, "{algorithm:?}");
        }
    }
}

/// Signs tokens with a foreign key, and tokens whose header has an algorithm other than the key's, an embedded or
/// linked key, an unknown or no key id, or a critical extension.
#[tokio::test]
async fn header_cannot_supply_a_key() {
    let (oauth, client) = with_client(Algorithm::EdDsa).await;
    let other = signing::SigningKey::load(Algorithm::EdDsa, &signing::generate(Algorithm::EdDsa).unwrap()).unwrap();
    let ours = oauth.own_keys.current().unwrap();
    let payload = part(&claims(&client));
    for header in [
        json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": ours.id }),
        json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": other.id, "jwk": other.jwk() }),
        json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": ours.id, "jwk": other.jwk() }),
        json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": other.id, "jku": "http://127.0.0.1:1/jwks" }),
        json!({ "alg": "EdDSA", "typ": "at+jwt" }),
    ] {
        let forged = other.sign_with(&header, &payload);
        assert!(!is_valid(&oauth, &forged, NOW).await, "{header}");
    }
    for header in [
        json!({ "alg": "EdDSA", "typ": "at+jwt" }),
        json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": "unknown" }),
        json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": ours.id, "crit": ["exp"] }),
        json!({ "alg": "ES256", "typ": "at+jwt", "kid": ours.id }),
        json!({ "alg": "RS256", "typ": "at+jwt", "kid": ours.id }),
    ] {
        let forged = ours.sign_with(&header, &payload);
        assert!(!is_valid(&oauth, &forged, NOW).await, "{header}");
    }
    assert!(
        is_valid(&oauth, &ours.sign_with(&json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": ours.id }), &payload), NOW)
            .await
    );
}

#[tokio::test]
async fn oversized_token_is_rejected() {
    let (oauth, client) = with_client(Algorithm::EdDsa).await;
    let key = oauth.own_keys.current().unwrap();
    let long = with(claims(&client), "x", json!("x".repeat(crate::limits::SIGNED_TOKEN_BYTES_MAX)));
    assert!(!is_valid(&oauth, &key.sign(ACCESS_TOKEN, &long).unwrap(), NOW).await);
}

impl signing::SigningKey {
    /// Signs under a custom header.
    fn sign_with(&self, header: &Value, payload: &str) -> String {
        let signed = format!("{}.{payload}", part(header));
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(self.signature(signed.as_bytes()).unwrap()))
    }
}
