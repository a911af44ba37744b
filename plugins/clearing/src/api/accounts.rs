//! /v1/clearing/accounts: the directory that a bank decides by, or a platform's copies of its partners' directories.
//!
//! On a platform an account belongs to a `partner`, and its id begins with it; a client that speaks for a partner keeps that
//! partner's copy and sees no other one.

use serde::Serialize;
use tenon_plugin::json::Object;
use tenon_plugin::{Answer, Call, Outcome, Stop, json, time};

use super::form::Form;
use super::{listing, partners};
use crate::records::{self, Account};
use crate::rules::account::{AccountNumber, Proxy};
use crate::rules::currency::Currency;
use crate::rules::directory::Standing;
use crate::rules::invalid::Field;
use crate::rules::limits::{
    ACCOUNT_CHARS_MAX, IDENTIFICATION_CHARS_MAX, IMPORT_MAX, NAME_CHARS_MAX, PROXIES_MAX, PROXY_CHARS_MAX,
};
use crate::settings::{self, Side};
use crate::{wire, words};

const LIST: &str = "accounts";
/// Sentences of one refused import.
const FAULTS_MAX: usize = 20;

/// Whose accounts a caller may touch.
enum Reach {
    /// The bank's own.
    Own,
    /// Those of every partner.
    All,
    /// Those of one partner.
    Of(String),
}

pub fn create(call: &Call) -> Outcome {
    let reach = reach(call)?;
    let mut form = Form::new(wire::body(call)?);
    let partner = owner(call, &reach, &mut form)?;
    let number = number(&mut form);
    if let Some(number) = &number
        && records::load_account(call, partner.as_deref(), number)?.is_some()
    {
        form.refuse("account_number", "must not be taken already");
    }
    let account = read(call, &mut form, partner, number, None);
    form.finish()?;
    let account = account.ok_or_else(unexplained)?;
    Ok(Answer::created(records::put_account(call, &account, None)?))
}

pub fn list(call: &Call) -> Outcome {
    let asked = call.query("partner").map(str::to_owned);
    let partner = match reach(call)? {
        Reach::Own if asked.is_some() => return Err(words::no_partners()),
        Reach::Own => None,
        Reach::All => asked,
        Reach::Of(partner) => Some(partner),
    };
    let page = listing::page(call, LIST)?;
    let (texts, next) = match partner {
        Some(partner) if !partners::is_name(&partner) => (Vec::new(), None),
        Some(partner) => records::find_accounts(call, &page.is("partner", &partner))?,
        None => records::find_accounts(call, &page)?,
    };
    listing::answer(call, LIST, &texts, next.as_deref())
}

pub fn show(call: &Call) -> Outcome {
    Ok(Answer::ok(json::to_text(&load(call)?)?))
}

/// Replaces the account as a whole; its number never changes.
pub fn update(call: &Call) -> Outcome {
    let before = load(call)?;
    let mut form = Form::new(wire::body(call)?);
    let parse = |text: &str| AccountNumber::parse(Field::CreditorAccountNumber, text).ok();
    let number = parse(&before.account_number);
    let asked = form.text("account_number", ACCOUNT_CHARS_MAX);
    if asked.is_some_and(|text| parse(&text) != number) {
        form.refuse("account_number", "must not change");
    }
    let account = read(call, &mut form, before.partner.clone(), number, Some(&before));
    form.finish()?;
    let account = account.ok_or_else(unexplained)?;
    Ok(Answer::ok(records::put_account(call, &account, Some(&before))?))
}

pub fn delete(call: &Call) -> Outcome {
    #[derive(Serialize)]
    struct Deleted<'a> {
        id: &'a str,
        deleted: bool,
    }
    let account = load(call)?;
    records::delete_account(call, &account)?;
    Ok(Answer::ok(json::to_text(&Deleted { id: &account.id, deleted: true })?))
}

/// What is wrong with an account, its form has said before.
fn unexplained() -> Stop {
    Stop::fault("an account is wrong, and its form does not know why")
}

/// Creates or replaces many: all of them, or none.
pub fn import(call: &Call) -> Outcome {
    #[derive(Default, Serialize)]
    struct Imported {
        created: usize,
        updated: usize,
    }
    let reach = reach(call)?;
    let body = wire::body(call)?;
    let objects = body.given("accounts").and_then(|list| serde_json::from_str::<Vec<Object>>(list).ok());
    let objects = objects.filter(|objects| objects.len() <= IMPORT_MAX);
    let objects = objects.ok_or_else(|| words::wrong("accounts", "must be a list of at most 400 accounts"))?;
    let (mut imported, mut faults) = (Imported::default(), Vec::new());
    for (at, object) in objects.into_iter().enumerate() {
        let mut form = Form::at(object, ["accounts[", &at.to_string(), "]."].concat());
        let partner = owner(call, &reach, &mut form)?;
        let number = number(&mut form);
        let before = match &number {
            Some(number) => records::load_account(call, partner.as_deref(), number)?,
            None => None,
        };
        let account = read(call, &mut form, partner, number, before.as_ref());
        faults.extend(form.into_faults());
        let Some(account) = account.filter(|_| faults.is_empty()) else { continue };
        records::put_account(call, &account, before.as_ref())?;
        if before.is_some() { imported.updated += 1 } else { imported.created += 1 }
    }
    faults.truncate(FAULTS_MAX);
    if faults.is_empty() { Ok(Answer::ok(json::to_text(&imported)?)) } else { Err(words::unprocessable(faults)) }
}

fn reach(call: &Call) -> Result<Reach, Stop> {
    if settings::load(call)?.side == Side::Partner {
        return Ok(Reach::Own);
    }
    Ok(records::client_partner(call)?.map_or(Reach::All, Reach::Of))
}

/// Of the path.
fn load(call: &Call) -> Result<Account, Stop> {
    let id = call.parameter("id");
    let (partner, number) = match (reach(call)?, id.split_once(':')) {
        (Reach::Own, _) => (None, id),
        (Reach::All, Some((partner, number))) if partners::is_name(partner) => (Some(partner), number),
        (Reach::Of(own), Some((partner, number))) if own == partner => (Some(partner), number),
        _ => return Err(words::not_found()),
    };
    let number = AccountNumber::parse(Field::CreditorAccountNumber, number).map_err(|_| words::not_found())?;
    records::load_account(call, partner, &number)?.ok_or_else(words::not_found)
}

/// Whose account a body is about.
fn owner(call: &Call, reach: &Reach, form: &mut Form) -> Result<Option<String>, Stop> {
    if !matches!(reach, Reach::All) {
        form.text("partner", IDENTIFICATION_CHARS_MAX);
    }
    let asked = match reach {
        Reach::Own => return Ok(None),
        Reach::Of(partner) => return Ok(Some(partner.clone())),
        Reach::All => form.required_text("partner", IDENTIFICATION_CHARS_MAX),
    };
    let is_known = partners::is_name(&asked) && records::load_partner(call, &asked)?.is_some();
    if !is_known && !asked.is_empty() {
        form.refuse("partner", "must be the id of a partner");
    }
    Ok(Some(asked))
}

fn number(form: &mut Form) -> Option<AccountNumber> {
    let text = form.required_text("account_number", ACCOUNT_CHARS_MAX);
    let parsed = AccountNumber::parse(Field::CreditorAccountNumber, &text);
    if parsed.is_err() && !text.is_empty() {
        form.refuse("account_number", "must be more than grouping");
    }
    parsed.ok()
}

/// `None` where something is wrong: the form knows.
fn read(
    call: &Call,
    form: &mut Form,
    partner: Option<String>,
    number: Option<AccountNumber>,
    before: Option<&Account>,
) -> Option<Account> {
    let status = form.text("status", ACCOUNT_CHARS_MAX).unwrap_or_else(|| Standing::Open.name().to_owned());
    if Standing::of_name(&status).is_none() {
        form.refuse("status", "must be one of: open, blocked, closed");
    }
    let currency = form.text("currency", ACCOUNT_CHARS_MAX).unwrap_or_else(|| "ZAR".to_owned());
    let known = Currency::parse(&currency).ok();
    if known.is_none() {
        form.refuse("currency", "must be a currency of ISO 4217");
    }
    let limits = ["credit_limit", "debit_limit"].map(|field| {
        let digits = form.digits(field);
        let fits = digits.as_ref().zip(known).is_none_or(|(it, known)| records::read_limit(it.get(), known).is_some());
        if !fits {
            form.refuse(field, "must be an amount of the account's currency");
        }
        digits
    });
    let proxies = form.texts("proxies", (PROXIES_MAX, PROXY_CHARS_MAX)).unwrap_or_default();
    let keys: Option<std::collections::BTreeSet<String>> =
        proxies.iter().map(|text| Proxy::parse(text).ok().map(|proxy| proxy.key().to_owned())).collect();
    if keys.is_none_or(|keys| keys.len() != proxies.len()) {
        form.refuse("proxies", "must not repeat each other");
    }
    let legal_name = form.nullable_text("legal_name", NAME_CHARS_MAX);
    let (number, now, [credit_limit, debit_limit]) = (number?, time::to_text(call.now()), limits);
    Some(Account {
        id: partner.as_ref().map_or_else(|| number.key().to_owned(), |it| [it, ":", number.key()].concat()),
        partner,
        account_number: number.as_str().to_owned(),
        status,
        currency,
        legal_name,
        credit_limit,
        debit_limit,
        proxies,
        created_at: before.map_or_else(|| now.clone(), |before| before.created_at.clone()),
        updated_at: now,
    })
}
