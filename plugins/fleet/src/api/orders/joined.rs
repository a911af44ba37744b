//! What orders, payloads and stops refer to, read for a whole page: few looks at each collection, however many they are.
//!
//! Never decides what is shown; an id that is not known any more is shown as null. Invariants: what is read is bounded,
//! and so is what is shown of it; a page that is too large is refused, a single resource is shown with ids.

use std::collections::{BTreeMap, BTreeSet};

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use crate::api::lists::too_large_together;
use crate::records::common::LOOK_IDS_MAX;
use crate::records::payloads::{self, Payload, StoredStop};
use crate::records::tracking;
use crate::records::{contacts, drivers, entities, places, vehicles};

/// Records that one page may refer to; beyond it a caller asks for fewer orders at once.
const REFERENCES_MAX: usize = 6_000;
/// What is shown in the place of ids, together, each as often as it is shown. An answer has 8 MiB: the rest is for what
/// refers to it, a payload and an order of a record each at most.
const BYTES_MAX: usize = 6 << 20;

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
    /// Numbers of stops, of which no picture is shown.
    pub stops: Vec<String>,
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
    pub stops: BTreeMap<String, String>,
}

/// Why nothing was joined.
enum Unjoined {
    TooLarge,
    Stop(Stop),
}

impl From<Stop> for Unjoined {
    fn from(stop: Stop) -> Unjoined {
        Unjoined::Stop(stop)
    }
}

impl From<Unjoined> for Stop {
    fn from(unjoined: Unjoined) -> Stop {
        match unjoined {
            Unjoined::TooLarge => too_large_together(),
            Unjoined::Stop(stop) => stop,
        }
    }
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
        self.stops.extend(stop.tracking_number.clone());
    }

    /// For so many resources together. Where one alone is too large, its places, entities and contacts stay ids.
    pub fn load(mut self, call: &Call, resources: usize) -> Result<Joined, Stop> {
        match self.join(call) {
            Err(Unjoined::TooLarge) if resources <= 1 => {
                let large = [&mut self.places, &mut self.entities, &mut self.contacts].map(std::mem::take);
                let [places, entities, contacts] = large.map(|ids| as_themselves(&ids));
                Ok(Joined { places, entities, contacts, ..self.join(call)? })
            }
            joined => Ok(joined?),
        }
    }

    fn join(&self, call: &Call) -> Result<Joined, Unjoined> {
        if self.count() > REFERENCES_MAX {
            return Err(Unjoined::TooLarge);
        }
        let mut room = Room(BYTES_MAX);
        let mut statuses = BTreeMap::new();
        let numbers: BTreeSet<&String> = self.numbers.iter().chain(&self.statuses).collect();
        let numbers: Vec<String> = numbers.into_iter().cloned().collect();
        Ok(Joined {
            numbers: room.take(&numbers, |ids| {
                let followed: Vec<String> = ids.iter().filter(|id| self.statuses.contains(id)).cloned().collect();
                let found = tracking::load_with_statuses(call, ids, &followed)?;
                statuses.extend(found.statuses);
                Ok(found.numbers)
            })?,
            stops: room.take(&self.stops, |ids| without_pictures(tracking::load_many(call, ids)?))?,
            drivers: room.take(&self.drivers, |ids| Ok(drivers::load_shown(call, ids)))?,
            vehicles: room.take(&self.vehicles, |ids| Ok(vehicles::load_many(call, ids)))?,
            places: room.take(&self.places, |ids| Ok(places::load_many(call, ids)))?,
            contacts: room.take(&self.contacts, |ids| Ok(contacts::load_many(call, ids)))?,
            entities: room.take(&self.entities, |ids| shown_entities(call, ids))?,
            statuses: room.keep(statuses)?,
        })
    }

    /// How much one page refers to.
    fn count(&self) -> usize {
        let lists = [
            &self.places,
            &self.entities,
            &self.contacts,
            &self.drivers,
            &self.vehicles,
            &self.numbers,
            &self.statuses,
            &self.stops,
        ];
        lists.iter().map(|list| list.len()).sum()
    }
}

/// Payloads of a page by their ids; one that is not known any more is missing.
pub fn payloads_of(call: &Call, ids: &[String]) -> Result<BTreeMap<String, Payload>, Stop> {
    let texts = Room(BYTES_MAX).take(ids, |ids| Ok(payloads::load_many(call, ids)))?;
    texts.into_iter().map(|(id, text)| Payload::parse(&id, &text).map(|payload| (id, payload))).collect()
}

/// Bytes that may still be shown.
struct Room(usize);

impl Room {
    /// What `load` gives for the ids, few of them at a time; ends where there is no room for it, as often as it is named.
    fn take(
        &mut self,
        ids: &[String],
        mut load: impl FnMut(&[String]) -> Result<BTreeMap<String, String>, Stop>,
    ) -> Result<BTreeMap<String, String>, Unjoined> {
        let mut times: BTreeMap<&String, usize> = BTreeMap::new();
        for id in ids {
            *times.entry(id).or_default() += 1;
        }
        let distinct: Vec<String> = times.keys().map(|id| (*id).clone()).collect();
        let mut found = BTreeMap::new();
        for look in distinct.chunks(LOOK_IDS_MAX) {
            let texts = load(look)?;
            for (id, text) in &texts {
                self.use_up(text.len().saturating_mul(times.get(id).copied().unwrap_or_default()))?;
            }
            found.extend(texts);
        }
        Ok(found)
    }

    /// The lists, if there is room for them.
    fn keep(&mut self, lists: BTreeMap<String, Vec<String>>) -> Result<BTreeMap<String, Vec<String>>, Unjoined> {
        self.use_up(lists.values().flatten().map(String::len).sum())?;
        Ok(lists)
    }

    fn use_up(&mut self, bytes: usize) -> Result<(), Unjoined> {
        self.0 = self.0.checked_sub(bytes).ok_or(Unjoined::TooLarge)?;
        Ok(())
    }
}

fn shown_entities(call: &Call, ids: &[String]) -> Result<BTreeMap<String, String>, Stop> {
    let carried = entities::load_many(call, ids);
    let texts: Vec<&str> = carried.values().map(String::as_str).collect();
    let shown = entities::shown(call, &texts)?;
    Ok(carried.into_keys().zip(shown).collect())
}

fn without_pictures(numbers: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Stop> {
    let bare = numbers.into_iter().map(|(id, text)| {
        let mut number: Object = json::from_text(&text)?;
        number.remove("qr_code");
        number.remove("barcode");
        Ok((id, number.to_text()))
    });
    bare.collect()
}

/// Ids are of letters, digits and "_".
fn as_themselves(ids: &[String]) -> BTreeMap<String, String> {
    ids.iter().map(|id| (id.clone(), ["\"", id, "\""].concat())).collect()
}

/// The text of what an id names, or "null".
pub fn named<'j>(texts: &'j BTreeMap<String, String>, id: Option<&str>) -> &'j str {
    id.and_then(|id| texts.get(id)).map_or("null", String::as_str)
}
