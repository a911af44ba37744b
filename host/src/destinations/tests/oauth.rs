//! Token endpoints that are right, slow, wrong or gone.

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

struct Scene {
    world: World,
    bank: Server,
    issuer: Server,
}

/// An operator's destination "bank" with tokens of `issuer`.
async fn scene(tokens: impl IntoIterator<Item = &'static str>) -> Scene {
    let (world, bank, issuer) = (World::open().await, Server::start().await, Server::start().await);
    issuer.will(tokens.into_iter().map(|token| Reply::With(200, token)));
    world.bank(&bank.url, client(&issuer.url));
    Scene { world, bank, issuer }
}

impl Scene {
    async fn call(&self) -> Result<OutgoingAnswer, CallFailure> {
        self.world.call(&to("bank")).await
    }

    fn shown(&self) -> Vec<String> {
        self.bank.seen().iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn one_token_serves_many_calls() {
    let scene = scene([TOKEN]).await;
    let calls = join_all((0..20).map(|_| scene.call())).await;
    assert!(calls.iter().all(|called| called.as_ref().unwrap().status == 200));
    scene.call().await.unwrap();
    assert!(scene.shown().iter().all(|shown| shown == "Bearer hunter2-1"));
    let asked = scene.issuer.seen();
    assert_eq!(asked.len(), 1);
    assert_eq!((asked[0].method.as_str(), asked[0].path.as_str()), ("POST", "/token"));
    assert_eq!(asked[0].body, "grant_type=client_credentials&scope=read");
    // base64 of "me:hunter2"
    assert_eq!(asked[0].header("authorization"), Some("Basic bWU6aHVudGVyMg=="));
}

#[tokio::test]
async fn one_token_of_the_operator_serves_all_tenants() {
    let scene = scene([TOKEN]).await;
    for tenant in ["acme/test", "globex/test", "globex/live"] {
        scene.world.call_as(tenant, &to("bank"), None).await.unwrap();
    }
    assert_eq!(scene.shown(), ["Bearer hunter2-1"; 3]);
    assert_eq!(scene.issuer.seen().len(), 1);
}

#[tokio::test]
async fn a_token_at_its_end_is_replaced_before_it_is_used() {
    let scene = scene([AT_ONCE, TOKEN]).await;
    scene.call().await.unwrap();
    scene.call().await.unwrap();
    assert_eq!(scene.shown(), ["Bearer hunter2-0", "Bearer hunter2-1"]);
}

#[tokio::test]
async fn a_refused_token_is_replaced_once_and_the_second_answer_stands() {
    let scene = scene([TOKEN, SECOND]).await;
    scene.bank.will([Reply::With(401, "{}"), Reply::With(201, "{}")]);
    assert_eq!(scene.call().await.unwrap().status, 201);
    assert_eq!(scene.shown(), ["Bearer hunter2-1", "Bearer hunter2-2"]);
    let seen = scene.bank.seen();
    assert_eq!(seen[0].body, seen[1].body);
    assert_eq!(seen[0].header("idempotency-key"), seen[1].header("idempotency-key"));
    scene.bank.will([Reply::With(401, "{}"), Reply::With(401, "{\"always\":true}")]);
    scene.issuer.will([Reply::With(200, TOKEN)]);
    let answer = scene.call().await.unwrap();
    assert_eq!((answer.status, answer.content), (401, OutgoingContent::Json("{\"always\":true}".into())));
    assert_eq!((scene.bank.seen().len(), scene.issuer.seen().len()), (4, 3));
}

#[tokio::test]
async fn where_a_refused_token_cannot_be_replaced_the_refusal_stands() {
    let scene = scene([TOKEN]).await;
    scene.bank.will([Reply::With(401, "{}")]);
    scene.issuer.will([Reply::With(500, "{}")]);
    assert_eq!(scene.call().await.unwrap().status, 401);
    assert_eq!(scene.bank.seen().len(), 1);
}

#[tokio::test]
async fn a_second_time_that_breaks_leaves_it_unknown() {
    let scene = scene([TOKEN, SECOND]).await;
    let quick = DestinationConfig { timeout_ms: Some(500), ..server(&scene.bank.url, client(&scene.issuer.url)) };
    scene.world.name("bank", quick);
    scene.bank.will([Reply::With(401, "{}"), Reply::Never]);
    assert_eq!(failed(scene.call().await), (Certainty::Unknown, "timeout"));
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    for (status, said) in [
        (400, r#"{"error":"invalid_scope"}"#),
        (401, r#"{"error":"invalid_client","error_description":"hunter2"}"#),
        (302, ""),
        (503, "hunter2"),
        (200, "hunter2"),
        (200, r#"{"access_token":"hunter2","token_type":"mac"}"#),
    ] {
        let scene = scene([]).await;
        scene.issuer.will([Reply::With(status, said)]);
        assert_eq!(failed(scene.call().await), (Certainty::NotSent, "oauth"), "{status} {said}");
        assert!(scene.bank.seen().is_empty());
    }
}

#[tokio::test]
async fn a_token_endpoint_that_is_gone_or_silent_leaves_the_call_unsent() {
    let scene = scene([]).await;
    scene.world.bank(&scene.bank.url, client(&dead_address().await));
    assert_eq!(failed(scene.call().await), (Certainty::NotSent, "refused"));
    let quick = DestinationConfig { timeout_ms: Some(100), ..server(&scene.bank.url, client(&scene.issuer.url)) };
    scene.world.name("bank", quick);
    scene.issuer.will([Reply::Never]);
    assert_eq!(failed(scene.call().await), (Certainty::NotSent, "timeout"));
    assert!(scene.bank.seen().is_empty());
}

#[tokio::test]
async fn a_new_secret_means_a_new_token() {
    let scene = scene([TOKEN, SECOND]).await;
    scene.call().await.unwrap();
    let Login::OAuth2(before) = client(&scene.issuer.url) else { panic!() };
    let after = OAuthClient { client_secret: secret("changed"), ..(*before).clone() };
    scene.world.bank(&scene.bank.url, Login::OAuth2(Arc::new(after)));
    scene.call().await.unwrap();
    assert_eq!(scene.shown(), ["Bearer hunter2-1", "Bearer hunter2-2"]);
}

/// Everything that is logged on this thread.
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
    let (log, scene) = (Log::default(), scene([TOKEN]).await);
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || writer.clone()).finish();
    let guard = tracing::subscriber::set_default(subscriber);
    scene.bank.will([Reply::With(401, "{}")]);
    scene.issuer.will([Reply::With(400, r#"{"error":"invalid_client","error_description":"hunter2"}"#)]);
    scene.call().await.unwrap();
    drop(guard);
    let logged = String::from_utf8(log.0.lock().clone()).unwrap();
    assert!(logged.contains("a refused token could not be replaced"), "{logged}");
    // base64 of "hunter2" as it stands in "me:hunter2"
    assert!(!logged.contains(SECRET) && !logged.contains("aHVudGVyMg"), "{logged}");
}
