//! Order configurations as they are stored (research/fleet 3). `transport` is always there: nobody stored it, and nobody
//! changes it.

mod texts;
mod written;

use tenon_plugin::json::{self, Object};
use tenon_plugin::records::{Entry, Search};
use tenon_plugin::{Call, Collection, Index, Stop, time};

use super::common::{self, BY_CREATED, BY_UPDATED, Refused, is_public_id};
use crate::api::errors;
use crate::rules::configuration::{Names, TRANSPORT};
use crate::rules::flow::{self, Flow};
use crate::rules::order::TEXT_CHARS_MAX;
use crate::rules::refusal::Refusal;

pub use texts::{activity_text, transport_text};
pub use written::{flow_of, read_flow};

pub const COLLECTION: &str = "order-configs";
const PREFIX: &str = "order_config";
pub const TRANSPORT_ID: &str = "order_config_transport0";
const BY_KEY: &str = "by-key";
const BY_NAMESPACE: &str = "by-namespace";

/// What was deleted: orders that were made with it go on along its flow.
const RETIRED: &str = "retired-order-configs";

pub const COLLECTIONS: &[Collection] = &[
    Collection::new(
        COLLECTION,
        &[
            Index::unique(BY_KEY, &["key"]),
            Index::unique(BY_NAMESPACE, &["namespace"]),
            BY_CREATED,
            BY_UPDATED,
            Index::on("by-name", &["name"]),
        ],
    ),
    Collection::new(RETIRED, &[]),
];

/// How a configuration is called. Key and namespace are unique within the organization.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigurationNames {
    pub id: String,
    pub key: String,
    pub namespace: String,
    pub name: String,
    pub version: String,
}

/// The configuration of a new order: by its id, key or namespace, or the built-in one. An unknown one is refused as no
/// configuration, not as a missing resource: clients know that sentence.
pub fn find(call: &Call, asked: Option<&str>) -> Result<(ConfigurationNames, Flow), Stop> {
    let asked = asked.unwrap_or(TRANSPORT);
    if is_transport(asked) {
        return Ok((transport_names(), flow::transport()));
    }
    let entry = find_entry(call, asked)?.ok_or(Refusal::InvalidConfiguration)?;
    let Names { key, namespace, name, version, .. } = names_of(&entry.body)?;
    let flow = flow_of(&entry.body)?;
    Ok((ConfigurationNames { id: entry.id, key, namespace, name, version }, flow))
}

/// The flow of an order that was made with the configuration of this id, be it deleted by now.
pub fn flow_of_order(call: &Call, id: &str) -> Result<Flow, Stop> {
    if is_transport(id) {
        return Ok(flow::transport());
    }
    let known = is_public_id(PREFIX, id);
    let entry = known.then(|| call.records(COLLECTION).get(id).or_else(|| call.records(RETIRED).get(id))).flatten();
    flow_of(&entry.ok_or(Refusal::InvalidConfiguration)?.body)
}

/// As it is shown, by its id, key or namespace.
pub fn load(call: &Call, asked: &str) -> Result<String, Stop> {
    if is_transport(asked) { texts::transport_text() } else { load_stored(call, asked).map(|entry| entry.body) }
}

/// One that an organization made, by its id, key or namespace.
pub fn load_stored(call: &Call, asked: &str) -> Result<Entry, Stop> {
    find_entry(call, asked)?.ok_or_else(errors::not_found)
}

/// Whether the built-in one has this id, key or namespace.
pub fn is_transport(asked: &str) -> bool {
    [TRANSPORT_ID, TRANSPORT, flow::NAMESPACE].contains(&asked)
}

fn find_entry(call: &Call, asked: &str) -> Result<Option<Entry>, Stop> {
    if is_public_id(PREFIX, asked) {
        return Ok(call.records(COLLECTION).get(asked));
    }
    if asked.is_empty() || asked.contains(char::is_control) || asked.chars().nth(TEXT_CHARS_MAX).is_some() {
        return Ok(None);
    }
    for field in ["key", "namespace"] {
        let page = common::find(call, COLLECTION, &Search::first(1).is(field, asked))?;
        if let Some(entry) = page.entries.into_iter().next() {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

pub fn transport_names() -> ConfigurationNames {
    ConfigurationNames {
        id: TRANSPORT_ID.to_owned(),
        key: TRANSPORT.to_owned(),
        namespace: flow::NAMESPACE.to_owned(),
        name: "Transport".to_owned(),
        version: flow::VERSION.to_owned(),
    }
}

/// The names as the rules know them.
pub fn names_of(text: &str) -> Result<Names, Stop> {
    let stored: Object = json::from_text(text)?;
    let member = |name: &str| stored.text(name).map_err(|_| Stop::fault("a configuration with a name that is no text"));
    Ok(Names {
        name: member("name")?.unwrap_or_default(),
        key: member("key")?.unwrap_or_default(),
        namespace: member("namespace")?.unwrap_or_default(),
        description: member("description")?,
        version: member("version")?.unwrap_or_default(),
    })
}

/// `meta` is a JSON text. Gives the id and the text.
pub fn insert(call: &Call, names: &Names, flow: &Flow, meta: Option<&str>) -> Result<(String, String), Stop> {
    let now = time::to_text(call.now());
    let flow = texts::flow_text(flow)?;
    let inserted = common::insert_drawn(call, COLLECTION, PREFIX, |id| {
        let mut text = Object::default();
        text.set("id", id)?;
        texts::write_names(&mut text, names)?;
        text.set_raw("flow", flow.as_str());
        text.set_raw("meta", meta.unwrap_or("{}"));
        text.set("updated_at", &now)?;
        text.set("created_at", &now)?;
        Ok(text.to_text())
    });
    inserted.map_err(taken)
}

/// `flow` and `meta` (a JSON text): where they change. Gives the text.
pub fn replace(
    call: &Call,
    entry: &Entry,
    names: &Names,
    flow: Option<&Flow>,
    meta: Option<String>,
) -> Result<String, Stop> {
    let mut text: Object = json::from_text(&entry.body)?;
    texts::write_names(&mut text, names)?;
    if let Some(flow) = flow {
        text.set_raw("flow", texts::flow_text(flow)?);
    }
    common::replace_changed(call, COLLECTION, &entry.id, text, meta).map_err(taken)
}

pub fn delete(call: &Call, entry: &Entry) -> Result<(), Stop> {
    common::delete(call, COLLECTION, &entry.id)?;
    Ok(call.records(RETIRED).insert(&entry.id, &entry.body)?)
}

fn taken(refused: Refused) -> Stop {
    refused.taken(&[(BY_KEY, "key"), (BY_NAMESPACE, "namespace")])
}
