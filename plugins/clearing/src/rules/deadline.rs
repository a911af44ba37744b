//! Absolute times of a payment (spec/clearing: Limits; research/clearing 2.5), in milliseconds since 1970.

use super::limits;
use super::message::Payment;
use super::scheme::Scheme;

/// How long a partner may think, by scheme. Settings of a tenant; the default leaves half of the scheme's time to the
/// way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    pub rtc_ms: u64,
    pub rpp_ms: u64,
    pub eft_ms: u64,
}

impl Default for Budgets {
    fn default() -> Budgets {
        Budgets { rtc_ms: limits::RTC_DECISION_MS, rpp_ms: limits::RPP_DECISION_MS, eft_ms: limits::EFT_DECISION_MS }
    }
}

/// When the payment began for those who count: when it was made, if the sender's clock can be believed, else now. One that is
/// older than its scheme's time is late, not new.
fn began_ms(payment: &Payment, now_ms: u64) -> u64 {
    let is_timed = payment.scheme.completion_ms().is_some();
    let is_believed = |made_ms: &u64| {
        is_timed && now_ms.checked_sub(*made_ms).is_some_and(|age_ms| age_ms <= limits::AGE_BELIEVED_MS_MAX)
    };
    payment.details.creation_date_time_ms.filter(is_believed).unwrap_or(now_ms)
}

/// When the partner must have decided: never later than the scheme's own time.
pub fn decide_by_ms(payment: &Payment, budgets: Budgets, now_ms: u64) -> u64 {
    let budget_ms = match payment.scheme {
        Scheme::ZaRtc => budgets.rtc_ms,
        Scheme::ZaRpp => budgets.rpp_ms,
        Scheme::ZaEft | Scheme::CbprPlus => budgets.eft_ms,
    };
    let budget_ms = payment.scheme.completion_ms().map_or(budget_ms, |limit_ms| budget_ms.min(limit_ms));
    began_ms(payment, now_ms).saturating_add(budget_ms)
}

/// When the payment must be completed; `None` where only processing windows count.
pub fn complete_by_ms(payment: &Payment, now_ms: u64) -> Option<u64> {
    payment.scheme.completion_ms().map(|limit_ms| began_ms(payment, now_ms).saturating_add(limit_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::invalid::Field;
    use crate::rules::kind::Kind;
    use crate::rules::message::Raw;

    /// 2026-05-07T08:30:00Z
    const NOW_MS: u64 = 1_778_142_600_000;

    fn authorisation(scheme: &str, created: &str) -> Payment {
        let raw = Raw::default()
            .with(Field::Uetr, "97ed4827-7b6f-4491-a06f-b548d5a7512d")
            .with(Field::EndToEndIdentification, "E2E-1")
            .with(Field::MessageIdentification, "M-1")
            .with(Field::PaymentScheme, scheme)
            .with(Field::CreationDateTime, created)
            .with(Field::BankSettlementAmountValue, "1")
            .with(Field::BankSettlementAmountCurrency, "ZAR");
        Payment::read(&raw, Kind::Authorisation).unwrap()
    }

    #[test]
    fn time_counts_from_a_creation_that_can_be_believed() {
        let table = [
            ("ZA_RPP", "2026-05-07T08:29:58Z", 3_000, 8_000),
            ("ZA_RTC", "2026-05-07T10:29:58+02:00", 28_000, 58_000),
            ("ZA_RPP", "2026-05-07T08:29:50Z", -5_000, 0),
            ("ZA_RTC", "2026-05-06T08:30:00Z", -86_370_000, -86_340_000),
            ("ZA_RTC", "2026-05-06T08:29:59Z", 30_000, 60_000),
            ("ZA_RPP", "2026-05-07T08:30:01Z", 5_000, 10_000),
            ("ZA_RTC", "2020-01-01T00:00:00Z", 30_000, 60_000),
        ];
        for (scheme, created, decide_in_ms, complete_in_ms) in table {
            let payment = authorisation(scheme, created);
            let decide_by_ms = decide_by_ms(&payment, Budgets::default(), NOW_MS);
            assert_eq!(decide_by_ms, NOW_MS.saturating_add_signed(decide_in_ms), "{scheme} {created}");
            let complete_by_ms = NOW_MS.saturating_add_signed(complete_in_ms);
            assert_eq!(super::complete_by_ms(&payment, NOW_MS), Some(complete_by_ms), "{scheme} {created}");
        }
    }

    #[test]
    fn no_budget_is_longer_than_the_scheme_allows() {
        let payment = authorisation("ZA_RPP", "2026-05-07T08:30:00Z");
        let generous = Budgets { rpp_ms: 3_600_000, ..Budgets::default() };
        assert_eq!(decide_by_ms(&payment, generous, NOW_MS), NOW_MS + 10_000);
    }
}
