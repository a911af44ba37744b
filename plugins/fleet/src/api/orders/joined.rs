//! What orders and payloads refer to, read for a whole page at once: one look at each collection, however many they are.
//!
//! Never decides what is shown; an id that is not known any more is shown as null.

use std::collections::BTreeMap;

use tenon_plugin::{Call, Stop};

use crate::records::payloads::Payload;
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
        self.places.extend(payload.route.places());
        self.entities.extend(payload.entities());
        for stop in payload.route.stops() {
            self.contacts.extend(stop.customer.clone());
            self.numbers.extend(stop.tracking_number.clone());
        }
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
        let some = |ids: &[String], load: &dyn Fn(&[String]) -> Result<BTreeMap<String, String>, Stop>| {
            if ids.is_empty() { Ok(BTreeMap::new()) } else { load(ids) }
        };
        let statuses = match self.statuses.is_empty() {
            true => BTreeMap::new(),
            false => tracking::statuses_of(call, &self.statuses)?,
        };
        Ok(Joined {
            places: some(&self.places, &|ids| Ok(places::load_many(call, ids)))?,
            entities: some(&self.entities, &|ids| Ok(entities::load_many(call, ids)))?,
            contacts: some(&self.contacts, &|ids| Ok(contacts::load_many(call, ids)))?,
            drivers: some(&self.drivers, &|ids| Ok(drivers::load_many(call, ids)))?,
            vehicles: some(&self.vehicles, &|ids| Ok(vehicles::load_many(call, ids)))?,
            numbers: some(&self.numbers, &|ids| tracking::load_many(call, ids))?,
            statuses,
        })
    }
}

/// The text of what an id names, or "null".
pub fn named<'j>(texts: &'j BTreeMap<String, String>, id: Option<&str>) -> &'j str {
    id.and_then(|id| texts.get(id)).map_or("null", String::as_str)
}
