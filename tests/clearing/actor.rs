//! Who calls: a client of OAuth with a token that is renewed before it ends, whose requests and answers are noted.

use parking_lot::Mutex;
use serde_json::{Value, json};
use tenon::clock::Clock;

use super::coverage::Seen;
use crate::support::{Response, TestClient, TestHost};

/// Shorter than tokens live.
const TOKEN_MS: u64 = 300_000;

pub struct Actor {
    client: TestClient,
    clock: Clock,
    pub client_id: String,
    pub secret: String,
    token: Mutex<Option<(u64, String)>>,
    seen: Seen,
}

impl Actor {
    /// A new client of an organization's test environment, or of another one: "bank/live". Without scopes: all of the plugin's.
    pub async fn new(host: &TestHost, tenant: &str, scopes: &[&str], seen: &Seen) -> Actor {
        let (organization, environment) = tenant.split_once('/').unwrap_or((tenant, "test"));
        let mut body = json!({"plugin": "clearing", "tenant": organization, "environment": environment});
        if !scopes.is_empty() {
            body["scopes"] = json!(scopes);
        }
        let made = host.operator().post("/v1/clients", body).await.expect(201);
        Actor {
            client: host.anonymous(),
            clock: host.clock.clone(),
            client_id: made.text_at("/client_id"),
            secret: made.text_at("/client_secret"),
            token: Mutex::default(),
            seen: seen.clone(),
        }
    }

    /// The same client at another address of its host.
    pub fn at(mut self, host: &TestHost) -> Actor {
        self.client = host.anonymous();
        self.token = Mutex::default();
        self
    }

    pub async fn token(&self) -> String {
        let now = self.clock.now();
        if let Some((_, token)) = self.token.lock().clone().filter(|(until, _)| now < *until) {
            return token;
        }
        let form = format!("grant_type=client_credentials&client_id={}&client_secret={}", self.client_id, self.secret);
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        let answer = self.client.send("POST", "/oauth2/token", &headers, form.into_bytes()).await;
        let token = answer.expect(200).text_at("/access_token");
        *self.token.lock() = Some((now + TOKEN_MS, token.clone()));
        token
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.send("POST", path, &[("content-type", "application/json")], body.to_string().into_bytes()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Response {
        self.send("PUT", path, &[("content-type", "application/json")], body.to_string().into_bytes()).await
    }

    pub async fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], Vec::new()).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.send("DELETE", path, &[], Vec::new()).await
    }

    /// Anything at all, with the token.
    pub async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Response {
        let token = format!("Bearer {}", self.token().await);
        let headers = [headers, &[("authorization", &token)]].concat();
        let answer = self.client.send(method, path, &headers, body.clone()).await;
        self.seen.note_answer(method, path, &body, &answer);
        answer
    }

    /// Of one payment, as this actor is shown it.
    pub async fn transaction(&self, uetr: &str) -> Value {
        self.get(&format!("/v1/clearing/transactions/{uetr}")).await.expect(200).json()
    }

    /// Everything of a list that comes in pages; the path may have filters.
    pub async fn all(&self, path: &str, member: &str) -> Vec<Value> {
        let (mut found, mut query) = (Vec::new(), String::from("limit=100"));
        loop {
            let joint = if path.contains('?') { '&' } else { '?' };
            let page = self.get(&format!("{path}{joint}{query}")).await.expect(200).json();
            found.extend(page[member].as_array().unwrap_or_else(|| panic!("no {member}: {page}")).clone());
            match page["next"].as_str() {
                Some(next) if !page[member].as_array().unwrap().is_empty() => query = format!("limit=100&after={next}"),
                _ => return found,
            }
        }
    }
}
