//! The tenants' journal for operators: pages and chains out of the database, in their words. For a host that runs, and for
//! the command line where none does.

use super::operations::failed;
use crate::{
    admin::{
        Refusal,
        operations::{ChainsQuestion, LinesQuestion},
        wire::{self, Moment},
    },
    db::{
        Database, DbError,
        journal::{Chain, ChainFilter, Flaw, FlawKind, FollowBounds, LineBounds, LineFilter, StoredLine},
    },
    limits::{AUDIT_BYTES_FOLLOWED, AUDIT_BYTES_LISTED, AUDIT_LINES_FOLLOWED, AUDIT_LINES_LOOKED_AT},
};

/// The newest first.
pub async fn list_lines(database: &Database, question: LinesQuestion) -> Result<wire::Page<wire::AuditLine>, Refusal> {
    let LinesQuestion { plugin, tenant, operation, subject, request, since, until, after, limit } = question;
    let [since, until] = [since, until].map(|moment| moment.map(|Moment(at)| at));
    let filter = LineFilter { plugin, tenant, operation, subject, request_id: request, since, until };
    let bounds = LineBounds { lines: limit as usize, looked_at: AUDIT_LINES_LOOKED_AT, bytes: AUDIT_BYTES_LISTED };
    let page = database.list_lines(&filter, after, bounds).await.map_err(refusal)?;
    let next = page.next.map(|next| next.to_string());
    Ok(wire::Page { entries: page.lines.into_iter().map(line).collect(), next })
}

/// As many as one answer has time for.
pub async fn follow_chains(
    database: &Database,
    question: ChainsQuestion,
) -> Result<wire::Page<wire::ChainStatus>, Refusal> {
    let ChainsQuestion { plugin, tenant, after } = question;
    let open = match &after {
        Some(text) => Some(parse_place(text).ok_or_else(|| wrong_page(text))?),
        None => None,
    };
    let bounds = FollowBounds { lines: AUDIT_LINES_FOLLOWED, bytes: AUDIT_BYTES_FOLLOWED };
    let page = database.follow_chains(&ChainFilter { plugin, tenant }, open, bounds).await.map_err(refusal)?;
    let next = page.open.as_ref().map(place_text);
    Ok(wire::Page { entries: page.chains.into_iter().map(chain).collect(), next })
}

/// A chain that is not followed to its end yet: one text for where to go on.
fn place_text(chain: &Chain) -> String {
    serde_json::json!([chain.plugin, chain.tenant, chain.last, hex::encode(chain.head)]).to_string()
}

fn parse_place(text: &str) -> Option<Chain> {
    let (plugin, tenant, last, head): (String, String, i64, String) = serde_json::from_str(text).ok()?;
    let mut chain = Chain { plugin, tenant, last, ..Chain::default() };
    hex::decode_to_slice(head, &mut chain.head).ok()?;
    Some(chain)
}

fn wrong_page(text: &str) -> Refusal {
    let hint = "Send `next` of the page before as it came.".to_owned();
    Refusal::Invalid { message: format!("\"{text:.40}\" is no place in this list."), hint }
}

fn refusal(error: DbError) -> Refusal {
    failed(error.to_string())
}

fn line(stored: StoredLine) -> wire::AuditLine {
    let StoredLine { plugin, tenant, seq, hash, at, line, .. } = stored;
    wire::AuditLine {
        plugin,
        tenant,
        seq,
        at: Moment(at),
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
        flaw: flaw.map(|Flaw { seq, kind }| wire::ChainFlaw { seq, what: sort(kind) }),
    }
}

fn sort(kind: FlawKind) -> wire::FlawSort {
    match kind {
        FlawKind::Changed => wire::FlawSort::Changed,
        FlawKind::Missing => wire::FlawSort::Missing,
        FlawKind::Misplaced => wire::FlawSort::Misplaced,
    }
}
