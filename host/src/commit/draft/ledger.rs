//! Accounts, balances, transfers, bounds. Amounts are whole minor units, and all arithmetic is checked.

use std::sync::Arc;

use ethnum::I256;
use indexmap::{IndexMap, IndexSet};

use super::{Draft, DraftError, check_name, misuse};
use crate::changes::change_set::{BalanceRead, Bound, ChangeSet, Key, Space, Transfer};
use crate::changes::scope::Scope;
use crate::commit::overlay::Content;
use crate::limits::{KEY_BYTES_MAX, MEMO_BYTES_MAX};

/// An expected error of a transfer, which the plugin can handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerError {
    /// Names the account.
    Insufficient(Arc<str>),
    Malformed(String),
    /// Names the transfer.
    AlreadyPosted(Arc<str>),
    /// An amount beyond 256 bits.
    TooLarge,
}

/// Account and asset.
type BalanceId = (Arc<str>, Arc<str>);

/// A balance in the view of the call.
struct Line {
    /// Balance when the call first read it.
    read: I256,
    /// Change by this call.
    delta: I256,
    external: bool,
}

impl Line {
    /// Returns the balance after this call, or `None` beyond 256 bits.
    fn now(&self) -> Option<I256> {
        self.read.checked_add(self.delta)
    }
}

#[derive(Default)]
pub(super) struct LedgerDraft {
    lines: IndexMap<BalanceId, Line>,
    opened: IndexSet<Arc<str>>,
    transfers: IndexMap<Arc<str>, Transfer>,
    bounds: Vec<Bound>,
}

impl LedgerDraft {
    pub(super) fn len(&self) -> usize {
        self.lines.len() + self.transfers.len() + self.bounds.len()
    }

    pub(super) fn into_change_set(self, set: &mut ChangeSet) {
        set.accounts_opened = self.opened.into_iter().collect();
        set.balances = self.lines.into_iter().map(balance_read).collect();
        set.transfers = self.transfers.into_values().collect();
        set.bounds = self.bounds;
    }

    /// Returns the total change by this call, including these transfers, of each balance that they change. `None`
    /// beyond 256 bits.
    fn deltas(&self, transfers: &[Transfer]) -> Option<IndexMap<BalanceId, I256>> {
        let mut deltas: IndexMap<BalanceId, I256> = IndexMap::new();
        for transfer in transfers {
            let negative = transfer.amount.checked_neg()?;
            for (account, amount) in [(&transfer.debit, negative), (&transfer.credit, transfer.amount)] {
                let id = (account.clone(), transfer.asset.clone());
                let own = self.lines.get(&id).map_or(I256::ZERO, |line| line.delta);
                let delta = deltas.entry(id).or_insert(own);
                *delta = delta.checked_add(amount)?;
            }
        }
        Some(deltas)
    }

    /// Checks that these changes overdraw no account, and that no balance exceeds 256 bits. Does not check `bounds`.
    fn check(&self, deltas: &IndexMap<BalanceId, I256>) -> Result<(), LedgerError> {
        for (id, delta) in deltas {
            let Some(line) = self.lines.get(id) else { continue };
            let after = line.read.checked_add(*delta).ok_or(LedgerError::TooLarge)?;
            if *delta < I256::ZERO && after < I256::ZERO && !line.external {
                return Err(LedgerError::Insufficient(id.0.clone()));
            }
        }
        Ok(())
    }
}

fn balance_read((id, line): (BalanceId, Line)) -> BalanceRead {
    let (account, asset) = id;
    BalanceRead { account, asset, amount: line.read, external: line.external }
}

impl Draft {
    /// Opens an external account, whose balances may go below zero from now on.
    pub async fn open_external(&mut self, account: &str) -> Result<(), DraftError> {
        let scope = self.scope()?;
        check_name("the name of an account", account)?;
        let account: Arc<str> = Arc::from(account);
        if self.is_external(&scope, &account).await? {
            return Ok(());
        }
        for ((name, _), line) in &mut self.ledger.lines {
            line.external |= *name == account;
        }
        self.ledger.opened.insert(account);
        Ok(())
    }

    /// Returns the balance, including transfers of this call. Other calls may post to it before this call commits.
    pub async fn balance(&mut self, account: &str, asset: &str) -> Result<I256, DraftError> {
        check_name("the name of an account", account)?;
        check_name("the name of an asset", asset)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(I256::ZERO) };
        let id = (Arc::from(account), Arc::from(asset));
        self.load_line(&scope, &id).await?;
        let now = self.ledger.lines.get(&id).and_then(Line::now);
        now.ok_or_else(|| misuse("a balance exceeds 256 bits"))
    }

    /// Returns (asset, amount) of each asset that was ever posted to the account, including by transfers of this
    /// call, sorted by asset.
    pub async fn balances(&mut self, account: &str) -> Result<Vec<(Arc<str>, I256)>, DraftError> {
        check_name("the name of an account", account)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(Vec::new()) };
        self.running.shared.settle_all().await;
        let stored = self.database().list_balances(&scope, account).await?;
        let mut assets: IndexSet<Arc<str>> = stored.into_iter().map(|(asset, _)| asset).collect();
        let posts = |transfer: &&Transfer| *transfer.debit == *account || *transfer.credit == *account;
        assets.extend(self.ledger.transfers.values().filter(posts).map(|transfer| transfer.asset.clone()));
        assets.sort();
        let mut balances = Vec::with_capacity(assets.len());
        for asset in assets {
            let amount = self.balance(account, &asset).await?;
            balances.push((asset, amount));
        }
        Ok(balances)
    }

    /// Posts all transfers or none.
    pub async fn post(&mut self, transfers: Vec<Transfer>) -> Result<Result<(), LedgerError>, DraftError> {
        let scope = self.scope()?;
        for (position, transfer) in transfers.iter().enumerate() {
            if let Err(sentence) = check_transfer(transfer) {
                return Ok(Err(LedgerError::Malformed(sentence)));
            }
            let earlier = transfers.iter().take(position).any(|other| other.id == transfer.id);
            if earlier || self.is_posted(&scope, &transfer.id).await? {
                return Ok(Err(LedgerError::AlreadyPosted(transfer.id.clone())));
            }
            self.load_account(&scope, &transfer.debit, &transfer.asset).await?;
            self.load_line(&scope, &(transfer.credit.clone(), transfer.asset.clone())).await?;
        }
        let Some(deltas) = self.ledger.deltas(&transfers) else { return Ok(Err(LedgerError::TooLarge)) };
        if let Err(error) = self.ledger.check(&deltas) {
            return Ok(Err(error));
        }
        self.collect(transfers.iter().map(|transfer| transfer.memo.len() + transfer.id.len()).sum())?;
        for (id, delta) in deltas {
            if let Some(line) = self.ledger.lines.get_mut(&id) {
                line.delta = delta;
            }
        }
        self.ledger.transfers.extend(transfers.into_iter().map(|transfer| (transfer.id.clone(), transfer)));
        Ok(Ok(()))
    }

    /// Requires that the balance after this call is within these bounds. Otherwise the call does not commit.
    pub async fn require(
        &mut self,
        account: &str,
        asset: &str,
        at_least: Option<I256>,
        at_most: Option<I256>,
    ) -> Result<(), DraftError> {
        let scope = self.scope()?;
        check_name("the name of an account", account)?;
        check_name("the name of an asset", asset)?;
        let (account, asset): BalanceId = (Arc::from(account), Arc::from(asset));
        self.load_line(&scope, &(account.clone(), asset.clone())).await?;
        self.ledger.bounds.push(Bound { account, asset, at_least, at_most });
        Ok(())
    }

    async fn load_line(&mut self, scope: &Scope, id: &BalanceId) -> Result<(), DraftError> {
        if self.ledger.lines.contains_key(id) {
            return Ok(());
        }
        let (account, asset) = id;
        let key = Key { scope: scope.clone(), space: Space::Balance(asset.clone()), name: account.clone() };
        let seen = match self.running.shared.get(&key) {
            Some(seen) => seen,
            None => {
                let found = self.database().find_balance(scope, account, asset).await?.unwrap_or(I256::ZERO);
                self.running.shared.fill(&self.running.began, &key, 0, Content::Balance(found))
            }
        };
        self.waits_for = self.waits_for.max(seen.waits_for);
        let read = match seen.content {
            Content::Balance(amount) => amount,
            _ => I256::ZERO,
        };
        let external = self.ledger.opened.contains(account);
        self.ledger.lines.insert(id.clone(), Line { read, delta: I256::ZERO, external });
        Ok(())
    }

    /// Loads the balance of an account that is debited, and whether it may go below zero.
    async fn load_account(&mut self, scope: &Scope, account: &Arc<str>, asset: &Arc<str>) -> Result<(), DraftError> {
        let id = (account.clone(), asset.clone());
        self.load_line(scope, &id).await?;
        let external = self.is_external(scope, account).await?;
        if let Some(line) = self.ledger.lines.get_mut(&id) {
            line.external = external;
        }
        Ok(())
    }

    async fn is_external(&mut self, scope: &Scope, account: &Arc<str>) -> Result<bool, DraftError> {
        if self.ledger.opened.contains(account) {
            return Ok(true);
        }
        let key = Key { scope: scope.clone(), space: Space::Account, name: account.clone() };
        let content = match self.find_cached(&key)? {
            Some(content) => content,
            None => {
                let found = self.database().find_account(scope, account).await?;
                let found = found.filter(|row| row.external).map(|row| (row.version, Content::Mark));
                self.cache(key, found)?
            }
        };
        Ok(content == Content::Mark)
    }

    async fn is_posted(&mut self, scope: &Scope, id: &Arc<str>) -> Result<bool, DraftError> {
        if self.ledger.transfers.contains_key(id) {
            return Ok(true);
        }
        let key = Key { scope: scope.clone(), space: Space::Transfer, name: id.clone() };
        let content = match self.find_cached(&key)? {
            Some(content) => content,
            None => {
                let found = self.database().find_transfer(scope, id).await?;
                self.cache(key, found.map(|version| (version, Content::Mark)))?
            }
        };
        Ok(content == Content::Mark)
    }
}

fn check_transfer(transfer: &Transfer) -> Result<(), String> {
    let Transfer { id, debit, credit, asset, amount, memo } = transfer;
    for (what, name) in [("id", id), ("debit", debit), ("credit", credit), ("asset", asset)] {
        if name.is_empty() || name.len() > KEY_BYTES_MAX || name.contains('\0') {
            return Err(format!("{what} must have 1 to {KEY_BYTES_MAX} bytes and no NUL"));
        }
    }
    if *amount <= I256::ZERO {
        return Err("amount must be above zero".to_owned());
    }
    if debit == credit {
        return Err("debit and credit must be two accounts".to_owned());
    }
    if memo.len() > MEMO_BYTES_MAX || memo.contains('\0') {
        return Err(format!("memo must have at most {MEMO_BYTES_MAX} bytes and no NUL"));
    }
    Ok(())
}
