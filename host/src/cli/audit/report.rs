//! What `verify` found, as it is printed, kept by an auditor and read again: and whether what was seen then is still there.

use serde::{Deserialize, Serialize};

use super::source::Source;
use crate::{
    admin::{
        operations::{ChainsQuestion, LinesQuestion},
        wire::{ChainFlaw, ChainStatus, FlawSort},
    },
    cli::CliError,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// No chain has a flaw.
    pub sound: bool,
    pub chains: Vec<ReportedChain>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedChain {
    #[serde(flatten)]
    pub chain: ChainStatus,
    /// Null where nothing was compared.
    #[serde(default)]
    pub compared: Option<Compared>,
}

/// What became of the last line that an earlier report has of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
    /// It is there as it was.
    Same,
    /// Retention has deleted it since: nothing can be said.
    Deleted,
    /// The report does not know the chain.
    New,
}

impl Report {
    pub fn new(chains: Vec<ChainStatus>) -> Report {
        let sound = chains.iter().all(|chain| chain.flaw.is_none());
        let chains = chains.into_iter().map(|chain| ReportedChain { chain, compared: None }).collect();
        Report { sound, chains }
    }

    /// The chains that are asked for.
    pub fn of(mut self, question: &ChainsQuestion) -> Report {
        let is = |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        self.chains.retain(|ReportedChain { chain, .. }| {
            is(&question.plugin, &chain.plugin) && is(&question.tenant, &chain.tenant)
        });
        self
    }

    /// Adds what only the earlier report shows: ends that are gone, chains that were written anew.
    pub async fn compare(&mut self, earlier: &Report, source: &Source<'_>) -> Result<(), CliError> {
        for now in &mut self.chains {
            now.compared = Some(Compared::New);
        }
        // A chain of which nothing was seen is a new one.
        for then in earlier.chains.iter().map(|reported| &reported.chain).filter(|then| then.last > 0) {
            match self.chains.binary_search_by(|now| name(&now.chain).cmp(&name(then))) {
                Ok(place) => {
                    if let Some(now) = self.chains.get_mut(place) {
                        now.compare(then, source).await?;
                    }
                }
                Err(place) => self.chains.insert(place, gone(then)),
            }
        }
        self.sound = self.chains.iter().all(|reported| reported.chain.flaw.is_none());
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
                now.flaw = Some(ChainFlaw { seq: now.last.saturating_add(1), what: FlawSort::CutOff });
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
            Some(_) => now.flaw = Some(ChainFlaw { seq: then.last, what: FlawSort::Rewritten }),
            // It was there a moment ago, when the chain was followed.
            None => self.compared = Some(Compared::Deleted),
        }
        Ok(())
    }
}

/// Of a line in the middle of a chain that was just followed.
async fn find_hash(chain: &ChainStatus, seq: i64, source: &Source<'_>) -> Result<Option<String>, CliError> {
    let question = LinesQuestion {
        plugin: Some(chain.plugin.clone()),
        tenant: Some(chain.tenant.clone()),
        after: Some(seq.saturating_add(1)),
        limit: 1,
        ..LinesQuestion::default()
    };
    let found = source.lines(&question).await?.entries.pop();
    Ok(found.filter(|line| line.seq == seq).map(|line| line.hash))
}

/// A chain of which nothing is left, not even where retention has cut it.
fn gone(then: &ChainStatus) -> ReportedChain {
    let flaw = Some(ChainFlaw { seq: 1, what: FlawSort::CutOff });
    let (lines, first, last, deleted) = (0, None, 0, 0);
    let head = "0".repeat(64);
    let (plugin, tenant) = (then.plugin.clone(), then.tenant.clone());
    let chain = ChainStatus { plugin, tenant, lines, first, last, head, deleted, flaw };
    ReportedChain { chain, compared: None }
}

/// Chains come in the order of their names.
fn name(chain: &ChainStatus) -> (&str, &str) {
    (&chain.plugin, &chain.tenant)
}
