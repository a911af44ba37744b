//! Waiting for something to be seen from outside: asked again and again, never slept through.

use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(5);

/// What `look` finds in the end; fails, naming `what`, where it never does.
#[track_caller]
pub fn eventually<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    let until = Instant::now() + PATIENCE;
    async move {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(Instant::now() < until, "{what}: not seen within {} s", PATIENCE.as_secs());
            tokio::time::sleep(PAUSE).await;
        }
    }
}
