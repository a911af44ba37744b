//! `Idempotency-Key` over HTTP: concurrent requests with equal keys have one effect, and the recorded answer survives
//! later changes.

use serde_json::{Value, json};
use tenon_bench::{guests, soak};

use crate::support::{Response, TestClient, TestHost, component, eventually};

const REPLAYED: &str = "idempotency-replayed";

fn order() -> Value {
    json!({"pickup": "1 Dock St", "dropoff": "2 Mill Rd"})
}

async fn orders_of(client: &TestClient) -> usize {
    client.get("/v1/orders?limit=100").await.expect(200).json().as_array().expect("a list").len()
}

fn is_replayed(answer: &Response) -> bool {
    answer.header(REPLAYED) == Some("true")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_with_one_key_have_one_effect_and_one_answer() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    for round in 1..=soak::rounds(4, 200) {
        let key = format!("key-{round}");
        let requests = (0..50).map(|_| acme.post_once("/v1/orders", &key, order()));
        let answers = futures_util::future::join_all(requests).await;
        let first = answers.iter().filter(|answer| !is_replayed(answer)).count();
        assert_eq!(first, 1, "round {round}: {first} answers claim to be the first");
        for answer in &answers {
            assert_eq!((answer.status, &answer.body), (201, &answers[0].body), "round {round}");
            assert_eq!(answer.header("content-type"), Some("application/json"));
        }
        assert_eq!((orders_of(&acme).await, host.events().await.len()), (round.min(100), round));
    }
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_requests_with_different_keys_have_one_effect_for_each_key() {
    let host = TestHost::misbehave().await;
    let acme = host.client("misbehave", "acme").await;
    let key = |nth: usize| format!("key-{}", nth % 20);
    let requests = (0..100).map(|nth| {
        let (acme, key) = (acme.clone(), key(nth));
        async move { (key.clone(), acme.post_once("/v1/counter", &key, json!({})).await.expect(200).text()) }
    });
    let mut answers = futures_util::future::join_all(requests).await;
    answers.sort();
    answers.dedup();
    assert_eq!(answers.len(), 20, "one answer for each key: {answers:?}");
    assert_eq!(acme.post("/v1/read?id=hot", json!({})).await.expect(200).json()["count"], 20);
    host.stop().await;
}

#[tokio::test]
async fn same_key_with_another_request_is_a_mismatch() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let first = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    let path = format!("/v1/orders/{}", first.text_at("/id"));
    let headers = [("content-type", "application/json"), ("idempotency-key", "k")];
    let bytes = |body: Value| body.to_string().into_bytes();
    let others = [
        ("POST", "/v1/orders", bytes(json!({"pickup": "1 Dock St", "dropoff": "3 Mill Rd"}))),
        ("POST", "/v1/orders", b"{\"pickup\":\"1 Dock St\", \"dropoff\":\"2 Mill Rd\"}".to_vec()),
        ("POST", "/v1/orders?a=b", bytes(order())),
        ("POST", "/v1/drivers", bytes(order())),
        ("PUT", path.as_str(), bytes(order())),
        ("DELETE", path.as_str(), Vec::new()),
    ];
    for (method, path, body) in others {
        let answer = acme.send(method, path, &headers, body).await;
        assert_eq!((answer.status, answer.text_at("/code").as_str()), (422, "IDEMPOTENCY_MISMATCH"), "{method} {path}");
        assert!(!is_replayed(&answer));
    }
    assert_eq!((orders_of(&acme).await, is_replayed(&acme.post_once("/v1/orders", "k", order()).await)), (1, true));
    host.stop().await;
}

#[tokio::test]
async fn refusal_is_not_recorded() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let wrong = json!({"pickup": "1 Dock St"});
    for _ in 0..2 {
        assert!(!is_replayed(&acme.post_once("/v1/orders", "k", wrong.clone()).await.expect(422)));
    }
    assert!(host.idempotency_records().await.is_empty());
    let corrected = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    assert!(!is_replayed(&corrected));
    assert_eq!(acme.post_once("/v1/orders", "k", order()).await.expect(201).body, corrected.body);
    host.stop().await;
}

#[tokio::test]
async fn fault_is_not_recorded() {
    let host = TestHost::misbehave().await;
    let acme = host.client("misbehave", "acme").await;
    for path in ["/v1/trap-after-write", "/v1/error-after-write"] {
        for _ in 0..2 {
            assert!(!is_replayed(&acme.post_once(path, "k", json!({})).await.expect(500)));
        }
    }
    assert!(host.idempotency_records().await.is_empty());
    let _ = acme.post_once("/v1/counter", "k", json!({})).await.expect(200);
    host.stop().await;
}

#[tokio::test]
async fn idempotency_record_survives_changes_of_its_resource() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let first = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    let _ = acme.delete(&format!("/v1/orders/{}", first.text_at("/id"))).await.expect(200);
    let again = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    assert_eq!((again.body.clone(), is_replayed(&again), orders_of(&acme).await), (first.body, true, 0));
    host.stop().await;
}

#[tokio::test]
async fn idempotency_record_survives_a_restart() {
    let host = TestHost::fleet().await;
    let key = host.key("fleet", "acme").await;
    let first = host.client_of(&key).post_once("/v1/orders", "k", order()).await.expect(201);
    let host = host.restart().await;
    let acme = host.client_of(&key);
    let again = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    assert_eq!((again.body.clone(), is_replayed(&again), orders_of(&acme).await), (first.body, true, 1));
    assert_eq!(acme.post_once("/v1/orders", "k", json!({})).await.expect(422).text_at("/code"), "IDEMPOTENCY_MISMATCH");
    host.stop().await;
}

#[tokio::test]
async fn idempotency_record_survives_a_swap() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let first = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    let before = serving(&host).await;
    let other = host.dir.path().join("other.wasm");
    let bytes = std::fs::read(component("fleet")).expect("the component");
    std::fs::write(&other, guests::stamped(&bytes, "another build")).expect("write the component");
    host.replace_component("fleet", &other);
    eventually("the new component serves", async || (serving(&host).await != before).then_some(())).await;
    let again = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    assert_eq!((again.body.clone(), is_replayed(&again), orders_of(&acme).await), (first.body, true, 1));
    host.stop().await;
}

async fn serving(host: &TestHost) -> Value {
    let plugins = host.operator().get("/v1/plugins").await.expect(200).json();
    plugins.pointer("/0/serving/hash").unwrap_or_else(|| panic!("no hash: {plugins}")).clone()
}

#[tokio::test]
async fn rotated_key_finds_the_idempotency_records_of_its_predecessor() {
    let host = TestHost::fleet().await;
    let old = host.create_key(json!({"plugin": "fleet", "tenant": "acme", "environment": "test"})).await;
    let follows = json!({"plugin": "fleet", "tenant": "acme", "environment": "test", "owner": old["id"]});
    let text = |key: &Value| key["key"].as_str().expect("a key").to_owned();
    let first = host.client_of(&text(&old)).post_once("/v1/orders", "k", order()).await.expect(201);
    let new = host.client_of(&text(&host.create_key(follows).await));
    assert_eq!(new.post_once("/v1/orders", "k", order()).await.expect(201).body, first.body);
    let _ = host.operator().delete(&format!("/v1/keys/{}", old["id"].as_str().expect("an id"))).await.expect(200);
    let again = new.post_once("/v1/orders", "k", order()).await.expect(201);
    assert_eq!((again.body.clone(), is_replayed(&again), orders_of(&new).await), (first.body, true, 1));
    host.stop().await;
}

/// Callers differ by organization, by environment, or by the owner of their API key.
#[tokio::test]
async fn equal_keys_of_different_callers_are_independent() {
    let host = TestHost::fleet().await;
    let mut ids = Vec::new();
    for (organization, environment) in [("acme", "test"), ("acme", "test"), ("acme", "live"), ("rival", "test")] {
        let key = json!({"plugin": "fleet", "tenant": organization, "environment": environment});
        let client = host.client_of(host.create_key(key).await["key"].as_str().expect("a key"));
        let answer = client.post_once("/v1/orders", "k", order()).await.expect(201);
        assert!(!is_replayed(&answer), "{organization}/{environment}");
        ids.push(answer.text_at("/id"));
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!((ids.len(), host.idempotency_records().await.len()), (4, 4));
    host.stop().await;
}

/// A key in a read-only request is ignored, because the data may have changed.
#[tokio::test]
async fn read_only_request_is_not_recorded() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let headers = [("idempotency-key", "k")];
    assert_eq!(acme.send("GET", "/v1/orders", &headers, Vec::new()).await.expect(200).text(), "[]");
    let _ = acme.post_once("/v1/orders", "k", order()).await.expect(201);
    let list = acme.send("GET", "/v1/orders", &headers, Vec::new()).await.expect(200);
    assert_eq!((is_replayed(&list), list.json().as_array().map(Vec::len)), (false, Some(1)));
    host.stop().await;
}

/// The database file reveals neither the answer nor the idempotency key that decrypts it.
#[tokio::test]
async fn idempotency_record_is_encrypted_in_the_file() {
    let host = TestHost::fleet().await;
    let acme = host.client("fleet", "acme").await;
    let idempotency_key = "4f1c0a52-a-key-that-nobody-guesses";
    let id = acme.post_once("/v1/orders", idempotency_key, order()).await.expect(201).text_at("/id");
    let [sealed]: [Vec<u8>; 1] = host.idempotency_records().await.try_into().expect("one answer");
    assert!(sealed.len() > 500, "the whole answer is in it");
    for word in [id.as_str(), "1 Dock St", "application/json", "status"] {
        assert!(!contains(&sealed, word), "{word} can be read");
    }
    let (data, _folder) = (host.data_dir(), host.dir.clone());
    host.stop().await;
    for file in std::fs::read_dir(data).expect("the data folder").flatten().filter(|file| file.path().is_file()) {
        let bytes = std::fs::read(file.path()).expect("a file");
        assert!(!contains(&bytes, idempotency_key), "{} holds the idempotency key", file.path().display());
    }
}

fn contains(bytes: &[u8], word: &str) -> bool {
    bytes.windows(word.len()).any(|window| window == word.as_bytes())
}
