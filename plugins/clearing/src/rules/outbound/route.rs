//! Which way a submitted payment goes, by the partner's settings (spec/clearing: "account mirroring or proxy management").
//!
//! A partner with account mirroring has its accounts validated by the platform; one with proxy management has its proxies
//! resolved by it. What they would refuse never reaches the partner.

use super::replies::Determined;
use crate::rules::account::AccountNumber;
use crate::rules::directory::{self, Entry};
use crate::rules::message::Payment;
use crate::rules::refusal::Refusal;
use crate::rules::scheme::Scheme;
use crate::rules::status::{self, StatusReason};

/// What a partner has agreed with the platform, as far as it decides the way of a payment.
#[derive(Clone, Debug, PartialEq)]
pub struct Partner {
    pub schemes: Vec<Scheme>,
    /// The platform keeps a copy of its accounts, and checks creditors there.
    pub account_mirroring: bool,
    /// The platform keeps its proxies, and resolves them.
    pub proxy_management: bool,
}

/// What the platform has found in its copy of the partner's directory; it need not look where the settings do not say so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mirror {
    /// By the account number of the creditor.
    pub account: Option<Entry>,
    /// By the proxy of the creditor.
    pub proxy: Option<Entry>,
}

/// The way of a payment.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// Ask the partner which account the proxy stands for.
    Determine,
    /// With the account that the platform resolved, if it did.
    Send(Option<AccountNumber>),
    Reject(StatusReason),
}

/// A proxy of a ZA_RPP payment is always resolved, also beside an account number, which must then be the account that it stands
/// for. Of other schemes the account number counts. EFT items go as they are: the specification has no edge on which the
/// platform could reject them.
pub fn route(payment: &Payment, partner: &Partner, mirror: Mirror) -> Result<Route, Refusal> {
    let scheme = payment.scheme;
    if !partner.schemes.contains(&scheme) {
        return Err(Refusal::SchemeNotAgreed { scheme });
    }
    let details = &payment.details;
    let found = match (&details.creditor_account_number, &details.creditor_account_proxy) {
        _ if !payment.kind.is_authorised() => Ok(None),
        (named, Some(_)) if scheme == Scheme::ZaRpp && partner.proxy_management => {
            let resolved = directory::resolve(mirror.proxy);
            resolved.and_then(|account| directory::check_same(named.as_ref(), &account).map(|()| Some(account)))
        }
        (_, Some(_)) if scheme == Scheme::ZaRpp => return Ok(Route::Determine),
        (Some(_), _) if partner.account_mirroring => validate(mirror.account).map(|()| None),
        _ => Ok(None),
    };
    Ok(found.map_or_else(Route::Reject, Route::Send))
}

/// Judges the account that the partner has resolved: where its accounts are mirrored, it must be an open one of them.
pub fn resolved(account: AccountNumber, partner: &Partner, mirrored: Option<Entry>) -> Determined {
    let valid = if partner.account_mirroring { validate(mirrored) } else { Ok(()) };
    valid.map_or_else(Determined::NoAccount, |()| Determined::Account(account))
}

fn validate(entry: Option<Entry>) -> Result<(), StatusReason> {
    let entry = entry.ok_or(StatusReason::of(status::ACCOUNT_UNKNOWN))?;
    directory::check_standing(entry.standing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::currency::ZAR;
    use crate::rules::directory::Standing;
    use crate::rules::invalid::Field;
    use crate::rules::kind::Kind;
    use crate::rules::message::Raw;

    const ACCOUNT: (Field, &str) = (Field::CreditorAccountNumber, "62009");
    const PROXY: (Field, &str) = (Field::CreditorAccountProxy, "ada@bank");

    fn payment(kind: Kind, scheme: &str, creditor: &[(Field, &str)]) -> Payment {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::MessageIdentification, "M-1")
            .with(Field::PaymentScheme, scheme)
            .with(Field::BankSettlementAmountValue, "1")
            .with(Field::BankSettlementAmountCurrency, "ZAR");
        let raw = creditor.iter().fold(raw, |raw, (field, text)| raw.with(*field, *text));
        Payment::read(&raw, kind).unwrap()
    }

    fn entry(standing: Standing) -> Option<Entry> {
        let account = AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap();
        Some(Entry { account, standing, currency: ZAR, credit_minor_max: None, debit_minor_max: None })
    }

    /// One that sees to everything itself.
    fn partner() -> Partner {
        let schemes = vec![Scheme::ZaRtc, Scheme::ZaRpp, Scheme::ZaEft];
        Partner { schemes, account_mirroring: false, proxy_management: false }
    }

    /// "determine", "send", "send 62001", "AC01".
    fn told(route: Result<Route, Refusal>) -> String {
        match route.unwrap() {
            Route::Determine => "determine".to_owned(),
            Route::Send(None) => "send".to_owned(),
            Route::Send(Some(account)) => format!("send {}", account.as_str()),
            Route::Reject(reason) => reason.as_str().to_owned(),
        }
    }

    fn check(scheme: &str, creditor: &[(Field, &str)], partner: &Partner, found: Option<Entry>, expected: &str) {
        let mirror = Mirror { account: found.clone(), proxy: found };
        let route = route(&payment(Kind::Authorisation, scheme, creditor), partner, mirror);
        assert_eq!(told(route), expected, "{scheme} {creditor:?} {partner:?}");
    }

    #[test]
    fn a_proxy_is_resolved_by_whoever_manages_it() {
        let (own, managed) = (partner(), Partner { proxy_management: true, ..partner() });
        check("ZA_RPP", &[PROXY], &own, entry(Standing::Open), "determine");
        check("ZA_RPP", &[PROXY], &managed, entry(Standing::Open), "send 62001");
        check("ZA_RPP", &[PROXY], &managed, None, "BE23");
        check("ZA_RPP", &[PROXY], &managed, entry(Standing::Closed), "AC04");
        check("ZA_RPP", &[ACCOUNT, PROXY], &own, None, "determine");
        check("ZA_RPP", &[ACCOUNT, PROXY], &Partner { account_mirroring: true, ..partner() }, None, "determine");
        check("ZA_RTC", &[PROXY], &own, None, "send");
        check("ZA_RTC", &[PROXY], &managed, None, "send");
    }

    #[test]
    fn an_account_beside_a_proxy_must_be_the_one_that_it_stands_for() {
        let managed = Partner { proxy_management: true, ..partner() };
        let same = (Field::CreditorAccountNumber, "620-01");
        check("ZA_RPP", &[same, PROXY], &managed, entry(Standing::Open), "send 62001");
        check("ZA_RPP", &[ACCOUNT, PROXY], &managed, entry(Standing::Open), "BE23");
        check("ZA_RPP", &[ACCOUNT, PROXY], &managed, None, "BE23");
        check("ZA_RTC", &[ACCOUNT, PROXY], &managed, None, "send");
    }

    #[test]
    fn a_resolved_account_is_compared_with_the_mirror() {
        let account = || AccountNumber::parse(Field::CreditorAccountNumber, "62001").unwrap();
        let mirrored = Partner { account_mirroring: true, ..partner() };
        let no = |code: &str| Determined::NoAccount(StatusReason::parse(code).unwrap());
        for (partner, found, expected) in [
            (&partner(), None, Determined::Account(account())),
            (&mirrored, entry(Standing::Open), Determined::Account(account())),
            (&mirrored, None, no("AC01")),
            (&mirrored, entry(Standing::Closed), no("AC04")),
            (&mirrored, entry(Standing::Blocked), no("AC06")),
        ] {
            assert_eq!(resolved(account(), partner, found), expected);
        }
    }

    #[test]
    fn an_account_is_validated_where_it_is_mirrored() {
        let (own, mirrored) = (partner(), Partner { account_mirroring: true, ..partner() });
        check("ZA_RTC", &[ACCOUNT], &own, None, "send");
        check("ZA_RTC", &[ACCOUNT], &mirrored, entry(Standing::Open), "send");
        check("ZA_RTC", &[ACCOUNT], &mirrored, None, "AC01");
        check("ZA_RTC", &[ACCOUNT], &mirrored, entry(Standing::Blocked), "AC06");
        check("ZA_RTC", &[], &mirrored, None, "send");
    }

    #[test]
    fn eft_items_go_as_they_are() {
        let payment = payment(Kind::CreditTransfer, "ZA_EFT", &[ACCOUNT]);
        let partner = Partner { account_mirroring: true, proxy_management: true, ..partner() };
        assert_eq!(told(route(&payment, &partner, Mirror::default())), "send");
    }

    #[test]
    fn a_partner_gets_only_the_schemes_that_it_has_agreed_to() {
        let partner = Partner { schemes: vec![Scheme::ZaEft], ..partner() };
        let payment = payment(Kind::Authorisation, "ZA_RTC", &[]);
        let refused = Refusal::SchemeNotAgreed { scheme: Scheme::ZaRtc };
        assert_eq!(route(&payment, &partner, Mirror::default()), Err(refused));
    }
}
