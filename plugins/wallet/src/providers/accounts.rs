//! Virtual accounts: the order, what a bank says of one, and the payments into it.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::{Call, Stop, escape};

use super::client;
use crate::records::virtual_accounts::{VirtualAccount, VirtualAccountBody};

pub const DESTINATION: &str = "virtual-accounts";

/// Pages of payments that one call reads. Each needs the `next` of the page before it, so each is a round of questions of its own.
const PAYMENT_PAGES_MAX: usize = 3;
/// Bytes of a `next`.
const CURSOR_BYTES_MAX: usize = 1_000;

#[derive(Serialize)]
pub struct Order<'a> {
    id: &'a str,
    currency: &'a str,
    holder: Owner<'a>,
    settlement: Settlement<'a>,
}

#[derive(Serialize)]
struct Owner<'a> {
    first_name: &'a str,
    last_name: &'a str,
    email: &'a str,
    phone: &'a str,
}

#[derive(Serialize)]
struct Settlement<'a> {
    blockchain: &'a str,
    asset: &'a str,
    address: &'a str,
}

impl<'a> Order<'a> {
    /// Blockchain, asset and address that are filled.
    pub fn new(
        account: &'a VirtualAccount,
        currency: &'a str,
        (blockchain, asset, address): (&'a str, &'a str, &'a str),
    ) -> Order<'a> {
        let VirtualAccountBody { firstname, lastname, email, phone, .. } = &account.body;
        let holder = Owner { first_name: firstname, last_name: lastname, email, phone };
        Order { id: &account.id, currency, holder, settlement: Settlement { blockchain, asset, address } }
    }
}

#[derive(Deserialize)]
pub struct Shown {
    pub status: String,
    pub account_name: Option<String>,
    pub account_number: Option<String>,
    pub bank_code: Option<String>,
    pub bank_name: Option<String>,
}

#[derive(Deserialize)]
struct Payments {
    payments: Vec<Box<RawValue>>,
    next: Option<String>,
}

/// Returns the newest payments into an account, each one JSON text: at most three pages of 100.
///
/// # Errors
///
/// The provider refuses, does not answer, or returns a `next` of more than 1,000 bytes.
pub fn payments(call: &Call, account: &str) -> Result<Vec<String>, Stop> {
    let first = ["/v1/virtual-accounts/", account, "/payments?limit=100"].concat();
    let mut path = first.clone();
    let mut rows = Vec::new();
    for _ in 0..PAYMENT_PAGES_MAX {
        let page: Payments = client::understood(client::ask(call, DESTINATION, &path, None)?)?;
        rows.extend(page.payments.iter().map(|payment| payment.get().to_owned()));
        let Some(next) = page.next.filter(|next| !next.is_empty()) else { break };
        if next.len() > CURSOR_BYTES_MAX {
            return Err(client::unanswered());
        }
        path = [first.as_str(), "&after=", &escape(&next)].concat();
    }
    Ok(rows)
}
