//! Isolation between organizations and between the environments of one organization: on every route with an id, an id
//! of another tenant is answered exactly like an unknown id and changes nothing.

use serde_json::{Value, json};

use crate::{
    fleet::routes::{JSON, Route, Stock, routes},
    support::{Response, TestClient, TestHost},
};

/// Tenants without access to the owner's data: both environments of another organization, and the other environment of
/// the owner's organization.
const OTHER_TENANTS: [(&str, &str); 3] = [("rival", "test"), ("rival", "live"), ("acme", "live")];

async fn client(host: &TestHost, (organization, environment): (&str, &str)) -> TestClient {
    let description = json!({"plugin": "fleet", "tenant": organization, "environment": environment});
    host.client_of(host.create_key(description).await["key"].as_str().expect("a key"))
}

/// A client with an order (with an internal id and a customer) and a driver.
struct Owner {
    client: TestClient,
    stock: Stock,
    customer: String,
}

const OWN_NAME: &str = "A-1";

impl Owner {
    async fn new(host: &TestHost) -> Owner {
        let client = client(host, ("acme", "test")).await;
        let stock = Stock::of(&client).await;
        let named = json!({"internal_id": OWN_NAME, "pickup": "a", "dropoff": "b",
            "customer": {"name": "Ada", "email": "ada@example.com"}});
        let customer = client.post("/v1/orders", named).await.expect(201).text_at("/customer/id");
        Owner { client, stock, customer }
    }

    /// Returns the owner's resources as responses.
    async fn resources(&self) -> Vec<String> {
        let driver = format!("/v1/drivers/{}", self.stock.driver);
        let mut responses = Vec::new();
        for path in ["/v1/orders", &driver, "/v1/webhook-endpoints"] {
            responses.push(self.client.get(path).await.expect(200).text());
        }
        responses
    }
}

/// Returns status, headers and body without the date and the request id, which differ between any two responses.
fn without_request_id(response: &Response) -> (u16, Vec<(String, String)>, String) {
    let id = response.header("x-request-id").expect("X-Request-Id");
    let is_compared = |name: &str| !["date", "x-request-id"].contains(&name);
    let headers = response.headers.iter().filter(|(name, _)| is_compared(name.as_str()));
    let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().expect("a string").to_owned()));
    (response.status, headers.collect(), response.text().replace(id, ""))
}

#[tokio::test]
async fn id_of_another_tenant_is_answered_like_an_unknown_id_on_every_route() {
    let host = TestHost::fleet().await;
    let owner = Owner::new(&host).await;
    let (before, events) = (owner.resources().await, host.events().await);
    for other in OTHER_TENANTS {
        let other = client(&host, other).await;
        for route in routes().iter().filter(|route| route.has_id()) {
            let ids = owner.stock.all().into_iter().chain([owner.customer.as_str(), OWN_NAME]);
            for id in ids {
                let foreign = try_id(&other, route, id).await;
                let unknown = try_id(&other, route, &unknown_like(id)).await;
                assert_eq!(foreign.status, 404, "{} {id}: {}", route.operation, foreign.text());
                assert_eq!(without_request_id(&foreign), without_request_id(&unknown), "{} {id}", route.operation);
            }
        }
    }
    assert_eq!((owner.resources().await, host.events().await), (before, events));
    host.stop().await;
}

async fn try_id(client: &TestClient, route: &Route, id: &str) -> Response {
    client.send(&route.method, &route.at(id), &JSON, route.body(&Stock::empty())).await
}

/// Returns an unknown id of the same form and length.
fn unknown_like(id: &str) -> String {
    match id.split_once('_') {
        Some((prefix, _)) => format!("{prefix}_0000000000"),
        None => "A-9".to_owned(),
    }
}

/// The id is checked before the body. Otherwise the response to an invalid body would reveal which ids exist.
#[tokio::test]
async fn invalid_body_does_not_distinguish_an_id_of_another_tenant_from_an_unknown_one() {
    let host = TestHost::fleet().await;
    let owner = Owner::new(&host).await;
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
async fn lists_and_searches_contain_nothing_of_other_tenants() {
    let host = TestHost::fleet().await;
    let owner = Owner::new(&host).await;
    for other in OTHER_TENANTS {
        let other = client(&host, other).await;
        let queries = [
            String::new(),
            "?status=created".to_owned(),
            "?type=transport&sort=oldest".to_owned(),
            format!("?internal_id={OWN_NAME}"),
            format!("?customer={}", owner.customer),
            "?created_at=2000-01-01,2100-01-01".to_owned(),
        ];
        for query in queries {
            assert_eq!(other.get(&format!("/v1/orders{query}")).await.expect(200).text(), "[]", "{query}");
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn unique_values_of_one_tenant_are_free_for_others() {
    let host = TestHost::fleet().await;
    let owner = Owner::new(&host).await;
    let driver = json!({"name": "Ada", "email": "ada@example.com", "phone": "+65 1"});
    let _ = owner.client.post("/v1/drivers", driver.clone()).await.expect(422);
    for other in OTHER_TENANTS {
        let other = client(&host, other).await;
        let _ = other.post("/v1/drivers", driver.clone()).await.expect(201);
        let _ = other.post("/v1/drivers", driver.clone()).await.expect(422);
    }
    host.stop().await;
}

/// A customer is found by email, within its own tenant only.
#[tokio::test]
async fn customer_of_another_tenant_is_never_used() {
    let host = TestHost::fleet().await;
    let owner = Owner::new(&host).await;
    for other in OTHER_TENANTS {
        let other = client(&host, other).await;
        let order = |customer: Value| json!({"pickup": "a", "dropoff": "b", "customer": customer});
        let same_email = order(json!({"email": "ada@example.com"}));
        let found = other.post("/v1/orders", same_email).await.expect(201).json();
        assert_ne!(found["customer"]["id"], owner.customer.as_str());
        assert_ne!(found["customer"]["name"], "Ada");
        for foreign in
            [json!(owner.customer), json!({"id": owner.customer}), json!(owner.customer.replace("contact", "customer"))]
        {
            let foreign = other.post("/v1/orders", order(foreign)).await;
            let unknown = other.post("/v1/orders", order(json!("contact_0000000000"))).await.expect(404);
            assert_eq!(without_request_id(&foreign), without_request_id(&unknown));
        }
    }
    host.stop().await;
}

#[tokio::test]
async fn events_belong_to_the_tenant_that_caused_them() {
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
