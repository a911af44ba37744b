//! Tracking numbers and their statuses (research/fleet 1.3, 4): what names a parcel to whoever waits for it.
//!
//! The pictures of a number are drawn in `images`.

pub mod images;

use super::flow::title_of;
use super::invalid::Invalid;
use super::location::Position;
use super::order;
use super::place::Place;
use super::refusal::Refusal;
use super::text::check_line;

pub const TEXT_CHARS_MAX: usize = 128;
pub const DETAILS_CHARS_MAX: usize = 500;
/// Of a status, its code and its details.
const TEXT_CHARS_MIN: usize = 3;
/// Of one tracking number: an order with a hundred stops and all that it may carry still goes away in one call.
pub const STATUSES_MAX: usize = 25;
/// Of one order or entity, that with which it came included: an order with fifty entities goes away in one call, and each
/// number and each of its statuses is one call of the host.
pub const NUMBERS_MAX: usize = 3;

/// What a tracking number is created from.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskedNumber {
    pub region: Option<String>,
    /// The id of an order or an entity.
    pub owner: Option<String>,
    /// What the region is.
    pub kind: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewNumber {
    /// Letters and digits, upper case.
    pub region: String,
    pub owner: String,
    pub kind: &'static str,
}

const KINDS: [&str; 3] = ["country", "province", "city"];

/// Every fault at once.
pub fn judge_number(asked: AskedNumber) -> Result<NewNumber, Vec<Invalid>> {
    let mut wrong = Vec::new();
    let given = |text: Option<String>| text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let (region, owner) = (given(asked.region), given(asked.owner));
    let fields = [("region", &region), ("owner", &owner)];
    wrong.extend(fields.iter().filter(|(_, text)| text.is_none()).map(|(field, _)| Invalid::Required(field)));
    if region.as_deref().is_some_and(|region| !region.contains(|letter: char| letter.is_ascii_alphanumeric())) {
        wrong.push(Invalid::Not { field: "region", kind: "a text with letters" });
    }
    let kind = asked.kind.as_deref().unwrap_or("country");
    let kind = KINDS.into_iter().find(|known| *known == kind);
    match (region, owner, kind) {
        (Some(region), Some(owner), Some(kind)) if wrong.is_empty() => {
            let place = Place { details: vec![("country", region)], ..Place::default() };
            Ok(NewNumber { region: place.region(), owner, kind })
        }
        (_, _, kind) => {
            if kind.is_none() {
                wrong.push(Invalid::NotOneOf { field: "type", allowed: "country, province, city" });
            }
            Err(wrong)
        }
    }
}

impl NewNumber {
    /// Of what begins at a place.
    pub fn at(owner: &str, place: &Place) -> NewNumber {
        let known = |name: &str| place.detail(name).is_some();
        let kind = match (known("country"), known("province"), known("district")) {
            (false, true, _) => "province",
            (false, false, true) => "city",
            _ => "country",
        };
        NewNumber { region: place.region(), owner: owner.to_owned(), kind }
    }

    /// `random` decides the digits; whoever stores it makes sure that it is unique.
    pub fn text(&self, organization: &str, random: u64) -> String {
        let place = Place { details: vec![("country", self.region.clone())], ..Place::default() };
        order::tracking_number(organization, random, &place)
    }
}

/// Three letters, ten digits, a region. Tells a number from an id where either may stand.
pub fn is_number(text: &str) -> bool {
    let Some((letters, rest)) = text.split_at_checked(3) else { return false };
    let Some((digits, region)) = rest.split_at_checked(10) else { return false };
    letters.bytes().all(|byte| byte.is_ascii_uppercase())
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && (1..=4).contains(&region.len())
        && region.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// What a tracking status says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Of an activity, or as a caller wrote it.
    pub code: String,
    pub title: String,
    pub details: String,
    /// Whether this is the end.
    pub complete: bool,
    pub position: Option<Position>,
    /// Of [`ADDRESS`]; none is empty.
    pub address: Vec<(&'static str, String)>,
}

/// What a status says of where it happened, besides the position.
pub const ADDRESS: [&str; 4] = ["city", "province", "postal_code", "country"];

impl Report {
    /// Where it happened, unless that is known better.
    pub fn at(mut self, place: &Place) -> Report {
        if self.position.is_none() && self.address.is_empty() {
            self.position = place.position;
            let known = ADDRESS.iter().filter_map(|name| Some((*name, place.detail(name)?.to_owned())));
            self.address = known.collect();
        }
        self
    }

    pub fn detail(&self, name: &str) -> Option<&str> {
        self.address.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }
}

/// The code of a tracking status: upper snake case, of an activity or of what a caller wrote.
pub fn status_code(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_uppercase).collect::<Vec<_>>().join("_")
}

/// What a tracking status is created from. Its texts were looked at as texts already where they are not looked at here.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AskedStatus {
    pub tracking_number: Option<String>,
    pub order: Option<String>,
    pub status: Option<String>,
    pub code: Option<String>,
    pub details: Option<String>,
    pub position: Option<Position>,
    pub country: Option<String>,
}

/// What a tracking status is of.
#[derive(Clone, Debug, PartialEq)]
pub enum Tracked {
    /// By its id, or by the number itself.
    Number(String),
    Order(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewStatus {
    pub of: Tracked,
    /// A title.
    pub status: String,
    /// Upper snake case.
    pub code: String,
    pub details: String,
    pub position: Position,
    /// Two letters, upper case.
    pub country: Option<String>,
}

/// Every fault at once.
pub fn judge_status(asked: AskedStatus) -> Result<NewStatus, Vec<Invalid>> {
    let mut wrong = Vec::new();
    let of = asked.tracking_number.map(Tracked::Number).or(asked.order.map(Tracked::Order));
    if of.is_none() {
        wrong.push(Invalid::Required("tracking_number"));
    }
    let status = text("status", asked.status, TEXT_CHARS_MAX, &mut wrong);
    let code = text("code", asked.code, TEXT_CHARS_MAX, &mut wrong);
    let details = text("details", asked.details, DETAILS_CHARS_MAX, &mut wrong);
    if asked.position.is_none() {
        wrong.push(Invalid::Required("location"));
    }
    let country = asked.country.map(|country| country.to_ascii_uppercase());
    if country.as_deref().is_some_and(|country| !is_country(country)) {
        wrong.push(Invalid::Not { field: "country", kind: "a code of two letters" });
    }
    match (of, asked.position, wrong.is_empty()) {
        (Some(of), Some(position), true) => {
            Ok(NewStatus { of, status: title_of(&status), code: status_code(&code), details, position, country })
        }
        _ => Err(wrong),
    }
}

fn text(field: &'static str, given: Option<String>, characters_max: usize, wrong: &mut Vec<Invalid>) -> String {
    let given = given.unwrap_or_default().trim().to_owned();
    let judged = match given.chars().count() {
        0 => Err(Invalid::Required(field)),
        count if count < TEXT_CHARS_MIN => Err(Invalid::Not { field, kind: "a text of at least 3 characters" }),
        _ => check_line(field, &given, characters_max),
    };
    wrong.extend(judged.err());
    given
}

pub fn is_country(text: &str) -> bool {
    text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether the same status may stand twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeats {
    Refused,
    Allowed,
}

/// `known`: the titles of the statuses that the number has.
pub fn check_repeat<'a>(
    known: impl IntoIterator<Item = &'a str>,
    status: &str,
    repeats: Repeats,
) -> Result<(), Refusal> {
    let mut known = known.into_iter();
    if repeats == Repeats::Refused && known.any(|known| known.eq_ignore_ascii_case(status)) {
        return Err(Refusal::DuplicateStatus);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    fn asked() -> AskedStatus {
        AskedStatus {
            order: some("order_1"),
            status: some("driver ENROUTE"),
            code: some("driver-enroute"),
            details: some("On the way"),
            position: Position::new(1.3, 103.8).ok(),
            country: some("sg"),
            ..AskedStatus::default()
        }
    }

    #[test]
    fn a_status_has_a_title_and_a_code() {
        let status = judge_status(asked()).unwrap();
        assert_eq!((status.status.as_str(), status.code.as_str()), ("Driver Enroute", "DRIVER_ENROUTE"));
        assert_eq!((status.of, status.country.as_deref()), (Tracked::Order("order_1".to_owned()), Some("SG")));
        let both = judge_status(AskedStatus { tracking_number: some("track_1"), ..asked() }).unwrap();
        assert_eq!(both.of, Tracked::Number("track_1".to_owned()));
    }

    #[test]
    fn every_fault_of_a_status_is_told() {
        let faults = judge_status(AskedStatus::default()).unwrap_err();
        assert_eq!(faults, ["tracking_number", "status", "code", "details", "location"].map(Invalid::Required));
        let short = judge_status(AskedStatus { code: some("AB"), country: some("SGP"), ..asked() }).unwrap_err();
        let expected = [("code", "a text of at least 3 characters"), ("country", "a code of two letters")];
        assert_eq!(short, expected.map(|(field, kind)| Invalid::Not { field, kind }));
    }

    #[test]
    fn a_status_stands_once_unless_the_caller_wants_it_twice() {
        let known = ["Order Created", "Driver Enroute"];
        assert_eq!(check_repeat(known, "driver enroute", Repeats::Refused), Err(Refusal::DuplicateStatus));
        assert_eq!(check_repeat(known, "Driver Enroute", Repeats::Allowed), Ok(()));
        assert_eq!(check_repeat(known, "Arrived", Repeats::Refused), Ok(()));
    }

    #[test]
    fn a_number_is_of_somebody_somewhere() {
        let asked = AskedNumber { region: some("sg"), owner: some("order_1"), kind: None };
        let number = judge_number(asked.clone()).unwrap();
        assert_eq!((number.region.as_str(), number.kind), ("SG", "country"));
        assert_eq!(number.text("acme", 4_820_193_755), "ACM4820193755SG");
        let faults = judge_number(AskedNumber { kind: some("planet"), ..AskedNumber::default() }).unwrap_err();
        assert_eq!(faults.len(), 3);
        assert!(judge_number(AskedNumber { region: some("東京"), ..asked }).is_err());
    }

    #[test]
    fn a_number_is_told_from_an_id() {
        for number in ["ACM4820193755SG", "FLB0000000007BAVA", "ABC12345678901"] {
            assert!(is_number(number), "{number}");
        }
        for other in [
            "track_a1b2c3d4e5",
            "acm4820193755SG",
            "ACM482019375SG",
            "ACM4820193755",
            "ACM4820193755TOOLONG",
            "東京東京",
            "",
        ] {
            assert!(!is_number(other), "{other}");
        }
    }

    proptest! {
        #[test]
        fn what_is_drawn_is_a_number(organization in "\\PC{0,12}", random: u64, region in "[a-zA-Z]{1,12}") {
            let asked = AskedNumber { region: Some(region), owner: some("order_1"), kind: None };
            prop_assert!(is_number(&judge_number(asked).unwrap().text(&organization, random)));
        }
    }
}
