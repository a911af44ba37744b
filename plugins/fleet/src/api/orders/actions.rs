//! What is done to an order: dispatch, schedule, start, cancel, complete, set-destination.

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::Entry;
use tenon_plugin::{Answer, Call, Outcome, Stop, time};

use super::moving::Moving;
use super::shown;
use crate::api::actor::{actor, allow};
use crate::api::errors;
use crate::api::form::Form;
use crate::api::unknown::Unknown;
use crate::records::orders::{self, Holder};
use crate::rules::authority::{Actor, Operation, Subject};
use crate::rules::invalid::Invalid;
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::progress::Command;
use crate::rules::zone;

pub fn dispatch(call: &Call) -> Outcome {
    let form = Form::of_optional(call)?;
    let mut moving = load(call, Operation::MoveOrder)?;
    moving.ask(Command::Dispatch)?;
    answer(moving, form.finish()?)
}

pub fn schedule(call: &Call) -> Outcome {
    allow(call, Operation::Manage, Subject::Organization)?;
    let mut form = Form::of(call)?;
    let at_ms = read_date(&mut form);
    let unknown = form.finish()?;
    let mut moving = load(call, Operation::Manage)?;
    moving.ask(Command::Schedule { at_ms })?;
    answer(moving, unknown)
}

pub fn start(call: &Call) -> Outcome {
    let mut form = Form::of_optional(call)?;
    let mut moving = load(call, Operation::StartOrder)?;
    let (driver, skip_dispatch) = (accepting(call, &mut form)?, skips_dispatch(&mut form));
    let unknown = form.finish()?;
    moving.ask(Command::Start { driver, skip_dispatch })?;
    answer(moving, unknown)
}

pub fn cancel(call: &Call) -> Outcome {
    let form = Form::of_optional(call)?;
    let mut moving = load(call, Operation::MoveOrder)?;
    moving.ask(Command::Cancel)?;
    answer(moving, form.finish()?)
}

pub fn complete(call: &Call) -> Outcome {
    let form = Form::of_optional(call)?;
    let mut moving = load(call, Operation::MoveOrder)?;
    moving.ask(Command::Complete)?;
    answer(moving, form.finish()?)
}

pub fn set_destination(call: &Call) -> Outcome {
    let form = Form::of_optional(call)?;
    let mut moving = load(call, Operation::MoveOrder)?;
    moving.ask(Command::SetDestination(call.parameter("place").to_owned()))?;
    answer(moving, form.finish()?)
}

/// The order that the path names, if the caller may do this with it.
pub fn find_entry(call: &Call, operation: Operation) -> Result<Entry, Stop> {
    let entry = orders::load(call, call.parameter("id"))?;
    let order: Object = json::from_text(&entry.body)?;
    allow(call, operation, Subject::Order(Holder::of(&order).held()))?;
    Ok(entry)
}

/// Its id, and what is stored.
pub fn find(call: &Call, operation: Operation) -> Result<(String, Object<'static>), Stop> {
    let entry = find_entry(call, operation)?;
    let order: Object = json::from_text(&entry.body)?;
    Ok((entry.id, order.into_owned()))
}

pub fn load<'c>(call: &'c Call<'c>, operation: Operation) -> Result<Moving<'c>, Stop> {
    if operation == Operation::Manage {
        allow(call, operation, Subject::Organization)?;
        return Moving::load(call, &orders::load(call, call.parameter("id"))?);
    }
    Moving::load(call, &find_entry(call, operation)?)
}

pub fn answer(moving: Moving, unknown: Unknown) -> Outcome {
    let call = moving.call;
    let order = moving.finish()?;
    Ok(unknown.tell(Answer::ok(shown::one(call, &order)?)))
}

/// Who accepts an ad-hoc order: a driver himself, or whom the organization names.
pub fn accepting(call: &Call, form: &mut Form) -> Result<Option<String>, Stop> {
    let named = form.text("assign", TEXT_CHARS_MAX);
    match (actor(call), named) {
        (Actor::Driver(me), Some(named)) if named != me => Err(errors::forbidden()),
        (Actor::Driver(me), _) => Ok(Some(me.to_owned())),
        (Actor::Organization, named) => Ok(named),
    }
}

/// Under either of its names.
pub fn skips_dispatch(form: &mut Form) -> bool {
    let names = [form.boolean("skip_dispatch"), form.boolean("skipDispatch")];
    names.into_iter().flatten().any(|asked| asked)
}

/// `date` is a day, `time` a time of that day, `timezone` whose clocks show it.
fn read_date(form: &mut Form) -> Option<u64> {
    let date = form.text("date", TEXT_CHARS_MAX);
    let clock = form.text("time", TEXT_CHARS_MAX).unwrap_or_else(|| "00:00".to_owned());
    let zone = form.text("timezone", TEXT_CHARS_MAX).unwrap_or_else(|| zone::UTC.to_owned());
    let Some(date) = date else {
        form.refuse(Invalid::Required("date"));
        return None;
    };
    if !time::is_date(&date) {
        form.refuse(Invalid::Not { field: "date", kind: "a day like 2026-05-07" });
        return None;
    }
    let Some(shown_ms) = time::parse(&[&date, "T", &clock, "Z"].concat()) else {
        form.refuse(Invalid::Not { field: "time", kind: "a time of the day like 08:30" });
        return None;
    };
    form.keep(zone::moment(shown_ms, &zone))
}
