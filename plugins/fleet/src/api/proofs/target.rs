//! What a proof is of: the order of the path, one of its stops, or something that it carries.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Call, Stop};

use crate::api::{actor, errors};
use crate::records::orders::{self, Holder, text};
use crate::records::payloads::{self, Payload};
use crate::records::tracking;
use crate::rules::authority::{self, Operation};
use crate::rules::proof::Subject;

pub struct Target {
    /// The id of the order.
    pub order: String,
    pub subject: Subject,
    /// The subject as the caller named it: of a stop its id, or that of its place.
    pub named: String,
}

/// 404 for an order that the caller may not see, and for a subject that is none of its.
pub fn find(call: &Call, operation: Operation) -> Result<Target, Stop> {
    let entry = orders::load(call, call.parameter("id"))?;
    let order: Object = json::from_text(&entry.body)?;
    actor::allow(call, operation, authority::Subject::Order(Holder::of(&order).held()))?;
    let named = call.parameter("subject");
    if named.is_empty() || named == entry.id {
        return Ok(Target { named: entry.id.clone(), order: entry.id, subject: Subject::Order });
    }
    let payload = payloads::load(call, &text(&order, "payload").unwrap_or_default())?;
    let subject = subject(&payload, named).ok_or_else(errors::not_found)?;
    Ok(Target { order: entry.id, subject, named: named.to_owned() })
}

/// Of several stops at one place the first that is not done.
fn subject(payload: &Payload, named: &str) -> Option<Subject> {
    let route = &payload.route;
    let at_place = || route.stops().filter(|stop| stop.place == named);
    let stop = route.find(named).or_else(|| at_place().find(|stop| !stop.complete)).or_else(|| at_place().next());
    if let Some(stop) = stop {
        return Some(Subject::Stop(stop.id.clone()));
    }
    payload.entities().iter().any(|entity| entity == named).then(|| Subject::Entity(named.to_owned()))
}

impl Target {
    /// All that a code which names it may hold: ids and tracking numbers.
    pub fn names(&self, call: &Call) -> Result<Vec<String>, Stop> {
        let id = match &self.subject {
            Subject::Order => &self.order,
            Subject::Stop(id) | Subject::Entity(id) => id,
        };
        let mut names = vec![id.clone(), self.named.clone()];
        for entry in tracking::of_subject(call, id)? {
            let number: Object = json::from_text(&entry.body)?;
            names.extend([text(&number, "tracking_number").unwrap_or_default(), entry.id]);
        }
        Ok(names)
    }
}
