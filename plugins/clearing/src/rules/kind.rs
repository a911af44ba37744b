//! The four kinds of payment (spec/clearing: Flows), by the operation that begins them.

use super::scheme::Operation;

/// What begins, answers and ends a payment depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Answered by a response of its own, and completed after the scheme's settlement.
    Authorisation,
    /// The same, answered in the answer to the request.
    AuthorisationSync,
    /// EFT: final when it is received; a rejection asks for its return.
    CreditTransfer,
    /// EFT: final when it is approved.
    DirectDebit,
}

impl Kind {
    pub const ALL: [Kind; 4] = [Kind::Authorisation, Kind::AuthorisationSync, Kind::CreditTransfer, Kind::DirectDebit];

    /// What the platform calls to begin it.
    pub fn operation(self) -> Operation {
        match self {
            Kind::Authorisation => Operation::CreditTransferAuthorisation,
            Kind::AuthorisationSync => Operation::CreditTransferAuthorisationSync,
            Kind::CreditTransfer => Operation::CreditTransfer,
            Kind::DirectDebit => Operation::DirectDebit,
        }
    }

    /// Of the operation that begins it.
    pub fn of_operation(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.operation().name() == name)
    }

    /// What the partner calls to answer it. A synchronous answer means the same.
    pub fn response(self) -> Operation {
        match self {
            Kind::Authorisation | Kind::AuthorisationSync => Operation::CreditTransferAuthorisationResponse,
            Kind::CreditTransfer => Operation::CreditTransferResponse,
            Kind::DirectDebit => Operation::DirectDebitResponse,
        }
    }

    /// Whether settlement and completion follow an approval.
    pub fn is_authorised(self) -> bool {
        matches!(self, Kind::Authorisation | Kind::AuthorisationSync)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_serves_the_schemes_of_what_it_answers() {
        for kind in Kind::ALL {
            assert_eq!(kind.operation().schemes(), kind.response().schemes(), "{kind:?}");
        }
    }
}
