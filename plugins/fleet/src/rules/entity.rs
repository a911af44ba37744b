//! Entities: the things that an order carries (research/fleet 1.1.1, 1.5). Each has a tracking number of its own.

use super::change::{Change, Faults, TextField, Texts};
use super::invalid::Invalid;
use super::order::TEXT_CHARS_MAX;

/// What an entity says of itself in one line each.
pub const TEXTS: [TextField; 5] =
    [("internal_id", 128), ("sku", 128), ("supplier", 64), ("customer", 64), ("photo", 2_048)];
const DESCRIPTION: TextField = ("description", 2_000);
const TYPE: TextField = ("type", 64);

pub const DEFAULT_TYPE: &str = "entity";
const WEIGHT_UNITS: &str = "g, kg, oz, lb, t";
const DIMENSION_UNITS: &str = "mm, cm, m, in, ft";
/// Of sizes and weights, in whatever unit.
const SIZE: (f64, f64) = (0.0, 1_000_000_000.0);

/// Where it goes: what a caller writes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// A place in the list of waypoints.
    Index(usize),
    /// The id of a place or a waypoint.
    Place(String),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entity {
    pub name: String,
    /// A word that the organization chooses.
    pub kind: String,
    pub description: Option<String>,
    /// Of [`TEXTS`].
    pub texts: Texts,
    pub destination: Option<Destination>,
    pub weight: Option<f64>,
    pub weight_unit: Option<String>,
    pub sizes: Sizes,
    pub dimensions_unit: Option<String>,
    /// As they were written.
    pub price: Option<String>,
    pub sale_price: Option<String>,
    pub declared_value: Option<String>,
    /// Three letters, upper case.
    pub currency: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sizes {
    pub length: Option<f64>,
    pub width: Option<f64>,
    pub height: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    pub name: Change<String>,
    pub kind: Change<String>,
    pub description: Change<String>,
    pub texts: Vec<(&'static str, Change<String>)>,
    pub destination: Change<Destination>,
    pub weight: Change<f64>,
    pub weight_unit: Change<String>,
    pub length: Change<f64>,
    pub width: Change<f64>,
    pub height: Change<f64>,
    pub dimensions_unit: Change<String>,
    pub price: Change<String>,
    pub sale_price: Change<String>,
    pub declared_value: Change<String>,
    pub currency: Change<String>,
}

/// An entity by itself says what it is; one that comes with an order needs only a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comes {
    Alone,
    WithOrder,
}

/// What was asked for, on top of the entity before where there is one. Every fault at once.
pub fn settle(before: Option<Entity>, asked: Asked, comes: Comes) -> Result<Entity, Vec<Invalid>> {
    let default_type = (comes == Comes::WithOrder).then(|| DEFAULT_TYPE.to_owned());
    let known = before.map(|before| (Some(before.name.clone()), Some(before.kind.clone()), before));
    let (name, kind, before) = known.unwrap_or((None, default_type, Entity::default()));
    let mut faults = Faults::default();
    let entity = Entity {
        name: faults.required(("name", TEXT_CHARS_MAX), asked.name, name),
        kind: faults.required(TYPE, asked.kind, kind),
        description: faults.lines(DESCRIPTION, asked.description, before.description),
        texts: faults.texts(&TEXTS, asked.texts, before.texts),
        destination: asked.destination.over(before.destination),
        weight: faults.number("weight", asked.weight.over(before.weight), SIZE),
        weight_unit: faults.word("weight_unit", asked.weight_unit.over(before.weight_unit), WEIGHT_UNITS),
        sizes: Sizes {
            length: faults.number("length", asked.length.over(before.sizes.length), SIZE),
            width: faults.number("width", asked.width.over(before.sizes.width), SIZE),
            height: faults.number("height", asked.height.over(before.sizes.height), SIZE),
        },
        dimensions_unit: faults.word(
            "dimensions_unit",
            asked.dimensions_unit.over(before.dimensions_unit),
            DIMENSION_UNITS,
        ),
        price: faults.amount("price", asked.price.over(before.price)),
        sale_price: faults.amount("sale_price", asked.sale_price.over(before.sale_price)),
        declared_value: faults.amount("declared_value", asked.declared_value.over(before.declared_value)),
        currency: faults.currency("currency", asked.currency.over(before.currency)),
    };
    faults.finish(with_units(entity))
}

/// A weight or a size is in kilograms or centimetres unless it is said otherwise.
fn with_units(entity: Entity) -> Entity {
    let Sizes { length, width, height } = entity.sizes;
    let unit = |unit: Option<String>, default: &str, is_asked: bool| unit.or(is_asked.then(|| default.to_owned()));
    Entity {
        weight_unit: unit(entity.weight_unit, "kg", entity.weight.is_some()),
        dimensions_unit: unit(entity.dimensions_unit, "cm", length.or(width).or(height).is_some()),
        ..entity
    }
}

impl Destination {
    /// The id of the stop. `stops`: ids of the waypoints and of their places, in the order of the tour.
    pub fn find_stop<'a>(&self, stops: &'a [(String, String)]) -> Result<&'a str, Invalid> {
        let found = match self {
            Destination::Index(index) => stops.get(*index),
            Destination::Place(id) => stops.iter().find(|(stop, place)| stop == id || place == id),
        };
        let unknown = Invalid::Not { field: "destination", kind: "a stop of the order" };
        found.map(|(stop, _)| stop.as_str()).ok_or(unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> Change<String> {
        Change::To(text.to_owned())
    }

    fn asked() -> Asked {
        Asked {
            name: to("Piano"),
            kind: to("parcel"),
            weight: Change::To(300.0),
            height: Change::To(110.0),
            price: to("4999.90"),
            currency: to("sgd"),
            destination: Change::To(Destination::Index(1)),
            ..Asked::default()
        }
    }

    #[test]
    fn an_entity_has_a_name_and_a_type() {
        let entity = settle(None, asked(), Comes::Alone).unwrap();
        assert_eq!((entity.weight_unit.as_deref(), entity.dimensions_unit.as_deref()), (Some("kg"), Some("cm")));
        assert_eq!((entity.price.as_deref(), entity.currency.as_deref()), (Some("4999.90"), Some("SGD")));
        let faults = settle(None, Asked::default(), Comes::Alone).unwrap_err();
        assert_eq!(faults, ["name", "type"].map(Invalid::Required));
        let with_order = settle(None, Asked { name: to("Piano"), ..Asked::default() }, Comes::WithOrder).unwrap();
        assert_eq!((with_order.kind.as_str(), with_order.weight_unit), (DEFAULT_TYPE, None));
    }

    #[test]
    fn what_is_absent_stays_and_what_is_null_goes() {
        let before = settle(None, asked(), Comes::Alone).unwrap();
        assert_eq!(settle(Some(before.clone()), Asked::default(), Comes::Alone), Ok(before.clone()));
        let changed =
            Asked { price: Change::Cleared, weight: Change::To(0.3), weight_unit: to("t"), ..Asked::default() };
        let changed = settle(Some(before), changed, Comes::Alone).unwrap();
        assert_eq!((changed.price, changed.weight, changed.weight_unit.as_deref()), (None, Some(0.3), Some("t")));
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let wrong = Asked {
            weight: Change::To(-1.0),
            weight_unit: to("stone"),
            dimensions_unit: to("mile"),
            price: to("free"),
            currency: to("gold"),
            texts: vec![("sku", to("a\nb"))],
            ..asked()
        };
        assert_eq!(settle(None, wrong, Comes::Alone).unwrap_err().len(), 6);
    }

    #[test]
    fn an_entity_goes_to_a_stop_of_its_order() {
        let stops = [("waypoint_1", "place_1"), ("waypoint_2", "place_2")];
        let stops = stops.map(|(stop, place)| (stop.to_owned(), place.to_owned()));
        let find = |destination: Destination| destination.find_stop(&stops).map(str::to_owned);
        assert_eq!(find(Destination::Index(1)).as_deref(), Ok("waypoint_2"));
        assert_eq!(find(Destination::Place("place_1".to_owned())).as_deref(), Ok("waypoint_1"));
        assert!(find(Destination::Index(2)).is_err() && find(Destination::Place("place_9".to_owned())).is_err());
    }
}
