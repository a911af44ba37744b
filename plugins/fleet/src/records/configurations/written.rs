//! The flow of a configuration as its author writes it: an object of activities by their codes, or a list of them.
//!
//! Owns the sentences about a flow that cannot be read; what a flow may be, `rules::flow` judges. Invariant: what is stored
//! reads as it was written.

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::value::RawValue;
use tenon_plugin::Stop;
use tenon_plugin::json::{self, Object};

use crate::api::form::object_at;
use crate::rules::flow::logic::{Condition, Join, Logic, Operator};
use crate::rules::flow::{self, ACTIVITIES_MAX, Activity, Flow, quoted};
use crate::rules::invalid::Invalid;
use crate::rules::order::ProofMethod;

const KIND: &str = "an object of activities by their codes";
const NOT_A_FLOW: Invalid = Invalid::Not { field: "flow", kind: KIND };

/// One activity, each of its members still to be read.
struct Written<'a> {
    members: Object<'a>,
    /// As far as it can be read: names the activity in sentences.
    code: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenLogic {
    #[serde(rename = "type")]
    join: String,
    conditions: Vec<WrittenCondition>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenCondition {
    field: String,
    operator: String,
    value: Value,
}

/// Numbers and flags are compared as they are written.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Number(serde_json::Number),
    Flag(bool),
    Nothing(()),
}

impl Default for Value {
    fn default() -> Value {
        Value::Nothing(())
    }
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

/// Of a stored configuration, or of the built-in one.
pub fn flow_of(configuration: &str) -> Result<Flow, Stop> {
    let stored: Object = json::from_text(configuration)?;
    let flow = stored.given("flow").unwrap_or("{}");
    read_flow(flow).map_err(|_| Stop::fault("a stored configuration with a flow that is none"))
}

/// The JSON text of each activity.
fn activity_texts(value: &str) -> Result<Vec<String>, Invalid> {
    let texts: Vec<String> = if value.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(value).map_err(|_| NOT_A_FLOW)?;
        items.into_iter().map(|item| item.get().to_owned()).collect()
    } else {
        let by_code = object_at("flow", value, KIND)?;
        by_code.members().map(|(_, text)| text.to_owned()).collect()
    };
    if texts.len() > ACTIVITIES_MAX {
        return Err(not_accepted(["it has more than ", &ACTIVITIES_MAX.to_string(), " activities"].concat()));
    }
    Ok(texts)
}

fn read_activity(text: &str) -> Result<Activity, Invalid> {
    let members = object_at("flow", text, KIND)?;
    let code = members.text("code").ok().flatten().unwrap_or_default();
    let written = Written { members, code };
    written.check_supported()?;
    let code: String = written.read("code", "a text")?.unwrap_or_default();
    Ok(Activity {
        key: written.read("key", "a text")?.unwrap_or_else(|| code.clone()),
        status: written.read("status", "a text")?.unwrap_or_else(|| flow::title_of(&code)),
        code,
        details: written.read("details", "a text")?.unwrap_or_default(),
        color: written.read("color", "a text")?,
        sequence: written.read("sequence", "a whole number")?.unwrap_or_default(),
        next: written.read("activities", "a list of the codes of what may come next")?.unwrap_or_default(),
        logic: written.logics()?,
        complete: written.read("complete", "true or false")?.unwrap_or_default(),
        require_pod: written.read("require_pod", "true or false")?.unwrap_or_default(),
        pod_method: written.read::<String>("pod_method", "a text")?.as_deref().map(ProofMethod::of_name).transpose()?,
    })
}

impl Written<'_> {
    /// `None`: absent or null.
    fn read<T: DeserializeOwned>(&self, member: &str, kind: &str) -> Result<Option<T>, Invalid> {
        self.members.read(member).map_err(|_| self.wrong(member, kind))
    }

    fn wrong(&self, member: &str, kind: &str) -> Invalid {
        not_accepted(["`", member, "` of the activity ", &quoted(&self.code), " is not ", kind].concat())
    }

    /// What an activity may have and this version does not carry out.
    fn check_supported(&self) -> Result<(), Invalid> {
        let fields = [("events", "flow.events"), ("actions", "flow.actions"), ("entities", "flow.entities")];
        for (member, field) in fields {
            let listed: Option<Vec<IgnoredAny>> = self.read(member, "an empty list")?;
            if listed.is_some_and(|listed| !listed.is_empty()) {
                return Err(Invalid::NotSupported(field));
            }
        }
        Ok(())
    }

    fn logics(&self) -> Result<Vec<Logic>, Invalid> {
        const FORM: &str = "a list like [{\"type\": \"and\", \"conditions\": [{\"field\": \"type\", \"operator\": \"equal\", \
                            \"value\": \"transport\"}]}]";
        let logics: Option<Vec<WrittenLogic>> = self.read("logic", FORM)?;
        logics.unwrap_or_default().into_iter().map(read_logic).collect()
    }
}

fn read_logic(written: WrittenLogic) -> Result<Logic, Invalid> {
    let join = Join::of_name(&written.join);
    let join = join.ok_or(Invalid::NotOneOf { field: "flow.logic.type", allowed: "and, or, not, if" })?;
    let conditions = written.conditions.into_iter().map(read_condition);
    Ok(Logic { join, conditions: conditions.collect::<Result<_, _>>()? })
}

fn read_condition(written: WrittenCondition) -> Result<Condition, Invalid> {
    let operator = Operator::of_name(&written.operator).ok_or_else(|| {
        let known = Operator::ALL.map(Operator::name).join(", ");
        let why = [&quoted(&written.operator), " is none of these: ", known.as_str()].concat();
        Invalid::NotAccepted { field: "flow.logic.operator", why }
    })?;
    let value = match written.value {
        Value::Text(text) => text,
        Value::Number(number) => number.to_string(),
        Value::Flag(flag) => flag.to_string(),
        Value::Nothing(()) => String::new(),
    };
    Ok(Condition { field: written.field, operator, value })
}

fn not_accepted(why: String) -> Invalid {
    Invalid::NotAccepted { field: "flow", why }
}
