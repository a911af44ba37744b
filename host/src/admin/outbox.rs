//! Messages that were stored instead of being sent.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::Uri;
use serde::Deserialize;

use super::{
    asked::read_options,
    operations::{Operations, OutboxQuestion},
    problem::Rejection,
    wire::OutboxMessage,
};
use crate::limits::{ADMIN_OUTBOX_DEFAULT, ADMIN_OUTBOX_MAX};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    plugin: Option<String>,
    tenant: Option<String>,
    limit: Option<u32>,
}

pub async fn list<O: Operations>(
    State(operations): State<Arc<O>>,
    uri: Uri,
) -> Result<Json<Vec<OutboxMessage>>, Rejection> {
    let hint = "The options are plugin, tenant (acme/test), and limit=1..1000.";
    let Options { plugin, tenant, limit } = read_options(&uri, hint)?;
    let limit = limit.unwrap_or(ADMIN_OUTBOX_DEFAULT);
    if !(1..=ADMIN_OUTBOX_MAX).contains(&limit) {
        return Err(Rejection::invalid(format!("limit cannot be {limit}."), hint));
    }
    Ok(Json(operations.outbox(OutboxQuestion { plugin, tenant, limit }).await?))
}
