//! Handlers of the tenants' journal: its lines, and the verification of its hash chains.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::Uri;
use serde::Deserialize;

use super::{
    error::HttpError,
    inputs::read_options,
    operations::{AuditChainsQuery, AuditLinesQuery, Operations},
    webhooks::check_limit,
    wire::{AuditLine, ChainStatus, Page, TimestampText},
};

type JsonResult<T> = Result<Json<T>, HttpError>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    operation: Option<String>,
    subject: Option<String>,
    request: Option<String>,
    since: Option<TimestampText>,
    until: Option<TimestampText>,
    after: Option<i64>,
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChainsOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    after: Option<String>,
}

pub async fn lines<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<Page<AuditLine>> {
    let hint = "The options are plugin, tenant (acme/test), operation, subject, request, since and until \
                (2026-01-02T03:04:05Z), after, and limit=1..1000.";
    let options: LinesOptions = read_options(&uri, hint)?;
    let limit = check_limit(options.limit, hint)?;
    let LinesOptions { plugin, tenant, operation, subject, request, since, until, after, .. } = options;
    let query = AuditLinesQuery { plugin, tenant, operation, subject, request, since, until, after, limit };
    Ok(Json(operations.audit_lines(query).await?))
}

/// Verifies a limited number of lines. `next` in the response continues from there.
pub async fn chains<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> JsonResult<Page<ChainStatus>> {
    let hint = "The options are plugin, tenant (acme/test), and after.";
    let ChainsOptions { plugin, tenant, after } = read_options(&uri, hint)?;
    Ok(Json(operations.audit_chains(AuditChainsQuery { plugin, tenant, after }).await?))
}
