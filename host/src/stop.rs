//! The word to stop, as everything that runs hears it.

use tokio::sync::watch;

/// Ready once the host is told to stop.
pub async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}
