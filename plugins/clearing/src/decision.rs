//! How a partner decides: by its directory and the rules, or by asking the bank's own system.
//!
//! Finds out what the rules want to know, and hands it to them. A question is idempotent by uetr: whoever answers it may be
//! asked again.

mod bank;

use tenon_plugin::{Call, Stop};

use crate::carrying;
use crate::records::{self, Transaction};
use crate::rules::account::{AccountNumber, Proxy};
use crate::rules::books;
use crate::rules::directory::{self, Findings, Found, Repetition, Wanted};
use crate::rules::inbound::{Command, Inbound};
use crate::rules::kind::Kind;
use crate::rules::message::{Determination, Payment};
use crate::rules::status::{self, StatusReason};
use crate::settings::{Balances, Decide, Fallback, Settings};
use bank::BankReply;

/// Whether the question of a decision may have reached the bank's own system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    MayHaveArrived,
    NotSent,
}

/// Whether the bank's own system takes part. It does not in a payment that came after its time, unless that is synchronous: an
/// earlier request for it may have put the question, and broken.
pub fn consults_bank(settings: &Settings, record: &Inbound, now_ms: u64) -> bool {
    let is_in_time = now_ms < record.decide_by_ms || record.payment.kind == Kind::AuthorisationSync;
    settings.decide == Decide::Ask && is_in_time
}

/// What to do with a payment that is not decided yet.
pub fn decide(
    call: &Call,
    settings: &Settings,
    transaction: &Transaction<Inbound>,
) -> Result<(Command, Question), Stop> {
    let record = &transaction.record;
    let payment = &record.payment;
    if !record.is_bank_consulted {
        let command = match settings.decide {
            Decide::Rules => by_rules(call, settings, payment)?,
            // It came after its time.
            Decide::Ask => command_of(call, settings, payment, BankReply::Nothing)?,
        };
        return Ok((command, Question::NotSent));
    }
    let left_ms = record.decide_by_ms.saturating_sub(call.now());
    let trace = transaction.kept.traceparent.as_deref();
    let reply = bank::request_decision(call, settings, payment, left_ms, trace)?;
    let question = if matches!(reply, BankReply::NotSent) { Question::NotSent } else { Question::MayHaveArrived };
    Ok((command_of(call, settings, payment, reply)?, question))
}

fn command_of(call: &Call, settings: &Settings, payment: &Payment, reply: BankReply) -> Result<Command, Stop> {
    match reply {
        BankReply::Approved(account) => {
            match account.map_or_else(|| named(call, settings, payment), |it| Ok(Some(it)))? {
                Some(account) => Ok(Command::Approve(account)),
                None => Ok(Command::Reject(StatusReason::of(status::ACCOUNT_UNKNOWN))),
            }
        }
        BankReply::Rejected(reason) => Ok(Command::Reject(reason)),
        BankReply::NotSent | BankReply::Nothing if settings.fallback == Fallback::Rules => {
            by_rules(call, settings, payment)
        }
        BankReply::Unclear | BankReply::NotSent | BankReply::Nothing => {
            Ok(Command::Reject(StatusReason::of(status::DECISION_TIMEOUT)))
        }
    }
}

/// The account that a proxy stands for, or why it is not told.
pub fn resolve(
    call: &Call,
    settings: &Settings,
    asked: &Determination,
) -> Result<Result<AccountNumber, StatusReason>, Stop> {
    let proxy = &asked.creditor_account_proxy;
    if settings.decide == Decide::Rules {
        return resolve_by_rules(call, proxy);
    }
    match bank::ask_account(call, settings, proxy)? {
        BankReply::Approved(Some(account)) => Ok(Ok(account)),
        BankReply::Rejected(reason) => Ok(Err(reason)),
        BankReply::Unclear => Ok(Err(StatusReason::of(status::DECISION_TIMEOUT))),
        _ if settings.fallback == Fallback::Rules => resolve_by_rules(call, proxy),
        _ => Ok(Err(StatusReason::of(status::DECISION_TIMEOUT))),
    }
}

fn resolve_by_rules(call: &Call, proxy: &Proxy) -> Result<Result<AccountNumber, StatusReason>, Stop> {
    let entry = records::load_proxy(call, None, proxy)?.map(TryInto::try_into).transpose()?;
    Ok(directory::resolve(entry))
}

fn by_rules(call: &Call, settings: &Settings, payment: &Payment) -> Result<Command, Stop> {
    let account = found(call, settings, payment)?;
    let findings = Findings {
        available_minor: available(call, settings, payment, &account),
        repetition: if settings.reject_duplicates { records::was_seen(call, payment) } else { Repetition::Unseen },
        account,
    };
    Ok(directory::decide(payment, findings).map_or_else(Command::Reject, Command::Approve))
}

fn found(call: &Call, settings: &Settings, payment: &Payment) -> Result<Found, Stop> {
    let (account, missing) = match directory::wanted(payment, settings.default_account()?) {
        Wanted::Account(number) => (records::load_account(call, None, &number)?, Found::NoAccount),
        Wanted::Proxy(proxy) => (records::load_proxy(call, None, &proxy)?, Found::NoProxy),
        Wanted::AccountOfProxy(number, proxy) => return account_of_proxy(call, &number, &proxy),
        Wanted::Nobody => (None, Found::NoAccount),
    };
    Ok(account.map(TryInto::try_into).transpose()?.map_or(missing, Found::Account))
}

/// A proxy that is not in the directory may be kept by the platform: then the account alone counts.
fn account_of_proxy(call: &Call, number: &AccountNumber, proxy: &Proxy) -> Result<Found, Stop> {
    let Some(account) = records::load_proxy(call, None, proxy)? else {
        let account = records::load_account(call, None, number)?;
        return Ok(account.map(TryInto::try_into).transpose()?.map_or(Found::NoAccount, Found::Account));
    };
    let entry: directory::Entry = account.try_into()?;
    let same = directory::check_same(Some(number), &entry.account);
    Ok(if same.is_ok() { Found::Account(entry) } else { Found::OtherAccount })
}

/// For whom a payment is that the bank has approved without saying so: the number in it, or whom the directory knows.
fn named(call: &Call, settings: &Settings, payment: &Payment) -> Result<Option<AccountNumber>, Stop> {
    match directory::wanted(payment, settings.default_account()?) {
        Wanted::Account(number) | Wanted::AccountOfProxy(number, _) => Ok(Some(number)),
        Wanted::Nobody => Ok(None),
        Wanted::Proxy(proxy) => Ok(resolve_by_rules(call, &proxy)?.ok()),
    }
}

/// What a debit may take, where the ledger knows.
fn available(call: &Call, settings: &Settings, payment: &Payment, account: &Found) -> Option<u64> {
    let Found::Account(entry) = account else { return None };
    if settings.balances == Balances::Elsewhere || payment.kind != Kind::DirectDebit {
        return None;
    }
    let customer = books::Account::Customer(entry.account.clone());
    Some(carrying::available_minor(call, &customer, payment.amount.currency()))
}
