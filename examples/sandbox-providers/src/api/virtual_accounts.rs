//! /v1/virtual-accounts: bank account numbers, and payments to them that turn into coins. Naira alone, as cNGN.

use serde_json::{Map, json};
use tenon_plugin::{Answer, Call, Outcome, Stop, json as text};

use super::{form, form::Form, shown};
use crate::records::{self, Holder, VirtualAccount};
use crate::rules::banks;
use crate::rules::fate::{self, Fate};
use crate::rules::limits::{ADDRESS_CHARS_MAX, TEXT_CHARS_MAX};
use crate::rules::order::{Delivery, Kind, Order, Reason, Status, Way};
use crate::words::{self, No};
use crate::{callbacks, delivery};

const CURRENCY: &str = "NGN";
const ASSET: &str = "cNGN";
/// A holder of this last name is not taken.
const REJECTED_NAME: &str = "Rejected";
const ACTIVE: &str = "active";
const INACTIVE: &str = "inactive";
const REJECTED: &str = "rejected";
/// In front of each number, which is counted up.
const NUMBER_PREFIX: u64 = 9_900_000_000;
const SENDER: &str = "CHIDI EZE";

pub fn create(call: &Call) -> Outcome {
    let form = Form::new(call)?;
    let (id, currency) = (form.id()?, form.short("currency")?);
    let (holder, settlement) = (form.inner("holder", "holder.")?, form.inner("settlement", "settlement.")?);
    let holder = Holder {
        first_name: holder.short("first_name")?,
        last_name: holder.short("last_name")?,
        email: holder.text("email", ADDRESS_CHARS_MAX)?,
        phone: holder.short("phone")?,
    };
    if currency != CURRENCY {
        return Err(No::Currency.into());
    }
    let asset = super::asset(call, &settlement.short("blockchain")?, &settlement.short("asset")?)?;
    let settlement_address = settlement.address(call, "address", &asset.blockchain)?;
    let request = text::to_text(&(&currency, &holder, &asset, &settlement_address))?;
    match records::find_account(call, &id)? {
        Some(account) if account.request == request => return Ok(Answer::ok(shown::account(&account)?)),
        Some(_) => return Err(No::Conflict.into()),
        None => {}
    }
    if asset.symbol != ASSET {
        return Err(No::Route.into());
    }
    let is_rejected = holder.last_name == REJECTED_NAME;
    let account = VirtualAccount {
        id,
        request,
        status: if is_rejected { REJECTED } else { ACTIVE }.to_owned(),
        reason: is_rejected.then(|| "HOLDER_REJECTED".to_owned()),
        currency,
        holder,
        account_number: (!is_rejected).then(|| new_number(call)),
        settlement: asset,
        settlement_address,
        created_at: call.now(),
        updated_at: call.now(),
    };
    Ok(Answer::created(store(call, account)?))
}

fn new_number(call: &Call) -> String {
    NUMBER_PREFIX.saturating_add(call.next("account-number")).to_string()
}

fn store(call: &Call, account: VirtualAccount) -> Result<String, Stop> {
    records::put_account(call, &account)?;
    let shown = shown::account(&account)?;
    callbacks::tell(call, "virtual_account.updated", &shown)?;
    Ok(shown)
}

fn load(call: &Call) -> Result<VirtualAccount, Stop> {
    records::find_account(call, form::parameter(call, "id")?)?.ok_or_else(words::not_found)
}

pub fn show(call: &Call) -> Outcome {
    Ok(Answer::ok(shown::account(&load(call)?)?))
}

pub fn list(call: &Call) -> Outcome {
    let (accounts, next) = records::list_accounts(call, form::page(call)?)?;
    let texts = accounts.iter().map(shown::account).collect::<Result<Vec<_>, _>>()?;
    Ok(Answer::ok(shown::page("virtual_accounts", &texts, next.as_deref())?))
}

pub fn deactivate(call: &Call) -> Outcome {
    set_status(call, INACTIVE)
}

pub fn activate(call: &Call) -> Outcome {
    set_status(call, ACTIVE)
}

fn set_status(call: &Call, status: &str) -> Outcome {
    let mut account = load(call)?;
    if account.status == REJECTED {
        return Err(No::NotPossible.into());
    }
    if account.status == status {
        return Ok(Answer::ok(shown::account(&account)?));
    }
    (account.status, account.updated_at) = (status.to_owned(), call.now());
    Ok(Answer::ok(store(call, account)?))
}

pub fn regenerate(call: &Call) -> Outcome {
    let mut account = load(call)?;
    if account.status != ACTIVE {
        return Err(No::NotPossible.into());
    }
    (account.account_number, account.updated_at) = (Some(new_number(call)), call.now());
    Ok(Answer::ok(store(call, account)?))
}

/// Somebody pays: not of the contract, a bank does this by itself.
pub fn simulate_payment(call: &Call) -> Outcome {
    let (form, account) = (Form::new(call)?, load(call)?);
    let decimals = banks::find_currency(&account.currency).map_or(0, |currency| currency.decimals);
    let paid = form.amount("amount", decimals)?;
    let sender = form.optional("sender_name", TEXT_CHARS_MAX)?.unwrap_or_else(|| SENDER.to_owned());
    let number = form.optional("sender_account_number", TEXT_CHARS_MAX)?;
    if account.status != ACTIVE {
        return Err(No::NotPossible.into());
    }
    let amount = paid.to_decimal(decimals);
    // One cNGN for each naira, in the decimals of its blockchain.
    let units = crate::rules::amount::Units::parse(&amount, account.settlement.decimals).ok_or(No::Route)?;
    let bank = banks::find_currency(&account.currency).and_then(|currency| currency.institutions.first());
    let fields = json!({
        "virtual_account_id": account.id,
        "currency": account.currency,
        "amount": amount,
        "fee": "0",
        "sender": { "name": sender, "account_number": number, "bank_name": bank.map(|bank| bank.name) },
    });
    let fate = fate::of_amount(&amount);
    let mut order = Order {
        fate,
        shown: fields.as_object().cloned().unwrap_or_else(Map::new),
        delivery: Some(Delivery::new(account.settlement, account.settlement_address, units)),
        account: Some(account.id),
        ..Order::new(Kind::Payment, call.public_id("pay"), Status::Processing, call.now())
    };
    match fate {
        Fate::Fails => (order.status, order.reason) = (Status::Failed, Some(Reason::BankRefused)),
        Fate::Stalls => {}
        _ => delivery::begin(call, &order, Way::Delivery)?,
    }
    super::taken(call, &order)
}

pub fn list_payments(call: &Call) -> Outcome {
    let account = load(call)?;
    let (payments, next) = records::list_payments(call, &account.id, form::page(call)?)?;
    let texts = payments.iter().map(shown::order).collect::<Result<Vec<_>, _>>()?;
    Ok(Answer::ok(shown::page("payments", &texts, next.as_deref())?))
}

pub fn show_payment(call: &Call) -> Outcome {
    let account = load(call)?;
    let payment = records::load_order(call, Kind::Payment, form::parameter(call, "payment_id")?)?;
    if payment.account.as_ref() != Some(&account.id) {
        return Err(words::not_found());
    }
    super::repeated(&payment)
}
