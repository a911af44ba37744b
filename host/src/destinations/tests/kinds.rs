//! Whom a name means, and who the host is there.

use super::*;

#[tokio::test]
async fn an_operators_destination_gets_the_call_below_its_address() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.bank(&format!("{}/v1", bank.url), Login::None);
    bank.will([Reply::With(201, "{\"ok\":true}")]);
    let answer = world.call(&to("bank")).await.unwrap();
    assert_eq!((answer.status, answer.content), (201, OutgoingContent::Json("{\"ok\":true}".into())));
    let names: Vec<&str> = answer.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.contains(&"content-type") && !names.contains(&"set-cookie"), "{names:?}");
    let seen = bank.seen().remove(0);
    assert_eq!((seen.method.as_str(), seen.path.as_str(), seen.body.as_str()), ("POST", "/v1/things?a=b", "{\"n\":1}"));
    assert_eq!((seen.header("x-own"), seen.header("content-type")), (Some("c"), Some("application/json")));
    assert_eq!((seen.header("idempotency-key"), seen.header("authorization")), (Some("effect_1"), None));
}

#[tokio::test]
async fn an_attempt_may_run_as_a_task() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.bank(&bank.url, Login::None);
    let destinations = world.destinations.clone();
    let called =
        tokio::spawn(
            async move { destinations.call(&scope(TENANT), &to("bank"), None, Duration::from_secs(20)).await },
        );
    assert_eq!(called.await.unwrap().unwrap().status, 200);
    assert_eq!(bank.seen().remove(0).header("idempotency-key"), None);
}

#[tokio::test]
async fn a_token_or_a_password_is_shown_to_the_server() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.bank(&bank.url, Login::Bearer { token: secret(SECRET) });
    world.call(&to("bank")).await.unwrap();
    world.bank(&bank.url, Login::Basic { user: "me".into(), password: secret("a:ü") });
    world.call(&to("bank")).await.unwrap();
    let shown: Vec<_> = bank.seen().iter().map(|seen| seen.header("authorization").unwrap().to_owned()).collect();
    // base64 of "me:a:ü"
    assert_eq!(shown, ["Bearer hunter2", "Basic bWU6YTrDvA=="]);
}

#[tokio::test]
async fn a_destination_is_there_for_its_plugin_and_environment_only() {
    let (world, bank) = (World::open().await, Server::start().await);
    world.name("bank", DestinationConfig { live: false, ..server(&bank.url, Login::None) });
    let unknown = (Certainty::NotSent, "no-such-destination");
    assert_eq!(failed(world.call_as("acme/live", &to("bank"), None).await), unknown);
    assert_eq!(failed(world.call(&to("other")).await), unknown);
    let other_plugin = Scope::new("others".into(), TENANT.into()).unwrap();
    let within = Duration::from_secs(1);
    assert_eq!(failed(world.destinations.call(&other_plugin, &to("bank"), None, within).await), unknown);
    assert!(bank.seen().is_empty());
}

#[tokio::test]
async fn a_tenants_destination_gets_its_own_secret_and_no_other_tenant_sees_it() {
    let rule = AddressRule { allow: vec!["127.0.0.0/8".parse().unwrap()] };
    let (world, partner) = (World::with_rule(rule).await, Server::start().await);
    world.put("partner", &partner.url, SECRET).await;
    world.call(&to("partner")).await.unwrap();
    assert_eq!(partner.seen().remove(0).header("authorization"), Some("Bearer hunter2"));
    let foreign = world.call_as("other/test", &to("partner"), None).await;
    assert_eq!(failed(foreign), (Certainty::NotSent, "no-such-destination"));
    world.put("partner", &partner.url, "newer").await;
    world.call(&to("partner")).await.unwrap();
    assert_eq!(partner.seen().remove(1).header("authorization"), Some("Bearer newer"));
}

#[tokio::test]
async fn a_name_of_the_operators_hides_that_of_a_tenant() {
    let (world, bank, mine) = (World::open().await, Server::start().await, Server::start().await);
    world.put("bank", &mine.url, SECRET).await;
    world.bank(&bank.url, Login::None);
    world.call(&to("bank")).await.unwrap();
    assert_eq!((bank.seen().len(), mine.seen().len()), (1, 0));
    world.name("bank", DestinationConfig { test: false, ..server(&bank.url, Login::None) });
    assert_eq!(failed(world.call(&to("bank")).await), (Certainty::NotSent, "no-such-destination"));
}

#[tokio::test]
async fn who_the_operator_named_nothing_for_has_the_name_for_its_own() {
    let rule = AddressRule { allow: vec!["127.0.0.0/8".parse().unwrap()] };
    let (world, bank, mine) = (World::with_rule(rule).await, Server::start().await, Server::start().await);
    let other = DestinationConfig { tenants: vec!["other".into()], ..server(&bank.url, Login::None) };
    world.name("bank", other);
    assert_eq!(failed(world.call(&to("bank")).await), (Certainty::NotSent, "no-such-destination"));
    world.put("bank", &mine.url, SECRET).await;
    world.call(&to("bank")).await.unwrap();
    assert_eq!((bank.seen().len(), mine.seen().len()), (0, 1));
    world.call_as("other/live", &to("bank"), None).await.unwrap();
    assert_eq!((bank.seen().len(), mine.seen().len()), (1, 1));
}

#[tokio::test]
async fn a_tenants_destination_is_judged_again_when_it_is_called() {
    let (world, inside) = (World::open().await, Server::start().await);
    world.put("partner", &inside.url, SECRET).await;
    assert_eq!(failed(world.call(&to("partner")).await), (Certainty::NotSent, "address-not-allowed"));
    assert!(inside.seen().is_empty());
}

#[tokio::test]
async fn another_plugin_is_called_for_the_same_tenant_and_the_own_one_is_not() {
    let world = World::open().await;
    world.name("books", plugin("books", None));
    world.name("own", plugin("notes", None));
    assert_eq!(world.call(&to("books")).await.unwrap().status, 204);
    assert_eq!(*world.visits.lock(), [["notes of acme/test", "books", "acme/test"]]);
    assert_eq!(failed(world.call(&to("own")).await), (Certainty::NotSent, "no-such-plugin"));
    assert_eq!(world.visits.lock().len(), 1);
}

#[tokio::test]
async fn a_plugin_is_called_for_the_organization_that_the_operator_named_in_the_callers_environment() {
    let world = World::open().await;
    let linked = DestinationConfig { tenants: vec!["acme".into(), "globex".into()], ..plugin("notes", Some("globex")) };
    world.name("globex", linked);
    for tenant in ["acme/test", "acme/live"] {
        assert_eq!(world.call_as(tenant, &to("globex"), None).await.unwrap().status, 204);
    }
    let seen = [["notes of acme/test", "notes", "globex/test"], ["notes of acme/live", "notes", "globex/live"]];
    assert_eq!(*world.visits.lock(), seen);
    // Back to where it comes from, and for whom nothing was named.
    assert_eq!(failed(world.call_as("globex/test", &to("globex"), None).await), (Certainty::NotSent, "no-such-plugin"));
    let foreign = world.call_as("umbra/test", &to("globex"), None).await;
    assert_eq!(failed(foreign), (Certainty::NotSent, "no-such-destination"));
    assert_eq!(world.visits.lock().len(), 2);
}

#[tokio::test]
async fn what_a_call_says_of_itself_does_not_change_for_whom_it_is() {
    let world = World::open().await;
    let linked = DestinationConfig { tenants: vec!["acme".into()], ..plugin("notes", Some("globex")) };
    world.name("globex", linked);
    let headers = vec![("x-tenant".into(), "umbra/live".into()), ("x-organization".into(), "umbra".into())];
    let telling = OutgoingCall { headers, path: "/things?tenant=umbra/live".into(), ..to("globex") };
    world.call(&telling).await.unwrap();
    assert_eq!(*world.visits.lock(), [["notes of acme/test", "notes", "globex/test"]]);
}

#[tokio::test]
async fn an_outbox_keeps_one_message_for_each_key() {
    let world = World::open().await;
    world.name("sms", DestinationConfig { kind: DestinationKind::Outbox, ..server("", Login::None) });
    let send = async |tenant: &str, key| world.call_as(tenant, &to("sms"), key).await.unwrap();
    let first = send(TENANT, Some("effect_1")).await;
    assert_eq!(first.status, StatusCode::ACCEPTED.as_u16());
    assert_eq!(send(TENANT, Some("effect_1")).await, first, "the same key, the same answer");
    assert_ne!(send(TENANT, Some("effect_2")).await, first);
    assert_ne!(send("other/test", Some("effect_1")).await, first);
    let rows = world.bench.database.list_outbox(None, None, 10).await.unwrap();
    assert_eq!(rows.len(), 3);
    let row = rows.last().unwrap();
    let OutgoingContent::Json(said) = &first.content else { panic!("{first:?}") };
    assert_eq!(said, &format!("{{\"id\":\"{}\"}}", row.id));
    assert_eq!((row.path.as_str(), row.body.as_slice(), row.at), ("/things?a=b", &b"{\"n\":1}"[..], 1_000));
    let climbing = OutgoingCall { path: "/../things".into(), ..to("sms") };
    assert_eq!(failed(world.call(&climbing).await), (Certainty::NotSent, "malformed-call"));
}
