//! Shutdown signal shared by all long-running tasks.

use tokio::sync::watch;

/// Waits until shutdown is requested.
pub async fn requested(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
