//! Why a command changes nothing. A refusal of what the other side has sent is a 422 of the border (INBOUND_UNPROCESSABLE).

use super::invalid::Field;
use super::kind::Kind;
use super::scheme::Scheme;
use super::state::State;

/// A rule's "no" to a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The uetr is known with other content, or a message contradicts the payment that it names. The first outcome stands.
    Differs { fields: Vec<Field> },
    /// The uetr is known from another operation.
    UetrTaken { by: Kind },
    /// The operation does not belong to this kind of payment.
    WrongOperation,
    /// The opposite was said before, and stands.
    AlreadyDecided,
    /// The scheme's time is over.
    TooLate,
    /// No edge leads there from this state.
    NotPossible { state: State },
    /// The partner has not agreed to this scheme.
    SchemeNotAgreed { scheme: Scheme },
}
