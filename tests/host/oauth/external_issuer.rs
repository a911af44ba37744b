//! Tokens of an external issuer: another host, whose keys are fetched from its JWKS URL.

use super::*;

/// Starts a host that accepts tokens of `issuer` for one of its clients.
async fn host_trusting(issuer: &TestHost, client: &Value) -> TestHost {
    let base = issuer.base();
    let sections = format!(
        "[oauth.issuers.bank]\nissuer = \"{base}\"\nplugin = \"chameleon\"\naudience = \"chameleon/elsewhere\"\n\
         jwks-url = \"{base}/oauth2/jwks.json\"\n[oauth.issuers.bank.clients]\n\"{}\" = \"acme/test\"\n",
        text(&client["client_id"])
    );
    start(json!({ "oauth": true, "api-keys": false }), |host| host.head(&sections)).await
}

#[tokio::test]
async fn token_of_a_configured_client_is_valid_for_its_tenant() {
    let issuer = host_with_tokens_only().await;
    let client = create(&issuer, "elsewhere", json!({})).await;
    let unlisted = create(&issuer, "elsewhere", json!({})).await;
    let host = host_trusting(&issuer, &client).await;
    let (token, unlisted_token) = (token(&issuer, &client).await, token(&issuer, &unlisted).await);
    let external = host.client_of(&token);
    external.put("/v1/things/a", json!({ "count": 1 })).await.check(200);
    client_with_token(&host, &create(&host, "acme", json!({})).await).await.get("/v1/things/a").await.check(200);
    host.client_of(&unlisted_token).get("/v1/things/a").await.check(401);
    let own = client_with_token(&host, &create(&host, "acme", json!({})).await).await;
    own.get("/v1/things/a").await.check(200);
    host.stop().await;
    issuer.stop().await;
}

#[tokio::test]
async fn issuer_keys_are_fetched_at_most_once_a_minute() {
    let issuer = host_with_tokens_only().await;
    let client = create(&issuer, "elsewhere", json!({})).await;
    let host = host_trusting(&issuer, &client).await;
    client_with_token(&issuer, &client).await;
    host.client_of(&token(&issuer, &client).await).get("/v1/version").await.check(200);
    issuer.operator().send("POST", "/v1/oauth/rotate-keys", &[], vec![]).await.check(200);
    let new = host.client_of(&token(&issuer, &client).await);
    new.get("/v1/version").await.check(401);
    host.clock.advance(60_000);
    new.get("/v1/version").await.check(200);
    issuer.stop().await;
    // Cached keys remain valid while the issuer is unreachable.
    new.get("/v1/version").await.check(200);
    host.stop().await;
}

#[tokio::test]
async fn token_of_an_unreachable_issuer_is_rejected() {
    let issuer = host_with_tokens_only().await;
    let client = create(&issuer, "elsewhere", json!({})).await;
    let host = host_trusting(&issuer, &client).await;
    let token = token(&issuer, &client).await;
    issuer.stop().await;
    host.client_of(&token).get("/v1/version").await.check(401);
    host.stop().await;
}
