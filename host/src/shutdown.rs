//! Shutdown signal shared by all long-running tasks.

use tokio::sync::watch;

/// Waits until shutdown is requested, or until the sender is dropped.
pub async fn requested(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
