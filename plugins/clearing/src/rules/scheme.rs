//! Payment schemes, the nine operations, and which of them fit (spec/clearing: Flows, Endpoints).

use super::invalid::{Field, Invalid, Rule};
use super::limits;

/// Values of `payment_scheme` (spec/clearing: Resources).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// Real-time clearing.
    ZaRtc,
    /// Rapid payments, by proxy or account.
    ZaRpp,
    /// Files and processing windows; final on receipt.
    ZaEft,
    /// Known in queries; no inbound flow is published for it, so no operation serves it.
    CbprPlus,
}

/// As [`Scheme::name`] spells them.
const NAMES: &[&str] = &["ZA_RTC", "ZA_RPP", "ZA_EFT", "CBPR+"];

impl Scheme {
    pub const ALL: [Scheme; 4] = [Scheme::ZaRtc, Scheme::ZaRpp, Scheme::ZaEft, Scheme::CbprPlus];

    pub fn name(self) -> &'static str {
        match self {
            Scheme::ZaRtc => "ZA_RTC",
            Scheme::ZaRpp => "ZA_RPP",
            Scheme::ZaEft => "ZA_EFT",
            Scheme::CbprPlus => "CBPR+",
        }
    }

    pub fn of_name(name: &str) -> Result<Scheme, Invalid> {
        let found = Scheme::ALL.into_iter().find(|scheme| scheme.name() == name);
        found.ok_or(Field::PaymentScheme.breaks(Rule::NotOneOf(NAMES)))
    }

    /// From the payer's confirmation to the completion, in milliseconds; `None` where only windows count.
    pub fn completion_ms(self) -> Option<u64> {
        match self {
            Scheme::ZaRtc => Some(limits::RTC_COMPLETION_MS),
            Scheme::ZaRpp => Some(limits::RPP_COMPLETION_MS),
            Scheme::ZaEft | Scheme::CbprPlus => None,
        }
    }
}

/// What the two sides ask of each other: six that the partner serves, three that the platform serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    IdentifierDetermination,
    CreditTransferAuthorisation,
    CreditTransferAuthorisationSync,
    CreditTransferCompletion,
    CreditTransfer,
    DirectDebit,
    CreditTransferAuthorisationResponse,
    CreditTransferResponse,
    DirectDebitResponse,
}

impl Operation {
    pub const ALL: [Operation; 9] = [
        Operation::IdentifierDetermination,
        Operation::CreditTransferAuthorisation,
        Operation::CreditTransferAuthorisationSync,
        Operation::CreditTransferCompletion,
        Operation::CreditTransfer,
        Operation::DirectDebit,
        Operation::CreditTransferAuthorisationResponse,
        Operation::CreditTransferResponse,
        Operation::DirectDebitResponse,
    ];

    /// The last segment of its path.
    pub fn name(self) -> &'static str {
        match self {
            Operation::IdentifierDetermination => "identifier-determination",
            Operation::CreditTransferAuthorisation => "credit-transfer-authorisation",
            Operation::CreditTransferAuthorisationSync => "credit-transfer-authorisation-sync",
            Operation::CreditTransferCompletion => "credit-transfer-completion",
            Operation::CreditTransfer => "credit-transfer",
            Operation::DirectDebit => "direct-debit",
            Operation::CreditTransferAuthorisationResponse => "credit-transfer-authorisation-response",
            Operation::CreditTransferResponse => "credit-transfer-response",
            Operation::DirectDebitResponse => "direct-debit-response",
        }
    }

    pub fn of_name(name: &str) -> Option<Operation> {
        Operation::ALL.into_iter().find(|operation| operation.name() == name)
    }

    /// Below the base address of whoever serves it (spec/clearing: Endpoints).
    pub fn path(self) -> String {
        let resource = if self == Operation::IdentifierDetermination { "identifiers" } else { "transactions" };
        ["/", resource, "/inbound/", self.name()].concat()
    }

    /// The names of the schemes that it serves.
    pub fn schemes(self) -> &'static [&'static str] {
        match self {
            Operation::IdentifierDetermination => &["ZA_RPP"],
            Operation::CreditTransferAuthorisation
            | Operation::CreditTransferAuthorisationSync
            | Operation::CreditTransferCompletion
            | Operation::CreditTransferAuthorisationResponse => &["ZA_RTC", "ZA_RPP"],
            Operation::CreditTransfer
            | Operation::DirectDebit
            | Operation::CreditTransferResponse
            | Operation::DirectDebitResponse => &["ZA_EFT"],
        }
    }

    /// Scheme and operation must fit.
    pub fn serves(self, scheme: Scheme) -> Result<(), Invalid> {
        if self.schemes().contains(&scheme.name()) {
            return Ok(());
        }
        Err(Field::PaymentScheme.breaks(Rule::SchemeNotServed(self.schemes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemes_are_spelled_as_in_the_specification() {
        assert_eq!(Scheme::ALL.map(Scheme::name), NAMES);
        for scheme in Scheme::ALL {
            assert_eq!(Scheme::of_name(scheme.name()), Ok(scheme));
        }
        for name in ["", "za_rtc", "CBPR_PLUS", "ZA_AC", "ZA_RTC "] {
            assert!(Scheme::of_name(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn an_operation_serves_its_own_schemes_only() {
        for operation in Operation::ALL {
            let served: Vec<Scheme> =
                Scheme::ALL.into_iter().filter(|scheme| operation.serves(*scheme).is_ok()).collect();
            let expected: &[Scheme] = match operation.name() {
                "identifier-determination" => &[Scheme::ZaRpp],
                "credit-transfer" | "credit-transfer-response" | "direct-debit" | "direct-debit-response" => {
                    &[Scheme::ZaEft]
                }
                _ => &[Scheme::ZaRtc, Scheme::ZaRpp],
            };
            assert_eq!(served, expected, "{operation:?}");
        }
    }
}
