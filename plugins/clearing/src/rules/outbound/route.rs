//! Which way a submitted payment goes, by the partner's settings (spec/clearing: "account mirroring or proxy management").
//!
//! A partner with account mirroring has its accounts validated by the platform; one with proxy management has its proxies
//! resolved by it. What they would refuse never reaches the partner.

use crate::rules::account::AccountNumber;
use crate::rules::directory::{self, Entry};
use crate::rules::message::Payment;
use crate::rules::scheme::Scheme;
use crate::rules::status::{self, StatusReason};

/// Whether the platform does it for the partner, and what it has found in its copy of the partner's directory.
#[derive(Clone, Debug, PartialEq)]
pub enum Mirror {
    /// The partner sees to it.
    Off,
    Missing,
    Found(Entry),
}

/// What the platform knows about the creditor of a payment.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// By account number, where the setting `account_mirroring` is on.
    pub account: Mirror,
    /// By proxy, where the setting `proxy_management` is on.
    pub proxy: Mirror,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// Ask the partner which account the proxy stands for.
    Determine,
    /// With the account that the platform resolved, if it did.
    Send(Option<AccountNumber>),
    Reject(StatusReason),
}

/// An account number that was given is taken; a proxy is resolved only where there is none, and only for ZA_RPP. EFT items
/// go as they are: the specification has no edge on which the platform could reject them.
pub fn route(payment: &Payment, known: Known) -> Route {
    if payment.scheme == Scheme::ZaEft {
        return Route::Send(None);
    }
    let details = &payment.details;
    let found = match (&details.creditor_account_number, &details.creditor_account_proxy) {
        (Some(_), _) => check(known.account, status::ACCOUNT_UNKNOWN).map(|()| None),
        (None, Some(_)) if payment.scheme == Scheme::ZaRpp => match known.proxy {
            Mirror::Off => return Route::Determine,
            Mirror::Missing => Err(StatusReason::of(status::PROXY_UNKNOWN)),
            Mirror::Found(entry) => directory::resolve(Some(entry)).map(Some),
        },
        _ => Ok(None),
    };
    found.map_or_else(Route::Reject, Route::Send)
}

fn check(mirror: Mirror, unknown: status::Code) -> Result<(), StatusReason> {
    match mirror {
        Mirror::Off => Ok(()),
        Mirror::Missing => Err(StatusReason::of(unknown)),
        Mirror::Found(entry) => directory::check_standing(entry.standing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::currency::ZAR;
    use crate::rules::directory::Standing;
    use crate::rules::invalid::Field;
    use crate::rules::message::Raw;
    use crate::rules::scheme::Operation;

    fn payment(scheme: &str, creditor: &[(Field, &str)]) -> Payment {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::MessageIdentification, "M-1")
            .with(Field::PaymentScheme, scheme)
            .with(Field::BankSettlementAmountValue, "1")
            .with(Field::BankSettlementAmountCurrency, "ZAR");
        let raw = creditor.iter().fold(raw, |raw, (field, text)| raw.with(*field, *text));
        Payment::read(&raw, Operation::CreditTransferAuthorisation).unwrap()
    }

    fn entry(standing: Standing) -> Mirror {
        let account = AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap();
        Mirror::Found(Entry { account, standing, currency: ZAR, credit_minor_max: None, debit_minor_max: None })
    }

    /// "determine", "send", "send 62001", "AC01".
    fn told(route: Route) -> String {
        match route {
            Route::Determine => "determine".to_owned(),
            Route::Send(None) => "send".to_owned(),
            Route::Send(Some(account)) => format!("send {}", account.as_str()),
            Route::Reject(reason) => reason.as_str().to_owned(),
        }
    }

    #[test]
    fn the_settings_of_the_partner_decide_the_way() {
        use Mirror::{Missing, Off};
        let account = [(Field::CreditorAccountNumber, "62009")];
        let proxy = [(Field::CreditorAccountProxy, "ada@bank")];
        let both = [account[0], proxy[0]];
        let open = || entry(Standing::Open);
        let table = [
            (payment("ZA_RPP", &proxy), Off, Off, "determine"),
            (payment("ZA_RPP", &proxy), Off, open(), "send 62001"),
            (payment("ZA_RPP", &proxy), Off, Missing, "BE23"),
            (payment("ZA_RPP", &proxy), Off, entry(Standing::Closed), "AC04"),
            (payment("ZA_RTC", &proxy), Off, Missing, "send"),
            (payment("ZA_RPP", &both), Off, Off, "send"),
            (payment("ZA_RTC", &account), Off, Off, "send"),
            (payment("ZA_RTC", &account), open(), Off, "send"),
            (payment("ZA_RTC", &account), Missing, Off, "AC01"),
            (payment("ZA_RTC", &account), entry(Standing::Blocked), Off, "AC06"),
            (payment("ZA_RTC", &[]), Missing, Missing, "send"),
            (Payment { scheme: Scheme::ZaEft, ..payment("ZA_RTC", &account) }, Missing, Missing, "send"),
        ];
        for (payment, account, proxy, expected) in table {
            let known = Known { account, proxy };
            assert_eq!(told(route(&payment, known.clone())), expected, "{known:?}");
        }
    }
}
