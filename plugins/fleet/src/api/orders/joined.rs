//! What orders and payloads refer to, read for a whole page at once: one look at each collection, however many they are.
//!
//! Never decides what is shown; an id that is not known any more is shown as null.

use std::collections::BTreeMap;

use tenon_plugin::{Call, Stop};

use crate::records::payloads::{Payload, StoredStop};
use crate::records::tracking::Followed;
use crate::records::{contacts, drivers, entities, places, tracking, vehicles};

/// Records that one page may refer to; beyond it a caller asks for fewer orders at once.
pub const REFERENCES_MAX: usize = 6_000;

/// Ids, as often as they are named.
#[derive(Default)]
pub struct Wanted {
    pub places: Vec<String>,
    pub entities: Vec<String>,
    pub contacts: Vec<String>,
    pub drivers: Vec<String>,
    pub vehicles: Vec<String>,
    pub numbers: Vec<String>,
    /// Numbers whose statuses are shown as well.
    pub statuses: Vec<String>,
}

/// JSON texts by id, as they are shown.
#[derive(Default)]
pub struct Joined {
    pub places: BTreeMap<String, String>,
    pub entities: BTreeMap<String, String>,
    pub contacts: BTreeMap<String, String>,
    pub drivers: BTreeMap<String, String>,
    pub vehicles: BTreeMap<String, String>,
    pub numbers: BTreeMap<String, String>,
    pub statuses: BTreeMap<String, Vec<String>>,
}

impl Wanted {
    pub fn add_payload(&mut self, payload: &Payload) {
        self.places.extend(payload.route.return_to.clone());
        self.entities.extend(payload.entities());
        payload.route.stops().for_each(|stop| self.add_stop(stop));
    }

    pub fn add_stop(&mut self, stop: &StoredStop) {
        self.places.push(stop.place.clone());
        self.contacts.extend(stop.customer.clone());
        self.numbers.extend(stop.tracking_number.clone());
    }

    /// How much one page refers to.
    pub fn count(&self) -> usize {
        let lists = [
            &self.places,
            &self.entities,
            &self.contacts,
            &self.drivers,
            &self.vehicles,
            &self.numbers,
            &self.statuses,
        ];
        lists.iter().map(|list| list.len()).sum()
    }

    pub fn load(self, call: &Call) -> Result<Joined, Stop> {
        let some = |ids: &[String], load: LoadMany| if ids.is_empty() { BTreeMap::new() } else { load(call, ids) };
        let carried = some(&self.entities, entities::load_many);
        let texts: Vec<&str> = carried.values().map(String::as_str).collect();
        let shown = if texts.is_empty() { Vec::new() } else { entities::shown(call, &texts)? };
        let followed = match self.numbers.is_empty() && self.statuses.is_empty() {
            true => Followed::default(),
            false => tracking::load_with_statuses(call, &self.numbers, &self.statuses)?,
        };
        Ok(Joined {
            places: some(&self.places, places::load_many),
            entities: carried.into_keys().zip(shown).collect(),
            contacts: some(&self.contacts, contacts::load_many),
            drivers: some(&self.drivers, drivers::load_many),
            vehicles: some(&self.vehicles, vehicles::load_many),
            numbers: followed.numbers,
            statuses: followed.statuses,
        })
    }
}

type LoadMany = fn(&Call, &[String]) -> BTreeMap<String, String>;

/// The text of what an id names, or "null".
pub fn named<'j>(texts: &'j BTreeMap<String, String>, id: Option<&str>) -> &'j str {
    id.and_then(|id| texts.get(id)).map_or("null", String::as_str)
}
