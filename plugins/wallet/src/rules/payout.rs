//! Payouts in fiat money (spec/wallet: withdraw/fiat): what must be true before one begins, and what it comes to.

use super::amount::{Money, Units};
use super::compliance::{Currency, FormState, check_form};
use super::rate::Rate;
use super::refusal::Refusal;

/// Only together they name an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BankAccount {
    pub currency: Currency,
    pub institution_identifier: String,
    pub account_identifier: String,
}

/// The form of the currency is approved, and this very account was verified.
pub fn check(account: &BankAccount, form: FormState, verified: Option<&BankAccount>) -> Result<(), Refusal> {
    check_form(account.currency, form)?;
    if verified == Some(account) { Ok(()) } else { Err(Refusal::AccountNotVerified) }
}

/// In the smallest unit of the currency, rounded down, after the fee of who pays out. `None` where nothing is left of it.
pub fn amount(money: Money, rate: Rate, currency: Currency, fee: Units) -> Option<Units> {
    let converted = rate.convert(money.units, money.asset.decimals, currency.decimals())?;
    converted.checked_sub(fee).filter(|left| !left.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::asset;
    use crate::rules::blockchain::Blockchain;
    use crate::rules::compliance::Form;

    #[test]
    fn a_payout_needs_an_approved_form_and_its_own_verified_account() {
        let account = |number: &str| BankAccount {
            currency: Currency::Ngn,
            institution_identifier: "OPAYNGPC".into(),
            account_identifier: number.into(),
        };
        let (mine, other) = (account("1"), account("2"));
        assert_eq!(check(&mine, FormState::Approved, Some(&mine)), Ok(()));
        assert_eq!(check(&mine, FormState::Approved, Some(&other)), Err(Refusal::AccountNotVerified));
        assert_eq!(check(&mine, FormState::Approved, None), Err(Refusal::AccountNotVerified));
        let refused = Refusal::NotCompliant { form: Form::NairaOnboarding };
        assert_eq!(check(&mine, FormState::Submitted, Some(&mine)), Err(refused));
    }

    #[test]
    fn a_payout_comes_to_rate_times_amount_less_the_fee() {
        let usdc = asset::find("USDC", Blockchain::Base).unwrap();
        let money = |units| Money::new(usdc, Units::new(units));
        let rate = Rate::parse("1510.25").unwrap();
        let paid = |units, currency, fee| amount(money(units), rate, currency, Units::new(fee));
        assert_eq!(paid(10_000_000, Currency::Ngn, 5_000), Some(Units::new(1_505_250)));
        assert_eq!(paid(10_000_000, Currency::Ugx, 0), Some(Units::new(15_102)), "no decimals, rounded down");
        assert_eq!(paid(10_000_000, Currency::Ngn, 1_510_250), None);
        assert_eq!(paid(10_000_000, Currency::Ngn, 1_510_251), None);
    }
}
