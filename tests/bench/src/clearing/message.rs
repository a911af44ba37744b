//! Messages of one payment (ZA_RTC, asynchronous). The uetr of a payment contains the worker that waits for it.

use serde_json::{Value, json};

use super::{ACCOUNTS, PARTNER};

pub const SUBMIT: &str = "/v1/clearing/payments";
pub const AUTHORISE: &str = "/v1/transactions/inbound/credit-transfer-authorisation";
pub const COMPLETE: &str = "/v1/transactions/inbound/credit-transfer-completion";

/// Characters of a UUID.
const UETR_CHARS: usize = 36;
/// Factor that makes uetrs unordered, like those of real payments. It is odd, so no two numbers get the same value.
const SPREAD: u32 = 0x9E37_79B1;

/// Payment of a worker in a run. A worker makes its payments one after another, numbered from 0.
#[derive(Clone, Debug)]
pub struct Payment {
    pub uetr: String,
    number: u32,
}

impl Payment {
    pub fn new(run: u32, worker: u16, number: u32) -> Payment {
        let uetr = format!("{:08x}-{worker:04x}-4000-8000-0000{run:08x}", number.wrapping_mul(SPREAD));
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

    /// Returns path and body of the authorisation, sent to the bank by the platform.
    pub fn to_authorise(&self) -> (String, String) {
        (AUTHORISE.to_owned(), self.authorisation().to_string())
    }

    /// Returns path and body of the completion, sent to the bank by the platform.
    pub fn to_complete(&self) -> (String, String) {
        let body = json!({
            "uetr": self.uetr, "end_to_end_identification": self.end_to_end(), "settlement_date": "2026-05-07",
        });
        (COMPLETE.to_owned(), body.to_string())
    }

    /// Returns path and body of the submission, sent to the hub by the client of the payment scheme.
    pub fn to_submit(&self) -> (String, String) {
        let mut body = self.authorisation();
        if let Some(members) = body.as_object_mut() {
            members.insert("operation".to_owned(), "credit-transfer-authorisation".into());
            members.insert("partner".to_owned(), PARTNER.into());
        }
        (SUBMIT.to_owned(), body.to_string())
    }

    /// Returns path and body of the settlement, sent to the hub by the client of the payment scheme.
    pub fn to_settle(&self) -> (String, String) {
        (format!("{SUBMIT}/{}/settlement", self.uetr), json!({ "settlement_date": "2026-05-07" }).to_string())
    }

    pub fn status_path(&self) -> String {
        format!("/v1/clearing/transactions/{}", self.uetr)
    }
}

pub fn account(customer: usize) -> String {
    format!("6200{customer:07}")
}

/// Finds the uetr in a message or an event.
pub fn uetr_of(body: &str) -> Option<&str> {
    const NAME: &str = "\"uetr\":\"";
    body.get(body.find(NAME)? + NAME.len()..)?.get(..UETR_CHARS)
}

/// Returns the worker that made the payment.
pub fn worker_of(uetr: &str) -> Option<u16> {
    u16::from_str_radix(uetr.get(9..13)?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uetr_contains_the_worker_of_the_payment() {
        let payments = [(1, 7), (1, 8), (300, 7)].map(|(worker, number)| Payment::new(5, worker, number));
        let workers = payments.clone().map(|payment| worker_of(uetr_of(&payment.to_submit().1).unwrap()).unwrap());
        assert_eq!(workers, [1, 1, 300]);
        assert!(payments.windows(2).all(|pair| pair[0].uetr != pair[1].uetr));
        assert_eq!(uetr_of("{\"uetr\":\"short"), None);
    }

    #[test]
    fn amount_keeps_its_digits() {
        assert!(Payment::new(0, 0, 1_204).to_authorise().1.contains("\"bank_settlement_amount_value\":12.05"));
    }
}
