//! Token endpoints that work, are slow, return errors or are unreachable.

use futures_util::future::join_all;

use super::*;

const TOKEN: &str = r#"{"access_token":"hunter2-1","token_type":"Bearer","expires_in":3600}"#;
const SECOND: &str = r#"{"access_token":"hunter2-2","token_type":"Bearer","expires_in":3600}"#;
const AT_ONCE: &str = r#"{"access_token":"hunter2-0","token_type":"Bearer","expires_in":0}"#;

fn client(token_url: &str) -> Login {
    Login::OAuth2(Arc::new(OAuthClient {
        token_url: format!("{token_url}/token"),
        client_id: "me".into(),
        client_secret: secret(SECRET),
        scope: Some("read".into()),
        audience: None,
        authentication: ClientAuthentication::Basic,
    }))
}

struct OAuthSetup {
    fixture: Fixture,
    bank: Server,
    issuer: Server,
}

/// Configures the operator's destination "bank" with tokens of `issuer`.
async fn setup(tokens: impl IntoIterator<Item = &'static str>) -> OAuthSetup {
    let (fixture, bank, issuer) = (Fixture::open().await, Server::start().await, Server::start().await);
    issuer.respond_with(tokens.into_iter().map(|token| ServerResponse::With(200, token)));
    fixture.bank(&bank.url, client(&issuer.url));
    OAuthSetup { fixture, bank, issuer }
}

impl OAuthSetup {
    async fn call(&self) -> Result<OutgoingResponse, DestinationCallError> {
        self.fixture.call(&to("bank")).await
    }

    fn sent_credentials(&self) -> Vec<String> {
        self.bank.received().iter().map(|received| received.header("authorization").unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn one_token_serves_many_calls() {
    let setup = setup([TOKEN]).await;
    let calls = join_all((0..20).map(|_| setup.call())).await;
    assert!(calls.iter().all(|called| called.as_ref().unwrap().status == 200));
    setup.call().await.unwrap();
    assert!(setup.sent_credentials().iter().all(|sent| sent == "Bearer hunter2-1"));
    let requests = setup.issuer.received();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].method.as_str(), requests[0].path.as_str()), ("POST", "/token"));
    assert_eq!(requests[0].body, "grant_type=client_credentials&scope=read");
    // base64 of "me:hunter2"
    assert_eq!(requests[0].header("authorization"), Some("Basic bWU6aHVudGVyMg=="));
}

#[tokio::test]
async fn one_token_of_the_operator_serves_all_tenants() {
    let setup = setup([TOKEN]).await;
    for tenant in ["acme/test", "globex/test", "globex/live"] {
        setup.fixture.call_as(tenant, &to("bank"), None).await.unwrap();
    }
    assert_eq!(setup.sent_credentials(), ["Bearer hunter2-1"; 3]);
    assert_eq!(setup.issuer.received().len(), 1);
}

#[tokio::test]
async fn expired_token_is_replaced_before_use() {
    let setup = setup([AT_ONCE, TOKEN]).await;
    setup.call().await.unwrap();
    setup.call().await.unwrap();
    assert_eq!(setup.sent_credentials(), ["Bearer hunter2-0", "Bearer hunter2-1"]);
}

#[tokio::test]
async fn rejected_token_is_replaced_once_and_the_second_response_is_returned() {
    let setup = setup([TOKEN, SECOND]).await;
    setup.bank.respond_with([ServerResponse::With(401, "{}"), ServerResponse::With(201, "{}")]);
    assert_eq!(setup.call().await.unwrap().status, 201);
    assert_eq!(setup.sent_credentials(), ["Bearer hunter2-1", "Bearer hunter2-2"]);
    let received = setup.bank.received();
    assert_eq!(received[0].body, received[1].body);
    assert_eq!(received[0].header("idempotency-key"), received[1].header("idempotency-key"));
    setup.bank.respond_with([ServerResponse::With(401, "{}"), ServerResponse::With(401, "{\"always\":true}")]);
    setup.issuer.respond_with([ServerResponse::With(200, TOKEN)]);
    let answer = setup.call().await.unwrap();
    assert_eq!((answer.status, answer.content), (401, OutgoingContent::Json("{\"always\":true}".into())));
    assert_eq!((setup.bank.received().len(), setup.issuer.received().len()), (4, 3));
}

#[tokio::test]
async fn response_401_is_returned_if_the_token_cannot_be_replaced() {
    let setup = setup([TOKEN]).await;
    setup.bank.respond_with([ServerResponse::With(401, "{}")]);
    setup.issuer.respond_with([ServerResponse::With(500, "{}")]);
    assert_eq!(setup.call().await.unwrap().status, 401);
    assert_eq!(setup.bank.received().len(), 1);
}

#[tokio::test]
async fn failed_second_attempt_has_unknown_outcome() {
    let setup = setup([TOKEN, SECOND]).await;
    let quick = DestinationConfig { timeout_ms: Some(500), ..server(&setup.bank.url, client(&setup.issuer.url)) };
    setup.fixture.configure("bank", quick);
    setup.bank.respond_with([ServerResponse::With(401, "{}"), ServerResponse::Never]);
    assert_eq!(failed(setup.call().await), (Certainty::Unknown, "timeout"));
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    for (status, body) in [
        (400, r#"{"error":"invalid_scope"}"#),
        (401, r#"{"error":"invalid_client","error_description":"hunter2"}"#),
        (302, ""),
        (503, "hunter2"),
        (200, "hunter2"),
        (200, r#"{"access_token":"hunter2","token_type":"mac"}"#),
    ] {
        let setup = setup([]).await;
        setup.issuer.respond_with([ServerResponse::With(status, body)]);
        assert_eq!(failed(setup.call().await), (Certainty::NotSent, "oauth"), "{status} {body}");
        assert!(setup.bank.received().is_empty());
    }
}

#[tokio::test]
async fn call_is_not_sent_if_the_token_endpoint_is_unreachable_or_slow() {
    let setup = setup([]).await;
    setup.fixture.bank(&setup.bank.url, client(&closed_address().await));
    assert_eq!(failed(setup.call().await), (Certainty::NotSent, "refused"));
    let quick = DestinationConfig { timeout_ms: Some(100), ..server(&setup.bank.url, client(&setup.issuer.url)) };
    setup.fixture.configure("bank", quick);
    setup.issuer.respond_with([ServerResponse::Never]);
    assert_eq!(failed(setup.call().await), (Certainty::NotSent, "timeout"));
    assert!(setup.bank.received().is_empty());
}

#[tokio::test]
async fn changed_secret_requires_a_new_token() {
    let setup = setup([TOKEN, SECOND]).await;
    setup.call().await.unwrap();
    let Login::OAuth2(before) = client(&setup.issuer.url) else { panic!() };
    let after = OAuthClient { client_secret: secret("changed"), ..(*before).clone() };
    setup.fixture.bank(&setup.bank.url, Login::OAuth2(Arc::new(after)));
    setup.call().await.unwrap();
    assert_eq!(setup.sent_credentials(), ["Bearer hunter2-1", "Bearer hunter2-2"]);
}

/// Log output of this thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn no_secret_and_no_token_is_logged() {
    let (log, setup) = (Log::default(), setup([TOKEN]).await);
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    setup.bank.respond_with([ServerResponse::With(401, "{}")]);
    setup
        .issuer
        .respond_with([ServerResponse::With(400, r#"{"error":"invalid_client","error_description":"hunter2"}"#)]);
    setup.call().await.unwrap();
    drop(guard);
    let logged = String::from_utf8(log.0.lock().clone()).unwrap();
    assert!(logged.contains("failed to replace a rejected token"), "{logged}");
    // base64 of "hunter2" within "me:hunter2"
    assert!(!logged.contains(SECRET) && !logged.contains("aHVudGVyMg"), "{logged}");
}
