//! Two organizations, and test and live of one of them: whatever one tries with the other's ids, on every route with an
//! id, looks exactly as if the id did not exist, and changes nothing.

use serde_json::{Value, json};

use crate::{
    fleet::routes::{JSON, Route, Stock, routes},
    support::{Response, TestClient, TestHost},
};

/// Who must never meet: another organization, and the other environment of the same one.
const STRANGERS: [(&str, &str); 3] = [("rival", "test"), ("rival", "live"), ("acme", "live")];

async fn client(host: &TestHost, (organization, environment): (&str, &str)) -> TestClient {
    let description = json!({"plugin": "fleet", "tenant": organization, "environment": environment});
    host.client_of(host.create_key(description).await["key"].as_str().expect("a key"))
}

/// An owner with an order (that has a name of its own and a customer) and a driver.
struct Owner {
    client: TestClient,
    stock: Stock,
    customer: String,
}

const OWN_NAME: &str = "A-1";

impl Owner {
    async fn of(host: &TestHost) -> Owner {
        let client = client(host, ("acme", "test")).await;
        let stock = Stock::of(&client).await;
        let named = json!({"internal_id": OWN_NAME, "pickup": "a", "dropoff": "b",
            "customer": {"name": "Ada", "email": "ada@example.com"}});
        let customer = client.post("/v1/orders", named).await.expect(201).text_at("/customer/id");
        Owner { client, stock, customer }
    }

    /// Everything that the owner can see.
    async fn sees(&self) -> Vec<String> {
        let driver = format!("/v1/drivers/{}", self.stock.driver);
        let mut seen = Vec::new();
        for path in ["/v1/orders", &driver, "/v1/webhook-endpoints"] {
            seen.push(self.client.get(path).await.expect(200).text());
        }
        seen
    }
}

/// Status, headers and body, without what differs between any two answers.
fn without_request_id(answer: &Response) -> (u16, Vec<(String, String)>, String) {
    let id = answer.header("x-request-id").expect("X-Request-Id");
    let told = |name: &str| !["date", "x-request-id"].contains(&name);
    let headers = answer.headers.iter().filter(|(name, _)| told(name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().expect("a text").to_owned()));
    (answer.status, headers.collect(), answer.text().replace(id, ""))
}

#[tokio::test]
async fn a_foreign_id_is_an_unknown_id_on_every_route() {
    let host = TestHost::fleet().await;
    let owner = Owner::of(&host).await;
    let (before, events) = (owner.sees().await, host.events().await);
    for stranger in STRANGERS {
        let stranger = client(&host, stranger).await;
        for route in routes().iter().filter(|route| route.has_id()) {
            let ids = owner.stock.all().into_iter().chain([owner.customer.as_str(), OWN_NAME]);
            for id in ids {
                let foreign = try_id(&stranger, route, id).await;
                let unknown = try_id(&stranger, route, &unknown_like(id)).await;
                assert_eq!(foreign.status, 404, "{} {id}: {}", route.operation, foreign.text());
                assert_eq!(without_request_id(&foreign), without_request_id(&unknown), "{} {id}", route.operation);
            }
        }
    }
    assert_eq!((owner.sees().await, host.events().await), (before, events));
    host.stop().await;
}

async fn try_id(client: &TestClient, route: &Route, id: &str) -> Response {
    client.send(&route.method, &route.at(id), &JSON, route.body(&Stock::empty())).await
}

/// Of the same form and length, and of nobody.
fn unknown_like(id: &str) -> String {
    match id.split_once('_') {
        Some((prefix, _)) => format!("{prefix}_0000000000"),
        None => "A-9".to_owned(),
    }
}

/// The wrong body is not looked at before the id, or its answer would tell who exists.
#[tokio::test]
async fn a_wrong_body_does_not_tell_a_foreign_id_from_an_unknown_one() {
    let host = TestHost::fleet().await;
    let owner = Owner::of(&host).await;
    let rival = client(&host, ("rival", "test")).await;
    for route in routes().iter().filter(|route| route.has_id() && route.takes_body()) {
        for body in ["{}", "[]", "{", r#"{"meta":5,"latitude":900,"status":"x"}"#] {
            let foreign = rival.send(&route.method, &route.of(&owner.stock), &JSON, body.into()).await;
            let unknown = unknown_like(&owner.stock.order)
                .replace("order", route.path.split('/').nth(2).unwrap_or("").trim_end_matches('s'));
            let unknown = rival.send(&route.method, &route.at(&unknown), &JSON, body.into()).await;
            assert_eq!(without_request_id(&foreign), without_request_id(&unknown), "{} {body}", route.operation);
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn lists_and_finds_show_nothing_of_others() {
    let host = TestHost::fleet().await;
    let owner = Owner::of(&host).await;
    for stranger in STRANGERS {
        let stranger = client(&host, stranger).await;
        let queries = [
            String::new(),
            "?status=created".to_owned(),
            "?type=transport&sort=oldest".to_owned(),
            format!("?internal_id={OWN_NAME}"),
            format!("?customer={}", owner.customer),
            "?created_at=2000-01-01,2100-01-01".to_owned(),
        ];
        for query in queries {
            assert_eq!(stranger.get(&format!("/v1/orders{query}")).await.expect(200).text(), "[]", "{query}");
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn what_is_unique_for_one_is_free_for_others() {
    let host = TestHost::fleet().await;
    let owner = Owner::of(&host).await;
    let driver = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 1"});
    let _ = owner.client.post("/v1/drivers", driver.clone()).await.expect(422);
    for stranger in STRANGERS {
        let stranger = client(&host, stranger).await;
        let _ = stranger.post("/v1/drivers", driver.clone()).await.expect(201);
        let _ = stranger.post("/v1/drivers", driver.clone()).await.expect(422);
    }
    host.stop().await;
}

/// A customer is found by email: each organization finds its own.
#[tokio::test]
async fn a_customer_is_never_that_of_somebody_else() {
    let host = TestHost::fleet().await;
    let owner = Owner::of(&host).await;
    for stranger in STRANGERS {
        let stranger = client(&host, stranger).await;
        let order = |customer: Value| json!({"pickup": "a", "dropoff": "b", "customer": customer});
        let same_email = order(json!({"email": "ada@example.com"}));
        let found = stranger.post("/v1/orders", same_email).await.expect(201).json();
        assert_ne!(found["customer"]["id"], owner.customer.as_str());
        assert_ne!(found["customer"]["name"], "Ada");
        for foreign in
            [json!(owner.customer), json!({"id": owner.customer}), json!(owner.customer.replace("contact", "customer"))]
        {
            let foreign = stranger.post("/v1/orders", order(foreign)).await;
            let unknown = stranger.post("/v1/orders", order(json!("contact_0000000000"))).await.expect(404);
            assert_eq!(without_request_id(&foreign), without_request_id(&unknown));
        }
    }
    host.stop().await;
}

/// Even an event stands under the organization and environment of its key.
#[tokio::test]
async fn events_stand_under_the_tenant_that_caused_them() {
    let host = TestHost::fleet().await;
    for tenant in [("acme", "test"), ("acme", "live"), ("rival", "test")] {
        let client = client(&host, tenant).await;
        let id = client.post("/v1/orders", json!({"pickup": "a", "dropoff": "b"})).await.expect(201).text_at("/id");
        let events = host.events().await;
        let event = events.last().expect("an event");
        assert_eq!((event.tenant.as_str(), &event.subject), (format!("{}/{}", tenant.0, tenant.1).as_str(), &id));
    }
    host.stop().await;
}
