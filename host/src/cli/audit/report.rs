//! The report of `tenon audit verify --json`, and its comparison with an earlier report that an auditor kept.

use serde::{Deserialize, Serialize};

use super::source::Source;
use crate::{
    admin::wire::{AuditChainsQuery, AuditLinesQuery, ChainFlaw, ChainStatus, FlawKind},
    cli::CliError,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// True if no chain has a flaw. Reports of older versions call it "sound".
    #[serde(rename = "valid", alias = "sound")]
    pub is_valid: bool,
    pub chains: Vec<ReportedChain>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedChain {
    #[serde(flatten)]
    pub chain: ChainStatus,
    /// `None` if nothing was compared, or if the earlier report contains the chain and it has a flaw.
    #[serde(default)]
    pub compared: Option<Compared>,
}

/// Result of the comparison with the last line of a chain in an earlier report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// The line is unchanged.
    Same,
    /// Retention has deleted the line since, so it cannot be compared.
    Deleted,
    /// The earlier report does not contain the chain.
    New,
}

impl Report {
    pub fn new(chains: Vec<ChainStatus>) -> Report {
        let is_valid = chains.iter().all(|chain| chain.flaw.is_none());
        let chains = chains.into_iter().map(|chain| ReportedChain { chain, compared: None }).collect();
        Report { is_valid, chains }
    }

    /// Keeps only the chains that match the query.
    pub fn filter(mut self, query: &AuditChainsQuery) -> Report {
        let matches = |filter: &Option<String>, value: &str| filter.as_deref().is_none_or(|filter| filter == value);
        self.chains.retain(|ReportedChain { chain, .. }| {
            matches(&query.plugin, &chain.plugin) && matches(&query.tenant, &chain.tenant)
        });
        self
    }

    /// Adds flaws that only a comparison with the earlier report detects: truncated and rewritten chains.
    pub async fn compare(&mut self, earlier: &Report, source: &Source<'_>) -> Result<(), CliError> {
        for now in &mut self.chains {
            now.compared = Some(Compared::New);
        }
        // A chain that had no lines in the earlier report counts as new.
        for then in earlier.chains.iter().map(|reported| &reported.chain).filter(|then| then.last > 0) {
            match self.chains.binary_search_by(|now| name(&now.chain).cmp(&name(then))) {
                Ok(index) => {
                    if let Some(now) = self.chains.get_mut(index) {
                        now.compare(then, source).await?;
                    }
                }
                Err(index) => self.chains.insert(index, missing_chain(then)),
            }
        }
        self.is_valid = self.chains.iter().all(|reported| reported.chain.flaw.is_none());
        Ok(())
    }
}

impl ReportedChain {
    async fn compare(&mut self, then: &ChainStatus, source: &Source<'_>) -> Result<(), CliError> {
        let now = &mut self.chain;
        self.compared = None;
        if now.flaw.is_some() {
            return Ok(());
        }
        let head = match then.last {
            last if last > now.last => {
                now.flaw = Some(ChainFlaw { seq: now.last.saturating_add(1), kind: FlawKind::CutOff });
                return Ok(());
            }
            last if last == now.last => Some(now.head.clone()),
            last if last <= now.deleted => {
                self.compared = Some(Compared::Deleted);
                return Ok(());
            }
            last => find_hash(now, last, source).await?,
        };
        match head {
            Some(head) if head == then.head => self.compared = Some(Compared::Same),
            Some(_) => now.flaw = Some(ChainFlaw { seq: then.last, kind: FlawKind::Rewritten }),
            // Retention deleted the line after the chain was verified.
            None => self.compared = Some(Compared::Deleted),
        }
        Ok(())
    }
}

/// Returns the hash of a line in the middle of a chain that was just verified.
async fn find_hash(chain: &ChainStatus, seq: i64, source: &Source<'_>) -> Result<Option<String>, CliError> {
    let query = AuditLinesQuery {
        plugin: Some(chain.plugin.clone()),
        tenant: Some(chain.tenant.clone()),
        after: Some(seq.saturating_add(1)),
        limit: Some(1),
        ..AuditLinesQuery::default()
    };
    let found = source.lines(&query).await?.entries.pop();
    Ok(found.filter(|line| line.seq == seq).map(|line| line.hash))
}

/// Returns the entry of a chain that is not stored at all, not even the position up to which retention deleted it.
fn missing_chain(then: &ChainStatus) -> ReportedChain {
    let flaw = Some(ChainFlaw { seq: 1, kind: FlawKind::CutOff });
    let (lines, first, last, deleted) = (0, None, 0, 0);
    let head = "0".repeat(64);
    let (plugin, tenant) = (then.plugin.clone(), then.tenant.clone());
    let chain = ChainStatus { plugin, tenant, lines, first, last, head, deleted, flaw };
    ReportedChain { chain, compared: None }
}

/// Returns the sort key of a chain in a report.
fn name(chain: &ChainStatus) -> (&str, &str) {
    (&chain.plugin, &chain.tenant)
}
