//! Orders (spec/fleet; research/fleet 1.1.1): which stops they need, what proof they want, how they are numbered.

pub mod terms;

use super::invalid::Invalid;
use super::place::Place;

/// The key of the configuration that every organization has.
pub const DEFAULT_TYPE: &str = "transport";
/// Longest texts of an order, in characters; notes may be longer. Four bytes each, they fit an indexed field (512
/// bytes).
pub const TEXT_CHARS_MAX: usize = 128;
pub const NOTES_CHARS_MAX: usize = 10_000;
/// The JSON text of an order as it is shown, with all that it refers to: a tour of a hundred stops has about a fourth of
/// it. A page of the largest ones is refused, and asked for with a smaller limit.
pub const BYTES_MAX: usize = 512 << 10;
/// Stops of one tour.
pub const WAYPOINTS_MAX: usize = 100;

/// Where an order goes, as far as it decides whether it can go at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    pub pickup: bool,
    pub dropoff: bool,
    pub waypoints: usize,
}

/// Asked before the places are read, so that a long list costs nothing.
pub fn check_waypoints(count: usize) -> Result<(), Invalid> {
    if count > WAYPOINTS_MAX {
        return Err(Invalid::Not { field: "waypoints", kind: "a list of at most 100 places" });
    }
    Ok(())
}

/// A pickup and a dropoff, or a tour of at least two waypoints.
pub fn check_stops(stops: Stops) -> Result<(), Invalid> {
    check_waypoints(stops.waypoints)?;
    if stops.waypoints >= 2 {
        return Ok(());
    }
    match (stops.pickup, stops.dropoff) {
        (true, true) => Ok(()),
        (true, false) if stops.waypoints == 0 => Err(Invalid::Required("dropoff")),
        (false, true) if stops.waypoints == 0 => Err(Invalid::Required("pickup")),
        _ => Err(Invalid::NoStops),
    }
}

pub fn check_size(bytes: usize) -> Result<(), Invalid> {
    if bytes > BYTES_MAX { Err(Invalid::TooLarge { resource: "order", bytes_max: BYTES_MAX }) } else { Ok(()) }
}

/// How the delivery is to be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofMethod {
    Scan,
    Signature,
    Photo,
}

impl ProofMethod {
    pub fn name(self) -> &'static str {
        match self {
            ProofMethod::Scan => "scan",
            ProofMethod::Signature => "signature",
            ProofMethod::Photo => "photo",
        }
    }

    pub fn of_name(name: &str) -> Result<ProofMethod, Invalid> {
        let all = [ProofMethod::Scan, ProofMethod::Signature, ProofMethod::Photo];
        let found = all.into_iter().find(|method| method.name() == name);
        found.ok_or(Invalid::NotOneOf { field: "pod_method", allowed: "scan, signature, photo" })
    }
}

/// Whether a delivery must be proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofWanted {
    Required,
    Optional,
}

impl From<bool> for ProofWanted {
    fn from(required: bool) -> ProofWanted {
        if required { ProofWanted::Required } else { ProofWanted::Optional }
    }
}

/// Who requires a proof says which.
pub fn check_proof(wanted: ProofWanted, method: Option<ProofMethod>) -> Result<(), Invalid> {
    match (wanted, method) {
        (ProofWanted::Required, None) => Err(Invalid::RequiredWith { field: "pod_method", with: "pod_required" }),
        _ => Ok(()),
    }
}

/// Three letters of the organization, ten digits, the region of the first stop: "ACM4820193755SG". `random` decides the
/// digits; whoever stores it makes sure that it is unique.
pub fn tracking_number(organization: &str, random: u64, first_stop: &Place) -> String {
    let letters: String = organization.chars().filter(char::is_ascii_alphabetic).take(3).collect();
    let letters = if letters.len() == 3 { letters.to_ascii_uppercase() } else { "FLB".to_owned() };
    let digits = (random % 10_000_000_000).to_string();
    let zeros = "0".repeat(10usize.saturating_sub(digits.len()));
    [letters.as_str(), &zeros, &digits, &first_stop.region()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_order_goes_somewhere() {
        let too_many = Err(Invalid::Not { field: "waypoints", kind: "a list of at most 100 places" });
        let table = [
            (Stops { pickup: true, dropoff: true, waypoints: 0 }, Ok(())),
            (Stops { pickup: false, dropoff: false, waypoints: 2 }, Ok(())),
            (Stops { pickup: true, dropoff: true, waypoints: 1 }, Ok(())),
            (Stops { pickup: true, dropoff: false, waypoints: 0 }, Err(Invalid::Required("dropoff"))),
            (Stops { pickup: false, dropoff: true, waypoints: 0 }, Err(Invalid::Required("pickup"))),
            (Stops { pickup: false, dropoff: false, waypoints: 0 }, Err(Invalid::NoStops)),
            (Stops { pickup: true, dropoff: false, waypoints: 1 }, Err(Invalid::NoStops)),
            (Stops { pickup: true, dropoff: true, waypoints: 101 }, too_many),
        ];
        for (stops, expected) in table {
            assert_eq!(check_stops(stops), expected, "{stops:?}");
        }
    }

    #[test]
    fn a_required_proof_names_its_method() {
        assert_eq!(check_proof(ProofWanted::Optional, None), Ok(()));
        assert_eq!(check_proof(ProofWanted::Required, Some(ProofMethod::Photo)), Ok(()));
        assert!(check_proof(ProofWanted::Required, None).is_err());
        assert!(ProofMethod::of_name("oath").is_err());
    }

    #[test]
    fn a_tracking_number_can_be_read_out() {
        assert_eq!(tracking_number("acme", 4_820_193_755, &Place::default()), "ACM4820193755SG");
        assert_eq!(tracking_number("42", 7, &Place::default()), "FLB0000000007SG");
    }

    proptest! {
        #[test]
        fn tracking_numbers_are_letters_and_digits(organization in "\\PC{0,12}", random: u64) {
            let number = tracking_number(&organization, random, &Place::default());
            prop_assert_eq!(number.len(), 15);
            prop_assert!(number.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit()));
        }
    }
}
