//! The kind "outbox": nothing is sent, the message is stored for people to look at, and answered as accepted.

use http::StatusCode;

use super::{CallFailure, Parts, attempt::malformed_path, request::Request};
use crate::{
    changes::{
        outgoing::{OutgoingAnswer, OutgoingContent},
        scope::Scope,
    },
    db::outbox::OutboxMessage,
    outbound::join,
};

/// Once for each idempotency key: the same key gets the same answer.
pub(super) async fn store(
    parts: &Parts,
    scope: &Scope,
    destination: &str,
    request: &Request,
) -> Result<OutgoingAnswer, CallFailure> {
    // As strict as a server's destination, so that what works here works there.
    let path = join("", &request.path).map_err(malformed_path)?;
    let mut id = [0; 12];
    getrandom::fill(&mut id).map_err(|error| CallFailure::not_sent("unavailable", error.to_string()))?;
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
    // Where the commit failed, it may be there all the same; its key finds it again.
    let id = stored.map_err(|error| CallFailure::unknown("unavailable", error.to_string()))?;
    Ok(OutgoingAnswer {
        status: StatusCode::ACCEPTED.as_u16(),
        headers: Vec::new(),
        content: OutgoingContent::Json(serde_json::json!({ "id": id }).to_string()),
    })
}
