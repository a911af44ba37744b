//! A host with the fleet plugin as plugins.toml is shipped, an organization on it, and its drivers.
//!
//! Every answer and every event is noted. `finish` checks what the test claims to cover; a stage that was not finished fails
//! its test.

use serde_json::{Value, json};
use tenon::clock::Clock;

use super::{
    coverage::Seen,
    orders::MORNING_MS,
    routes::{JSON, PASSWORD},
};
use crate::support::{Response, StoredEvent, TestClient, TestHost, component, shipped_section};

pub struct Stage {
    pub host: TestHost,
    /// The key of the organization "acme", test environment.
    pub key: String,
    pub seen: Seen,
    covers: Vec<&'static str>,
    unfinished: Unfinished,
}

/// Fails the test that forgets to look at what happened.
#[derive(Default)]
struct Unfinished {
    is_over: bool,
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        assert!(self.is_over || std::thread::panicking(), "the stage was not finished");
    }
}

/// Somebody who has logged in.
pub struct Driver {
    pub id: String,
    pub token: String,
}

impl Stage {
    pub async fn open() -> Stage {
        Stage::open_with("").await
    }

    /// `settings`: further lines of the fleet's part of plugins.toml.
    pub async fn open_with(settings: &str) -> Stage {
        let section = format!("{}{settings}", shipped_section("fleet"));
        let host = TestHost::builder().plugin("fleet", component("fleet"), &section);
        let host = host.clock(Clock::manual(MORNING_MS)).start().await;
        let key = host.key("fleet", "acme").await;
        Stage { host, key, seen: Seen::default(), covers: Vec::new(), unfinished: Unfinished::default() }
    }

    /// Rows of `coverage` that this test exercises.
    pub fn covers(mut self, claims: &[&'static str]) -> Stage {
        self.covers.extend(claims);
        self
    }

    /// Looks at the events, checks the claims, and stops the host.
    pub async fn finish(mut self) {
        self.unfinished.is_over = true;
        self.host.events().await.iter().for_each(|event| self.seen.note_event(&event.event_type));
        self.seen.check(&self.covers);
        self.host.stop().await;
    }

    /// Without a key: an empty text. Without a body: null.
    pub async fn call(&self, key: &str, method: &str, path: &str, body: Value) -> Response {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.send(key, method, path, &JSON, body).await
    }

    /// Anything at all, with any headers.
    pub async fn send(&self, key: &str, method: &str, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Response {
        let client = TestClient::new(self.host.base(), Some(key).filter(|key| !key.is_empty()));
        let answer = client.send(method, path, headers, body).await;
        self.seen.note_answer(method, path, &answer);
        answer
    }

    /// With the organization's key.
    pub async fn get(&self, path: &str) -> Response {
        self.call(&self.key, "GET", path, Value::Null).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.call(&self.key, "POST", path, body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Response {
        self.call(&self.key, "PUT", path, body).await
    }

    pub async fn delete(&self, path: &str) -> Response {
        self.call(&self.key, "DELETE", path, Value::Null).await
    }

    /// The id of what a POST to the path makes.
    pub async fn make(&self, path: &str, body: Value) -> String {
        self.post(path, body).await.expect(201).text_at("/id")
    }

    /// A driver of this name who has logged in.
    pub async fn driver(&self, name: &str) -> Driver {
        let email = format!("{name}@example.com");
        let phone =
            format!("+65 9{:07}", name.bytes().fold(0_u32, |sum, byte| (sum * 31 + u32::from(byte)) % 9_999_999));
        let body = json!({"name": name, "email": email, "phone": phone, "password": PASSWORD});
        let id = self.make("/v1/drivers", body).await;
        let login = self.post("/v1/drivers/login", json!({"identity": email, "password": PASSWORD})).await;
        Driver { id, token: login.expect(200).text_at("/token") }
    }

    /// The id of an order with these fields, from one street to another.
    pub async fn order(&self, mut fields: Value) -> String {
        fields["pickup"] = json!("1 Dock St");
        fields["dropoff"] = json!("2 Mill Rd");
        self.make("/v1/orders", fields).await
    }

    /// What the path shows.
    pub async fn shown(&self, path: &str) -> Value {
        self.get(path).await.expect(200).json()
    }

    /// Of this type, oldest first.
    pub async fn told(&self, event: &str) -> Vec<StoredEvent> {
        let all = self.host.events().await;
        all.into_iter().filter(|found| found.event_type == event).collect()
    }
}
