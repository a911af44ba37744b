//! The ledger as the host keeps it: all or none, no posting twice, nobody but the outside below zero.

use std::collections::{BTreeMap, BTreeSet};

use crate::rules::amount::Units;
use crate::rules::asset::Asset;
use crate::rules::books::{Account, Holder, Posting};

#[derive(Default)]
pub struct Books {
    pub balances: BTreeMap<(Account, Asset), i128>,
    posted: BTreeSet<String>,
}

pub fn number(units: Units) -> i128 {
    units.to_digits().parse().unwrap()
}

impl Books {
    /// The name of the account that has too little. A posting that was made before is a mistake of the rules.
    pub fn post(&mut self, postings: &[Posting]) -> Result<(), String> {
        let mut changed: BTreeMap<(Account, Asset), i128> = BTreeMap::new();
        for posting in postings {
            for (account, sign) in [(&posting.debit, -1), (&posting.credit, 1)] {
                let key = (account.clone(), posting.asset);
                let before = self.balances.get(&key).copied().unwrap_or_default();
                *changed.entry(key).or_insert(before) += sign * number(posting.units);
            }
        }
        let short = changed.iter().find(|((account, _), units)| **units < 0 && !account.may_go_below_zero());
        if let Some(((account, _), _)) = short {
            return Err(account.name());
        }
        for posting in postings {
            assert!(self.posted.insert(posting.id()), "posted twice: {posting:?}");
        }
        self.balances.extend(changed);
        Ok(())
    }

    pub fn available(&self, holder: &Holder, asset: Asset) -> u64 {
        let units = self.balances.get(&(Account::Available(holder.clone()), asset)).copied().unwrap_or_default();
        u64::try_from(units).unwrap()
    }
}
