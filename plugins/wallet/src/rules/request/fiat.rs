//! Payouts in fiat money: verifying an account, asking for a quote, executing (spec/wallet: withdraw/fiat).

use super::Context;
use super::reader::{ASSET_ID, Reader};
use crate::rules::amount::Money;
use crate::rules::compliance::Currency;
use crate::rules::invalid::Field;
use crate::rules::limits::{IDENTIFIER_CHARS_MAX, REFERENCE_CHARS_MAX};
use crate::rules::payout::BankAccount;
use crate::rules::refusal::Refusal;

/// As it was sent; the account alone when it is verified.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    pub asset_id: Option<String>,
    pub amount: Option<String>,
    pub currency: Option<String>,
    pub account_identifier: Option<String>,
    pub institution_identifier: Option<String>,
    pub quote_id: Option<String>,
    pub reference: Option<String>,
    pub metadata: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Payout {
    pub money: Money,
    pub account: BankAccount,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Execution {
    pub payout: Payout,
    pub quote_id: String,
    pub reference: Option<String>,
    pub metadata: Option<String>,
}

pub fn read_account(raw: &Raw) -> Result<BankAccount, Refusal> {
    let mut reader = Reader::default();
    let account = account(&mut reader, raw);
    reader.finish(account)
}

pub fn read_quote(raw: &Raw, context: &Context) -> Result<Payout, Refusal> {
    let mut reader = Reader::default();
    let payout = payout(&mut reader, raw, context);
    reader.finish(payout)
}

pub fn read_execution(raw: &Raw, context: &Context) -> Result<Execution, Refusal> {
    let mut reader = Reader::default();
    let payout = payout(&mut reader, raw, context);
    let quote_id = reader.required_text(Field("quote_id"), &raw.quote_id, IDENTIFIER_CHARS_MAX);
    let reference = reader.text(Field("reference"), &raw.reference, REFERENCE_CHARS_MAX);
    let metadata = reader.metadata(&raw.metadata);
    let made = payout.zip(quote_id);
    reader.finish(made.map(|(payout, quote_id)| Execution { payout, quote_id, reference, metadata }))
}

fn payout(reader: &mut Reader, raw: &Raw, context: &Context) -> Option<Payout> {
    let asset = reader.asset(ASSET_ID, &raw.asset_id, context);
    let money = reader.money(&raw.amount, asset);
    let (money, account) = (money, account(reader, raw));
    Some(Payout { money: money?, account: account? })
}

fn account(reader: &mut Reader, raw: &Raw) -> Option<BankAccount> {
    const CURRENCY: Field = Field("currency");
    let currency = reader.required(CURRENCY, &raw.currency).is_some();
    let currency =
        currency.then(|| reader.choice(CURRENCY, &raw.currency, &Currency::CODES, Currency::of_code)).flatten();
    let (account_field, institution_field) = (Field("account_identifier"), Field("institution_identifier"));
    let account = reader.required_text(account_field, &raw.account_identifier, IDENTIFIER_CHARS_MAX);
    let institution = reader.required_text(institution_field, &raw.institution_identifier, IDENTIFIER_CHARS_MAX);
    Some(BankAccount { currency: currency?, institution_identifier: institution?, account_identifier: account? })
}

#[cfg(test)]
mod tests {
    use super::super::samples::{context, some, wrong};
    use super::*;

    fn raw() -> Raw {
        Raw {
            asset_id: some("usdc"),
            amount: some("20"),
            currency: some("NGN"),
            account_identifier: some("0123456789"),
            institution_identifier: some("OPAYNGPC"),
            quote_id: some("q1"),
            ..Raw::default()
        }
    }

    #[test]
    fn a_payout_names_money_account_and_quote() {
        assert_eq!(wrong(read_execution(&raw(), &context())), "");
        assert_eq!(
            wrong(read_execution(&Raw::default(), &context())),
            "asset_id required, amount required, currency required, account_identifier required, \
             institution_identifier required, quote_id required"
        );
        assert_eq!(wrong(read_quote(&Raw { quote_id: None, ..raw() }, &context())), "");
        assert_eq!(wrong(read_account(&Raw { asset_id: None, amount: None, ..raw() })), "");
    }

    #[test]
    fn a_currency_is_one_of_six() {
        for currency in ["USD", "ngn"] {
            let raw = Raw { currency: some(currency), ..raw() };
            assert_eq!(wrong(read_account(&raw)), "currency one_of", "{currency}");
        }
    }
}
