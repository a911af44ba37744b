//! A configuration as it is shown and stored: its names, and its flow as an object of activities by their codes.
//!
//! Never reads what an author has written (`written`).

use serde::Serialize;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Stop, time};

use super::{ConfigurationNames, transport_names};
use crate::records::shapes::object_of;
use crate::rules::configuration::Names;
use crate::rules::flow::logic::Condition;
use crate::rules::flow::{self, Activity, Flow};
use crate::rules::order::ProofMethod;

const NO_TIME_MS: u64 = 0;

#[derive(Serialize)]
struct ActivityText<'a> {
    key: &'a str,
    code: &'a str,
    status: &'a str,
    details: &'a str,
    color: Option<&'a str>,
    sequence: u32,
    activities: &'a [String],
    logic: Vec<LogicText<'a>>,
    complete: bool,
    require_pod: bool,
    pod_method: Option<&'static str>,
    /// Shown as clients know them; what they would do is not done, so that none can be stored.
    events: [(); 0],
    actions: [(); 0],
    options: [(); 0],
    entities: [(); 0],
}

#[derive(Serialize)]
struct LogicText<'a> {
    #[serde(rename = "type")]
    join: &'static str,
    conditions: Vec<ConditionText<'a>>,
}

#[derive(Serialize)]
struct ConditionText<'a> {
    field: &'a str,
    operator: &'static str,
    value: &'a str,
}

/// An object of activities by their codes, in their order.
pub fn flow_text(flow: &Flow) -> Result<String, Stop> {
    let texts = flow.activities().iter().map(|activity| Ok((activity.code.as_str(), activity_text(activity)?)));
    let texts: Vec<(&str, String)> = texts.collect::<Result<_, Stop>>()?;
    object_of(texts.iter().map(|(code, text)| (*code, text.as_str())))
}

/// An activity as clients read and post it.
pub fn activity_text(activity: &Activity) -> Result<String, Stop> {
    let logic = activity.logic.iter().map(|logic| LogicText {
        join: logic.join.name(),
        conditions: logic.conditions.iter().map(condition_text).collect(),
    });
    json::to_text(&ActivityText {
        key: &activity.key,
        code: &activity.code,
        status: &activity.status,
        details: &activity.details,
        color: activity.color.as_deref(),
        sequence: activity.sequence,
        activities: &activity.next,
        logic: logic.collect(),
        complete: activity.complete,
        require_pod: activity.require_pod,
        pod_method: activity.pod_method.map(ProofMethod::name),
        events: [],
        actions: [],
        options: [],
        entities: [],
    })
}

fn condition_text(condition: &Condition) -> ConditionText<'_> {
    ConditionText { field: &condition.field, operator: condition.operator.name(), value: &condition.value }
}

/// The built-in configuration as it is shown; it was there before anything else.
pub fn transport_text() -> Result<String, Stop> {
    let ConfigurationNames { id, key, namespace, name, version } = transport_names();
    let description = Some("Pick up, bring, done.".to_owned());
    let mut text = Object::default();
    text.set("id", &id)?;
    write_names(&mut text, &Names { name, key, namespace, description, version })?;
    text.set_raw("flow", flow_text(&flow::transport())?);
    text.set_raw("meta", "{}");
    text.set("updated_at", &time::to_text(NO_TIME_MS))?;
    text.set("created_at", &time::to_text(NO_TIME_MS))?;
    Ok(text.to_text())
}

pub fn write_names(text: &mut Object, names: &Names) -> Result<(), Stop> {
    text.set("name", &names.name)?;
    text.set("namespace", &names.namespace)?;
    text.set("description", &names.description)?;
    text.set("key", &names.key)?;
    // A configuration that is there can be used.
    text.set("status", "active")?;
    text.set("version", &names.version)
}
