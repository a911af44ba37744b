//! A change set prepared for `decide`. Everything that can be computed before the lock is taken is computed here.

use std::sync::Arc;

use ethnum::I256;
use indexmap::IndexMap;

use super::LedgerLine;
use crate::changes::change_set::{ChangeSet, Key, Record, RecordWrite, Space};
use crate::commit::overlay::{CallStart, Content};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The plugin returned `commit`.
    Commit,
    /// The plugin refused or trapped. Only journal lines are applied, and the values that it read must be unchanged.
    Refusal,
}

/// Why a change set is invalid. No `Draft` produces such a change set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProposal {
    #[error("the sum of the transfers of this call exceeds the largest amount")]
    Overflow,
    #[error("a transfer or bound of account {0}, whose balance was not read")]
    BalanceNotRead(Arc<str>),
}

pub struct Proposal {
    pub began: CallStart,
    pub purpose: Purpose,
    pub changes: Arc<ChangeSet>,
    pub ledger: Vec<LedgerLine>,
    /// All writes except balances, which are known only after the decision.
    pub writes: Vec<(Key, Content)>,
}

impl Proposal {
    pub fn new(began: CallStart, purpose: Purpose, changes: Arc<ChangeSet>) -> Result<Proposal, InvalidProposal> {
        let ledger = ledger_lines(&changes)?;
        let writes = writes(&changes);
        Ok(Proposal { began, purpose, changes, ledger, writes })
    }
}

fn ledger_lines(changes: &ChangeSet) -> Result<Vec<LedgerLine>, InvalidProposal> {
    let mut lines: IndexMap<(Arc<str>, Arc<str>), LedgerLine> = IndexMap::with_capacity(changes.balances.len());
    for read in &changes.balances {
        let key = key(changes, Space::Balance(read.asset.clone()), &read.account);
        let (delta, external) = (I256::ZERO, read.external);
        let line = LedgerLine { key, read: read.amount, delta, external, at_least: None, at_most: None };
        lines.insert((read.account.clone(), read.asset.clone()), line);
    }
    let mut line = |account: &Arc<str>, asset: &Arc<str>, change: &mut dyn FnMut(&mut LedgerLine) -> Option<()>| {
        let line = lines.get_mut(&(account.clone(), asset.clone()));
        change(line.ok_or_else(|| InvalidProposal::BalanceNotRead(account.clone()))?).ok_or(InvalidProposal::Overflow)
    };
    for transfer in &changes.transfers {
        let (asset, amount) = (&transfer.asset, transfer.amount);
        line(&transfer.debit, asset, &mut |line| line.delta.checked_sub(amount).map(|delta| line.delta = delta))?;
        line(&transfer.credit, asset, &mut |line| line.delta.checked_add(amount).map(|delta| line.delta = delta))?;
    }
    for bound in &changes.bounds {
        line(&bound.account, &bound.asset, &mut |line| {
            line.at_least = line.at_least.max(bound.at_least);
            line.at_most = [line.at_most, bound.at_most].into_iter().flatten().min();
            Some(())
        })?;
    }
    Ok(lines.into_values().collect())
}

fn writes(changes: &ChangeSet) -> Vec<(Key, Content)> {
    let mut writes = Vec::with_capacity(changes.records.len() + changes.uniques.len() + 2);
    for record in &changes.records {
        writes.push((key(changes, Space::Record(record.collection.clone()), &record.id), content(record)));
    }
    for slot in &changes.uniques {
        writes.push((slot.key.clone(), slot.owner.clone().map_or(Content::Absent, Content::Slot)));
    }
    let guards = changes.guards.iter().map(|name| (Space::Guard, name));
    let accounts = changes.accounts_opened.iter().map(|name| (Space::Account, name));
    let transfers = changes.transfers.iter().map(|transfer| (Space::Transfer, &transfer.id));
    for (space, name) in guards.chain(accounts).chain(transfers) {
        writes.push((key(changes, space, name), Content::Mark));
    }
    if let Some(record) = &changes.idempotency_record {
        let content = Content::IdempotencyRecord { fingerprint: record.fingerprint, sealed: record.sealed.clone() };
        writes.push((key(changes, Space::IdempotencyRecord, &record.name), content));
    }
    writes
}

fn key(changes: &ChangeSet, space: Space, name: &Arc<str>) -> Key {
    Key { scope: changes.scope.clone(), space, name: name.clone() }
}

/// Returns the content of a record write. Its version is assigned on acceptance.
fn content(write: &RecordWrite) -> Content {
    match &write.after {
        None => Content::Absent,
        Some(after) => Content::Record(Record {
            version: 0,
            data_version: after.data_version,
            body: after.body.clone(),
            created_at: after.created_at,
            updated_at: after.updated_at,
        }),
    }
}
