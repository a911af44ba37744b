//! Activities of an order: what may come next, and taking one of them.

use tenon_plugin::json::{self, Object};
use tenon_plugin::{Answer, Call, Outcome, Stop};

use super::actions::{accepting, answer, find_entry, load, skips_dispatch};
use super::fields;
use super::moving::Moving;
use crate::api::form::{Form, object_at};
use crate::api::lists::single;
use crate::records::configurations::activity_text;
use crate::rules::authority::{Operation, of_activity};
use crate::rules::flow::CODE_CHARS_MAX;
use crate::rules::invalid::Invalid;
use crate::rules::next::{Next, next_activities};
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::progress::{Command, REASON_CHARS_MAX, Rules, Taken};

const KIND: &str = "an activity, or the code of one";
const NOT_AN_ACTIVITY: Invalid = Invalid::Not { field: "activity", kind: KIND };

/// `waypoint`: the id of a stop or of its place.
pub fn next(call: &Call) -> Outcome {
    let moving = Moving::load(call, &find_entry(call, Operation::ReadOrder)?)?;
    let fields = fields::of(call, &moving.order);
    let rules = Rules { flow: &moving.flow, fields: &fields };
    let found = next_activities(moving.progress(), rules, single(call, "waypoint")?)?;
    let texts: Vec<String> = found.iter().map(next_text).collect::<Result<_, _>>()?;
    Ok(Answer::ok(json::array(texts.iter().map(String::as_str))))
}

fn next_text(next: &Next) -> Result<String, Stop> {
    let activity = activity_text(next.activity)?;
    let mut shown: Object = json::from_text(&activity)?;
    if let Some(need) = next.proof {
        shown.set("require_pod", &true)?;
        shown.set("pod_method", &need.0.map(|method| method.name()))?;
    }
    shown.set("_resolved_status", &next.resolved_status)?;
    shown.set("_resolved_details", &next.resolved_details)?;
    Ok(shown.to_text())
}

/// Only the code of an activity counts: what it does is the configuration's.
pub fn update(call: &Call) -> Outcome {
    let mut form = Form::of(call)?;
    let (code, inner_reason) = read_activity(&mut form)?;
    let mut moving = load(call, of_activity(&code))?;
    let taken = Taken {
        code,
        proof: form.text("proof", TEXT_CHARS_MAX),
        reason: form.lines("reason", REASON_CHARS_MAX).or(inner_reason),
        driver: accepting(call, &mut form)?,
        skip_dispatch: skips_dispatch(&mut form),
    };
    let unknown = form.finish()?;
    moving.ask(Command::Take(taken))?;
    answer(moving, unknown)
}

/// The code, and the reason where it stands with it.
fn read_activity(form: &mut Form) -> Result<(String, Option<String>), Stop> {
    let Some(value) = form.given("activity").map(str::to_owned) else {
        return Err(Invalid::Required("activity").into());
    };
    let (code, reason) = match value.as_bytes().first() {
        Some(b'"') => (serde_json::from_str::<String>(&value).ok(), None),
        Some(b'{') => {
            let object = object_at("activity", &value, KIND)?;
            let text = |field: &str| object.text(field).map_err(|_| NOT_AN_ACTIVITY);
            (text("code")?, text("reason")?)
        }
        _ => (None, None),
    };
    let fits = |code: &String| !code.is_empty() && code.chars().count() <= CODE_CHARS_MAX && code.is_ascii();
    Ok((code.filter(fits).ok_or(NOT_AN_ACTIVITY)?, reason))
}
