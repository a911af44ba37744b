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
}

impl Place {
    pub fn at(position: Position) -> Place {
        Place { details: Vec::new(), position: Some(position) }
    }

    /// A free text is the street.
    pub fn of_address(text: &str) -> Place {
        Place { details: vec![("street1", text.to_owned())], position: None }
    }

    pub fn detail(&self, name: &str) -> Option<&str> {
        self.details.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// One line; `None` where nothing of an address is known.
    pub fn address(&self) -> Option<String> {
        let parts: Vec<&str> = ADDRESS.iter().filter_map(|name| self.detail(name)).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// Whether one address has become another. What had none is where it was, whatever it is called.
    fn is_elsewhere(&self, before: &Place) -> bool {
        let (is, was) = (self.address(), before.address());
        is.is_some() && was.is_some() && is != was
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
    let mut place = Place { details, position: None };
    // Where the address before was says nothing of another one.
    let known = before.position.filter(|_| !place.is_elsewhere(&before));
    place.position = asked.position.over(known);
    if place.details.is_empty() && place.position.is_none() {
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
        Place { details: details.iter().map(|(name, text)| (*name, (*text).to_owned())).collect(), position: None }
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
    fn another_address_is_somewhere_else() {
        let at = Position::new(1.0, 2.0).unwrap();
        let depot =
            |position: Option<Position>| Place { position, ..place(&[("name", "Depot"), ("street1", "2 Bay Rd")]) };
        let after = |before: Place, change: Asked| settle(Some(before), change).unwrap().position;
        let moved = asked(&[("street1", Change::To("9 Hill"))]);
        assert_eq!(after(depot(Some(at)), moved.clone()), None);
        assert_eq!(after(depot(Some(at)), asked(&[("city", Change::To("Wien"))])), None);
        let there = Position::new(3.0, 4.0).unwrap();
        assert_eq!(after(depot(Some(at)), Asked { position: Change::To(there), ..moved.clone() }), Some(there));
        for same in
            [asked(&[]), asked(&[("name", Change::To("Shop"))]), asked(&[("street1", Change::To(" 2 Bay Rd "))])]
        {
            assert_eq!(after(depot(Some(at)), same), Some(at));
        }
        // A point that is given an address, or loses it, is where it was.
        assert_eq!(after(Place::at(at), moved), Some(at));
        assert_eq!(after(depot(Some(at)), asked(&[("street1", Change::Cleared)])), Some(at));
    }

    #[test]
    fn the_region_is_the_country_or_what_is_nearest_to_it() {
        assert_eq!(place(&[("country", "us"), ("province", "CA")]).region(), "US");
        assert_eq!(place(&[("province", "Bavaria")]).region(), "BAVA");
        assert_eq!(place(&[("district", "東京")]).region(), "SG");
        assert_eq!(Place::default().region(), "SG");
    }
}
