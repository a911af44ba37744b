//! A rule's "no": HTTP status, code and sentence (research/fleet 3.1; its sentences stand as they are, clients compare
//! them).
//!
//! A state says no with 400, another who was first with 409, a field that is wrong with 422, an actor who may not with
//! 403.

pub mod table;

use super::invalid::Invalid;
use super::order::ProofMethod;

/// How an order has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Completed,
    Canceled,
    Failed,
}

/// Changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// At least one.
    Invalid(Vec<Invalid>),
    /// Nobody carries the order out, and it is not offered to those nearby either.
    NoDriverToDispatch,
    /// The same, asked for as an activity.
    NoDriverForDispatch,
    AlreadyDispatched,
    AlreadyStarted,
    NoDriver,
    /// An ad-hoc order is started by somebody.
    NobodyAccepts,
    /// Only an ad-hoc order is accepted by whoever comes.
    NotAdhoc,
    /// Two wanted the same ad-hoc order.
    TakenByAnother,
    NotDispatched,
    NotStarted,
    StopsNotStarted,
    Ended(Ending),
    /// The order configuration does not lead from here to there, or its conditions do not hold.
    NotNext {
        from: String,
        to: String,
    },
    StopsNotCompleted,
    NotADestination,
    ProofRequired(Option<ProofMethod>),
    InvalidConfiguration,
    InvalidPayload,
    NoProofData(ProofMethod),
    WrongQrCode,
    WrongPassword,
    /// Guessed too often: none is compared for a while.
    TooManyPasswords {
        retry_after_s: u64,
    },
    UnknownPhone,
    WrongCode,
    /// Codes are sent to one person at intervals.
    CodeSentJustNow {
        retry_after_s: u64,
    },
    DuplicateStatus,
    /// What an order, a stop or an entity shows is not deleted by itself.
    NumberBelongs,
    /// The picture of a proof is not deleted by itself.
    PictureBelongs,
    /// Nor is that of a driver.
    PictureIsPhoto,
    SameOrganization,
    /// Or no organization at all: nobody can tell which.
    NotAMember,
    NotForDrivers,
    /// A driver is not deleted while he is on the way with an order.
    OnTheWay,
    /// More than are taken from a driver who is deleted.
    TooManyOrders,
}

impl Refusal {
    /// Seconds after which the same request may succeed.
    pub fn retry_after_s(&self) -> Option<u64> {
        match self {
            Refusal::TooManyPasswords { retry_after_s } | Refusal::CodeSentJustNow { retry_after_s } => {
                Some(*retry_after_s)
            }
            _ => None,
        }
    }

    pub fn status(&self) -> u16 {
        match self {
            Refusal::WrongPassword => 401,
            Refusal::NotForDrivers => 403,
            Refusal::TakenByAnother => 409,
            Refusal::Invalid(_)
            | Refusal::StopsNotStarted
            | Refusal::NotADestination
            | Refusal::ProofRequired(_)
            | Refusal::DuplicateStatus => 422,
            Refusal::CodeSentJustNow { .. } | Refusal::TooManyPasswords { .. } => 429,
            _ => 400,
        }
    }

    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Invalid(_) | Refusal::DuplicateStatus => "VALIDATION_FAILED",
            Refusal::NoDriverToDispatch | Refusal::NoDriverForDispatch | Refusal::NoDriver | Refusal::NobodyAccepts => {
                "DRIVER_REQUIRED"
            }
            Refusal::AlreadyDispatched => "ORDER_ALREADY_DISPATCHED",
            Refusal::AlreadyStarted => "ORDER_ALREADY_STARTED",
            Refusal::NotAdhoc => "ORDER_NOT_ADHOC",
            Refusal::TakenByAnother => "ORDER_TAKEN",
            Refusal::NotDispatched => "ORDER_NOT_DISPATCHED",
            Refusal::NotStarted | Refusal::StopsNotStarted => "ORDER_NOT_STARTED",
            Refusal::Ended(Ending::Completed) => "ORDER_ALREADY_COMPLETED",
            Refusal::Ended(Ending::Canceled) => "ORDER_ALREADY_CANCELED",
            Refusal::Ended(Ending::Failed) => "ORDER_ALREADY_FAILED",
            Refusal::NotNext { .. } => "ACTIVITY_NOT_NEXT",
            Refusal::StopsNotCompleted => "WAYPOINTS_NOT_COMPLETED",
            Refusal::NotADestination => "INVALID_DESTINATION",
            Refusal::ProofRequired(_) => "PROOF_REQUIRED",
            Refusal::InvalidConfiguration => "INVALID_ORDER_CONFIG",
            Refusal::InvalidPayload => "INVALID_PAYLOAD",
            Refusal::NoProofData(_) => "PROOF_EMPTY",
            Refusal::WrongQrCode => "QR_CODE_NOT_VALID",
            Refusal::WrongPassword => "LOGIN_FAILED",
            Refusal::UnknownPhone => "PHONE_UNKNOWN",
            Refusal::WrongCode => "VERIFICATION_CODE_NOT_VALID",
            Refusal::CodeSentJustNow { .. } | Refusal::TooManyPasswords { .. } => "RATE_LIMITED",
            Refusal::NumberBelongs => "TRACKING_NUMBER_IN_USE",
            Refusal::PictureBelongs | Refusal::PictureIsPhoto => "FILE_IN_USE",
            Refusal::SameOrganization | Refusal::NotAMember => "ORGANIZATION_NOT_POSSIBLE",
            Refusal::NotForDrivers => "API_FORBIDDEN",
            Refusal::OnTheWay | Refusal::TooManyOrders => "DRIVER_HAS_ORDERS",
        }
    }

    /// At least one; of several mistakes every one. The first stands as clients know it; what to do about it follows.
    pub fn sentences(&self) -> Vec<String> {
        let sentence = match self {
            Refusal::Invalid(all) => return all.iter().map(|one| one.sentence().into_owned()).collect(),
            Refusal::NotNext { from, to } => format!("Activity {to} does not follow {from}."),
            Refusal::ProofRequired(Some(method)) => {
                format!("A proof of delivery by {} is required.", method.name())
            }
            fixed => fixed.fixed_sentence().to_owned(),
        };
        [Some(sentence), self.advice().map(str::to_owned)].into_iter().flatten().collect()
    }

    /// What the field is called that the sentence asks for.
    fn advice(&self) -> Option<&'static str> {
        match self {
            Refusal::NobodyAccepts => {
                Some("Name the driver in `assign`, or start the order with the token of the driver himself.")
            }
            Refusal::NoDriverToDispatch | Refusal::NoDriverForDispatch => {
                Some("Set the `driver` of the order, or make it `adhoc`.")
            }
            Refusal::NoDriver => Some("Set the `driver` of the order."),
            _ => None,
        }
    }

    fn fixed_sentence(&self) -> &'static str {
        match self {
            Refusal::NoDriverToDispatch => "No driver assigned to dispatch!",
            Refusal::NoDriverForDispatch => "No driver assigned for order to dispatch to.",
            Refusal::AlreadyDispatched => "Order has already been dispatched!",
            Refusal::AlreadyStarted => "Order has already started.",
            Refusal::NoDriver => "No driver assigned to order.",
            Refusal::NobodyAccepts => "You must send driver to accept adhoc order.",
            Refusal::NotAdhoc => "Only an adhoc order can be accepted by a driver it is not assigned to.",
            Refusal::TakenByAnother => "Order has already been accepted by another driver.",
            Refusal::NotDispatched => "Order has not been dispatched yet and cannot be started.",
            Refusal::NotStarted => "Order has not been started yet and cannot be completed.",
            Refusal::StopsNotStarted => "Order must be started before waypoint activity can be updated.",
            Refusal::Ended(Ending::Completed) => "Order is already completed.",
            Refusal::Ended(Ending::Canceled) => "Order is already canceled.",
            Refusal::Ended(Ending::Failed) => "Order has already failed.",
            Refusal::StopsNotCompleted => "Not all waypoints completed for order.",
            Refusal::NotADestination => "Place resource is not a valid destination.",
            Refusal::InvalidConfiguration => "Invalid order `type` or `order_config` provided.",
            Refusal::InvalidPayload => "Attempted to attach invalid payload to order.",
            Refusal::NoProofData(ProofMethod::Signature) => "No signature data to capture.",
            Refusal::NoProofData(ProofMethod::Scan) => "No QR code data to capture.",
            Refusal::NoProofData(ProofMethod::Photo) => "No photo data to capture.",
            Refusal::WrongQrCode => "Unable to validate QR code data.",
            Refusal::WrongPassword => "Authentication failed using password provided.",
            Refusal::TooManyPasswords { .. } => "Too many wrong passwords. Try again later.",
            Refusal::UnknownPhone => "No driver with this phone # found.",
            Refusal::WrongCode => "Invalid verification code!",
            Refusal::CodeSentJustNow { .. } => "A code was sent just now. Try again in a moment.",
            Refusal::DuplicateStatus => "The tracking number already has this status.",
            Refusal::NumberBelongs => "The tracking number goes away with what it names.",
            Refusal::PictureBelongs => "The picture goes away with the order that it proves.",
            Refusal::PictureIsPhoto => "The picture is the photo of a driver. Give him another one first.",
            Refusal::SameOrganization => "The driver already acts for this organization.",
            Refusal::NotAMember => "The driver is not a member of this organization.",
            Refusal::NotForDrivers => "The API key does not allow this request",
            Refusal::OnTheWay => "The driver has an order to carry out. Give it to another driver, or cancel it.",
            Refusal::TooManyOrders => "The driver has more than 100 open orders. Give them to others first.",
            Refusal::ProofRequired(_) => "A proof of delivery is required.",
            // Their sentences have words of their own.
            Refusal::Invalid(_) | Refusal::NotNext { .. } => "The request is not possible.",
        }
    }
}

impl From<Invalid> for Refusal {
    fn from(invalid: Invalid) -> Refusal {
        Refusal::Invalid(vec![invalid])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(refusal: Refusal, status: u16, code: &str, sentence: &str) {
        assert_eq!((refusal.status(), refusal.code()), (status, code), "{refusal:?}");
        assert_eq!(refusal.sentences().first().map(String::as_str), Some(sentence));
    }

    #[test]
    fn the_known_sentences_stand_as_clients_know_them() {
        let table = [
            (Refusal::NoDriverToDispatch, 400, "No driver assigned to dispatch!"),
            (Refusal::NoDriverForDispatch, 400, "No driver assigned for order to dispatch to."),
            (Refusal::AlreadyDispatched, 400, "Order has already been dispatched!"),
            (Refusal::AlreadyStarted, 400, "Order has already started."),
            (Refusal::NoDriver, 400, "No driver assigned to order."),
            (Refusal::NobodyAccepts, 400, "You must send driver to accept adhoc order."),
            (Refusal::NotDispatched, 400, "Order has not been dispatched yet and cannot be started."),
            (Refusal::Ended(Ending::Completed), 400, "Order is already completed."),
            (Refusal::StopsNotStarted, 422, "Order must be started before waypoint activity can be updated."),
            (Refusal::StopsNotCompleted, 400, "Not all waypoints completed for order."),
            (Refusal::NotADestination, 422, "Place resource is not a valid destination."),
            (Refusal::InvalidConfiguration, 400, "Invalid order `type` or `order_config` provided."),
            (Refusal::InvalidPayload, 400, "Attempted to attach invalid payload to order."),
            (Refusal::NoProofData(ProofMethod::Signature), 400, "No signature data to capture."),
            (Refusal::NoProofData(ProofMethod::Scan), 400, "No QR code data to capture."),
            (Refusal::NoProofData(ProofMethod::Photo), 400, "No photo data to capture."),
            (Refusal::WrongQrCode, 400, "Unable to validate QR code data."),
            (Refusal::WrongPassword, 401, "Authentication failed using password provided."),
            (Refusal::UnknownPhone, 400, "No driver with this phone # found."),
            (Refusal::WrongCode, 400, "Invalid verification code!"),
        ];
        for (refusal, status, sentence) in table {
            let code = refusal.code();
            check(refusal, status, code, sentence);
        }
    }

    #[test]
    fn what_the_strict_rules_add_has_codes_of_its_own() {
        check(Refusal::TakenByAnother, 409, "ORDER_TAKEN", "Order has already been accepted by another driver.");
        let next = Refusal::NotNext { from: "created".to_owned(), to: "completed".to_owned() };
        check(next, 400, "ACTIVITY_NOT_NEXT", "Activity completed does not follow created.");
        let signature = Refusal::ProofRequired(Some(ProofMethod::Signature));
        check(signature, 422, "PROOF_REQUIRED", "A proof of delivery by signature is required.");
        check(Refusal::ProofRequired(None), 422, "PROOF_REQUIRED", "A proof of delivery is required.");
        check(Refusal::Ended(Ending::Failed), 400, "ORDER_ALREADY_FAILED", "Order has already failed.");
        check(Refusal::NotForDrivers, 403, "API_FORBIDDEN", "The API key does not allow this request");
    }

    #[test]
    fn who_is_missing_is_named_as_the_field_is() {
        let said = Refusal::NobodyAccepts.sentences();
        assert!(said.len() == 2 && said[1].contains("`assign`"), "{said:?}");
        assert!(Refusal::NoDriver.sentences()[1].contains("`driver`"));
        assert_eq!(Refusal::NotStarted.sentences().len(), 1);
    }

    #[test]
    fn every_fault_of_a_field_is_told() {
        let both = Refusal::Invalid(vec![Invalid::Required("name"), Invalid::Required("type")]);
        assert_eq!((both.status(), both.code()), (422, "VALIDATION_FAILED"));
        assert_eq!(both.sentences(), ["The name field is required.", "The type field is required."]);
    }
}
