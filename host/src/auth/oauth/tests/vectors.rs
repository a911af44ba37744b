//! Examples from RFC 7515 (A.3) and RFC 8037 (A.1, A.2, and A.4).

use super::*;
use crate::auth::oauth::jws::Jws;

fn verifies(key: Value, text: &str) -> bool {
    let keys = KeySet::parse(&json!({ "keys": [key] }).to_string()).unwrap();
    keys.verifies(&Jws::parse(text).unwrap())
}

fn p256() -> Value {
    json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    })
}

fn ed25519() -> Value {
    json!({ "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" })
}

const ES256: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
const EDDSA: &str = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";

#[test]
fn signatures_of_the_rfcs_verify() {
    assert!(verifies(p256(), ES256));
    assert!(verifies(ed25519(), EDDSA));
    assert!(!verifies(p256(), EDDSA) && !verifies(ed25519(), ES256));
}

#[test]
fn private_key_of_the_rfcs_is_rejected_as_a_public_key() {
    let mut key = ed25519();
    key["d"] = json!("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A");
    let error = KeySet::parse(&json!({ "keys": [key] }).to_string()).unwrap_err();
    assert!(error.contains("private key"));
}

#[test]
fn keys_of_other_uses_or_types_are_skipped() {
    let with = |name: &str, value: &str| {
        let mut key = p256();
        key[name] = json!(value);
        key
    };
    for key in [
        with("use", "enc"),
        with("alg", "ES384"),
        with("crv", "P-521"),
        with("x", "AAAA"),
        with("kty", "unknown"),
        json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
    ] {
        let text = json!({ "keys": [key] }).to_string();
        assert!(KeySet::parse(&text).is_err(), "{text}");
        let text = json!({ "keys": [key, p256()] }).to_string();
        assert!(KeySet::parse(&text).is_ok(), "{text}");
    }
    assert!(KeySet::parse("[]").is_err() && KeySet::parse("{}").is_err() && KeySet::parse("").is_err());
}
