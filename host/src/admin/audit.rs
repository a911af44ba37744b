//! The tenants' journal: its lines, and whether its chains are what was written.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::Uri;
use serde::Deserialize;

use super::{
    asked::read_options,
    operations::{ChainsQuestion, LinesQuestion, Operations},
    problem::Rejection,
    webhooks::within,
    wire::{AuditLine, ChainStatus, Moment, Page},
};

type Answer<T> = Result<Json<T>, Rejection>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinesOptions {
    plugin: Option<String>,
    tenant: Option<String>,
    operation: Option<String>,
    subject: Option<String>,
    request: Option<String>,
    since: Option<Moment>,
    until: Option<Moment>,
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

pub async fn lines<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<Page<AuditLine>> {
    let hint = "The options are plugin, tenant (acme/test), operation, subject, request, since and until \
                (2026-01-02T03:04:05Z), after, and limit=1..1000.";
    let options: LinesOptions = read_options(&uri, hint)?;
    let limit = within(options.limit, hint)?;
    let LinesOptions { plugin, tenant, operation, subject, request, since, until, after, .. } = options;
    let question = LinesQuestion { plugin, tenant, operation, subject, request, since, until, after, limit };
    Ok(Json(operations.audit_lines(question).await?))
}

/// Follows as many lines as one answer has time for; `next` goes on from there.
pub async fn chains<O: Operations>(State(operations): State<Arc<O>>, uri: Uri) -> Answer<Page<ChainStatus>> {
    let hint = "The options are plugin, tenant (acme/test), and after.";
    let ChainsOptions { plugin, tenant, after } = read_options(&uri, hint)?;
    Ok(Json(operations.audit_chains(ChainsQuestion { plugin, tenant, after }).await?))
}
