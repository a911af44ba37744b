//! A driver's token opens what is that driver's, and nothing else: tried on every route, with the ids of what is there and
//! belongs to the organization or to another driver, and with those of nothing.

use serde_json::{Value, json};

use super::{
    coverage::{closed_to_drivers, operations},
    routes::{JSON, Route, Stock, routes},
    stage::Stage,
};
use crate::support::{Response, TestClient};

/// What every driver may: his own orders, which this one has not, his own files, his device, and whom he drives for.
const OPEN_TO_DRIVERS: [&str; 6] =
    ["list-orders", "list-files", "create-file", "create-file-base64", "read-organization", "register-device"];

/// All that an answer says, but for the id of its request.
pub fn said(answer: &Response) -> (u16, String) {
    let id = answer.header("x-request-id").expect("an id of the request");
    (answer.status, answer.text().replace(id, ""))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_opens_nothing_of_another_driver() {
    let stage = Stage::open().await.covers(&["* with another driver's token: refused"]);
    let acme = TestClient::new(stage.host.base(), Some(&stage.key));
    let stock = Stock::of(&acme).await;
    let stranger = stage.driver("eve").await;
    let eve = TestClient::new(stage.host.base(), Some(&stranger.token));
    let before = pictures(&acme, &stock).await;
    for route in routes() {
        if OPEN_TO_DRIVERS.contains(&route.operation.as_str()) {
            let answer = eve.send(&route.method, &route.of(&stock), &JSON, route.body(&stock)).await;
            assert!(matches!(answer.status, 200 | 201), "{}: {}", route.operation, answer.text());
            assert!(
                !answer.text().contains(&stock.order) && !answer.text().contains(&stock.driver),
                "{}",
                answer.text()
            );
        } else {
            is_refused(&eve, &route, &stock).await;
        }
        stage.seen.note(&closed_to_drivers(&route.operation));
    }
    assert_eq!(pictures(&acme, &stock).await, before);
    assert_eq!(operations().len(), routes().len());
    stage.finish().await;
}

/// 403 whatever it names; or 404, and then the same as where nothing is.
async fn is_refused(eve: &TestClient, route: &Route, stock: &Stock) {
    let there = eve.send(&route.method, &route.of(stock), &JSON, route.body(stock)).await;
    assert!(matches!(there.status, 403 | 404), "{}: {}", route.operation, there.text());
    let nowhere = eve.send(&route.method, &route.at("order_0000000000"), &JSON, route.body(stock)).await;
    assert_eq!(said(&there), said(&nowhere), "{}", route.operation);
}

/// Everything that the organization can see of it.
async fn pictures(acme: &TestClient, stock: &Stock) -> Vec<Value> {
    let mut seen = Vec::new();
    for path in
        [format!("/v1/orders/{}", stock.order), format!("/v1/drivers/{}", stock.driver), "/v1/orders".to_owned()]
    {
        seen.push(acme.get(&path).await.expect(200).json());
    }
    seen.push(json!(acme.get("/v1/drivers").await.expect(200).json().as_array().map(Vec::len)));
    seen
}
