//! The account directory: a bank's own accounts, or a platform's copies of its partners' ones, and their proxies.
//!
//! Invariant: a proxy of one owner stands for one account.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::records::{RecordRefusal, Search};
use tenon_plugin::{Call, Stop, json};

use super::transactions::bad_cursor;
use super::{ACCOUNTS, PROXIES};
use crate::rules::account::{AccountNumber, Proxy};
use crate::rules::amount::Amount;
use crate::rules::currency::Currency;
use crate::rules::directory::{Entry, Standing};
use crate::rules::invalid::Field;
use crate::{audit, words};

/// As it is stored and shown.
#[derive(Serialize, Deserialize)]
pub struct Account {
    pub id: String,
    /// On a platform: whose account it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partner: Option<String>,
    pub account_number: String,
    pub status: String,
    pub currency: String,
    pub legal_name: Option<String>,
    /// The most that one payment may bring.
    pub credit_limit: Option<Box<RawValue>>,
    /// The most that one payment may take.
    pub debit_limit: Option<Box<RawValue>>,
    pub proxies: Vec<String>,
    pub created_at: String,
    pub updated_at: String,
}

impl Account {
    /// `None`: no account was ever written so.
    fn entry(&self) -> Option<Entry> {
        let currency = Currency::parse(&self.currency).ok()?;
        let limit = |raw: &Option<Box<RawValue>>| match raw {
            Some(raw) => read_limit(raw.get(), currency).map(Some),
            None => Some(None),
        };
        Some(Entry {
            account: AccountNumber::parse(Field::CreditorAccountNumber, &self.account_number).ok()?,
            standing: Standing::of_name(&self.status)?,
            currency,
            credit_minor_max: limit(&self.credit_limit)?,
            debit_minor_max: limit(&self.debit_limit)?,
        })
    }
}

/// Minor units of a limit, by the rules of amounts.
pub fn read_limit(text: &str, currency: Currency) -> Option<u64> {
    Amount::parse(text, currency).ok().map(|amount| amount.minor())
}

#[derive(Serialize, Deserialize)]
struct ProxyText {
    account: String,
}

fn account_id(partner: Option<&str>, number: &AccountNumber) -> String {
    partner.map_or_else(|| number.key().to_owned(), |partner| [partner, ":", number.key()].concat())
}

/// Proxies may be longer than ids.
fn proxy_id(partner: Option<&str>, proxy: &Proxy) -> String {
    [partner.unwrap_or_default(), "/", &audit::hash(proxy.key().as_bytes())].concat()
}

pub fn load_account(call: &Call, partner: Option<&str>, number: &AccountNumber) -> Result<Option<Account>, Stop> {
    let entry = call.records(ACCOUNTS).get(&account_id(partner, number));
    entry.map(|entry| json::from_text(&entry.body)).transpose()
}

/// The account that a proxy stands for.
pub fn load_proxy(call: &Call, partner: Option<&str>, proxy: &Proxy) -> Result<Option<Account>, Stop> {
    let Some(entry) = call.records(PROXIES).get(&proxy_id(partner, proxy)) else { return Ok(None) };
    let text: ProxyText = json::from_text(&entry.body)?;
    let entry = call.records(ACCOUNTS).get(&text.account);
    entry.map(|entry| json::from_text(&entry.body)).transpose()
}

/// The newest first; one text for each, and where the next page begins.
pub fn find_accounts(call: &Call, search: &Search) -> Result<(Vec<String>, Option<String>), Stop> {
    let page = call.records(ACCOUNTS).find(search).map_err(bad_cursor)?;
    Ok((page.entries.into_iter().map(|entry| entry.body).collect(), page.next))
}

/// In place of `before`, with its proxies. Gives the text.
pub fn put_account(call: &Call, account: &Account, before: Option<&Account>) -> Result<String, Stop> {
    let text = json::to_text(account)?;
    let (records, partner) = (call.records(ACCOUNTS), account.partner.as_deref());
    let had = match before {
        Some(before) => {
            records.replace(&account.id, &text)?;
            read_proxies(&before.proxies)?
        }
        None => {
            records.insert(&account.id, &text)?;
            Vec::new()
        }
    };
    let (has, proxies) = (read_proxies(&account.proxies)?, call.records(PROXIES));
    for gone in had.iter().filter(|proxy| !has.contains(proxy)) {
        proxies.delete(&proxy_id(partner, gone))?;
    }
    let stands_for = json::to_text(&ProxyText { account: account.id.clone() })?;
    for new in has.iter().filter(|proxy| !had.contains(proxy)) {
        match proxies.insert(&proxy_id(partner, new), &stands_for) {
            Err(RecordRefusal::AlreadyExists) => {
                return Err(words::wrong("proxies", "must not stand for another account already"));
            }
            done => done?,
        }
    }
    Ok(text)
}

/// Whether there are copies of accounts of a partner with this id.
pub fn has_accounts(call: &Call, partner: &str) -> bool {
    call.records(ACCOUNTS).count(&Search::first(1).is("partner", partner), 1) > 0
}

pub fn delete_account(call: &Call, account: &Account) -> Result<(), Stop> {
    let partner = account.partner.as_deref();
    for proxy in read_proxies(&account.proxies)? {
        call.records(PROXIES).delete(&proxy_id(partner, &proxy))?;
    }
    Ok(call.records(ACCOUNTS).delete(&account.id)?)
}

fn read_proxies(texts: &[String]) -> Result<Vec<Proxy>, Stop> {
    let proxies = texts.iter().map(|text| Proxy::parse(text));
    proxies.collect::<Result<_, _>>().map_err(|_| Stop::fault("a stored proxy does not read back"))
}

impl TryFrom<Account> for Entry {
    type Error = Stop;

    fn try_from(account: Account) -> Result<Entry, Stop> {
        account.entry().ok_or_else(|| Stop::fault("a stored account does not read back"))
    }
}
