//! Places: where an order is picked up and dropped off. No address is looked up here: a text is a text.

use super::change::{Change, Faults};
use super::invalid::Invalid;
use super::location::Position;

/// What a place may say of itself besides its position, in the order of an address.
pub const DETAILS: [&str; 15] = [
    "name",
    "street1",
    "street2",
    "building",
    "neighborhood",
    "district",
    "city",
    "province",
    "postal_code",
    "country",
    "phone",
    "security_access_code",
    // A word that the organization chooses.
    "type",
    // The id of a contact.
    "owner",
    "avatar_url",
];

pub const DETAIL_CHARS_MAX: usize = 500;

/// The parts that make up the one-line address.
const ADDRESS: [&str; 6] = ["street1", "street2", "city", "province", "postal_code", "country"];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// Of [`DETAILS`]; none is empty.
    pub details: Vec<(&'static str, String)>,
    pub position: Option<Position>,
    /// The position is what a geocoder said of the address: no caller gave it.
    pub is_located: bool,
}

impl Place {
    pub fn at(position: Position) -> Place {
        Place { position: Some(position), ..Place::default() }
    }

    /// A free text is the street.
    pub fn of_address(text: &str) -> Place {
        Place { details: vec![("street1", text.to_owned())], ..Place::default() }
    }

    pub fn detail(&self, name: &str) -> Option<&str> {
        self.details.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// One line; `None` where nothing of an address is known.
    pub fn address(&self) -> Option<String> {
        let parts: Vec<&str> = ADDRESS.iter().filter_map(|name| self.detail(name)).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The end of a tracking number: the country, else the province, else the district, else "SG"; upper case.
    pub fn region(&self) -> String {
        let known = ["country", "province", "district"].iter().find_map(|name| self.detail(name)).unwrap_or_default();
        let letters: String = known.chars().filter(char::is_ascii_alphanumeric).take(REGION_CHARS_MAX).collect();
        if letters.is_empty() { "SG".to_owned() } else { letters.to_ascii_uppercase() }
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Of [`DETAILS`].
    pub details: Vec<(&'static str, Change<String>)>,
    pub position: Change<Position>,
}

/// What was asked for, on top of the place before where there is one. Every fault at once.
pub fn settle(before: Option<Place>, asked: Asked) -> Result<Place, Vec<Invalid>> {
    let before = before.unwrap_or_default();
    let mut faults = Faults::default();
    let mut details = Vec::new();
    for (name, change) in asked.details {
        let known = before.detail(name).map(str::to_owned);
        details.extend(faults.lines((name, DETAIL_CHARS_MAX), change, known).map(|text| (name, text)));
    }
    let mut place = Place { details, ..Place::default() };
    // What a geocoder said of one address says nothing of another; what a caller gave stays.
    let known = before.position.filter(|_| !before.is_located || place.address() == before.address());
    // What nobody has located is shown at 0, 0, and what is sent back as it was read says nothing.
    let is_said = |at: Position| at != Position::NOWHERE && Some(at) != before.position;
    let is_there = matches!(asked.position, Change::To(_));
    place.position = match asked.position {
        Change::To(at) if is_said(at) => Some(at),
        Change::Cleared => None,
        Change::To(_) | Change::Absent => {
            place.is_located = before.is_located && known.is_some();
            known
        }
    };
    if place.details.is_empty() && place.position.is_none() && !is_there {
        faults.note(Invalid::Required("address"));
    }
    faults.finish(place)
}

/// A province may be a long word; a tracking number is read out on the phone.
const REGION_CHARS_MAX: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn place(details: &[(&'static str, &str)]) -> Place {
        let details = details.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        Place { details, ..Place::default() }
    }

    #[test]
    fn an_address_is_one_line_of_what_is_known() {
        assert_eq!(Place::of_address("1 Main St").address().as_deref(), Some("1 Main St"));
        let full = place(&[("name", "Depot"), ("city", "Singapore"), ("street1", "2 Bay Rd")]);
        assert_eq!(full.address().as_deref(), Some("2 Bay Rd, Singapore"));
        assert_eq!(Place::default().address(), None);
    }

    fn asked(details: &[(&'static str, Change<&str>)]) -> Asked {
        let change = |name: &str| details.iter().find(|(known, _)| *known == name).map(|(_, change)| change.clone());
        let owned = |change: Change<&str>| match change {
            Change::To(text) => Change::To(text.to_owned()),
            Change::Cleared => Change::Cleared,
            Change::Absent => Change::Absent,
        };
        let details = DETAILS.map(|name| (name, change(name).map(owned).unwrap_or_default())).into();
        Asked { details, position: Change::Absent }
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let before = settle(None, asked(&[("name", Change::To("Depot")), ("city", Change::To(" Wien "))])).unwrap();
        assert_eq!((before.detail("name"), before.detail("city")), (Some("Depot"), Some("Wien")));
        assert_eq!(settle(Some(before.clone()), asked(&[])), Ok(before.clone()));
        let after = settle(Some(before), asked(&[("name", Change::Cleared)])).unwrap();
        assert_eq!((after.detail("name"), after.detail("city")), (None, Some("Wien")));
    }

    #[test]
    fn a_place_is_somewhere() {
        assert_eq!(settle(None, asked(&[])).unwrap_err(), [Invalid::Required("address")]);
        let at = Asked { position: Change::To(Position::new(1.0, 2.0).unwrap()), ..Asked::default() };
        assert!(settle(None, at).is_ok());
    }

    #[test]
    fn what_a_geocoder_said_goes_with_its_address_and_what_a_caller_gave_stays() {
        let (at, there) = (Position::new(1.0, 2.0).unwrap(), Position::new(3.0, 4.0).unwrap());
        let depot = |is_located: bool| Place {
            position: Some(at),
            is_located,
            ..place(&[("name", "Depot"), ("street1", "2 Bay Rd")])
        };
        let after = |before: Place, change: Asked| {
            let place = settle(Some(before), change).unwrap();
            (place.position, place.is_located)
        };
        let elsewhere = [
            asked(&[("street1", Change::To("9 Hill"))]),
            asked(&[("city", Change::To("Wien"))]),
            asked(&[("street1", Change::Cleared)]),
        ];
        for moved in elsewhere {
            // Said, not said, sent back, and as it was before anybody knew.
            let with = |position: Change<Position>| Asked { position, ..moved.clone() };
            for unsaid in [Change::Absent, Change::To(at), Change::To(Position::NOWHERE)] {
                assert_eq!(after(depot(true), with(unsaid.clone())), (None, false));
                assert_eq!(after(depot(false), with(unsaid)), (Some(at), false));
            }
            for is_located in [true, false] {
                assert_eq!(after(depot(is_located), with(Change::To(there))), (Some(there), false));
                assert_eq!(after(depot(is_located), with(Change::Cleared)), (None, false));
            }
        }
        for same in
            [asked(&[]), asked(&[("name", Change::To("Shop"))]), asked(&[("street1", Change::To(" 2 Bay Rd "))])]
        {
            for is_located in [true, false] {
                let unsaid = Asked { position: Change::To(Position::NOWHERE), ..same.clone() };
                assert_eq!(after(depot(is_located), unsaid), (Some(at), is_located));
                assert_eq!(after(depot(is_located), same.clone()), (Some(at), is_located));
            }
        }
    }

    #[test]
    fn at_nought_and_nought_is_nowhere() {
        let nowhere =
            Asked { position: Change::To(Position::NOWHERE), ..asked(&[("street1", Change::To("2 Bay Rd"))]) };
        assert_eq!(settle(None, nowhere).unwrap(), Place::of_address("2 Bay Rd"));
    }

    #[test]
    fn the_region_is_the_country_or_what_is_nearest_to_it() {
        assert_eq!(place(&[("country", "us"), ("province", "CA")]).region(), "US");
        assert_eq!(place(&[("province", "Bavaria")]).region(), "BAVA");
        assert_eq!(place(&[("district", "東京")]).region(), "SG");
        assert_eq!(Place::default().region(), "SG");
    }
}
