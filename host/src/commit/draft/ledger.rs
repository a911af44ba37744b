//! Accounts, balances, transfers, bounds. Amounts are whole minor units; every step is checked.

use std::sync::Arc;

use ethnum::I256;
use indexmap::{IndexMap, IndexSet};

use super::{Draft, DraftError, check_name, misuse};
use crate::changes::change_set::{BalanceRead, Bound, ChangeSet, Key, Space, Transfer};
use crate::changes::scope::Scope;
use crate::commit::overlay::Content;
use crate::limits::{KEY_BYTES_MAX, MEMO_BYTES_MAX};

/// A business "no" that the plugin can handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LedgerRefusal {
    /// Names the account.
    Insufficient(Arc<str>),
    Malformed(String),
    /// Names the transfer.
    AlreadyPosted(Arc<str>),
    /// An amount beyond 256 bits.
    TooLarge,
}

/// Account and asset.
type Place = (Arc<str>, Arc<str>);

/// One balance as the call sees it.
struct Line {
    /// What stood there when the call first looked.
    read: I256,
    /// What this call adds.
    delta: I256,
    external: bool,
}

impl Line {
    /// `None` beyond 256 bits.
    fn now(&self) -> Option<I256> {
        self.read.checked_add(self.delta)
    }
}

#[derive(Default)]
pub(super) struct Books {
    lines: IndexMap<Place, Line>,
    opened: IndexSet<Arc<str>>,
    transfers: IndexMap<Arc<str>, Transfer>,
    bounds: Vec<Bound>,
}

impl Books {
    pub(super) fn len(&self) -> usize {
        self.lines.len() + self.transfers.len() + self.bounds.len()
    }

    pub(super) fn into_change_set(self, set: &mut ChangeSet) {
        set.accounts_opened = self.opened.into_iter().collect();
        set.balances = self.lines.into_iter().map(balance_read).collect();
        set.transfers = self.transfers.into_values().collect();
        set.bounds = self.bounds;
    }

    /// What each line would gain from these transfers, by its place.
    fn deltas(&self, transfers: &[Transfer]) -> Option<IndexMap<Place, I256>> {
        let mut deltas: IndexMap<Place, I256> = IndexMap::new();
        for transfer in transfers {
            let negative = transfer.amount.checked_neg()?;
            for (account, amount) in [(&transfer.debit, negative), (&transfer.credit, transfer.amount)] {
                let place = (account.clone(), transfer.asset.clone());
                let own = self.lines.get(&place).map_or(I256::ZERO, |line| line.delta);
                let delta = deltas.entry(place).or_insert(own);
                *delta = delta.checked_add(amount)?;
            }
        }
        Some(deltas)
    }

    /// Whether every balance may be what these deltas make of it.
    fn check(&self, deltas: &IndexMap<Place, I256>) -> Result<(), LedgerRefusal> {
        for (place, delta) in deltas {
            let Some(line) = self.lines.get(place) else { continue };
            let after = line.read.checked_add(*delta).ok_or(LedgerRefusal::TooLarge)?;
            if *delta < I256::ZERO && after < I256::ZERO && !line.external {
                return Err(LedgerRefusal::Insufficient(place.0.clone()));
            }
        }
        Ok(())
    }
}

fn balance_read((place, line): (Place, Line)) -> BalanceRead {
    let (account, asset) = place;
    BalanceRead { account, asset, amount: line.read, external: line.external }
}

impl Draft {
    /// From now on the account may go below zero: the other side of the books.
    pub async fn open_external(&mut self, account: &str) -> Result<(), DraftError> {
        let scope = self.scope()?;
        check_name("the name of an account", account)?;
        let account: Arc<str> = Arc::from(account);
        if self.is_external(&scope, &account).await? {
            return Ok(());
        }
        for ((name, _), line) in &mut self.books.lines {
            line.external |= *name == account;
        }
        self.books.opened.insert(account);
        Ok(())
    }

    /// With what this call posted; a hint, others may post before this call commits.
    pub async fn balance(&mut self, account: &str, asset: &str) -> Result<I256, DraftError> {
        check_name("the name of an account", account)?;
        check_name("the name of an asset", asset)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(I256::ZERO) };
        let place = (Arc::from(account), Arc::from(asset));
        self.load_line(&scope, &place).await?;
        let now = self.books.lines.get(&place).and_then(Line::now);
        now.ok_or_else(|| misuse("a balance beyond 256 bits"))
    }

    /// (asset, amount) of everything that was ever posted to the account, sorted by asset.
    pub async fn balances(&mut self, account: &str) -> Result<Vec<(Arc<str>, I256)>, DraftError> {
        check_name("the name of an account", account)?;
        let Some(scope) = self.call.scope.clone() else { return Ok(Vec::new()) };
        self.running.shared.settle_all().await;
        let stored = self.database().list_balances(&scope, account).await?;
        let mut assets: IndexSet<Arc<str>> = stored.into_iter().map(|(asset, _)| asset).collect();
        let own = self.books.lines.keys().filter(|(name, _)| &**name == account);
        assets.extend(own.map(|(_, asset)| asset.clone()));
        assets.sort();
        let mut holdings = Vec::with_capacity(assets.len());
        for asset in assets {
            let amount = self.balance(account, &asset).await?;
            holdings.push((asset, amount));
        }
        Ok(holdings)
    }

    /// All or none.
    pub async fn post(&mut self, transfers: Vec<Transfer>) -> Result<Result<(), LedgerRefusal>, DraftError> {
        let scope = self.scope()?;
        for (position, transfer) in transfers.iter().enumerate() {
            if let Err(sentence) = check_transfer(transfer) {
                return Ok(Err(LedgerRefusal::Malformed(sentence)));
            }
            let earlier = transfers.iter().take(position).any(|other| other.id == transfer.id);
            if earlier || self.is_posted(&scope, &transfer.id).await? {
                return Ok(Err(LedgerRefusal::AlreadyPosted(transfer.id.clone())));
            }
            self.load_account(&scope, &transfer.debit, &transfer.asset).await?;
            self.load_line(&scope, &(transfer.credit.clone(), transfer.asset.clone())).await?;
        }
        let Some(deltas) = self.books.deltas(&transfers) else { return Ok(Err(LedgerRefusal::TooLarge)) };
        if let Err(refusal) = self.books.check(&deltas) {
            return Ok(Err(refusal));
        }
        self.collect(transfers.iter().map(|transfer| transfer.memo.len() + transfer.id.len()).sum())?;
        for (place, delta) in deltas {
            if let Some(line) = self.books.lines.get_mut(&place) {
                line.delta = delta;
            }
        }
        self.books.transfers.extend(transfers.into_iter().map(|transfer| (transfer.id.clone(), transfer)));
        Ok(Ok(()))
    }

    /// The balance after this call lies within these bounds, or the call does not commit.
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
        let (account, asset): Place = (Arc::from(account), Arc::from(asset));
        self.load_line(&scope, &(account.clone(), asset.clone())).await?;
        self.books.bounds.push(Bound { account, asset, at_least, at_most });
        Ok(())
    }

    async fn load_line(&mut self, scope: &Scope, place: &Place) -> Result<(), DraftError> {
        if self.books.lines.contains_key(place) {
            return Ok(());
        }
        let (account, asset) = place;
        let key = Key { scope: scope.clone(), space: Space::Balance(asset.clone()), name: account.clone() };
        let seen = match self.running.shared.look(&key) {
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
        let external = self.books.opened.contains(account);
        self.books.lines.insert(place.clone(), Line { read, delta: I256::ZERO, external });
        Ok(())
    }

    /// The line of an account that is debited: whether it may go below zero matters.
    async fn load_account(&mut self, scope: &Scope, account: &Arc<str>, asset: &Arc<str>) -> Result<(), DraftError> {
        let place = (account.clone(), asset.clone());
        self.load_line(scope, &place).await?;
        let external = self.is_external(scope, account).await?;
        if let Some(line) = self.books.lines.get_mut(&place) {
            line.external = external;
        }
        Ok(())
    }

    async fn is_external(&mut self, scope: &Scope, account: &Arc<str>) -> Result<bool, DraftError> {
        if self.books.opened.contains(account) {
            return Ok(true);
        }
        let key = Key { scope: scope.clone(), space: Space::Account, name: account.clone() };
        let content = match self.look(&key)? {
            Some(content) => content,
            None => {
                let found = self.database().find_account(scope, account).await?;
                let found = found.filter(|row| row.external).map(|row| (row.version, Content::Mark));
                self.keep(key, found)?
            }
        };
        Ok(content == Content::Mark)
    }

    async fn is_posted(&mut self, scope: &Scope, id: &Arc<str>) -> Result<bool, DraftError> {
        if self.books.transfers.contains_key(id) {
            return Ok(true);
        }
        let key = Key { scope: scope.clone(), space: Space::Transfer, name: id.clone() };
        let content = match self.look(&key)? {
            Some(content) => content,
            None => {
                let found = self.database().find_transfer(scope, id).await?;
                self.keep(key, found.map(|version| (version, Content::Mark)))?
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
