//! Client authentication by signature: accepted and rejected assertions.

use super::*;
use crate::{
    auth::oauth::signing::{self, SigningKey},
    limits::ASSERTION_LIFETIME_MS_MAX,
};

const KIND: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

struct Signer {
    store: Arc<MemoryStore>,
    oauth: OAuth,
    key: SigningKey,
    id: String,
}

impl Signer {
    async fn new(algorithm: Algorithm) -> Signer {
        let store = Arc::default();
        let oauth = open(settings(Algorithm::EdDsa), &store).await;
        let key = SigningKey::load(algorithm, &signing::generate(algorithm).unwrap()).unwrap();
        let jwks = json!({ "keys": [{ "kty": "oops" }, key.jwk()] }).to_string();
        let client = oauth.create_client(NewClient { jwks: Some(jwks), ..new_client("notes") }, NOW).await.unwrap();
        assert!(client.secret.is_none());
        Signer { store, oauth, key, id: client.row.id.to_string() }
    }

    fn claims(&self) -> Value {
        let (id, seconds) = (&self.id, NOW / 1_000);
        json!({ "iss": id, "sub": id, "aud": ISSUER, "iat": seconds, "exp": seconds + 60, "jti": "one" })
    }

    async fn authenticate(&self, text: String) -> Result<Arc<ClientRow>, GrantError> {
        let proof = Proof::Assertion { kind: KIND.into(), text: SecretText::new(text), client: None };
        super::authenticate(&self.oauth, &proof, NOW).await
    }

    async fn authenticate_with(&self, name: &str, value: Value) -> Result<Arc<ClientRow>, GrantError> {
        let mut claims = self.claims();
        claims[name] = value;
        self.authenticate(self.key.sign("JWT", &claims).unwrap()).await
    }
}

#[tokio::test]
async fn assertion_of_every_algorithm_authenticates_its_client() {
    for algorithm in Algorithm::ALL {
        let signer = Signer::new(algorithm).await;
        let client = signer.authenticate(signer.key.sign("JWT", &signer.claims()).unwrap()).await.unwrap();
        assert_eq!(*client.id, *signer.id, "{algorithm:?}");
        let to_the_endpoint = json!(["https://else.example", format!("{ISSUER}{TOKEN_PATH}")]);
        let mut claims = signer.claims();
        (claims["aud"], claims["jti"]) = (to_the_endpoint, json!("two"));
        assert!(signer.authenticate(signer.key.sign("client-authentication+jwt", &claims).unwrap()).await.is_ok());
    }
}

#[tokio::test]
async fn assertion_is_accepted_once_even_after_a_restart() {
    let mut signer = Signer::new(Algorithm::Es256).await;
    let text = signer.key.sign("JWT", &signer.claims()).unwrap();
    signer.authenticate(text.clone()).await.unwrap();
    assert!(signer.authenticate(text.clone()).await.is_err());
    signer.oauth = open(settings(Algorithm::EdDsa), &signer.store).await;
    let again = signer.authenticate(text).await.unwrap_err();
    assert_eq!(again.to_string(), "invalid_client: it was used before");
    signer.authenticate_with("jti", json!("two")).await.unwrap();
}

#[tokio::test]
async fn assertion_with_invalid_claims_is_rejected() {
    let signer = Signer::new(Algorithm::EdDsa).await;
    let other = signer.oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let seconds = NOW / 1_000;
    let too_late = (ASSERTION_LIFETIME_MS_MAX + TOKEN_LEEWAY_MS) / 1_000 + 1;
    for (name, value) in [
        ("aud", json!("https://other.example")),
        ("aud", json!("notes")),
        ("aud", json!(format!("{ISSUER}/"))),
        ("iss", json!("client_unknown")),
        ("sub", json!(&*other.row.id)),
        ("exp", json!(seconds - 31)),
        ("exp", json!(seconds + too_late)),
        ("exp", Value::Null),
        ("nbf", json!(seconds + 31)),
        ("iat", json!(seconds + 31)),
        ("jti", Value::Null),
        ("jti", json!("")),
        ("jti", json!("x".repeat(257))),
        ("jti", json!(7)),
    ] {
        let result = signer.authenticate_with(name, value.clone()).await;
        assert!(result.is_err_and(|error| error.code() == "invalid_client"), "{name}: {value}");
    }
    assert!(signer.authenticate_with("jti", json!("fresh")).await.is_ok());
}

#[tokio::test]
async fn assertion_with_another_signature_or_type_is_rejected() {
    let signer = Signer::new(Algorithm::EdDsa).await;
    let foreign = SigningKey::load(Algorithm::EdDsa, &signing::generate(Algorithm::EdDsa).unwrap()).unwrap();
    let host = signer.oauth.own_keys.current().unwrap();
    for text in [
        foreign.sign("JWT", &signer.claims()).unwrap(),
        host.sign("JWT", &signer.claims()).unwrap(),
        signer.key.sign("at+jwt", &signer.claims()).unwrap(),
        "nonsense".to_owned(),
        String::new(),
    ] {
        assert!(signer.authenticate(text.clone()).await.is_err(), "{text}");
    }
    let valid = || SecretText::new(signer.key.sign("JWT", &signer.claims()).unwrap());
    let saml = Proof::Assertion {
        kind: "urn:ietf:params:oauth:client-assertion-type:saml2-bearer".into(),
        text: valid(),
        client: None,
    };
    assert!(signer.oauth.verify_client(&saml, NOW).is_err());
    let another = Proof::Assertion { kind: KIND.into(), text: valid(), client: Some("client_other".into()) };
    assert!(signer.oauth.verify_client(&another, NOW).is_err());
    let as_secret = Proof::Secret { client: signer.id.clone(), secret: SecretText::new(String::new()) };
    assert!(signer.oauth.verify_client(&as_secret, NOW).is_err());
    signer.oauth.revoke_client(&signer.id, NOW, None).await.unwrap();
    assert!(signer.authenticate(valid().expose().to_owned()).await.is_err());
}

/// A client with a secret cannot be authenticated by a signature of any key.
#[tokio::test]
async fn client_with_a_secret_accepts_no_assertions() {
    let signer = Signer::new(Algorithm::EdDsa).await;
    let other = signer.oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let mut claims = signer.claims();
    (claims["iss"], claims["sub"]) = (json!(&*other.row.id), json!(&*other.row.id));
    assert!(signer.authenticate(signer.key.sign("JWT", &claims).unwrap()).await.is_err());
}
