//! Places: where an order is picked up and dropped off. No address is looked up anywhere: a text stays a text.

use super::location::Position;

/// What a place may say of itself besides its position, in the order of an address.
pub const DETAILS: [&str; 12] = [
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
];

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

    /// The end of a tracking number: the country, else the province, else the district, else "SG"; upper case.
    pub fn region(&self) -> String {
        let known = ["country", "province", "district"].iter().find_map(|name| self.detail(name)).unwrap_or_default();
        let letters: String = known.chars().filter(char::is_ascii_alphanumeric).take(REGION_CHARS_MAX).collect();
        if letters.is_empty() { "SG".to_owned() } else { letters.to_ascii_uppercase() }
    }
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

    #[test]
    fn the_region_is_the_country_or_what_is_nearest_to_it() {
        assert_eq!(place(&[("country", "us"), ("province", "CA")]).region(), "US");
        assert_eq!(place(&[("province", "Bavaria")]).region(), "BAVA");
        assert_eq!(place(&[("district", "東京")]).region(), "SG");
        assert_eq!(Place::default().region(), "SG");
    }
}
