//! Invalid tokens and token requests, and the error responses that they get.

use super::*;

/// Sends a request with these headers and a fixed request id.
async fn request_with(host: &TestHost, headers: &[(&str, &str)]) -> Response {
    let headers = [headers, &[("x-request-id", "the-same")]].concat();
    host.anonymous().send("GET", "/v1/things/a", &headers, vec![]).await
}

fn challenge(response: &Response) -> &str {
    response.header("www-authenticate").unwrap_or_default()
}

#[tokio::test]
async fn invalid_token_requests_get_standard_errors() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let (id, secret) = (text(&client["client_id"]), text(&client["client_secret"]));
    let (basic, post) = (basic(&client), format!("client_id={id}&client_secret={secret}"));
    let other = format!("Basic {}", STANDARD.encode(format!("{id}:wrong")));
    for (authorization, form, status, error) in [
        (&*basic, "".to_owned(), 400, "invalid_request"),
        (&basic, "grant_type=".into(), 400, "invalid_request"),
        (&basic, "grant_type=password&username=a&password=b".into(), 400, "unsupported_grant_type"),
        (&basic, format!("{GRANT}&{GRANT}"), 400, "invalid_request"),
        (&basic, format!("{GRANT}&scope=things.read&scope=things.write"), 400, "invalid_request"),
        (&basic, format!("{GRANT}&scope=admin"), 400, "invalid_scope"),
        (&basic, format!("{GRANT}&audience=fleet"), 400, "invalid_target"),
        (&basic, format!("{GRANT}&audience=chameleon%2Fglobex"), 400, "invalid_target"),
        (&basic, format!("{GRANT}&audience=chameleon/acme/test"), 400, "invalid_target"),
        (&basic, format!("{GRANT}&audience=chameleon&resource=fleet"), 400, "invalid_target"),
        (&basic, format!("{GRANT}&{post}"), 400, "invalid_request"),
        (&basic, format!("{GRANT}&client_id=client_other"), 400, "invalid_request"),
        (&basic, with_assertion("a.b.c"), 400, "invalid_request"),
        (&basic, format!("{GRANT}&x=%FF"), 400, "invalid_request"),
        (&basic, format!("{GRANT}{}", "&x=1".repeat(40)), 400, "invalid_request"),
        (&other, GRANT.into(), 401, "invalid_client"),
        ("Basic ???", GRANT.into(), 401, "invalid_client"),
        ("Bearer abc", GRANT.into(), 401, "invalid_client"),
    ] {
        let response = request_token(&host, &[("authorization", authorization)], &form).await.expect(status);
        assert_eq!(
            (response.text_at("/error").as_str(), response.header("cache-control")),
            (error, Some("no-store")),
            "{form}"
        );
        assert_eq!(status == 401, challenge(&response).starts_with("Basic"), "{form}");
    }
    for (form, status, error) in [
        (GRANT.to_owned(), 401, "invalid_client"),
        (format!("{GRANT}&client_id={id}"), 401, "invalid_client"),
        (format!("{GRANT}&client_secret={secret}"), 400, "invalid_request"),
        (format!("{GRANT}&client_id={id}&client_secret=wrong"), 401, "invalid_client"),
        (with_assertion("a.b.c"), 401, "invalid_client"),
        (format!("{GRANT}&client_assertion=a.b.c"), 400, "invalid_request"),
    ] {
        assert_eq!(request_token(&host, &[], &form).await.expect(status).text_at("/error"), error, "{form}");
    }
    host.stop().await;
}

#[tokio::test]
async fn token_endpoint_accepts_only_forms_by_post() {
    let host = host_with_tokens_only().await;
    let anonymous = host.anonymous();
    anonymous.post("/oauth2/token", json!({ "grant_type": "client_credentials" })).await.check(400);
    anonymous.send("POST", "/oauth2/token", &[("content-type", "text/plain")], b"x".to_vec()).await.check(415);
    request_token(&host, &[], &"x".repeat(40_000)).await.check(413);
    let wrong = anonymous.get("/oauth2/token").await.expect(405);
    assert_eq!(wrong.header("allow"), Some("POST, OPTIONS"));
    anonymous.send("OPTIONS", "/oauth2/token", &[], vec![]).await.check(204);
    anonymous.post("/oauth2/jwks.json", json!({})).await.check(405);
    host.stop().await;
}

#[tokio::test]
async fn unknown_client_wrong_secret_and_revoked_client_get_the_same_response() {
    let host = host_with_tokens_only().await;
    let (client, revoked) = (create(&host, "acme", json!({})).await, create(&host, "acme", json!({})).await);
    host.operator().delete(&format!("/v1/clients/{}", text(&revoked["client_id"]))).await.check(200);
    let mut responses = Vec::new();
    for pair in [
        format!("client_unknown:{}", text(&client["client_secret"])),
        format!("{}:wrong", text(&client["client_id"])),
        format!("{}:{}", text(&revoked["client_id"]), text(&revoked["client_secret"])),
        format!("{}:", text(&client["client_id"])),
    ] {
        let authorization = format!("Basic {}", STANDARD.encode(pair));
        responses.push(request_token(&host, &[("authorization", &authorization)], GRANT).await.expect(401).text());
    }
    assert!(responses.windows(2).all(|two| two[0] == two[1]), "{responses:?}");
    host.stop().await;
}

#[tokio::test]
async fn all_invalid_tokens_are_rejected_with_the_same_bytes() {
    let host = host_with_tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let old = token(&host, &client).await;
    host.clock.advance(700_000);
    let valid = token(&host, &client).await;
    request_with(&host, &[("authorization", &format!("Bearer {valid}"))]).await.check(404);
    let [header, claims, signature] = valid.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let unsigned = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"at+jwt"}"#);
    let (signer, id) = (Signer::new(), &client["client_id"]);
    let forged =
        json!({ "iss": host.base(), "aud": "chameleon/acme", "sub": id, "client_id": id, "exp": NOW / 1_000 + 9_999 });
    let key = host.key("chameleon", "acme").await;
    let mut responses = Vec::new();
    for token in [
        old,
        format!("{unsigned}.{claims}."),
        format!("{unsigned}.{claims}.{signature}"),
        format!("{header}.{claims}.AAAA"),
        signer.sign(json!({ "alg": "ES256", "typ": "at+jwt" }), &forged),
        "a.b.c".to_owned(),
        "nonsense".to_owned(),
        key,
    ] {
        let response = request_with(&host, &[("authorization", &format!("Bearer {token}"))]).await.expect(401);
        assert_eq!(challenge(&response), r#"Bearer realm="chameleon", error="invalid_token""#, "{token}");
        responses.push(response.text());
    }
    assert!(responses.windows(2).all(|two| two[0] == two[1]), "{responses:?}");
    host.stop().await;
}

#[tokio::test]
async fn missing_and_duplicate_credentials_get_different_challenges() {
    let host = start(json!({ "oauth": true, "header": "x-api-key" }), |host| host).await;
    let client = create(&host, "acme", json!({})).await;
    let (one, two) = (token(&host, &client).await, token(&host, &client).await);
    let none = request_with(&host, &[]).await.expect(401);
    assert_eq!(challenge(&none), r#"Bearer realm="chameleon""#);
    let (one, two) = (format!("Bearer {one}"), format!("Bearer {two}"));
    let key = host.key("chameleon", "acme").await;
    for second in [("authorization", two.as_str()), ("x-api-key", &key)] {
        let both = request_with(&host, &[("authorization", &one), second]).await.expect(401);
        assert_eq!(challenge(&both), r#"Bearer realm="chameleon", error="invalid_request""#);
    }
    host.stop().await;
}

#[tokio::test]
async fn rejection_has_the_error_body_of_the_interface_and_a_challenge() {
    let mut manifest = guests::chameleon_manifest();
    manifest["authentication"] = json!({ "oauth": true });
    manifest["failures"] = json!({ "unauthenticated": { "status": 401, "body": { "message": "who are you?" } } });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("with-error-bodies.wasm");
    std::fs::write(&file, guests::chameleon(&manifest.to_string()).unwrap()).unwrap();
    let host = TestHost::builder().plugin("chameleon", file, r#"grants = ["records", "events"]"#).start().await;
    let response = request_with(&host, &[("authorization", "Bearer a.b.c")]).await.expect(401);
    assert_eq!(response.text(), r#"{"message":"who are you?"}"#);
    assert!(challenge(&response).contains("invalid_token"));
    host.stop().await;
}

#[tokio::test]
async fn plugin_without_tokens_has_no_clients() {
    let host = start(json!({}), |host| host).await;
    let body = json!({ "plugin": "chameleon", "tenant": "acme", "environment": "test" });
    let refused = host.operator().post("/v1/clients", body).await.expect(409);
    assert!(refused.text_at("/message").contains("does not accept tokens"));
    let response = request_with(&host, &[("authorization", "Bearer a.b.c")]).await.expect(401);
    assert_eq!(challenge(&response), "Bearer");
    host.stop().await;
}

#[tokio::test]
async fn production_without_an_issuer_issues_no_tokens() {
    let host = start(json!({ "oauth": true }), |host| host.production()).await;
    request_token(&host, &[], GRANT).await.check(404);
    host.anonymous().get("/oauth2/jwks.json").await.check(404);
    host.anonymous().get("/.well-known/oauth-authorization-server").await.check(404);
    let body = json!({ "plugin": "chameleon", "tenant": "acme", "environment": "test" });
    let refused = host.operator().post("/v1/clients", body).await.expect(409);
    assert!(refused.text_at("/hint").contains("[oauth]"));
    host.stop().await;
}

#[tokio::test]
async fn live_client_gets_no_token_over_plain_http() {
    let sections = "[oauth]\nissuer = \"https://api.example\"\n[http]\ntrusted-proxies = [\"127.0.0.1\"]\n";
    let host = start(json!({ "oauth": true }), |host| host.production().head(sections)).await;
    let (live, test) =
        (create(&host, "acme", json!({ "environment": "live" })).await, create(&host, "acme", json!({})).await);
    for (client, proto, status) in [(&live, "http", 400), (&live, "https", 200), (&test, "http", 200)] {
        let headers = [("authorization", &*basic(client)), ("x-forwarded-proto", proto)];
        request_token(&host, &headers, GRANT).await.check(status);
    }
    host.stop().await;
}

#[tokio::test]
async fn client_with_too_many_token_requests_gets_retry_after() {
    let host = host_with_tokens_only().await;
    let (busy, other) = (create(&host, "acme", json!({})).await, create(&host, "acme", json!({})).await);
    let (authorization, mut retry_after) = (basic(&busy), None);
    for _ in 0..250 {
        let response = request_token(&host, &[("authorization", &authorization)], GRANT).await;
        if response.status == 429 {
            assert_eq!(response.text_at("/error"), "temporarily_unavailable");
            retry_after = response.header("retry-after").map(str::to_owned);
            break;
        }
    }
    assert_eq!(retry_after.as_deref(), Some("1"));
    request_token(&host, &[("authorization", &basic(&other))], GRANT).await.check(200);
    host.stop().await;
}
