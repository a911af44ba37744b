//! Clients that disconnect during a token request do not affect other tenants.

use super::*;
use crate::support::RawConnection;

const ROUNDS: usize = 200;

/// Returns the metric lines that count resets of the cache by cause.
async fn resets(host: &TestHost) -> Vec<String> {
    let metrics = host.operator().get("/metrics").await.expect(200).text();
    let lines = metrics.lines().filter(|line| line.starts_with("tenon_committer_resets_total{"));
    lines.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn disconnected_token_requests_do_not_reset_the_cache() {
    let host = start(json!({ "oauth": true, "header": "x-api-key" }), |host| host).await;
    let signer = Signer::new();
    let client = create(&host, "acme", json!({ "jwks": signer.jwks() })).await;
    let other = host.client_of(&host.key("chameleon", "globex").await);
    other.put("/v1/things/a", json!({ "count": 1 })).await.check(200);
    let before = resets(&host).await;
    assert_eq!(before.len(), 3, "{before:?}");
    for round in 0..ROUNDS {
        let form = with_assertion(&signer.assertion(&host, &client, &format!("id-{round}")));
        let mut caller = RawConnection::open(host.base()).await;
        caller.post("/oauth2/token", "content-type: application/x-www-form-urlencoded\r\n", &form).await;
        for _ in 0..round % 40 {
            tokio::task::yield_now().await;
        }
        drop(caller);
        if round % 10 == 0 {
            other.put("/v1/things/a", json!({ "count": round })).await.check(200);
        }
    }
    other.put("/v1/things/a", json!({ "count": ROUNDS })).await.check(200);
    assert_eq!(resets(&host).await, before);
    host.stop().await;
}
