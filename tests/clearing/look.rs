//! Looking at a stage from outside: whether it has come to rest, what its books hold, what the day came to.

use std::collections::BTreeMap;

use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tenon::admin::wire::TimestampText;

use super::{coverage::Side, stage::Stage};
use crate::support::eventually;

/// Requests at once: fewer than the host takes.
const AT_ONCE: usize = 16;

impl Stage {
    /// Once no timer is due, and no message on its way that is not waiting for its next attempt.
    pub async fn rest(&self) {
        eventually("rest", async || {
            let now = TimestampText(self.host.clock.now()).to_string();
            // A timer may start a message, a message no timer that is due at once.
            for kind in ["timer", "effect"] {
                let is_due = |task: &Value| task["due_at"].as_str().is_some_and(|due| due <= now.as_str());
                if self.tasks(kind).await.iter().any(is_due) {
                    return None;
                }
            }
            Some(())
        })
        .await;
    }

    /// Of the clock, and then rest.
    pub async fn pass_ms(&self, milliseconds: u64) {
        self.advance_ms(milliseconds);
        self.rest().await;
    }

    /// What waits: timers, or messages (effects).
    pub async fn tasks(&self, kind: &str) -> Vec<Value> {
        let (mut found, mut query) = (Vec::new(), format!("/v1/tasks?kind={kind}&limit=1000"));
        loop {
            let page = self.host.operator().get(&query).await.expect(200).json();
            found.extend(page["entries"].as_array().expect("a list").iter().cloned());
            match page["next"].as_str() {
                Some(next) => query = format!("/v1/tasks?kind={kind}&limit=1000&after={next}"),
                None => return found,
            }
        }
    }

    /// The partner's books, by account.
    pub async fn books(&self) -> BTreeMap<String, i128> {
        self.host.balances("bank/test").await
    }

    /// What the days came to.
    pub async fn totals(&self, side: Side) -> Value {
        self.staff(side).get("/v1/clearing/reports/reconciliation").await.expect(200).json()["rows"].clone()
    }

    /// A member of the counts of what somebody should look at.
    pub async fn concerned(&self, side: Side, concern: &str) -> Value {
        let counts = self.staff(side).get("/v1/clearing/reports/concerns").await.expect(200).json();
        let listed = self.staff(side).get(&format!("/v1/clearing/transactions?concern={concern}")).await.expect(200);
        let listed = listed.json()["transactions"].as_array().expect("a list").len();
        assert_eq!(counts[concern], json!(listed), "what is counted is listed");
        counts[concern].clone()
    }
}

/// Several at once, and what they came to in their order.
pub async fn at_once<T>(all: impl IntoIterator<Item = impl Future<Output = T>>) -> Vec<T> {
    stream::iter(all).buffered(AT_ONCE).collect().await
}

/// From, to, of a history as it is shown.
pub fn edges(shown: &Value) -> Vec<(String, String)> {
    let lines = shown["history"].as_array().expect("a history").iter();
    lines.filter_map(|line| Some((line["from"].as_str()?.to_owned(), line["to"].as_str()?.to_owned()))).collect()
}
