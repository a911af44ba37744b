//! Resolution of destination names and authentication.

use super::*;

#[tokio::test]
async fn operator_destination_receives_the_call_below_its_base_url() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.bank(&format!("{}/v1", bank.url), Login::None);
    bank.respond_with([ServerResponse::With(201, "{\"ok\":true}")]);
    let answer = fixture.call(&to("bank")).await.unwrap();
    assert_eq!((answer.status, answer.content), (201, OutgoingContent::Json("{\"ok\":true}".into())));
    let names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"content-type") && !names.contains(&"set-cookie"), "{names:?}");
    let received = bank.received().remove(0);
    assert_eq!(
        (received.method.as_str(), received.path.as_str(), received.body.as_str()),
        ("POST", "/v1/things?a=b", "{\"n\":1}")
    );
    assert_eq!((received.header("x-own"), received.header("content-type")), (Some("c"), Some("application/json")));
    assert_eq!((received.header("idempotency-key"), received.header("authorization")), (Some("effect_1"), None));
}

#[tokio::test]
async fn attempt_can_run_as_a_task() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.bank(&bank.url, Login::None);
    let destinations = fixture.destinations.clone();
    let called =
        tokio::spawn(
            async move { destinations.call(&scope(TENANT), &to("bank"), None, Duration::from_secs(20)).await },
        );
    assert_eq!(called.await.unwrap().unwrap().status, 200);
    assert_eq!(bank.received().remove(0).header("idempotency-key"), None);
}

#[tokio::test]
async fn token_or_password_is_sent_to_the_server() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.bank(&bank.url, Login::Bearer { token: secret(SECRET) });
    fixture.call(&to("bank")).await.unwrap();
    fixture.bank(&bank.url, Login::Basic { user: "me".into(), password: secret("a:ü") });
    fixture.call(&to("bank")).await.unwrap();
    let sent: Vec<_> =
        bank.received().iter().map(|received| received.header("authorization").unwrap().to_owned()).collect();
    // base64 of "me:a:ü"
    assert_eq!(sent, ["Bearer hunter2", "Basic bWU6YTrDvA=="]);
}

#[tokio::test]
async fn destination_exists_only_for_its_plugin_and_environment() {
    let (fixture, bank) = (Fixture::open().await, Server::start().await);
    fixture.configure("bank", DestinationConfig { live: false, ..server(&bank.url, Login::None) });
    let unknown = (Certainty::NotSent, "no-such-destination");
    assert_eq!(failed(fixture.call_as("acme/live", &to("bank"), None).await), unknown);
    assert_eq!(failed(fixture.call(&to("other")).await), unknown);
    let other_plugin = Scope::new("others".into(), TENANT.into()).unwrap();
    let within = Duration::from_secs(1);
    assert_eq!(failed(fixture.destinations.call(&other_plugin, &to("bank"), None, within).await), unknown);
    assert!(bank.received().is_empty());
}

#[tokio::test]
async fn tenant_destination_receives_its_secret_and_is_invisible_to_other_tenants() {
    let rule = AddressRule { allow: vec!["127.0.0.0/8".parse().unwrap()] };
    let (fixture, partner) = (Fixture::with_rule(rule).await, Server::start().await);
    fixture.put("partner", &partner.url, SECRET).await;
    fixture.call(&to("partner")).await.unwrap();
    assert_eq!(partner.received().remove(0).header("authorization"), Some("Bearer hunter2"));
    let foreign = fixture.call_as("other/test", &to("partner"), None).await;
    assert_eq!(failed(foreign), (Certainty::NotSent, "no-such-destination"));
    fixture.put("partner", &partner.url, "newer").await;
    fixture.call(&to("partner")).await.unwrap();
    assert_eq!(partner.received().remove(1).header("authorization"), Some("Bearer newer"));
}

#[tokio::test]
async fn operator_destination_hides_the_tenant_destination_of_the_same_name() {
    let (fixture, bank, mine) = (Fixture::open().await, Server::start().await, Server::start().await);
    fixture.put("bank", &mine.url, SECRET).await;
    fixture.bank(&bank.url, Login::None);
    fixture.call(&to("bank")).await.unwrap();
    assert_eq!((bank.received().len(), mine.received().len()), (1, 0));
    fixture.configure("bank", DestinationConfig { test: false, ..server(&bank.url, Login::None) });
    assert_eq!(failed(fixture.call(&to("bank")).await), (Certainty::NotSent, "no-such-destination"));
}

#[tokio::test]
async fn operator_destination_for_other_tenants_leaves_the_name_free() {
    let rule = AddressRule { allow: vec!["127.0.0.0/8".parse().unwrap()] };
    let (fixture, bank, mine) = (Fixture::with_rule(rule).await, Server::start().await, Server::start().await);
    let other = DestinationConfig { tenants: vec!["other".into()], ..server(&bank.url, Login::None) };
    fixture.configure("bank", other);
    assert_eq!(failed(fixture.call(&to("bank")).await), (Certainty::NotSent, "no-such-destination"));
    fixture.put("bank", &mine.url, SECRET).await;
    fixture.call(&to("bank")).await.unwrap();
    assert_eq!((bank.received().len(), mine.received().len()), (0, 1));
    fixture.call_as("other/live", &to("bank"), None).await.unwrap();
    assert_eq!((bank.received().len(), mine.received().len()), (1, 1));
}

#[tokio::test]
async fn tenant_destination_address_is_checked_at_each_call() {
    let (fixture, inside) = (Fixture::open().await, Server::start().await);
    fixture.put("partner", &inside.url, SECRET).await;
    assert_eq!(failed(fixture.call(&to("partner")).await), (Certainty::NotSent, "address-not-allowed"));
    assert!(inside.received().is_empty());
}

#[tokio::test]
async fn other_plugin_is_called_for_the_same_tenant_and_own_plugin_is_not() {
    let fixture = Fixture::open().await;
    fixture.configure("books", plugin("books", None));
    fixture.configure("own", plugin("notes", None));
    assert_eq!(fixture.call(&to("books")).await.unwrap().status, 204);
    assert_eq!(*fixture.plugin_call_log.lock(), [["notes of acme/test", "books", "acme/test"]]);
    assert_eq!(failed(fixture.call(&to("own")).await), (Certainty::NotSent, "no-such-plugin"));
    assert_eq!(fixture.plugin_call_log.lock().len(), 1);
}

#[tokio::test]
async fn plugin_is_called_for_the_configured_organization_in_the_callers_environment() {
    let fixture = Fixture::open().await;
    let linked = DestinationConfig { tenants: vec!["acme".into(), "globex".into()], ..plugin("notes", Some("globex")) };
    fixture.configure("globex", linked);
    for tenant in ["acme/test", "acme/live"] {
        assert_eq!(fixture.call_as(tenant, &to("globex"), None).await.unwrap().status, 204);
    }
    let received = [["notes of acme/test", "notes", "globex/test"], ["notes of acme/live", "notes", "globex/live"]];
    assert_eq!(*fixture.plugin_call_log.lock(), received);
    // The plugin itself for the same tenant, and a tenant without this destination.
    assert_eq!(
        failed(fixture.call_as("globex/test", &to("globex"), None).await),
        (Certainty::NotSent, "no-such-plugin")
    );
    let foreign = fixture.call_as("umbra/test", &to("globex"), None).await;
    assert_eq!(failed(foreign), (Certainty::NotSent, "no-such-destination"));
    assert_eq!(fixture.plugin_call_log.lock().len(), 2);
}

#[tokio::test]
async fn content_of_a_call_does_not_change_its_tenant() {
    let fixture = Fixture::open().await;
    let linked = DestinationConfig { tenants: vec!["acme".into()], ..plugin("notes", Some("globex")) };
    fixture.configure("globex", linked);
    let headers = vec![("x-tenant".into(), "umbra/live".into()), ("x-organization".into(), "umbra".into())];
    let call = OutgoingCall { headers, path: "/things?tenant=umbra/live".into(), ..to("globex") };
    fixture.call(&call).await.unwrap();
    assert_eq!(*fixture.plugin_call_log.lock(), [["notes of acme/test", "notes", "globex/test"]]);
}

#[tokio::test]
async fn outbox_stores_one_message_for_each_key() {
    let fixture = Fixture::open().await;
    fixture.configure("sms", DestinationConfig { kind: DestinationKind::Outbox, ..server("", Login::None) });
    let send = async |tenant: &str, key| fixture.call_as(tenant, &to("sms"), key).await.unwrap();
    let first = send(TENANT, Some("effect_1")).await;
    assert_eq!(first.status, StatusCode::ACCEPTED.as_u16());
    assert_eq!(send(TENANT, Some("effect_1")).await, first, "the same key, the same answer");
    assert_ne!(send(TENANT, Some("effect_2")).await, first);
    assert_ne!(send("other/test", Some("effect_1")).await, first);
    let rows = fixture.bench.database.list_outbox(None, None, 10).await.unwrap();
    assert_eq!(rows.len(), 3);
    let row = rows.last().unwrap();
    let OutgoingContent::Json(body) = &first.content else { panic!("{first:?}") };
    assert_eq!(body, &format!("{{\"id\":\"{}\"}}", row.id));
    assert_eq!((row.path.as_str(), row.body.as_slice(), row.at), ("/things?a=b", &b"{\"n\":1}"[..], 1_000));
    let climbing = OutgoingCall { path: "/../things".into(), ..to("sms") };
    assert_eq!(failed(fixture.call(&climbing).await), (Certainty::NotSent, "malformed-call"));
}
