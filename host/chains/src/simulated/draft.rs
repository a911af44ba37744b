//! Changes of one transaction to the ledger, computed before any of them is written.
//!
//! Invariant: a draft that failed changes nothing but the fee.

use std::collections::BTreeMap;

use ethnum::U256;

use super::{
    ledger::Ledger,
    plan::{Effect, Plan},
    store::StoreError,
};
use crate::Movement;

/// Address and token.
type Account = (String, Option<String>);

pub(super) struct Draft<'b, 'c> {
    ledger: &'b mut Ledger<'c>,
    sender: String,
    balances: BTreeMap<Account, U256>,
    /// Account, owner, token.
    opened: Vec<(String, String, String)>,
    movements: Vec<Movement>,
    fee: U256,
}

/// Result of applying a plan.
pub(super) struct Outcome {
    pub done: bool,
    pub fee: U256,
    pub movements: Vec<Movement>,
    pub balances: BTreeMap<Account, U256>,
    pub opened: Vec<(String, String, String)>,
}

/// Why a plan was not applied.
enum ApplyError {
    /// The transaction fails on the chain.
    Failed,
    Store(StoreError),
}

impl From<StoreError> for ApplyError {
    fn from(error: StoreError) -> ApplyError {
        ApplyError::Store(error)
    }
}

/// Applies a plan of a sender that has `coins`, which is at least the fee. `faucet` is the sender of minted amounts.
pub(super) async fn try_plan(
    ledger: &mut Ledger<'_>,
    (sender, coins): (&str, U256),
    plan: &Plan,
    fails: bool,
    faucet: &str,
) -> Result<Outcome, StoreError> {
    let burnt = coins.saturating_sub(plan.fee);
    let own = (sender.to_owned(), None);
    let mut draft = Draft {
        ledger,
        sender: sender.to_owned(),
        balances: BTreeMap::from([(own.clone(), burnt)]),
        opened: Vec::new(),
        movements: Vec::new(),
        fee: plan.fee,
    };
    let result = match fails || plan.fails {
        true => Err(ApplyError::Failed),
        false => draft.apply(&plan.effects, faucet).await,
    };
    match result {
        Ok(()) => {
            let Draft { fee, movements, balances, opened, .. } = draft;
            Ok(Outcome { done: true, fee, movements, balances, opened })
        }
        Err(ApplyError::Failed) => {
            let balances = BTreeMap::from([(own, burnt)]);
            Ok(Outcome { done: false, fee: plan.fee, movements: Vec::new(), balances, opened: Vec::new() })
        }
        Err(ApplyError::Store(error)) => Err(error),
    }
}

impl Draft<'_, '_> {
    async fn apply(&mut self, effects: &[Effect], faucet: &str) -> Result<(), ApplyError> {
        for effect in effects {
            match effect {
                Effect::Move { token, recipient, amount } => {
                    self.pay(token.as_deref(), recipient, *amount).await?;
                }
                Effect::Mint { token, recipient, amount } => {
                    self.add(recipient, token.as_deref(), *amount).await?;
                    self.note(faucet, recipient, token.as_deref(), *amount);
                }
                Effect::Open { account, owner, token, rent } => self.open(account, (owner, token), *rent).await?,
                Effect::MoveToAccount { token, account, amount } => {
                    let (owner, holds) = self.account(account).await?.ok_or(ApplyError::Failed)?;
                    if holds != *token {
                        return Err(ApplyError::Failed);
                    }
                    self.pay(Some(token), &owner, *amount).await?;
                }
            }
        }
        Ok(())
    }

    async fn pay(&mut self, token: Option<&str>, recipient: &str, amount: U256) -> Result<(), ApplyError> {
        let sender = self.sender.clone();
        let held = self.balance(&sender, token).await?;
        let left = held.checked_sub(amount).ok_or(ApplyError::Failed)?;
        self.set(&sender, token, left);
        self.add(recipient, token, amount).await?;
        if amount > 0 {
            self.note(&sender, recipient, token, amount);
        }
        Ok(())
    }

    async fn add(&mut self, recipient: &str, token: Option<&str>, amount: U256) -> Result<(), ApplyError> {
        let held = self.balance(recipient, token).await?;
        let sum = held.checked_add(amount).ok_or(ApplyError::Failed)?;
        self.set(recipient, token, sum);
        Ok(())
    }

    /// Opens a token account if it is missing. Its rent is added to the transaction's fee.
    async fn open(&mut self, account: &str, (owner, token): (&str, &str), rent: u64) -> Result<(), ApplyError> {
        if self.account(account).await?.is_some() {
            return Ok(());
        }
        let sender = self.sender.clone();
        let left = self.balance(&sender, None).await?.checked_sub(rent.into()).ok_or(ApplyError::Failed)?;
        self.set(&sender, None, left);
        self.fee = self.fee.saturating_add(rent.into());
        self.opened.push((account.to_owned(), owner.to_owned(), token.to_owned()));
        Ok(())
    }

    async fn account(&mut self, account: &str) -> Result<Option<(String, String)>, ApplyError> {
        let opened = self.opened.iter().find(|(name, ..)| name == account);
        match opened {
            Some((_, owner, token)) => Ok(Some((owner.clone(), token.clone()))),
            None => Ok(self.ledger.account(account).await?),
        }
    }

    async fn balance(&mut self, address: &str, token: Option<&str>) -> Result<U256, ApplyError> {
        match self.balances.get(&(address.to_owned(), token.map(str::to_owned))) {
            Some(held) => Ok(*held),
            None => Ok(self.ledger.balance(address, token).await?),
        }
    }

    fn set(&mut self, address: &str, token: Option<&str>, amount: U256) {
        self.balances.insert((address.to_owned(), token.map(str::to_owned)), amount);
    }

    fn note(&mut self, sender: &str, recipient: &str, token: Option<&str>, amount: U256) {
        let position = u32::try_from(self.movements.len()).unwrap_or(u32::MAX);
        let (sender, recipient) = (sender.to_owned(), recipient.to_owned());
        self.movements.push(Movement { position, sender, recipient, token: token.map(str::to_owned), amount });
    }
}
