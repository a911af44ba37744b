//! Tokens of another issuer: here another host, whose keys are got from its address.

use super::*;

/// A host that takes tokens of `issuer`, for one of its clients.
async fn taking(issuer: &TestHost, client: &Value) -> TestHost {
    let base = issuer.base();
    let sections = format!(
        "[oauth.issuers.bank]\nissuer = \"{base}\"\nplugin = \"chameleon\"\naudience = \"chameleon/elsewhere\"\n\
         jwks-url = \"{base}/oauth2/jwks.json\"\n[oauth.issuers.bank.clients]\n\"{}\" = \"acme/test\"\n",
        text(&client["client_id"])
    );
    start(json!({ "oauth": true, "api-keys": false }), |host| host.head(&sections)).await
}

#[tokio::test]
async fn tokens_of_a_named_issuer_open_the_tenant_of_their_client() {
    let issuer = tokens_only().await;
    let client = create(&issuer, "elsewhere", json!({})).await;
    let stranger = create(&issuer, "elsewhere", json!({})).await;
    let host = taking(&issuer, &client).await;
    let (token, strange) = (token(&issuer, &client).await, token(&issuer, &stranger).await);
    let foreign = host.client_of(&token);
    foreign.put("/v1/things/a", json!({ "count": 1 })).await.check(200);
    caller(&host, &create(&host, "acme", json!({})).await).await.get("/v1/things/a").await.check(200);
    host.client_of(&strange).get("/v1/things/a").await.check(401);
    let own = caller(&host, &create(&host, "acme", json!({})).await).await;
    own.get("/v1/things/a").await.check(200);
    host.stop().await;
    issuer.stop().await;
}

#[tokio::test]
async fn a_new_key_of_an_issuer_is_got_once_a_minute_at_most() {
    let issuer = tokens_only().await;
    let client = create(&issuer, "elsewhere", json!({})).await;
    let host = taking(&issuer, &client).await;
    caller(&issuer, &client).await;
    host.client_of(&token(&issuer, &client).await).get("/v1/version").await.check(200);
    issuer.operator().send("POST", "/v1/oauth/rotate-keys", &[], vec![]).await.check(200);
    let new = host.client_of(&token(&issuer, &client).await);
    new.get("/v1/version").await.check(401);
    host.clock.advance(60_000);
    new.get("/v1/version").await.check(200);
    issuer.stop().await;
    // Known keys go on while the issuer is away.
    new.get("/v1/version").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn an_issuer_that_does_not_answer_opens_nothing() {
    let issuer = tokens_only().await;
    let client = create(&issuer, "elsewhere", json!({})).await;
    let host = taking(&issuer, &client).await;
    let token = token(&issuer, &client).await;
    issuer.stop().await;
    host.client_of(&token).get("/v1/version").await.check(401);
    host.stop().await;
}
