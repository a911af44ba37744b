//! Polling for a condition that is observable from outside, instead of sleeping for a fixed time.

use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_millis(5);

/// Polls `find` until it returns a value. Fails after the timeout with the name `what`.
#[track_caller]
pub fn eventually<T>(what: &str, mut find: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    let deadline = Instant::now() + TIMEOUT;
    async move {
        loop {
            if let Some(found) = find().await {
                return found;
            }
            assert!(Instant::now() < deadline, "{what}: not within {} s", TIMEOUT.as_secs());
            tokio::time::sleep(INTERVAL).await;
        }
    }
}
