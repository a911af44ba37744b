//! What one transaction would change in the books, tried before any of it is written.
//!
//! Invariant: a draft that failed has changed nothing but the fee that it began with.

use std::collections::BTreeMap;

use ethnum::U256;

use super::{
    books::Books,
    plan::{Effect, Plan},
    store::StoreError,
};
use crate::Movement;

/// Address and token.
type Account = (String, Option<String>);

pub(super) struct Draft<'b, 'c> {
    books: &'b mut Books<'c>,
    sender: String,
    balances: BTreeMap<Account, U256>,
    /// Account, owner, token.
    opened: Vec<(String, String, String)>,
    movements: Vec<Movement>,
    fee: U256,
}

/// What came of it.
pub(super) struct Outcome {
    pub done: bool,
    pub fee: U256,
    pub movements: Vec<Movement>,
    pub balances: BTreeMap<Account, U256>,
    pub opened: Vec<(String, String, String)>,
}

/// Why a transaction fails on the chain.
enum Stop {
    Fails,
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Stop {
        Stop::Store(error)
    }
}

/// Tries what this sender wants, who has `coins`, at least the fee. `faucet` is what gives out of nothing.
pub(super) async fn try_plan(
    books: &mut Books<'_>,
    (sender, coins): (&str, U256),
    plan: &Plan,
    fails: bool,
    faucet: &str,
) -> Result<Outcome, StoreError> {
    let burnt = coins.saturating_sub(plan.fee);
    let own = (sender.to_owned(), None);
    let mut draft = Draft {
        books,
        sender: sender.to_owned(),
        balances: BTreeMap::from([(own.clone(), burnt)]),
        opened: Vec::new(),
        movements: Vec::new(),
        fee: plan.fee,
    };
    let result = match fails || plan.fails {
        true => Err(Stop::Fails),
        false => draft.apply(&plan.effects, faucet).await,
    };
    match result {
        Ok(()) => {
            let Draft { fee, movements, balances, opened, .. } = draft;
            Ok(Outcome { done: true, fee, movements, balances, opened })
        }
        Err(Stop::Fails) => {
            let balances = BTreeMap::from([(own, burnt)]);
            Ok(Outcome { done: false, fee: plan.fee, movements: Vec::new(), balances, opened: Vec::new() })
        }
        Err(Stop::Store(error)) => Err(error),
    }
}

impl Draft<'_, '_> {
    async fn apply(&mut self, effects: &[Effect], faucet: &str) -> Result<(), Stop> {
        for effect in effects {
            match effect {
                Effect::Move { token, recipient, amount } => {
                    self.pay(token.as_deref(), recipient, *amount).await?;
                }
                Effect::Give { token, recipient, amount } => {
                    self.add(recipient, token.as_deref(), *amount).await?;
                    self.note(faucet, recipient, token.as_deref(), *amount);
                }
                Effect::Open { account, owner, token, rent } => self.open(account, (owner, token), *rent).await?,
                Effect::MoveToAccount { token, account, amount } => {
                    let (owner, holds) = self.account(account).await?.ok_or(Stop::Fails)?;
                    if holds != *token {
                        return Err(Stop::Fails);
                    }
                    self.pay(Some(token), &owner, *amount).await?;
                }
            }
        }
        Ok(())
    }

    async fn pay(&mut self, token: Option<&str>, recipient: &str, amount: U256) -> Result<(), Stop> {
        let sender = self.sender.clone();
        let held = self.balance(&sender, token).await?;
        let left = held.checked_sub(amount).ok_or(Stop::Fails)?;
        self.set(&sender, token, left);
        self.add(recipient, token, amount).await?;
        if amount > 0 {
            self.note(&sender, recipient, token, amount);
        }
        Ok(())
    }

    async fn add(&mut self, recipient: &str, token: Option<&str>, amount: U256) -> Result<(), Stop> {
        let held = self.balance(recipient, token).await?;
        let sum = held.checked_add(amount).ok_or(Stop::Fails)?;
        self.set(recipient, token, sum);
        Ok(())
    }

    /// The rent is a part of what the transaction costs.
    async fn open(&mut self, account: &str, (owner, token): (&str, &str), rent: u64) -> Result<(), Stop> {
        if self.account(account).await?.is_some() {
            return Ok(());
        }
        let sender = self.sender.clone();
        let left = self.balance(&sender, None).await?.checked_sub(rent.into()).ok_or(Stop::Fails)?;
        self.set(&sender, None, left);
        self.fee = self.fee.saturating_add(rent.into());
        self.opened.push((account.to_owned(), owner.to_owned(), token.to_owned()));
        Ok(())
    }

    async fn account(&mut self, account: &str) -> Result<Option<(String, String)>, Stop> {
        let opened = self.opened.iter().find(|(name, ..)| name == account);
        match opened {
            Some((_, owner, token)) => Ok(Some((owner.clone(), token.clone()))),
            None => Ok(self.books.account(account).await?),
        }
    }

    async fn balance(&mut self, address: &str, token: Option<&str>) -> Result<U256, Stop> {
        match self.balances.get(&(address.to_owned(), token.map(str::to_owned))) {
            Some(held) => Ok(*held),
            None => Ok(self.books.balance(address, token).await?),
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
