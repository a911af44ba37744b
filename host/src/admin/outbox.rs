//! Messages that were stored instead of being sent.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::Uri;
use serde::Deserialize;

use super::{
    AdminError, Services,
    inputs::{check_limit, read_options},
    routes::Routes,
    wire::{OutboxMessage, TimestampText},
};
use crate::db::outbox::OutboxRow;

pub fn routes() -> Routes {
    Routes::default().read_with_options("/v1/outbox", list)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    plugin: Option<String>,
    tenant: Option<String>,
    limit: Option<u32>,
}

/// Lists messages, newest first.
async fn list(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<Vec<OutboxMessage>>, AdminError> {
    let hint = "The options are plugin, tenant (acme/test), and limit=1..1000.";
    let Options { plugin, tenant, limit } = read_options(&uri, hint)?;
    let limit = check_limit(limit, hint)?;
    let rows = host.database.list_outbox(plugin.as_deref(), tenant.as_deref(), limit).await;
    let rows = rows.map_err(AdminError::failed)?;
    if rows.is_empty() {
        host.check_filter(plugin.as_deref(), tenant.as_deref()).await?;
    }
    Ok(Json(rows.into_iter().map(outbox_message).collect()))
}

fn outbox_message(row: OutboxRow) -> OutboxMessage {
    OutboxMessage {
        id: row.id,
        plugin: row.plugin,
        tenant: row.tenant,
        destination: row.destination,
        method: row.method,
        path: row.path,
        media_type: row.media_type,
        body: String::from_utf8_lossy(&row.body).into_owned(),
        bytes: row.bytes,
        idempotency_key: row.key,
        at: TimestampText(row.at),
    }
}
