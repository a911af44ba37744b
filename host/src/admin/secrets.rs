//! The rotation of secrets: all are sealed again under the current master key.

use std::sync::Arc;

use axum::{Json, extract::State, routing::post};

use super::{AdminError, Services, inputs::Operator, routes::Routes, wire::RotationReport};
use crate::secrets;

pub fn routes() -> Routes {
    Routes::default().action("rotate-secrets", "/v1/secrets/rotate", post(rotate))
}

/// Seals each secret again in its own transaction. The journal line covers all of them.
async fn rotate(State(host): State<Arc<Services>>, operator: Operator) -> Result<Json<RotationReport>, AdminError> {
    let rotation = secrets::rotate(&host.master_keys, &host.stores).await.map_err(AdminError::failed)?;
    let (key, resealed, left) = (host.master_keys.current_id(), rotation.sealed_again, rotation.left.len());
    let target = format!("{resealed} secrets sealed again under {key}, {left} left");
    host.record_done(&operator.done(host.clock.now(), "*", target)).await?;
    Ok(Json(RotationReport { key, sealed_again: resealed, current: rotation.current, left: rotation.left }))
}
