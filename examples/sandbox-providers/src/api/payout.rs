//! /v1/payout…, /v1/payouts: fiat money for coins.

use serde_json::{Map, json};
use tenon_plugin::{Answer, Call, Outcome, Stop, json as text, time};

use super::form::Form;
use crate::intake;
use crate::records::{self, Quote, Terms};
use crate::rules::banks::{self, CURRENCIES, Currency, PAYOUT_ASSETS};
use crate::rules::fate::{self, Fate, Standing};
use crate::rules::limits::{PAYOUT_QUOTE_MS, TEXT_CHARS_MAX};
use crate::rules::order::{Kind, Order, Status};
use crate::rules::payout::{self, Refused};
use crate::words::{self, No};

const ARRIVAL_S: u32 = 60;

pub fn list_currencies(_call: &Call) -> Outcome {
    let currencies: Vec<_> = CURRENCIES
        .iter()
        .map(|currency| {
            json!({
                "currency": currency.code,
                "name": currency.name,
                "decimals": currency.decimals,
                "minimum_amount": currency.minimum,
                "maximum_amount": currency.maximum,
                "assets": PAYOUT_ASSETS,
            })
        })
        .collect();
    Ok(Answer::ok(text::to_text(&json!({ "currencies": currencies }))?))
}

pub fn list_institutions(call: &Call) -> Outcome {
    let currency = banks::find_currency(call.query("currency").unwrap_or_default()).ok_or(No::Currency)?;
    let institutions: Vec<_> = currency
        .institutions
        .iter()
        .map(|one| json!({ "institution_identifier": one.identifier, "name": one.name, "type": one.kind() }))
        .collect();
    Ok(Answer::ok(text::to_text(&json!({ "currency": currency.code, "institutions": institutions }))?))
}

/// What a bank knows of an account: who owns it, and what will become of payouts to it.
struct Account {
    institution: String,
    identifier: String,
    standing: Standing,
}

fn account(form: &Form, currency: &Currency) -> Result<Account, Stop> {
    let (institution, identifier) = (form.short("institution_identifier")?, form.short("account_identifier")?);
    if !banks::is_account_identifier(&identifier) {
        return Err(form.wrong("account_identifier", "may have letters, digits and +-.@_ only"));
    }
    currency.find_institution(&institution).ok_or(No::Institution)?;
    match fate::of_account(&identifier) {
        Standing::Unknown => Err(No::Account.into()),
        Standing::Silent => Err(No::Silent.into()),
        standing => Ok(Account { institution, identifier, standing }),
    }
}

pub fn verify_account(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let currency = banks::find_currency(&form.short("currency")?).ok_or(No::Currency)?;
    let account = account(&form, currency)?;
    Ok(Answer::ok(text::to_text(&json!({
        "currency": currency.code,
        "institution_identifier": account.institution,
        "account_identifier": account.identifier,
        "account_name": banks::owner(&account.identifier),
    }))?))
}

pub fn quote(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let currency = banks::find_currency(&form.short("currency")?).ok_or(No::Currency)?;
    let asset = super::asset(call, &form.short("blockchain")?, &form.short("asset")?)?;
    if !PAYOUT_ASSETS.contains(&asset.symbol.as_str()) {
        return Err(No::Route.into());
    }
    let units = form.amount("amount", asset.decimals)?;
    let quote = payout::quote(&asset.symbol, asset.decimals, units, currency).map_err(|why| match why {
        Refused::NoRoute => No::Route.into(),
        Refused::TooSmall => words::too_small(currency.minimum),
        Refused::TooLarge => words::too_large(currency.maximum),
    })?;
    let (id, expires_at) = (call.public_id("quote"), call.now().saturating_add(PAYOUT_QUOTE_MS));
    let (rate, amount) = (quote.rate.to_text(), super::decimal(&asset, units));
    let (fee, payout) = (quote.fee.to_decimal(currency.decimals), quote.payout.to_decimal(currency.decimals));
    let answer = json!({
        "quote_id": id,
        "blockchain": asset.blockchain,
        "asset": asset.symbol,
        "amount": amount,
        "currency": currency.code,
        "rate": rate,
        "fee": fee,
        "payout_amount": payout,
        "estimated_arrival_seconds": ARRIVAL_S,
        "expires_at": time::to_text(expires_at),
    });
    let terms = Terms::Payout { currency: currency.code.to_owned(), rate, fee, payout };
    records::insert_quote(call, &id, &Quote { asset, units, terms, expires_at, taken_by: None })?;
    Ok(Answer::created(text::to_text(&answer)?))
}

pub fn execute(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let (id, quote_id) = (form.id()?, form.short("quote_id")?);
    let reference = form.optional("reference", TEXT_CHARS_MAX)?;
    let fields = ["institution_identifier", "account_identifier", "refund_address"];
    let fields = fields.iter().map(|field| form.text(field, crate::rules::limits::ADDRESS_CHARS_MAX));
    let request = text::to_text(&(&quote_id, fields.collect::<Result<Vec<_>, _>>()?, &reference))?;
    if let Some(order) = super::find_repeat(call, Kind::Payout, &id, &request)? {
        return super::repeated(&order);
    }
    let Quote { asset, units, terms, .. } = records::take_quote(call, &quote_id, &id)?;
    let Terms::Payout { currency, rate, fee, payout } = terms else { return Err(No::QuoteNotFound.into()) };
    let account = account(&form, banks::find_currency(&currency).ok_or(No::Currency)?)?;
    let fate = match account.standing {
        Standing::Open(fate) => fate.or(fate::of_amount(&super::decimal(&asset, units))),
        _ => return Err(No::Blocked.into()),
    };
    if fate == Fate::Refused {
        return Err(No::QuoteExpired.into());
    }
    let refund_address = form.address(call, "refund_address", &asset.blockchain)?;
    let shown = json!({
        "quote_id": quote_id,
        "currency": currency,
        "rate": rate,
        "fee": fee,
        "payout_amount": payout,
        "institution_identifier": account.institution,
        "account_identifier": account.identifier,
        "account_name": banks::owner(&account.identifier),
        "reference": reference,
    });
    let deposit = intake::open(call, Kind::Payout, &id, asset, units)?;
    super::taken(
        call,
        &Order {
            request,
            fate,
            shown: shown.as_object().cloned().unwrap_or_else(Map::new),
            refund_address: Some(refund_address),
            deposit: Some(deposit),
            ..Order::new(Kind::Payout, id, Status::AwaitingDeposit, call.now())
        },
    )
}

pub fn show(call: &Call) -> Outcome {
    super::read(call, Kind::Payout)
}
