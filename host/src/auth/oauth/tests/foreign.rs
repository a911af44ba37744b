//! Tokens of external issuers.

use futures_util::FutureExt;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::*;
use crate::{
    auth::oauth::signing::{self, SigningKey},
    limits::JWKS_AGE_MS_MAX,
};

const BANK: &str = "https://id.bank.example";

fn key() -> SigningKey {
    SigningKey::load(Algorithm::Rs256, &signing::generate(Algorithm::Rs256).unwrap()).unwrap()
}

fn issuer(key: &SigningKey, tenant_claim: Option<&str>) -> Issuer {
    let keys = KeySet::parse(&json!({ "keys": [key.jwk()] }).to_string()).unwrap();
    Issuer {
        name: "bank".into(),
        issuer: BANK.into(),
        plugin: "notes".into(),
        audience: "https://api.example/notes".into(),
        token_type: "at+jwt".into(),
        keys: KeySource::Set(keys),
        tenant_claim: tenant_claim.map(str::to_owned),
        clients: BTreeMap::from([("known".to_owned(), "acme/live".to_owned())]),
    }
}

async fn open_with_issuers(issuers: Vec<Issuer>) -> OAuth {
    open(Settings { issuers, ..settings(Algorithm::EdDsa) }, &Arc::default()).await
}

async fn open_with_issuer(key: &SigningKey, tenant_claim: Option<&str>) -> OAuth {
    open_with_issuers(vec![issuer(key, tenant_claim)]).await
}

fn claims() -> Value {
    json!({
        "iss": BANK, "aud": "https://api.example/notes", "sub": "known", "client_id": "known",
        "exp": NOW / 1_000 + 60, "scope": "read", "tenant": "globex/test",
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

#[tokio::test]
async fn token_has_the_tenant_of_its_client() {
    let key = key();
    let oauth = open_with_issuer(&key, None).await;
    let principal = oauth.authenticate(&key.sign("at+jwt", &claims()).unwrap(), "notes", NOW).await.unwrap();
    assert_eq!((&*principal.tenant, principal.environment), ("acme/live", "live"));
    assert_eq!((&*principal.subject, &principal.scopes[..]), ("bank:known", &["read".to_owned()][..]));
    let unknown = key.sign("at+jwt", &with("client_id", json!("unknown"))).unwrap();
    assert!(!is_valid(&oauth, &unknown, NOW).await, "its claim is ignored unless it is configured");
}

#[tokio::test]
async fn configured_claim_sets_the_tenant() {
    let key = key();
    let oauth = open_with_issuer(&key, Some("tenant")).await;
    let unknown = key.sign("at+jwt", &with("client_id", json!("unknown"))).unwrap();
    let principal = oauth.authenticate(&unknown, "notes", NOW).await.unwrap();
    assert_eq!(&*principal.tenant, "globex/test");
    for tenant in [json!("globex"), json!("globex/prod"), json!("a/b/test"), json!(""), json!(["globex/test"])] {
        let mut claims = with("client_id", json!("unknown"));
        claims["tenant"] = tenant.clone();
        assert!(!is_valid(&oauth, &key.sign("at+jwt", &claims).unwrap(), NOW).await, "{tenant}");
    }
}

#[tokio::test]
async fn issuer_may_have_several_audiences() {
    let key = key();
    let other = Issuer {
        name: "other".into(),
        audience: "notes/globex".into(),
        clients: BTreeMap::from([("known".to_owned(), "globex/live".to_owned())]),
        ..issuer(&key, None)
    };
    let oauth = open_with_issuers(vec![issuer(&key, None), other]).await;
    for (audience, tenant) in [("https://api.example/notes", "acme/live"), ("notes/globex", "globex/live")] {
        let token = key.sign("at+jwt", &with("aud", json!(audience))).unwrap();
        assert_eq!(&*oauth.authenticate(&token, "notes", NOW).await.unwrap().tenant, tenant);
    }
}

#[tokio::test]
async fn token_is_valid_for_each_plugin_that_accepts_its_issuer() {
    let key = key();
    let other = Issuer {
        name: "other".into(),
        plugin: "things".into(),
        clients: BTreeMap::from([("known".to_owned(), "globex/live".to_owned())]),
        ..issuer(&key, None)
    };
    let oauth = open_with_issuers(vec![issuer(&key, None), other]).await;
    let token = key.sign("at+jwt", &claims()).unwrap();
    for (plugin, tenant) in [("notes", "acme/live"), ("things", "globex/live"), ("notes", "acme/live")] {
        assert_eq!(&*oauth.authenticate(&token, plugin, NOW).await.unwrap().tenant, tenant);
    }
}

#[tokio::test]
async fn tokens_for_another_audience_issuer_or_plugin_are_rejected() {
    let key = key();
    let oauth = open_with_issuer(&key, None).await;
    for (name, value) in [
        ("aud", json!("notes")),
        ("iss", json!("https://id.other.example")),
        ("iss", json!(ISSUER)),
        ("exp", json!(NOW / 1_000 - 31)),
        ("client_id", json!("")),
    ] {
        let token = key.sign("at+jwt", &with(name, value.clone())).unwrap();
        assert!(!is_valid(&oauth, &token, NOW).await, "{name}: {value}");
    }
    assert!(!is_valid(&oauth, &key.sign("JWT", &claims()).unwrap(), NOW).await);
    let own = oauth.own_keys.current().unwrap();
    assert!(
        !is_valid(&oauth, &own.sign("at+jwt", &claims()).unwrap(), NOW).await,
        "the host cannot issue tokens of the issuer"
    );
    let token = key.sign("at+jwt", &claims()).unwrap();
    assert!(oauth.authenticate(&token, "things", NOW).await.is_err());
}

/// Reads a request for keys and responds with this key.
async fn send_key(mut stream: TcpStream, key: &SigningKey) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        assert!(stream.read_buf(&mut head).await.unwrap() > 0);
    }
    let body = json!({ "keys": [key.jwk()] }).to_string();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
}

async fn with_url(key: &SigningKey) -> (OAuth, TcpListener) {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", server.local_addr().unwrap());
    (open_with_issuers(vec![Issuer { keys: KeySource::Url(url), ..issuer(key, None) }]).await, server)
}

#[tokio::test]
async fn caller_that_hangs_up_does_not_end_the_request_for_keys() {
    let key = key();
    let (oauth, server) = with_url(&key).await;
    let token = key.sign("at+jwt", &claims()).unwrap();
    let stream = tokio::select! {
        biased;
        accepted = server.accept() => accepted.unwrap().0,
        _ = oauth.authenticate(&token, "notes", NOW) => panic!("it has no keys"),
    };
    let (principal, ()) = tokio::join!(oauth.authenticate(&token, "notes", NOW + 1), send_key(stream, &key));
    assert_eq!(&*principal.unwrap().tenant, "acme/live");
    assert!(server.accept().now_or_never().is_none(), "the keys were requested once");
}

#[tokio::test]
async fn token_of_a_known_key_does_not_wait_for_newer_keys() {
    let key = key();
    let (oauth, server) = with_url(&key).await;
    let token = key.sign("at+jwt", &claims()).unwrap();
    let (first, ()) = tokio::join!(oauth.authenticate(&token, "notes", NOW), async {
        send_key(server.accept().await.unwrap().0, &key).await;
    });
    first.unwrap();
    let old = NOW + JWKS_AGE_MS_MAX;
    let mut later = claims();
    later["exp"] = json!(old / 1_000 + 60);
    let token = key.sign("at+jwt", &later).unwrap();
    oauth.authenticate(&token, "notes", old).await.unwrap();
    // The issuer has removed the key: tokens that are not cached are rejected once the keys are fetched again.
    let other = self::key();
    send_key(server.accept().await.unwrap().0, &other).await;
    let mut number = 0;
    loop {
        number += 1;
        later["jti"] = json!(number);
        if oauth.authenticate(&key.sign("at+jwt", &later).unwrap(), "notes", old).await.is_err() {
            break;
        }
        tokio::task::yield_now().await;
    }
}

/// The issuer signs claims that would be valid in a token of the host.
#[tokio::test]
async fn external_issuer_cannot_issue_tokens_of_the_host() {
    let key = key();
    let oauth = open_with_issuer(&key, None).await;
    let client = oauth.create_client(new_client("notes"), NOW).await.unwrap();
    let id = json!(&*client.row.id);
    let mut claims = with("sub", id.clone());
    (claims["iss"], claims["aud"], claims["client_id"]) = (json!(ISSUER), json!("notes/acme"), id.clone());
    assert!(!is_valid(&oauth, &key.sign("at+jwt", &claims).unwrap(), NOW).await);
    let named_like_it = key.sign("at+jwt", &with("client_id", id)).unwrap();
    assert!(!is_valid(&oauth, &named_like_it, NOW).await);
}
