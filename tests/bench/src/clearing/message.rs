//! The messages of one payment (ZA_RTC, asynchronous), and how its uetr says who waits for it.

use serde_json::{Value, json};

use super::{ACCOUNTS, PARTNER};

pub const SUBMIT: &str = "/v1/clearing/payments";
pub const AUTHORISE: &str = "/v1/transactions/inbound/credit-transfer-authorisation";
pub const COMPLETE: &str = "/v1/transactions/inbound/credit-transfer-completion";

/// Characters of a UUID.
const UETR_CHARS: usize = 36;
/// Odd, so that no two numbers are spread to one: uetrs come in no order, as those of real payments.
const SPREAD: u32 = 0x9E37_79B1;

/// The payment with this number of those that one lane of a run makes, one after the other.
#[derive(Clone, Debug)]
pub struct Payment {
    pub uetr: String,
    number: u32,
}

impl Payment {
    pub fn new(run: u32, lane: u16, number: u32) -> Payment {
        let uetr = format!("{:08x}-{lane:04x}-4000-8000-0000{run:08x}", number.wrapping_mul(SPREAD));
        Payment { uetr, number }
    }

    pub fn minor(&self) -> i64 {
        i64::from(self.number % 1_000_000) + 1
    }

    fn authorisation(&self) -> Value {
        let minor = self.minor();
        let amount: Value = serde_json::from_str(&format!("{}.{:02}", minor / 100, minor % 100)).unwrap_or_default();
        json!({
            "uetr": self.uetr,
            "end_to_end_identification": self.end_to_end(),
            "message_identification": format!("M-{}", self.number),
            "payment_scheme": "ZA_RTC",
            "bank_settlement_amount_value": amount,
            "bank_settlement_amount_currency": "ZAR",
            "creditor_account_number": account(self.number as usize % ACCOUNTS),
            "creditor_legal_name": "Ada Example",
            "debtor_account_number": "40500100200",
            "debtor_legal_name": "Sam Example",
            "remittance_information": "Invoice 4711",
        })
    }

    fn end_to_end(&self) -> String {
        format!("E2E-{}", self.number)
    }

    /// To the bank, from whoever plays the platform.
    pub fn to_authorise(&self) -> (String, String) {
        (AUTHORISE.to_owned(), self.authorisation().to_string())
    }

    /// The same.
    pub fn to_complete(&self) -> (String, String) {
        let body = json!({
            "uetr": self.uetr, "end_to_end_identification": self.end_to_end(), "settlement_date": "2026-05-07",
        });
        (COMPLETE.to_owned(), body.to_string())
    }

    /// To the hub, from whoever speaks with the scheme.
    pub fn to_submit(&self) -> (String, String) {
        let mut body = self.authorisation();
        if let Some(members) = body.as_object_mut() {
            members.insert("operation".to_owned(), "credit-transfer-authorisation".into());
            members.insert("partner".to_owned(), PARTNER.into());
        }
        (SUBMIT.to_owned(), body.to_string())
    }

    /// The same: the scheme has settled it.
    pub fn to_settle(&self) -> (String, String) {
        (format!("{SUBMIT}/{}/settlement", self.uetr), json!({ "settlement_date": "2026-05-07" }).to_string())
    }

    pub fn to_look(&self) -> String {
        format!("/v1/clearing/transactions/{}", self.uetr)
    }
}

pub fn account(customer: usize) -> String {
    format!("6200{customer:07}")
}

/// Of a message or an event.
pub fn uetr_of(body: &str) -> Option<&str> {
    const NAME: &str = "\"uetr\":\"";
    body.get(body.find(NAME)? + NAME.len()..)?.get(..UETR_CHARS)
}

/// Which lane made the payment.
pub fn lane_of(uetr: &str) -> Option<u16> {
    u16::from_str_radix(uetr.get(9..13)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_payment_finds_its_lane_again() {
        let payments = [(1, 7), (1, 8), (300, 7)].map(|(lane, number)| Payment::new(5, lane, number));
        let lanes = payments.clone().map(|payment| lane_of(uetr_of(&payment.to_submit().1).unwrap()).unwrap());
        assert_eq!(lanes, [1, 1, 300]);
        assert!(payments.windows(2).all(|pair| pair[0].uetr != pair[1].uetr));
        assert_eq!(uetr_of("{\"uetr\":\"short"), None);
    }

    #[test]
    fn an_amount_keeps_its_digits() {
        assert!(Payment::new(0, 0, 1_204).to_authorise().1.contains("\"bank_settlement_amount_value\":12.05"));
    }
}
