//! What opens nothing, and in which words.

use super::*;

async fn knock(host: &TestHost, headers: &[(&str, &str)]) -> Response {
    let headers = [headers, &[("x-request-id", "the-same")]].concat();
    host.anonymous().send("GET", "/v1/things/a", &headers, vec![]).await
}

fn challenge(answer: &Response) -> &str {
    answer.header("www-authenticate").unwrap_or_default()
}

#[tokio::test]
async fn requests_for_a_token_are_refused_as_the_standard_says() {
    let host = tokens_only().await;
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
        let answer = ask(&host, &[("authorization", authorization)], &form).await.expect(status);
        assert_eq!(
            (answer.text_at("/error").as_str(), answer.header("cache-control")),
            (error, Some("no-store")),
            "{form}"
        );
        assert_eq!(status == 401, challenge(&answer).starts_with("Basic"), "{form}");
    }
    for (form, status, error) in [
        (GRANT.to_owned(), 401, "invalid_client"),
        (format!("{GRANT}&client_id={id}"), 401, "invalid_client"),
        (format!("{GRANT}&client_secret={secret}"), 400, "invalid_request"),
        (format!("{GRANT}&client_id={id}&client_secret=wrong"), 401, "invalid_client"),
        (with_assertion("a.b.c"), 401, "invalid_client"),
        (format!("{GRANT}&client_assertion=a.b.c"), 400, "invalid_request"),
    ] {
        assert_eq!(ask(&host, &[], &form).await.expect(status).text_at("/error"), error, "{form}");
    }
    host.stop().await;
}

#[tokio::test]
async fn what_is_no_form_is_no_request_for_a_token() {
    let host = tokens_only().await;
    let anonymous = host.anonymous();
    anonymous.post("/oauth2/token", json!({ "grant_type": "client_credentials" })).await.check(400);
    anonymous.send("POST", "/oauth2/token", &[("content-type", "text/plain")], b"x".to_vec()).await.check(415);
    ask(&host, &[], &"x".repeat(40_000)).await.check(413);
    let wrong = anonymous.get("/oauth2/token").await.expect(405);
    assert_eq!(wrong.header("allow"), Some("POST, OPTIONS"));
    anonymous.send("OPTIONS", "/oauth2/token", &[], vec![]).await.check(204);
    anonymous.post("/oauth2/jwks.json", json!({})).await.check(405);
    host.stop().await;
}

#[tokio::test]
async fn an_unknown_client_a_wrong_secret_and_a_revoked_client_hear_the_same() {
    let host = tokens_only().await;
    let (client, revoked) = (create(&host, "acme", json!({})).await, create(&host, "acme", json!({})).await);
    host.operator().delete(&format!("/v1/clients/{}", text(&revoked["client_id"]))).await.check(200);
    let mut answers = Vec::new();
    for pair in [
        format!("client_unknown:{}", text(&client["client_secret"])),
        format!("{}:wrong", text(&client["client_id"])),
        format!("{}:{}", text(&revoked["client_id"]), text(&revoked["client_secret"])),
        format!("{}:", text(&client["client_id"])),
    ] {
        let authorization = format!("Basic {}", STANDARD.encode(pair));
        answers.push(ask(&host, &[("authorization", &authorization)], GRANT).await.expect(401).text());
    }
    assert!(answers.windows(2).all(|two| two[0] == two[1]), "{answers:?}");
    host.stop().await;
}

#[tokio::test]
async fn tokens_that_open_nothing_are_refused_in_the_same_bytes() {
    let host = tokens_only().await;
    let client = create(&host, "acme", json!({})).await;
    let old = token(&host, &client).await;
    host.clock.advance(700_000);
    let good = token(&host, &client).await;
    knock(&host, &[("authorization", &format!("Bearer {good}"))]).await.check(404);
    let [header, claims, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!() };
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"at+jwt"}"#);
    let (signer, id) = (Signer::new(), &client["client_id"]);
    let mine =
        json!({ "iss": host.base(), "aud": "chameleon/acme", "sub": id, "client_id": id, "exp": NOW / 1_000 + 9_999 });
    let key = host.key("chameleon", "acme").await;
    let mut answers = Vec::new();
    for token in [
        old,
        format!("{none}.{claims}."),
        format!("{none}.{claims}.{signature}"),
        format!("{header}.{claims}.AAAA"),
        signer.sign(json!({ "alg": "ES256", "typ": "at+jwt" }), &mine),
        "a.b.c".to_owned(),
        "nonsense".to_owned(),
        key,
    ] {
        let answer = knock(&host, &[("authorization", &format!("Bearer {token}"))]).await.expect(401);
        assert_eq!(challenge(&answer), r#"Bearer realm="chameleon", error="invalid_token""#, "{token}");
        answers.push(answer.text());
    }
    assert!(answers.windows(2).all(|two| two[0] == two[1]), "{answers:?}");
    host.stop().await;
}

#[tokio::test]
async fn no_credential_and_two_of_them_are_told_apart() {
    let host = start(json!({ "oauth": true, "header": "x-api-key" }), |host| host).await;
    let client = create(&host, "acme", json!({})).await;
    let (one, two) = (token(&host, &client).await, token(&host, &client).await);
    let none = knock(&host, &[]).await.expect(401);
    assert_eq!(challenge(&none), r#"Bearer realm="chameleon""#);
    let (one, two) = (format!("Bearer {one}"), format!("Bearer {two}"));
    let key = host.key("chameleon", "acme").await;
    for second in [("authorization", two.as_str()), ("x-api-key", &key)] {
        let both = knock(&host, &[("authorization", &one), second]).await.expect(401);
        assert_eq!(challenge(&both), r#"Bearer realm="chameleon", error="invalid_request""#);
    }
    host.stop().await;
}

#[tokio::test]
async fn an_interface_words_refusals_itself_and_the_challenge_stands_beside() {
    let mut manifest = guests::chameleon_manifest();
    manifest["authentication"] = json!({ "oauth": true });
    manifest["failures"] = json!({ "unauthenticated": { "status": 401, "body": { "message": "who are you?" } } });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("worded.wasm");
    std::fs::write(&file, guests::chameleon(&manifest.to_string()).unwrap()).unwrap();
    let host = TestHost::builder().plugin("chameleon", file, r#"grants = ["records", "events"]"#).start().await;
    let answer = knock(&host, &[("authorization", "Bearer a.b.c")]).await.expect(401);
    assert_eq!(answer.text(), r#"{"message":"who are you?"}"#);
    assert!(challenge(&answer).contains("invalid_token"));
    host.stop().await;
}

#[tokio::test]
async fn a_plugin_that_takes_no_tokens_has_no_clients() {
    let host = start(json!({}), |host| host).await;
    let body = json!({ "plugin": "chameleon", "tenant": "acme", "environment": "test" });
    let refused = host.operator().post("/v1/clients", body).await.expect(409);
    assert!(refused.text_at("/message").contains("takes no tokens"));
    let answer = knock(&host, &[("authorization", "Bearer a.b.c")]).await.expect(401);
    assert_eq!(challenge(&answer), "Bearer");
    host.stop().await;
}

#[tokio::test]
async fn in_production_there_are_no_tokens_without_an_issuer() {
    let host = start(json!({ "oauth": true }), |host| host.production()).await;
    ask(&host, &[], GRANT).await.check(404);
    host.anonymous().get("/oauth2/jwks.json").await.check(404);
    host.anonymous().get("/.well-known/oauth-authorization-server").await.check(404);
    let body = json!({ "plugin": "chameleon", "tenant": "acme", "environment": "test" });
    let refused = host.operator().post("/v1/clients", body).await.expect(409);
    assert!(refused.text_at("/hint").contains("[oauth]"));
    host.stop().await;
}

#[tokio::test]
async fn a_live_client_gets_no_token_over_plain_http() {
    let sections = "[oauth]\nissuer = \"https://api.example\"\n[http]\ntrusted-proxies = [\"127.0.0.1\"]\n";
    let host = start(json!({ "oauth": true }), |host| host.production().head(sections)).await;
    let (live, test) =
        (create(&host, "acme", json!({ "environment": "live" })).await, create(&host, "acme", json!({})).await);
    for (client, proto, status) in [(&live, "http", 400), (&live, "https", 200), (&test, "http", 200)] {
        let headers = [("authorization", &*basic(client)), ("x-forwarded-proto", proto)];
        ask(&host, &headers, GRANT).await.check(status);
    }
    host.stop().await;
}

#[tokio::test]
async fn one_client_that_asks_too_often_is_told_to_wait() {
    let host = tokens_only().await;
    let (busy, calm) = (create(&host, "acme", json!({})).await, create(&host, "acme", json!({})).await);
    let (authorization, mut waits) = (basic(&busy), None);
    for _ in 0..250 {
        let answer = ask(&host, &[("authorization", &authorization)], GRANT).await;
        if answer.status == 429 {
            assert_eq!(answer.text_at("/error"), "temporarily_unavailable");
            waits = answer.header("retry-after").map(str::to_owned);
            break;
        }
    }
    assert_eq!(waits.as_deref(), Some("1"));
    ask(&host, &[("authorization", &basic(&calm))], GRANT).await.check(200);
    host.stop().await;
}
