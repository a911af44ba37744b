//! The tenants' journal: pages of its lines, and the verification of its hash chains.
//!
//! The command line uses [`list_lines`] and [`verify_chains`] too, with a database in which no host runs.

use std::sync::Arc;

use axum::{Json, extract::State};
use http::Uri;

use super::{
    AdminError, Services,
    inputs::{check_limit, read_options},
    routes::Routes,
    services::invalid_position,
    wire::{self, AuditChainsQuery, AuditLine, AuditLinesQuery, ChainFlaw, ChainStatus, Page, TimestampText},
};
use crate::{
    db::{
        Database,
        journal::{Chain, ChainFilter, Flaw, FlawKind, LineBounds, LineFilter, StoredLine, VerifyBounds},
    },
    limits::{
        ADMIN_PAGE_DEFAULT, AUDIT_BYTES_LISTED, AUDIT_BYTES_VERIFIED, AUDIT_LINES_EXAMINED, AUDIT_LINES_VERIFIED,
    },
};

pub fn routes() -> Routes {
    Routes::default().read_with_options("/v1/audit/lines", lines).read_with_options("/v1/audit/chains", chains)
}

async fn lines(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<Page<AuditLine>>, AdminError> {
    let hint = "The options are plugin, tenant (acme/test), operation, subject, request, since and until \
                (2026-01-02T03:04:05Z), after, and limit=1..1000.";
    let query: AuditLinesQuery = read_options(&uri, hint)?;
    check_limit(query.limit, hint)?;
    let page = list_lines(&host.database, &query).await?;
    // An empty page is not necessarily the last one: each page reads a limited number of lines.
    if query.after.is_none() && page.entries.is_empty() && page.next.is_none() {
        host.check_filter(query.plugin.as_deref(), query.tenant.as_deref()).await?;
    }
    Ok(Json(page))
}

async fn chains(State(host): State<Arc<Services>>, uri: Uri) -> Result<Json<Page<ChainStatus>>, AdminError> {
    let query: AuditChainsQuery = read_options(&uri, "The options are plugin, tenant (acme/test), and after.")?;
    Ok(Json(verify_chains(&host.database, &query).await?))
}

/// Returns a page of lines, newest first.
pub async fn list_lines(database: &Database, query: &AuditLinesQuery) -> Result<Page<AuditLine>, AdminError> {
    let AuditLinesQuery { plugin, tenant, operation, subject, request, since, until, after, limit } = query.clone();
    let [since, until] = [since, until].map(|time| time.map(|TimestampText(at)| at));
    let filter = LineFilter { plugin, tenant, operation, subject, request_id: request, since, until };
    let lines = limit.unwrap_or(ADMIN_PAGE_DEFAULT) as usize;
    let bounds = LineBounds { lines, examined: AUDIT_LINES_EXAMINED, bytes: AUDIT_BYTES_LISTED };
    let page = database.list_lines(&filter, after, bounds).await.map_err(AdminError::failed)?;
    let next = page.next.map(|next| next.to_string());
    Ok(Page { entries: page.lines.into_iter().map(audit_line).collect(), next })
}

/// Verifies chains up to the limits of one request. `next` is the position at which the next request continues.
pub async fn verify_chains(database: &Database, query: &AuditChainsQuery) -> Result<Page<ChainStatus>, AdminError> {
    let AuditChainsQuery { plugin, tenant, after } = query.clone();
    let open = match &after {
        Some(text) => Some(parse_position(text).ok_or_else(|| invalid_position(text))?),
        None => None,
    };
    let filter = ChainFilter { plugin, tenant };
    let bounds = VerifyBounds { lines: AUDIT_LINES_VERIFIED, bytes: AUDIT_BYTES_VERIFIED };
    let page = database.verify_chains(&filter, open, bounds).await.map_err(AdminError::failed)?;
    let next = page.open.as_ref().map(position_text);
    Ok(Page { entries: page.chains.into_iter().map(chain_status).collect(), next })
}

/// Renders the position at which the verification of a chain continues.
fn position_text(chain: &Chain) -> String {
    serde_json::json!([chain.plugin, chain.tenant, chain.last, hex::encode(chain.head)]).to_string()
}

fn parse_position(text: &str) -> Option<Chain> {
    let (plugin, tenant, last, head): (String, String, i64, String) = serde_json::from_str(text).ok()?;
    let mut chain = Chain { plugin, tenant, last, ..Chain::default() };
    hex::decode_to_slice(head, &mut chain.head).ok()?;
    Some(chain)
}

fn audit_line(stored: StoredLine) -> AuditLine {
    let StoredLine { plugin, tenant, seq, hash, at, line, .. } = stored;
    AuditLine {
        plugin,
        tenant,
        seq,
        at: TimestampText(at),
        subject: line.subject.to_string(),
        operation: line.operation.to_string(),
        request_id: line.request_id.to_string(),
        version: line.decided_by.as_ref().map(|by| by.version.clone()),
        component: line.decided_by.as_ref().map(|by| by.component.clone()),
        entry: line.entry.to_string(),
        hash: hex::encode(hash),
    }
}

fn chain_status(chain: Chain) -> ChainStatus {
    let lines = chain.lines();
    let Chain { plugin, tenant, cut, last, head, flaw } = chain;
    ChainStatus {
        plugin,
        tenant,
        lines,
        first: (lines > 0).then_some(cut.saturating_add(1)),
        last,
        head: hex::encode(head),
        deleted: cut,
        flaw: flaw.map(|Flaw { seq, kind }| ChainFlaw { seq, kind: flaw_kind(kind) }),
    }
}

fn flaw_kind(kind: FlawKind) -> wire::FlawKind {
    match kind {
        FlawKind::Changed => wire::FlawKind::Changed,
        FlawKind::Missing => wire::FlawKind::Missing,
        FlawKind::Misplaced => wire::FlawKind::Misplaced,
    }
}
