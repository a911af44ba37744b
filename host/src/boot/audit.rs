//! Operator requests for the tenants' journal: pages of lines, and the verification of chains. Used by a running host,
//! and by the command line if no host runs.

use crate::{
    admin::{
        AdminError,
        operations::{AuditChainsQuery, AuditLinesQuery},
        wire::{self, TimestampText},
    },
    db::{
        Database, DbError,
        journal::{Chain, ChainFilter, Flaw, FlawKind, LineBounds, LineFilter, StoredLine, VerifyBounds},
    },
    limits::{AUDIT_BYTES_LISTED, AUDIT_BYTES_VERIFIED, AUDIT_LINES_EXAMINED, AUDIT_LINES_VERIFIED},
};

/// Returns a page of lines, newest first.
pub async fn list_lines(
    database: &Database,
    query: AuditLinesQuery,
) -> Result<wire::Page<wire::AuditLine>, AdminError> {
    let AuditLinesQuery { plugin, tenant, operation, subject, request, since, until, after, limit } = query;
    let [since, until] = [since, until].map(|time| time.map(|TimestampText(at)| at));
    let filter = LineFilter { plugin, tenant, operation, subject, request_id: request, since, until };
    let bounds = LineBounds { lines: limit as usize, examined: AUDIT_LINES_EXAMINED, bytes: AUDIT_BYTES_LISTED };
    let page = database.list_lines(&filter, after, bounds).await.map_err(storage_error)?;
    let next = page.next.map(|next| next.to_string());
    Ok(wire::Page { entries: page.lines.into_iter().map(line).collect(), next })
}

/// Verifies chains up to the limits of one request. `next` continues from there.
pub async fn verify_chains(
    database: &Database,
    query: AuditChainsQuery,
) -> Result<wire::Page<wire::ChainStatus>, AdminError> {
    let AuditChainsQuery { plugin, tenant, after } = query;
    let open = match &after {
        Some(text) => Some(parse_position(text).ok_or_else(|| invalid_position(text))?),
        None => None,
    };
    let bounds = VerifyBounds { lines: AUDIT_LINES_VERIFIED, bytes: AUDIT_BYTES_VERIFIED };
    let page = database.verify_chains(&ChainFilter { plugin, tenant }, open, bounds).await.map_err(storage_error)?;
    let next = page.open.as_ref().map(position_text);
    Ok(wire::Page { entries: page.chains.into_iter().map(chain).collect(), next })
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

fn invalid_position(text: &str) -> AdminError {
    let hint = "Send the `next` of the previous page unchanged.".to_owned();
    AdminError::Invalid { message: format!("\"{text:.40}\" is not a position in this list."), hint }
}

fn storage_error(error: DbError) -> AdminError {
    crate::admin::operations::failed(error.to_string())
}

fn line(stored: StoredLine) -> wire::AuditLine {
    let StoredLine { plugin, tenant, seq, hash, at, line, .. } = stored;
    wire::AuditLine {
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

fn chain(chain: Chain) -> wire::ChainStatus {
    let lines = chain.lines();
    let Chain { plugin, tenant, cut, last, head, flaw } = chain;
    wire::ChainStatus {
        plugin,
        tenant,
        lines,
        first: (lines > 0).then_some(cut.saturating_add(1)),
        last,
        head: hex::encode(head),
        deleted: cut,
        flaw: flaw.map(|Flaw { seq, kind }| wire::ChainFlaw { seq, kind: flaw_kind(kind) }),
    }
}

fn flaw_kind(kind: FlawKind) -> wire::FlawKind {
    match kind {
        FlawKind::Changed => wire::FlawKind::Changed,
        FlawKind::Missing => wire::FlawKind::Missing,
        FlawKind::Misplaced => wire::FlawKind::Misplaced,
    }
}
