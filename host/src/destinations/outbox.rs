//! The destination kind "outbox": stores the message for inspection instead of sending it, and responds 202 Accepted.

use http::StatusCode;

use super::{DestinationCallError, Parts, attempt::malformed_path, request::Request};
use crate::{
    changes::{
        outgoing::{OutgoingContent, OutgoingResponse},
        scope::Scope,
    },
    db::outbox::OutboxMessage,
    outbound::join,
};

/// Stores a message once for each idempotency key. The same key gets the same response.
pub(super) async fn store(
    parts: &Parts,
    scope: &Scope,
    destination: &str,
    request: &Request,
) -> Result<OutgoingResponse, DestinationCallError> {
    // The outbox checks the path like a call to a server, so a call that it accepts is valid for a server as well.
    let path = join("", &request.path).map_err(malformed_path)?;
    let mut id = [0; 12];
    getrandom::fill(&mut id).map_err(|error| DestinationCallError::not_sent("unavailable", error.to_string()))?;
    let id = format!("message_{}", hex::encode(id));
    let message = OutboxMessage {
        id: &id,
        scope,
        destination,
        method: request.method.as_str(),
        path: &path,
        media_type: request.media_type.as_deref(),
        body: &request.body,
        key: request.key.as_deref(),
        at: parts.clock.now(),
    };
    let stored = parts.database.store_message(&message).await;
    // If the commit failed, the message may be stored all the same. A retry with the same key finds it.
    let id = stored.map_err(|error| DestinationCallError::unknown("unavailable", error.to_string()))?;
    Ok(OutgoingResponse {
        status: StatusCode::ACCEPTED.as_u16(),
        headers: Vec::new(),
        content: OutgoingContent::Json(serde_json::json!({ "id": id }).to_string()),
    })
}
