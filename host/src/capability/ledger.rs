//! `ledger`: double-entry accounts. Amounts are whole minor units: decimal digits in the contract, integers in the
//! host.

use ethnum::I256;
use tenon_bindings::tenon::plugin::ledger::{self as wit, Host};

use super::trap;
use crate::{
    capability::CallState,
    changes::change_set::Transfer,
    commit::draft::LedgerError,
    limits::{AMOUNT_DIGITS_MAX, TRANSFERS_MAX},
};

impl Host for CallState {
    async fn open_external(&mut self, account: String) -> wasmtime::Result<()> {
        let wait_started = self.meter(account.len())?;
        let done = self.draft().open_external(&account).await.map_err(trap);
        self.end_wait(wait_started).await;
        done
    }

    async fn balance(&mut self, account: String, asset: String) -> wasmtime::Result<String> {
        let wait_started = self.meter(account.len() + asset.len())?;
        let answer = self.draft().balance(&account, &asset).await.map_err(trap);
        self.end_wait(wait_started).await;
        Ok(answer?.to_string())
    }

    async fn balances(&mut self, account: String) -> wasmtime::Result<Vec<wit::Holding>> {
        let wait_started = self.meter(account.len())?;
        let holdings = self.draft().balances(&account).await.map_err(trap)?;
        self.end_wait(wait_started).await;
        Ok(holdings
            .into_iter()
            .map(|(asset, amount)| wit::Holding { asset: asset.to_string(), amount: amount.to_string() })
            .collect())
    }

    async fn post(&mut self, transfers: Vec<wit::Transfer>) -> wasmtime::Result<Result<(), wit::Refusal>> {
        let bytes = transfers.iter().map(|transfer| {
            transfer.id.len()
                + transfer.debit.len()
                + transfer.credit.len()
                + transfer.asset.len()
                + transfer.memo.len()
        });
        self.count(bytes.sum())?;
        if transfers.len() > TRANSFERS_MAX {
            wasmtime::bail!("post takes at most {TRANSFERS_MAX} transfers, not {}", transfers.len());
        }
        let mut postings = Vec::with_capacity(transfers.len());
        for transfer in transfers {
            let Some(amount) = parse_amount(&transfer.amount).filter(|amount| *amount > I256::ZERO) else {
                return Ok(Err(wit::Refusal::Malformed(format!(
                    "transfer {:?}: the amount must be 1 to {AMOUNT_DIGITS_MAX} digits and above zero",
                    transfer.id
                ))));
            };
            postings.push(Transfer {
                id: transfer.id.into(),
                debit: transfer.debit.into(),
                credit: transfer.credit.into(),
                asset: transfer.asset.into(),
                amount,
                memo: transfer.memo.into(),
            });
        }
        let wait_started = self.begin_wait();
        let answer = self.draft().post(postings).await.map_err(trap);
        self.end_wait(wait_started).await;
        Ok(answer?.map_err(refusal))
    }

    async fn require(
        &mut self,
        account: String,
        asset: String,
        at_least: Option<String>,
        at_most: Option<String>,
    ) -> wasmtime::Result<()> {
        let wait_started = self.meter(account.len() + asset.len())?;
        let at_least = at_least.as_deref().map(bound).transpose()?;
        let at_most = at_most.as_deref().map(bound).transpose()?;
        let done = self.draft().require(&account, &asset, at_least, at_most).await.map_err(trap);
        self.end_wait(wait_started).await;
        done
    }
}

fn refusal(error: LedgerError) -> wit::Refusal {
    match error {
        LedgerError::Insufficient(account) => wit::Refusal::Insufficient(account.to_string()),
        LedgerError::Malformed(reason) => wit::Refusal::Malformed(reason),
        LedgerError::AlreadyPosted(id) => wit::Refusal::AlreadyPosted(id.to_string()),
        LedgerError::TooLarge => wit::Refusal::Other("the amount is beyond 256 bits".to_owned()),
    }
}

/// Parses digits without sign, space or decimal point. Leading zeros are allowed.
fn parse_amount(text: &str) -> Option<I256> {
    let digits = (1..=AMOUNT_DIGITS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// Parses a bound, which may be negative like the balance of an external account.
fn bound(text: &str) -> wasmtime::Result<I256> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    match parse_amount(digits) {
        Some(amount) => Ok(if negative { -amount } else { amount }),
        None => wasmtime::bail!("require takes bounds of 1 to {AMOUNT_DIGITS_MAX} digits, not {text:?}"),
    }
}
