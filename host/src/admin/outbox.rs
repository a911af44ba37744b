//! Handler of messages that were stored instead of being sent.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::Uri;
use serde::Deserialize;

use super::{
    error::HttpError,
    inputs::read_options,
    operations::{Operations, OutboxQuery},
    wire::OutboxMessage,
};
use crate::limits::{ADMIN_OUTBOX_DEFAULT, ADMIN_OUTBOX_MAX};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutboxOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    limit: Option<u32>,
}

pub async fn list<O: Operations>(
    State(operations): State<Arc<O>>,
    uri: Uri,
) -> Result<Json<Vec<OutboxMessage>>, HttpError> {
    let hint = "The options are plugin, tenant (acme/test), and limit=1..1000.";
    let OutboxOptions { plugin, tenant, limit } = read_options(&uri, hint)?;
    let limit = limit.unwrap_or(ADMIN_OUTBOX_DEFAULT);
    if !(1..=ADMIN_OUTBOX_MAX).contains(&limit) {
        return Err(HttpError::invalid(format!("limit must be from 1 to {ADMIN_OUTBOX_MAX}, not {limit}."), hint));
    }
    Ok(Json(operations.outbox(OutboxQuery { plugin, tenant, limit }).await?))
}
