//! Virtual accounts: the order, and what a bank says of one.

use serde::{Deserialize, Serialize};

use crate::records::virtual_accounts::{VirtualAccount, VirtualAccountBody};

pub const DESTINATION: &str = "virtual-accounts";

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
