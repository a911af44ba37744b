//! Who has no key, or none that is good: the same answer from every operation, and nothing in it.

use serde_json::{Value, json};

use super::{
    coverage::{Operation, operations},
    look::whole,
    stage::Stage,
};
use crate::support::{Response, TestClient};

const NOTHING: &str = "00000000-0000-4000-8000-000000000000";

fn path_of(operation: &Operation) -> String {
    let part = |part: &str| if part.starts_with('{') { NOTHING.to_owned() } else { part.to_owned() };
    operation.path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// The bytes, but for the request's id.
fn said(answer: &Response) -> String {
    let id = whole(answer)["requestId"].as_str().expect("an id").to_owned();
    assert!(!id.is_empty());
    answer.text().replace(&id, "")
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_good_key_every_operation_gives_the_same_bytes_away() {
    let stage = Stage::open().await.covers(&["* without a key: 401", "code SERVICE_AUTH_FAILED"]);
    let (revoked, id) = stage.key_of("acme", "test").await;
    stage.host.operator().delete(&format!("/v1/keys/{id}")).await.check(200);
    let cut = &stage.account[..stage.account.len() - 1];
    let longer = format!("{}x", stage.account);
    let bearer = format!("Bearer {}", stage.account);
    let nobodys = stage.account.chars().rev().collect::<String>();
    let bad = ["", "x", cut, &longer, &bearer, &nobodys, &revoked];
    let mut answers: Vec<String> = Vec::new();
    for operation in operations().iter().filter(|operation| !operation.is_page) {
        for key in bad {
            let body = (operation.method != "GET").then(|| json!({}));
            let answer = stage.call(key, &operation.method, &path_of(operation), body).await;
            answers.push(said(&answer.expect(401)));
        }
    }
    answers.dedup();
    let expected = json!({
        "statusCode": 401, "message": "Unauthorized", "error": "Unauthorized", "code": "SERVICE_AUTH_FAILED",
        "retryable": false, "errors": [], "requestId": "",
    });
    assert_eq!(answers.len(), 1, "{answers:#?}");
    assert_eq!(serde_json::from_str::<Value>(&answers[0]).unwrap(), expected);
    stage.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_counts_in_its_header_and_nowhere_else() {
    let stage = Stage::open().await.covers(&["list-wallets without a key: 401"]);
    let client = TestClient::new(stage.host.base(), None);
    let in_path = format!("/v1/wallets?x-api-key={0}&api_key={0}&key={0}", stage.account);
    for (path, headers) in [
        ("/v1/wallets", &[("api-key", stage.account.as_str())][..]),
        ("/v1/wallets", &[("cookie", stage.account.as_str())]),
        (in_path.as_str(), &[]),
    ] {
        let answer = client.send("GET", path, headers, Vec::new()).await;
        stage.seen.note_answer("GET", path, &answer);
        assert!(!answer.expect(401).text().contains(&stage.account));
    }
    stage.call(&stage.account, "GET", "/v1/wallets", None).await.check(200);
    stage.finish().await;
}
