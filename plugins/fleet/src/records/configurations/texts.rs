//! The flow of a configuration as JSON: an object of activities by their codes; a list of them is read as well.
//!
//! Owns the wire form alone; what a flow may be, `rules::flow` judges.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenon_plugin::json::{self, Object};
use tenon_plugin::{Stop, time};

use super::{ConfigurationNames, transport_names};
use crate::records::shapes::object_of;
use crate::rules::configuration::Names;
use crate::rules::flow::logic::{Condition, Join, Logic, Operator};
use crate::rules::flow::{self, ACTIVITIES_MAX, Activity, Flow};
use crate::rules::invalid::Invalid;
use crate::rules::order::ProofMethod;

const NOT_A_FLOW: Invalid = Invalid::Not { field: "flow", kind: "an object of activities by their codes" };
const NO_TIME_MS: u64 = 0;

/// One activity; what is absent or null is empty.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ActivityText {
    key: Option<String>,
    code: Option<String>,
    status: Option<String>,
    details: Option<String>,
    color: Option<String>,
    sequence: Option<u32>,
    activities: Option<Vec<String>>,
    logic: Option<Vec<LogicText>>,
    complete: Option<bool>,
    require_pod: Option<bool>,
    pod_method: Option<String>,
    /// Shown as clients know them; what they would do is not done, so that none can be stored.
    #[serde(skip_deserializing)]
    events: [(); 0],
    #[serde(skip_deserializing)]
    actions: [(); 0],
    #[serde(skip_deserializing)]
    options: [(); 0],
    #[serde(skip_deserializing)]
    entities: [(); 0],
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct LogicText {
    #[serde(rename = "type")]
    kind: String,
    conditions: Vec<ConditionText>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct ConditionText {
    field: String,
    operator: String,
    value: String,
}

/// What an activity may have and this version does not carry out.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Unsupported {
    events: Option<Vec<IgnoredAny>>,
    actions: Option<Vec<IgnoredAny>>,
    entities: Option<Vec<IgnoredAny>>,
}

/// `value` is the field's JSON text. Every fault at once.
pub fn read_flow(value: &str) -> Result<Flow, Vec<Invalid>> {
    let mut faults = Vec::new();
    let mut activities = Vec::new();
    for text in activity_texts(value).map_err(|fault| vec![fault])? {
        match read_activity(&text) {
            Ok(activity) => activities.push(activity),
            Err(fault) => faults.push(fault),
        }
    }
    if faults.is_empty() { Flow::check(activities) } else { Err(faults) }
}

/// The JSON text of each activity.
fn activity_texts(value: &str) -> Result<Vec<String>, Invalid> {
    let texts: Vec<String> = if value.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value).map_err(|_| NOT_A_FLOW)?;
        items.into_iter().map(|item| item.get().to_owned()).collect()
    } else {
        let by_code = Object::parse(value).map_err(|_| NOT_A_FLOW)?;
        by_code.members().map(|(_, text)| text.to_owned()).collect()
    };
    if texts.len() > ACTIVITIES_MAX {
        let why = ["it has more than ", &ACTIVITIES_MAX.to_string(), " activities"].concat();
        return Err(Invalid::NotAccepted { field: "flow", why });
    }
    Ok(texts)
}

fn read_activity(text: &str) -> Result<Activity, Invalid> {
    let unsupported: Unsupported = serde_json::from_str(text).map_err(|_| NOT_A_FLOW)?;
    let asked = [
        ("flow.events", unsupported.events),
        ("flow.actions", unsupported.actions),
        ("flow.entities", unsupported.entities),
    ];
    if let Some((field, _)) = asked.into_iter().find(|(_, list)| list.as_ref().is_some_and(|list| !list.is_empty())) {
        return Err(Invalid::NotSupported(field));
    }
    let read: ActivityText = serde_json::from_str(text).map_err(|_| NOT_A_FLOW)?;
    let code = read.code.unwrap_or_default();
    Ok(Activity {
        key: read.key.unwrap_or_else(|| code.clone()),
        status: read.status.unwrap_or_else(|| flow::title_of(&code)),
        code,
        details: read.details.unwrap_or_default(),
        color: read.color,
        sequence: read.sequence.unwrap_or_default(),
        next: read.activities.unwrap_or_default(),
        logic: read.logic.unwrap_or_default().into_iter().map(read_logic).collect::<Result<_, _>>()?,
        complete: read.complete.unwrap_or_default(),
        require_pod: read.require_pod.unwrap_or_default(),
        pod_method: read.pod_method.as_deref().map(ProofMethod::of_name).transpose()?,
    })
}

fn read_logic(text: LogicText) -> Result<Logic, Invalid> {
    let join = Join::of_name(&text.kind);
    let join = join.ok_or(Invalid::NotOneOf { field: "flow.logic.type", allowed: "and, or, not, if" })?;
    let conditions = text.conditions.into_iter().map(|condition| {
        let why = || Invalid::NotAccepted { field: "flow.logic.operator", why: "it is not known".to_owned() };
        let operator = Operator::of_name(&condition.operator).ok_or_else(why)?;
        Ok(Condition { field: condition.field, operator, value: condition.value })
    });
    Ok(Logic { join, conditions: conditions.collect::<Result<_, Invalid>>()? })
}

/// Of a stored configuration, or of the built-in one.
pub fn flow_of(configuration: &str) -> Result<Flow, Stop> {
    let stored: Object = json::from_text(configuration)?;
    let flow = stored.given("flow").unwrap_or("{}");
    read_flow(flow).map_err(|_| Stop::fault("a stored configuration with a flow that is none"))
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
        kind: logic.join.name().to_owned(),
        conditions: logic.conditions.iter().map(condition_text).collect(),
    });
    json::to_text(&ActivityText {
        key: Some(activity.key.clone()),
        code: Some(activity.code.clone()),
        status: Some(activity.status.clone()),
        details: Some(activity.details.clone()),
        color: activity.color.clone(),
        sequence: Some(activity.sequence),
        activities: Some(activity.next.clone()),
        logic: Some(logic.collect()),
        complete: Some(activity.complete),
        require_pod: Some(activity.require_pod),
        pod_method: activity.pod_method.map(|method| method.name().to_owned()),
        ..ActivityText::default()
    })
}

fn condition_text(condition: &Condition) -> ConditionText {
    ConditionText {
        field: condition.field.clone(),
        operator: condition.operator.name().to_owned(),
        value: condition.value.clone(),
    }
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
