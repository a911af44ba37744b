//! Comments beside an order: whoever may read it reads them, whoever moves it writes them.

use tenon_plugin::{Answer, Call, Outcome};

use super::actions::find_entry;
use crate::api::actor::actor;
use crate::api::form::Form;
use crate::api::lists::{Asked, Filter, Listing};
use crate::records::comments::{self, COLLECTION};
use crate::rules::authority::{Actor, Operation};
use crate::rules::invalid::Invalid;

const CONTENT_CHARS_MAX: usize = 2_000;

const LISTING: Listing =
    Listing { collection: COLLECTION, filters: &[Filter::word("author", "author")], sorts: &[], own: &[] };

pub fn list(call: &Call) -> Outcome {
    let order = find_entry(call, Operation::ReadOrder)?;
    let mut asked = Asked::of(call, &LISTING)?;
    asked.narrow_to("order", &order.id);
    let found = asked.find(call)?;
    let shown: Vec<String> = found.entries.iter().map(|entry| entry.body.clone()).collect();
    found.answer(call, &shown)
}

pub fn create(call: &Call) -> Outcome {
    let order = find_entry(call, Operation::MoveOrder)?;
    let mut form = Form::of(call)?;
    let content = form.lines("content", CONTENT_CHARS_MAX).unwrap_or_default();
    if content.trim().is_empty() {
        form.refuse(Invalid::Required("content"));
    }
    let unknown = form.finish()?;
    let author = match actor(call) {
        Actor::Driver(me) => Some(me),
        Actor::Organization => None,
    };
    let text = comments::insert(call, &order.id, &content, author)?;
    Ok(unknown.tell(Answer::created(text)))
}
