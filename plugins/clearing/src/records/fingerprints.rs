//! Which contents were approved on a day, and under which uetr: what a duplicate is told by.

use tenon_plugin::{Call, Stop, json};

use super::FINGERPRINTS;
use crate::audit;
use crate::rules::date::Date;
use crate::rules::directory::Repetition;
use crate::rules::invalid::Field;
use crate::rules::message::Payment;

/// Whether the content of a payment was approved today under another uetr.
pub fn was_seen(call: &Call, payment: &Payment) -> Repetition {
    let known = call.records(FINGERPRINTS).get(&fingerprint(call, payment));
    let is_other = known.is_some_and(|entry| !entry.body.contains(payment.uetr.as_str()));
    if is_other { Repetition::Seen } else { Repetition::Unseen }
}

pub fn note_content(call: &Call, payment: &Payment) -> Result<(), Stop> {
    let (records, id) = (call.records(FINGERPRINTS), fingerprint(call, payment));
    if records.get(&id).is_none() {
        records.insert(&id, &json::to_text(&[("uetr", payment.uetr.as_str())])?)?;
    }
    Ok(())
}

fn fingerprint(call: &Call, payment: &Payment) -> String {
    let content = payment.content();
    let fields = content.fields().filter(|(field, _)| *field != Field::Uetr);
    // A NUL stands in no field.
    let text: String = fields.map(|(field, text)| [field.name(), "\0", text, "\0"].concat()).collect();
    [Date::of_ms(call.now()).to_text().as_str(), "/", &audit::hash(text.as_bytes())].concat()
}
